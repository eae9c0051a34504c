package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pulley/engine/graph"
	"pulley/engine/ir"
)

func arg(name, text string) graph.Arg { return graph.Arg{Name: name, Value: graph.X(text)} }

func TestBuilderMistakes(t *testing.T) {
	echo := func(b *graph.Builder, name string) *graph.NodeBuilder {
		return b.Action(name, "echo", arg("value", "1"))
	}
	for _, c := range []struct {
		name  string
		build func(b *graph.Builder)
		want  []string
	}{
		{"no output", func(b *graph.Builder) { echo(b, "a") }, []string{"graph g: no output; add Output(...)"}},
		{"two outputs", func(b *graph.Builder) { b.Output("1"); b.Output("2") }, []string{"output: there is one already; make its value a list"}},
		{"name", func(b *graph.Builder) { b.Output("1").After(echo(b, "a b")) }, []string{`node "a b": not a name that expressions can read; use letters, digits and _`}},
		{"keyword", func(b *graph.Builder) { b.Output("1").After(echo(b, "if")) }, []string{`node "if": not a name that expressions can read; use letters, digits and _`}},
		{"taken", func(b *graph.Builder) { b.Output("1").After(echo(b, "a"), echo(b, "a")) }, []string{"node a: the name is taken; choose another"}},
		{"input taken", func(b *graph.Builder) { b.Output("1").After(echo(b, "n")) }, []string{"node n: the name is taken; choose another"}},
		{"output's name taken", func(b *graph.Builder) { b.Output("1").After(echo(b, "output")) }, []string{"graph g: node output: the name is taken"}},
		{"branch's name taken", func(b *graph.Builder) {
			a := echo(b, "a")
			br := b.Branch("a").After(a)
			x := echo(b, "x")
			br.Else(x)
			b.Output("1").After(x)
		}, []string{"graph g: node a: the name is taken"}},
		{"unknown name", func(b *graph.Builder) { b.Output("m + n") }, []string{`node output: "m + n" reads m, which is neither an input nor a node`}},
		{"bad expression", func(b *graph.Builder) { b.Output("n +") }, []string{`node output: "n +"`}},
		{"no value", func(b *graph.Builder) { b.Output("a").After(b.Action("a", "echo", graph.Arg{Name: "value"})) }, []string{`node a: an argument has no value; write X("...")`}},
		{"other graph", func(b *graph.Builder) { b.Output("1").After(echo(graph.New("h"), "a")) }, []string{"graph g: an edge leads to a node of another graph"}},
		{"nil", func(b *graph.Builder) { b.Output("1").After(nil) }, []string{"graph g: an edge leads to a node of another graph"}},
		{"nil case", func(b *graph.Builder) { x := b.Branch("b"); x.Else(nil); b.Output("1") }, []string{"graph g: an edge leads to a node of another graph"}},
		{"after a branch", func(b *graph.Builder) { b.Output("1").After(b.Branch("b")) }, []string{"node output: comes after the branch b without being a case of it; name it in Case or Else"}},
		{"after any branch", func(b *graph.Builder) { b.Output("1").AfterAny(b.Branch("b"), echo(b, "a")) }, []string{"node output: comes after the branch b without being a case of it; name it in Case or Else"}},
		{"cases of an action", func(b *graph.Builder) { a := echo(b, "a"); a.Else(echo(b, "c")); b.Output("1").After(a) }, []string{"node a: only a branch has cases; add one after it"}},
		{"two elses", func(b *graph.Builder) {
			x, y := echo(b, "x"), echo(b, "y")
			b.Branch("b").Else(x).Else(y)
			b.Output("1").AfterAny(x, y)
		}, []string{"node b: has two elses; make one of them a case"}},
		{"bad guard", func(b *graph.Builder) {
			x, y := echo(b, "x"), echo(b, "y")
			b.Branch("b").Case("nobody", x).Else(y)
			b.Output("1").AfterAny(x, y)
		}, []string{`node b: "nobody" reads nobody, which is neither an input nor a node`}},
		{"retry of a branch", func(b *graph.Builder) {
			x := echo(b, "x")
			b.Branch("b").Retry(graph.Retry{}).Else(x)
			b.Output("1").After(x)
		}, []string{"node b: a retry is for actions, and its count and backoff are not below 0"}},
		{"retry below zero", func(b *graph.Builder) { b.Output("1").After(echo(b, "x").Retry(graph.Retry{Count: -1})) }, []string{"node x: a retry is for actions, and its count and backoff are not below 0"}},
		{"continue from an output", func(b *graph.Builder) { b.Output("1").OnError(graph.Continue) }, []string{"node output: OnError is for actions, and takes Continue; without it an error ends the instance"}},
		{"cycle", func(b *graph.Builder) {
			x, y := echo(b, "x"), echo(b, "y")
			x.After(y)
			y.After(x)
			b.Output("1").After(y)
		}, []string{"node x: cannot be reached from the input", "stands on a cycle: x → y → x; take out one of the edges"}},
		{"after itself", func(b *graph.Builder) { x := echo(b, "x"); x.After(x); b.Output("1").After(x) }, []string{"stands on a cycle: x → x"}},
		{"leads nowhere", func(b *graph.Builder) { echo(b, "x"); b.Output("1") }, []string{"node x: leads nowhere; let the output come after it"}},
		{"branch without cases", func(b *graph.Builder) { b.Branch("b"); b.Output("1") }, []string{"node b: leads nowhere; let the output come after it"}},
		{"too many", func(b *graph.Builder) {
			b.Limits(ir.Limits{Nodes: 3})
			b.Output("1").After(echo(b, "x"), echo(b, "y"))
		}, []string{"graph g: 4 nodes are over the limit of 3; split the workflow or raise the limit"}},
		{"two mistakes", func(b *graph.Builder) { b.Output("1").After(echo(b, "n"), echo(b, "!")) }, []string{"node n: the name is taken", `node "!": not a name`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := graph.New("g", "n")
			c.build(b)
			g, err := b.Build()
			if err == nil {
				t.Fatalf("taken:\n%s", g.Text())
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %s", err, want)
				}
			}
		})
	}
}

