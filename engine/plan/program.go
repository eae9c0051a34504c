package plan

import (
	"crypto/sha256"

	"pulley/engine/graph"
)

// Program is a graph made ready to run: expressions compiled, liveness known. It is immutable and
// safe for concurrent use.
type Program struct {
	graph *graph.Graph
	hash  [sha256.Size]byte
}

// Graph gives the workflow's graph, which must not be changed.
func (p *Program) Graph() *graph.Graph { return p.graph }

// Hash identifies the program's definition: equal graphs have equal hashes in every process.
func (p *Program) Hash() [sha256.Size]byte { return p.hash }
