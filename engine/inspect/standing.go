package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"pulley/engine/backend"
	"pulley/engine/graph"
)

// OpenAt counts the node runs of a node that engines have leased, and the others that have not ended.
func OpenAt(s backend.Snapshot, id graph.NodeID) (running, waiting int) {
	for _, r := range s.Runs {
		switch {
		case r.Run.Node != id:
		case r.Leased && r.Due.After(s.Now):
			running++
		default:
			waiting++
		}
	}
	return running, waiting
}

// Standing says in a few words where an instance stands at a node; empty: nowhere.
func Standing(s backend.Snapshot, n *graph.Node) string {
	var parts []string
	running, waiting := OpenAt(s, n.ID)
	if done := s.Done[n.ID]; done > 0 {
		parts = append(parts, strconv.Itoa(done)+" done")
	}
	if running > 0 {
		parts = append(parts, strconv.Itoa(running)+" running")
	}
	if waiting > 0 {
		parts = append(parts, strconv.Itoa(waiting)+" waiting")
	}
	for _, bar := range s.Barriers {
		if bar.Run.Node == n.ID && len(parts) < 4 {
			parts = append(parts, arrived(bar))
		}
	}
	return strings.Join(parts, ", ")
}

func arrived(b backend.OpenBarrier) string {
	if b.Required == 0 {
		return strconv.Itoa(b.Completed) + " arrived"
	}
	return fmt.Sprintf("%d of %d arrived", b.Completed, b.Required)
}