func TestBuildTwice(t *testing.T) {
	b := graph.New("g")
	b.Output("1")
	if _, err := b.Build(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Build(); err == nil || err.Error() != "graph g: is built already; keep what Build gave" {
		t.Error(err)
	}
}

func TestBuilderGraph(t *testing.T) {
	b := graph.New("orders", "order")
	price := b.Action("price", "price", arg("order", "order")).Retry(graph.Retry{Types: []string{"Network"}, Count: 3, Backoff: time.Second})
	stock := b.Action("stock", "stock", arg("order", "order")).OnError(graph.Continue)
	check := b.Branch("check").After(price, stock)
	big := b.Action("big", "approve", arg("price", "price"))
	small := b.Action("small", "note", arg("price", "price"))
	check.Else(small).Case("price > 100", big)
	mail := b.Action("mail", "mail", arg("ok", `not isexception(stock, "Error")`)).AfterAny(big, small)
	b.Output("[price, mail]").After(mail, price)
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/orders.txt", g.Text())
	golden(t, "testdata/orders.dot", g.DOT())
	golden(t, "testdata/orders.mermaid", g.Mermaid())
	roundTrip(t, g)
	for name, want := range map[string]bool{"price": false, "check": true, "big": false, "mail": true, "output": true} {
		for _, n := range g.Nodes {
			if n.Name == name && g.Waits(n) != want {
				t.Errorf("%s waits: %v", name, g.Waits(n))
			}
		}
	}
}

func TestMerges(t *testing.T) {
	type builder struct {
		*graph.Builder
		node func(name string) *graph.NodeBuilder
	}
	for _, c := range []struct {
		name  string
		build func(b builder)
		want  string
	}{
		{"soft merge of both cases", func(b builder) {
			x, y := b.node("x"), b.node("y")
			b.Branch("b").Case("n", x).Else(y)
			b.Output("n").AfterAny(x, y)
		}, ""},
		{"hard merge of both cases", func(b builder) {
			x, y := b.node("x"), b.node("y")
			b.Branch("b").Case("n", x).Else(y)
			b.Output("n").After(x, y)
		}, "node output: waits for y, which does not run if branch b takes another case"},
		{"one case only", func(b builder) {
			x, y := b.node("x"), b.node("y")
			b.Branch("b").Case("n", x).Else(y)
			z := b.node("z").After(y)
			b.Output("n").AfterAny(x, z).After(x)
		}, "branch b takes another case"},
		{"one way of three", func(b builder) {
			x, y, z := b.node("x"), b.node("y"), b.node("z")
			b.Branch("b").Case("n", x).Case("n > 1", y).Else(z)
			w := b.node("w").AfterAny(x, y)
			b.Output("n").AfterAny(w, z)
		}, ""},
		{"no else", func(b builder) {
			x := b.node("x")
			b.Branch("b").Case("n", x)
			side := b.node("side")
			b.Output("n").After(side, x)
		}, "waits for x, which does not run if branch b takes another case"},
		{"nested", func(b builder) {
			x, y, z := b.node("x"), b.node("y"), b.node("z")
			inner := b.Branch("inner").Case("n > 1", y).Else(z)
			b.Branch("outer").Case("n", x).Else(inner)
			b.Output("n").AfterAny(x, y, z)
		}, ""},
		{"nested, merged inside out", func(b builder) {
			x, y, z := b.node("x"), b.node("y"), b.node("z")
			inner := b.Branch("inner").Case("n > 1", y).Else(z)
			b.Branch("outer").Case("n", x).Else(inner)
			inside := b.node("inside").AfterAny(z, y)
			out := b.node("out").AfterAny(inside, x)
			b.Output("n").After(out, b.node("side"))
		}, ""},
		{"nested, one inner way is lost", func(b builder) {
			x, y, z := b.node("x"), b.node("y"), b.node("z")
			inner := b.Branch("inner").Case("n > 1", y).Else(z)
			b.Branch("outer").Case("n", x).Else(inner)
			w := b.node("w").AfterAny(x, y)
			b.Output("n").AfterAny(w, b.node("v").AfterAny(z, w)).After(w)
		}, "branch inner or outer takes another case"},
		{"side by side under one case", func(b builder) {
			x, x2, y := b.node("x"), b.node("x2"), b.node("y")
			split := b.node("split")
			x.After(split)
			x2.After(split)
			b.Branch("b").Case("n", split).Else(y)
			both := b.node("both").After(x, x2)
			b.Output("n").AfterAny(both, y)
		}, ""},
		{"two branches one after the other", func(b builder) {
			x, y, z, w := b.node("x"), b.node("y"), b.node("z"), b.node("w")
			b.Branch("b1").Case("n", x).Else(y)
			b.Branch("b2").AfterAny(x, y).Case("n", z).Else(w)
			b.Output("n").AfterAny(z, w)
		}, ""},
		{"a case of two branches", func(b builder) {
			x, y, z := b.node("x"), b.node("y"), b.node("z")
			b.Branch("b1").Case("n", x).Else(y)
			b.Branch("b2").Case("n", x).Else(z)
			b.Output("n").AfterAny(x, y, z)
		}, ""},
		{"two cases to one node", func(b builder) {
			x, y := b.node("x"), b.node("y")
			b.Branch("b").Case("n > 2", x).Case("n > 1", y).Else(x)
			b.Output("n").AfterAny(x, y)
		}, ""},
		{"a case that waits for more", func(b builder) {
			x, y := b.node("x"), b.node("y")
			b.Branch("b").Case("n", x.After(b.node("side"))).Else(y)
			b.Output("n").AfterAny(x, y)
		}, "node x: waits for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := builder{Builder: graph.New("g", "n")}
			b.node = func(name string) *graph.NodeBuilder { return b.Action(name, "echo", arg("value", "n")) }
			c.build(b)
			_, err := b.Build()
			switch {
			case err == nil && c.want != "":
				t.Errorf("taken, though %s", c.want)
			case err != nil && c.want == "":
				t.Error(err)
			case err != nil && !strings.Contains(err.Error(), c.want):
				t.Errorf("%v\nlacks %s", err, c.want)
			}
		})
	}
}

