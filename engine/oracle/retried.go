package oracle

import (
	"slices"

	"pulley/engine/graph"
)

// Retried says whether a program has an attempt of a node tried again that failed with an error of a type; the first attempt is 1. It says so
// by itself, and does not ask the code that the engine decides by: what is judged is no judge.
func Retried(node *graph.Node, typ string, attempt int) bool {
	for _, r := range node.Retries {
		if len(r.Types) == 0 || slices.Contains(r.Types, typ) || slices.Contains(r.Types, "Exception") {
			return attempt <= r.Count
		}
	}
	return false
}
