package plan_test

import (
	"testing"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// TestCountsAt: barriers with the same predecessors are counted at the first of them, unless one of their edges is soft, or comes
// from a node that takes one of its ways only.
func TestCountsAt(t *testing.T) {
	b := graph.New("sharing", "n")
	one, two := b.Action("one", "echo", arg("value", "n")), b.Action("two", "echo", arg("value", "n"))
	first := b.Action("first", "echo", arg("value", "one")).After(one, two)
	second := b.Action("second", "echo", arg("value", "two")).After(two, one)
	other := b.Action("other", "echo", arg("value", "two")).After(two)
	fast := b.Action("fast", "echo", arg("value", "n")).AfterAny(one, two)
	quick := b.Action("quick", "echo", arg("value", "n")).AfterAny(one, two)
	b.Output("n").After(first, second, other, fast, quick)
	p := built(t, b)
	id := map[string]graph.NodeID{}
	for _, n := range p.Graph().Nodes {
		id[n.Name] = n.ID
	}
	for name, at := range map[string]string{"first": "first", "second": "first", "other": "other", "fast": "fast", "quick": "quick"} {
		if got := p.CountsAt(id[name]); got != id[at] {
			t.Errorf("%s is counted at %s; want %s", name, p.Graph().Nodes[got].Name, at)
		}
	}
	for _, n := range p.CountedAt(id["first"]) {
		if at := p.CountsAt(n); at != id["first"] || n == at {
			t.Errorf("%s is counted at %s", p.Graph().Nodes[n].Name, p.Graph().Nodes[at].Name)
		}
	}
}

// TestWrittenOnce names the variables whose value stays from when it is written to the end.
func TestWrittenOnce(t *testing.T) {
	p, err := plan.CompileText("once.pulley", []byte(`
fn main(input: [n], output: [r]):
    a = @echo(value=n)
    b = a + 1
    twice = @echo(value=a)
    twice = @echo(value=twice)
    for i in range(n):
        inner = @echo(value=i)
        twice = inner
    r = @add(a=b, b=twice)
`), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	once := map[string]bool{}
	for v, of := range p.Graph().Vars {
		once[of.Name] = p.WrittenOnce(graph.VarID(v))
	}
	for name, want := range map[string]bool{"n": true, "a": true, "b": true, "twice": false, "i": false, "inner": false} {
		if got, there := once[name]; !there || got != want {
			t.Errorf("%s: %v (is there: %v); want %v: %v", name, got, there, want, once)
		}
	}
	if p.WrittenOnce(-1) || p.WrittenOnce(graph.VarID(len(p.Graph().Vars))) {
		t.Error("what is no variable is written once")
	}
}
