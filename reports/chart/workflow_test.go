package chart_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"pulley/reports/chart"
	"pulley/reports/record"
)

func fanOut() *record.Graph {
	return &record.Graph{
		Nodes: []record.GraphNode{
			{Name: "input", Kind: "input", Nodes: 1}, {Name: "split", Kind: "action", Nodes: 1, Runs: 1}, {Name: "work", Kind: "action", Nodes: 1, Runs: 100},
			{Name: "each", Kind: "aggregate", Waits: true, Nodes: 1, Runs: 1}, {Name: "more?", Kind: "branch", Nodes: 1}, {Name: "repair", Kind: "action", Nodes: 3, Runs: 3},
			{Name: "output", Kind: "output", Nodes: 1, Runs: 1},
		},
		Edges: []record.GraphEdge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 3}, {From: 3, To: 4}, {From: 4, To: 1, Kind: record.EdgeBack}, {From: 4, To: 6},
			{From: 2, To: 5, Kind: record.EdgeException}, {From: 5, To: 6}, {From: 5, To: 5, Kind: record.EdgeBack}},
	}
}

func TestWorkflowsAreDrawn(t *testing.T) {
	huge := &record.Graph{}
	for i := range 5000 {
		huge.Nodes = append(huge.Nodes, record.GraphNode{Name: nasty, Kind: nasty, Nodes: i})
		huge.Edges = append(huge.Edges, record.GraphEdge{From: i, To: (i * 7) % 5000}, record.GraphEdge{From: -1, To: 1 << 40})
	}
	for name, g := range map[string]*record.Graph{"none": nil, "empty": {}, "a fan-out": fanOut(), "one": {Nodes: []record.GraphNode{{}}}, "huge": huge} {
		w := chart.Workflow{Name: name, Title: name, Says: nasty, Graph: g}
		for _, format := range []string{"svg", "png"} {
			var b bytes.Buffer
			if err := w.Write(&b, format); err != nil || b.Len() == 0 || b.Len() > pngMost {
				t.Errorf("%s as %s: %d bytes, %v", name, format, b.Len(), err)
			}
			if format == "svg" {
				wellFormed(t, name, b.String())
			}
			if dir := os.Getenv("DUMP"); dir != "" {
				_ = os.WriteFile(fmt.Sprintf("%s/flow-%s.%s", dir, name, format), b.Bytes(), 0o600)
			}
		}
		wellFormed(t, name, w.Inline())
	}
	drawn := (&chart.Workflow{Graph: fanOut()}).Inline()
	for _, want := range []string{">work ×100<", ">repair ×3<", ">split<", "stroke-dasharray"} {
		if !strings.Contains(drawn, want) {
			t.Errorf("it lacks %s", want)
		}
	}
}
