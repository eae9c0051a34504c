package oracle

import (
	"slices"

	"pulley/engine/graph"
)

// Retried reports whether a program retries an attempt of a node that failed with an error type; the first attempt is 1. It
// does not use the engine's code, which is what is judged.
func Retried(node *graph.Node, typ string, attempt int) bool {
	for _, r := range node.Retries {
		if len(r.Types) == 0 || slices.Contains(r.Types, typ) || slices.Contains(r.Types, "Exception") {
			return attempt <= r.Count
		}
	}
	return false
}
