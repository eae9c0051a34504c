package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pulley/engine/graph"
)

func echo(o interface {
	Action(name, action string, args ...graph.Arg) *graph.NodeBuilder
}, name, value string) *graph.NodeBuilder {
	return o.Action(name, "echo", arg("value", value))
}

type refusedGraph struct {
	name  string
	build func(b *graph.Builder)
	want  []string
}

func (c refusedGraph) run(t *testing.T) {
	b := graph.New("g", "n")
	c.build(b)
	g, err := b.Build()
	switch {
	case err == nil && len(c.want) > 0:
		t.Fatalf("taken:\n%s", g.Text())
	case err != nil && len(c.want) == 0:
		t.Fatal(err)
	case err == nil:
		roundTrip(t, g)
		return
	}
	if diff := cmp.Diff(c.want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestEachMistakes(t *testing.T) {
	for _, c := range []refusedGraph{
		{"neither", func(b *graph.Builder) { b.Each("xs", "x", "n").Output("x"); b.Output("1") },
			[]string{"each xs: is no Map, For or Fold; add one"}},
		{"nothing given", func(b *graph.Builder) { b.Output("xs").After(b.Each("xs", "x", "n").Map(0)) },
			[]string{"node xs: no output; add Output(...) with what an element gives"}},
		{"two outputs", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("x")
			each.Output("x")
			b.Output("xs").After(each.Map(0))
		}, []string{"xs.output: there is one already; make its value a list", "node xs.output: leads nowhere; let xs.output come after it"}},
		{"both", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("x")
			b.Output("xs").After(each.Map(0), each.For())
		}, []string{"node xs: is a Map, For or Fold already; begin another Each", "node xs: the name is taken; choose another"}},
		{"below zero", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("x")
			b.Output("xs").After(each.Map(-1))
		}, []string{"graph g: node xs: has a limit of -1"}},
		{"the element's name", func(b *graph.Builder) {
			each := b.Each("xs", "n", "n")
			each.Output("n")
			b.Output("xs").After(each.Map(0))
		}, []string{"node xs.n: the name is taken further out; choose another"}},
		{"a name of the body", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("x").After(echo(each, "x", "1"))
			b.Output("xs").After(each.For())
		}, []string{"node xs.x: the name is taken; choose another"}},
		{"no identifier", func(b *graph.Builder) {
			each := b.Each("xs", "x y", "n")
			each.Output("1")
			b.Output("xs").After(each.Map(0))
		}, []string{`node "x y": not a name that expressions can read; use letters, digits and _`}},
		{"a value of the body outside", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("y").After(echo(each, "y", "x"))
			b.Output("y").After(each.Map(0))
		}, []string{`node output: "y" reads y, which is neither an input nor a node`}},
		{"bad elements", func(b *graph.Builder) {
			each := b.Each("xs", "x", "nobody")
			each.Output("x")
			b.Output("xs").After(each.For())
		}, []string{`node xs: "nobody" reads nobody, which is neither an input nor a node`}},
		{"bad beginning", func(b *graph.Builder) {
			each := b.Each("sum", "x", "n")
			each.Output("sum + x")
			b.Output("sum").After(each.Fold("nobody"))
		}, []string{`node sum: "nobody" reads nobody, which is neither an input nor a node`}},
		{"begins with itself", func(b *graph.Builder) {
			each := b.Each("sum", "x", "n")
			each.Output("sum + x")
			b.Output("sum").After(each.Fold("sum"))
		}, []string{`node sum: "sum" reads sum, which does not come before it; use After`}},
		{"out of the body", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			y := echo(each, "y", "x")
			each.Output("y").After(y)
			b.Output("xs").After(each.Map(0), y)
		}, []string{"node output: stands in another body than xs.y; order them by the node that Map, For or Fold gives"}},
		{"into the body", func(b *graph.Builder) {
			y := echo(b, "y", "n")
			each := b.Each("xs", "x", "n")
			each.Branch("br").Else(y)
			each.Output("x").AfterAny(y)
			b.Output("xs").After(each.Map(0))
		}, []string{
			"node xs.br: stands in another body than y; order them by the node that Map, For or Fold gives",
			"node xs.output: stands in another body than y; order them by the node that Map, For or Fold gives",
		}},
		{"leads nowhere", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			echo(each, "y", "x")
			each.Output("x")
			b.Output("xs").After(each.For())
		}, []string{"node xs.y: leads nowhere; let xs.output come after it"}},
		{"policies", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("x")
			xs := each.Map(0).Retry(graph.Retry{Count: 1}).Timeout(time.Second).OnError(graph.Continue).Else(b.Output("xs"))
			b.Branch("br").Else(xs)
		}, []string{
			"node xs: a retry is for actions, and its count and backoff are not below 0",
			"node xs: a timeout is for actions, and not below 0",
			"node xs: OnError is for actions, and takes Continue; without it an error ends the instance",
			"node xs: only a branch has cases; add one after it",
		}},
		{"errors continue by Continue", func(b *graph.Builder) { b.Output("x").After(echo(b, "x", "n").OnError(graph.Exception)) },
			[]string{"node x: OnError is for actions, and takes Continue; without it an error ends the instance"}},
		{"timeout below zero", func(b *graph.Builder) { b.Output("x").After(echo(b, "x", "n").Timeout(-1)) },
			[]string{"node x: a timeout is for actions, and not below 0"}},
	} {
		t.Run(c.name, c.run)
	}
}

