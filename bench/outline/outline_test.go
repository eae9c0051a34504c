package outline_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pulley/bench/outline"
	"pulley/engine/graph"
	"pulley/reports/record"
)

func compiled(t *testing.T, b *graph.Builder) *graph.Graph {
	t.Helper()
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// found prints nodes and edges.
func found(g *record.Graph) (out []string) {
	for i, n := range g.Nodes {
		text := fmt.Sprintf("%d %s %s ×%d", i, n.Kind, n.Name, n.Nodes)
		if n.Waits {
			text += " waits"
		}
		out = append(out, text)
	}
	for _, e := range g.Edges {
		out = append(out, fmt.Sprint(e.From, " ", e.To, e.Kind))
	}
	return out
}

func TestBranchesThatAreAlikeAreOne(t *testing.T) {
	b := graph.New("wide", "n")
	split := b.Action("split", "split", graph.Arg{Name: "n", Value: graph.X("n")})
	var parts []*graph.NodeBuilder
	for i := range 20 {
		parts = append(parts, b.Action(fmt.Sprintf("part%d", i), "work", graph.Arg{Name: "n", Value: graph.X("split")}).After(split))
	}
	sum := b.Action("sum", "sum", graph.Arg{Name: "n", Value: graph.X("part0")}).After(parts...)
	b.Output("sum").After(sum)
	want := []string{"0 input input ×1", "1 action split ×1", "2 action work ×20", "3 action sum ×1 waits", "4 output output ×1", "0 1", "1 2", "2 3", "3 4"}
	if diff := cmp.Diff(want, found(outline.Of(compiled(t, b), nil))); diff != "" {
		t.Error(diff)
	}
}

func TestNodesInARowAreOne(t *testing.T) {
	b := graph.New("long", "n")
	last := b.Action("first", "begin", graph.Arg{Name: "n", Value: graph.X("n")})
	for i := range 200 {
		last = b.Action(fmt.Sprintf("step%d", i), "step", graph.Arg{Name: "n", Value: graph.X("n")}).After(last)
	}
	b.Output("n").After(last)
	want := []string{"0 input input ×1", "1 action begin ×1", "2 action step ×200", "3 output output ×1", "0 1", "1 2", "2 3"}
	if diff := cmp.Diff(want, found(outline.Of(compiled(t, b), nil))); diff != "" {
		t.Error(diff)
	}
}

// Thousands of tasks of many names at many levels are a few dozen nodes, which stand for all of them.
func TestAnOutlineIsSmall(t *testing.T) {
	b := graph.New("trace", "n")
	before := []*graph.NodeBuilder{b.Action("a", "begin", graph.Arg{Name: "n", Value: graph.X("n")})}
	count := 1
	for level := range 100 {
		var here []*graph.NodeBuilder
		for i := range 20 {
			after := before[i%len(before)]
			here = append(here, b.Action(fmt.Sprintf("t%dx%d", level, i), fmt.Sprintf("action%d", (i+level)%7), graph.Arg{Name: "n", Value: graph.X("n")}).After(after, before[(i*i)%len(before)]))
			count++
		}
		before = here
	}
	b.Output("n").After(before...)
	runs := map[graph.NodeID]int{}
	g := compiled(t, b)
	for _, n := range g.Nodes {
		if n.Action != "" {
			runs[n.ID] = 2
		}
	}
	got := outline.Of(g, runs)
	nodes, ran := 0, 0
	for _, n := range got.Nodes {
		nodes, ran = nodes+n.Nodes, ran+n.Runs
	}
	if len(got.Nodes) > 40 || len(got.Nodes) < 10 || nodes != count+2 || ran != 2*count {
		t.Errorf("%d nodes stand for %d in %d runs, want %d in %d", len(got.Nodes), nodes, ran, count+2, 2*count)
	}
	if slices.ContainsFunc(got.Edges, func(e record.GraphEdge) bool { return e.From >= e.To }) {
		t.Errorf("an edge leads back: %v", got.Edges)
	}
}

func TestALoopLeadsBack(t *testing.T) {
	b := graph.New("loop", "numbers")
	each := b.Each("totals", "number", "numbers")
	add := each.Action("total", "add", graph.Arg{Name: "a", Value: graph.X("number")})
	each.Output("total").After(add)
	b.Output("totals").After(each.For())
	got := outline.Of(compiled(t, b), nil)
	if !slices.ContainsFunc(got.Edges, func(e record.GraphEdge) bool { return e.Kind == record.EdgeBack }) {
		t.Errorf("no edge leads back: %v", found(got))
	}
}
