package plan

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"pulley/engine/graph"
)

// variants are the programs that differ in nothing but their priority. They are made when they are first asked for.
type variants struct {
	mu         sync.Mutex
	byPriority [graph.PriorityMax + 1]*Program
}

// Priority returns how urgent the node runs of its instances are: 0, the usual one, to graph.PriorityMax.
func (p *Program) Priority() int { return p.graph.Priority }

// WithPriority returns the program with another priority: the same workflow with a hash of its own. It returns the same one each time. It
// fails if the priority is not from 0 to graph.PriorityMax.
func (p *Program) WithPriority(n int) (*Program, error) {
	if n < 0 || n > graph.PriorityMax {
		return nil, fmt.Errorf("the priority is %d; give one from 0 to %d", n, graph.PriorityMax)
	}
	if n == p.Priority() {
		return p, nil
	}
	p.variants.mu.Lock()
	defer p.variants.mu.Unlock()
	if found := p.variants.byPriority[n]; found != nil {
		return found, nil
	}
	g := *p.graph
	g.Priority = n
	definition, err := graph.Encode(&g)
	if err != nil {
		return nil, err
	}
	again := *p
	again.graph, again.definition, again.hash, again.memo = &g, definition, sha256.Sum256(definition), nil
	p.variants.byPriority[n] = &again
	return &again, nil
}