// Every run of a body must reach its end, like the workflow.
func TestEachMustEnd(t *testing.T) {
	const lost = "graph g: node %s: begins what is not ended if branch xs.br takes another case; let its end come after one node of every case with AfterAny"
	for _, c := range []refusedGraph{
		{"both cases", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			y, z := echo(each, "y", "x"), echo(each, "z", "x")
			each.Branch("br").Case("x", y).Else(z)
			each.Output("y if x else z").AfterAny(y, z)
			b.Output("xs").After(each.For())
		}, nil},
		{"one case of a map", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			y, z := echo(each, "y", "x"), echo(each, "z", "x")
			each.Branch("br").Case("x", y).Else(z)
			each.Output("y").After(y).AfterAny(z)
			b.Output("xs").After(each.Map(0))
		}, []string{"graph g: node xs.output: waits for xs.z, which does not run if branch xs.br takes another case, so it might never run itself; use AfterAny for the ends of a branch's cases"}},
		{"no else in a map", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			y := echo(each, "y", "x")
			each.Branch("br").Case("x", y)
			each.Output("y").After(y)
			b.Output("xs").After(each.Map(0))
		}, []string{fmt.Sprintf(lost, "xs")}},
		{"no else in a for", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			y := echo(each, "y", "x")
			each.Branch("br").Case("x", y)
			each.Output("y").After(y)
			b.Output("xs").After(each.For())
		}, []string{fmt.Sprintf(lost, "xs_head")}},
		{"a map as a case", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("x")
			xs, y := each.Map(0), echo(b, "y", "1")
			b.Branch("br").Case("n", xs).Else(y)
			b.Output("xs if n else y").AfterAny(xs, y)
		}, nil},
		{"a for as a case", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("x")
			xs, y := each.For(), echo(b, "y", "1")
			b.Branch("br").Case("n", xs).Else(y)
			b.Output("xs").After(xs, y)
		}, []string{"graph g: node output: waits for y, which does not run if branch br takes another case, so it might never run itself; use AfterAny for the ends of a branch's cases"}},
		{"cycle", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			y, z := echo(each, "y", "x"), echo(each, "z", "x")
			y.After(z)
			z.After(y)
			each.Output("x").After(z)
			b.Output("xs").After(each.Map(0))
		}, []string{
			"graph g: node xs: does not lead through one branch to its aggregate",
			"node xs.y: cannot be reached from the input",
			"node xs.z: cannot be reached from the input",
			"node xs.output: cannot be reached from the input",
			"node xs.y: stands on a cycle: xs.y → xs.z → xs.y; take out one of the edges",
		}},
		{"through itself", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("x")
			xs := each.For()
			xs.After(xs)
			b.Output("xs").After(xs)
		}, []string{
			"graph g: node input: leads nowhere; let the output come after it",
			"node xs.output: cannot be reached from the input",
			"node xs: cannot be reached from the input",
			"node xs_init: cannot be reached from the input",
			"node xs_head: cannot be reached from the input",
			"node xs_exit: cannot be reached from the input",
			"node output: cannot be reached from the input",
			"node xs_append: cannot be reached from the input",
			"node xs_next: cannot be reached from the input",
			"node xs.output: stands on a cycle: xs_head → xs_exit → xs → xs_init → xs_head; take out one of the edges",
		}},
	} {
		t.Run(c.name, c.run)
	}
}