// A branch with the largest supported number of cases is merged; then one is left out, and one added.
func TestManyCases(t *testing.T) {
	build := func(cases int, without int) error {
		b := graph.New("g", "n")
		br := b.Branch("b")
		var ends []*graph.NodeBuilder
		for i := range cases {
			x := b.Action(fmt.Sprintf("x%d", i), "echo")
			if i == cases-1 {
				br.Else(x)
			} else {
				br.Case(fmt.Sprintf("n == %d", i), x)
			}
			if i != without {
				ends = append(ends, x)
			}
		}
		b.Output("n").AfterAny(ends...)
		if without >= 0 {
			b.Action("late", "echo").AfterAny(ends...)
		}
		_, err := b.Build()
		return err
	}
	if err := build(63, -1); err != nil {
		t.Errorf("63 cases: %v", err)
	}
	if err := build(63, 62); err == nil {
		t.Error("a graph that may never end is taken")
	}
	if err := build(64, -1); err == nil || !strings.Contains(err.Error(), "63 are the most") {
		t.Errorf("64 cases: %v", err)
	}
}

// An else is tried after cases that are added later.
func TestElseStandsLast(t *testing.T) {
	b := graph.New("g", "n")
	x, y := b.Action("x", "echo"), b.Action("y", "echo")
	b.Branch("b").Else(x).Case("n", y)
	b.Output("n").AfterAny(x, y)

	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range g.Nodes {
		if n.Name == "b" {
			for _, e := range g.Out(n.ID) {
				got = append(got, g.Nodes[e.To].Name)
			}
		}
	}
	if diff := cmp.Diff([]string{"y", "x"}, got); diff != "" {
		t.Error(diff)
	}
}