// Expressions may read only what has ended before them, or can no longer run.
func TestReadings(t *testing.T) {
	before := func(node, text, name string) []string {
		return []string{fmt.Sprintf("node %s: %q reads %s, which does not come before it; use After", node, text, name)}
	}
	atWork := func(node, text, name string) []string {
		return []string{fmt.Sprintf("node %s: %q reads %s, which may still be at work then; use After instead of AfterAny", node, text, name)}
	}
	for _, c := range []refusedGraph{
		{"itself", func(b *graph.Builder) { b.Output("x").After(echo(b, "x", "x")) }, before("x", "x", "x")},
		{"what runs beside", func(b *graph.Builder) { b.Output("x").After(echo(b, "x", "1"), echo(b, "y", "x")) }, before("y", "x", "x")},
		{"what comes later", func(b *graph.Builder) {
			x := echo(b, "x", "y")
			b.Output("x").After(echo(b, "y", "1").After(x))
		}, before("x", "y", "y")},
		{"far before", func(b *graph.Builder) {
			b.Output("x + n").After(echo(b, "z", "x").After(echo(b, "y", "x").After(echo(b, "x", "n"))))
		}, nil},
		{"before all of several", func(b *graph.Builder) {
			x := echo(b, "x", "n")
			b.Output("x").AfterAny(echo(b, "y", "1").After(x), echo(b, "z", "2").After(x))
		}, nil},
		{"before one of several", func(b *graph.Builder) {
			b.Output("x").AfterAny(echo(b, "y", "1").After(echo(b, "x", "n")), echo(b, "z", "2"))
		}, atWork("output", "x", "x")},
		{"the first of several", func(b *graph.Builder) { b.Output("x").AfterAny(echo(b, "x", "n"), echo(b, "y", "n")) }, atWork("output", "x", "x")},
		{"the only one of several", func(b *graph.Builder) { b.Output("x").AfterAny(echo(b, "x", "n")) }, nil},
		{"one case in another", func(b *graph.Builder) {
			x, y := echo(b, "x", "n"), echo(b, "y", "x")
			b.Branch("br").Case("n", x).Else(y)
			b.Output("n").AfterAny(x, y)
		}, before("y", "x", "x")},
		{"behind the cases", func(b *graph.Builder) {
			x, y := echo(b, "x", "n"), echo(b, "y", "n")
			b.Branch("br").Case("n", x).Else(y)
			z := echo(b, "z", "x if n else y").AfterAny(x, y)
			b.Output("[z, x if n else y]").After(z)
		}, nil},
		{"at work in a case", func(b *graph.Builder) {
			x, y, w := echo(b, "x", "n"), echo(b, "y", "n"), echo(b, "w", "n")
			b.Branch("br").Case("n", x).Else(y)
			slow := echo(b, "slow", "x").After(x)
			b.Output("slow if n else y").AfterAny(slow, y, w.AfterAny(x, y))
		}, atWork("output", "slow if n else y", "slow")},
		{"in a guard", func(b *graph.Builder) {
			x, y := echo(b, "x", "n"), echo(b, "y", "n")
			b.Branch("br").Case("x", y).Else(b.Output("n").AfterAny(y, x))
		}, before("br", "x", "x")},
		{"the list in its own map", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("len(xs)")
			b.Output("xs").After(each.Map(0))
		}, before("xs.output", "len(xs)", "xs")},
		{"the list in its own for", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("len(xs) + y").After(echo(each, "y", "xs"))
			b.Output("xs").After(each.For())
		}, nil},
		{"the list as its own elements", func(b *graph.Builder) {
			each := b.Each("xs", "x", "xs")
			each.Output("x")
			b.Output("xs").After(each.For())
		}, before("xs", "xs", "xs")},
		{"further out", func(b *graph.Builder) {
			y := echo(b, "y", "n")
			row := b.Each("rows", "row", "n")
			cell := row.Each("cells", "cell", "row")
			cell.Output("[y, row, cell]")
			row.Output("cells").After(cell.Map(1))
			b.Output("rows").After(row.For().After(y))
		}, nil},
		{"further out and beside", func(b *graph.Builder) {
			y := echo(b, "y", "n")
			row := b.Each("rows", "row", "n")
			cell := row.Each("cells", "cell", "row")
			cell.Output("[y, row, cell]")
			row.Output("cells").After(cell.Map(1))
			b.Output("rows").After(row.For(), y)
		}, before("rows.cells.output", "[y, row, cell]", "y")},
		{"beside in the body", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("1").After(echo(each, "y", "1"), echo(each, "z", "y"))
			b.Output("xs").After(each.Map(0))
		}, before("xs.z", "y", "y")},
		{"a list before it is whole", func(b *graph.Builder) {
			each := b.Each("xs", "x", "n")
			each.Output("x")
			b.Output("xs").After(each.For()).After(echo(b, "y", "xs"))
		}, before("y", "xs", "xs")},
	} {
		t.Run(c.name, c.run)
	}
}

func TestEachGraph(t *testing.T) {
	b := graph.New("prices", "orders")
	order := b.Each("prices", "order", "orders")
	rate := order.Action("rate", "rate", arg("order", "order"))
	tax := order.Action("tax", "tax", arg("order", "order"))
	item := order.Each("items", "item", "order")
	item.Output("price").After(item.Action("price", "price", arg("item", "item"), arg("so_far", "items"), arg("rate", "rate")))
	order.Output("[items, tax]").After(item.For().After(rate), tax)
	b.Output("prices").After(order.Map(8))
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/prices.txt", g.Text())
	roundTrip(t, g)
	scopes := map[string]int{}
	for _, v := range g.Vars {
		scopes[v.Name] = v.Scope
	}
	for name, want := range map[string]int{"orders": 0, "prices": 0, "prices.order": 1, "prices.rate": 1, "prices.items": 1, "prices.items.item": 2, "prices.items.price": 2} {
		if got, ok := scopes[name]; !ok || got != want {
			t.Errorf("%s has the scope %d (%v), want %d", name, got, ok, want)
		}
	}
	if want := []graph.Region{{}, {Depth: 0}, {Parent: 1, Loop: true, Depth: 2}}; !slices.Equal(g.Regions, want) {
		t.Errorf("regions %+v, want %+v", g.Regions, want)
	}
}
