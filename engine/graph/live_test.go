package graph_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/internal/depth"
)

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// naiveLive repeats the equation of liveness over all nodes until nothing changes.
func naiveLive(g *graph.Graph) []map[graph.VarID]bool {
	in := make([]map[graph.VarID]bool, len(g.Nodes))
	for i, n := range g.Nodes {
		in[i] = map[graph.VarID]bool{}
		for _, v := range g.Reads(n) {
			in[i][v] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for i, n := range g.Nodes {
			for _, e := range g.Out(n.ID) {
				for v := range in[e.To] {
					if !in[i][v] && !slices.Contains(n.Kills(), v) {
						in[i][v], changed = true, true
					}
				}
			}
		}
	}
	return in
}

// Nodes between a write and direct reads of it may be left out, since nothing asks there.
func sameLiveness(t *rapid.T, g *graph.Graph) {
	reads := make([][]graph.VarID, len(g.Nodes))
	for i, n := range g.Nodes {
		reads[i] = g.Reads(n)
	}
	live, naive := g.Liveness(reads), naiveLive(g)
	for _, n := range g.Nodes {
		for v := range g.Vars {
			v := graph.VarID(v)
			if got, want := live.In(n.ID, v), naive[n.ID][v]; got && !want || want && !got && carries(g, n, v) {
				t.Fatalf("%s at %s: live %v, want %v\n%s", g.Vars[v].Name, n.Name, got, want, g.Text())
			}
			want := false
			for _, e := range g.Out(n.ID) {
				want = want || naive[e.To][v] && !slices.Contains(n.Kills(), v)
			}
			if got := live.Across(n, v); got && !want || want && !got && carries(g, n, v) {
				t.Fatalf("%s across %s: live %v, want %v\n%s", g.Vars[v].Name, n.Name, got, want, g.Text())
			}
		}
	}
}

// carries reports whether liveness at the node may matter: some way leads to it from a write of the variable. If one node
// writes and only its direct successors read, nothing asks between them: the value was written when the writer ended.
func carries(g *graph.Graph, n *graph.Node, v graph.VarID) bool {
	var writers []*graph.Node
	for _, w := range g.Nodes {
		if slices.Contains(w.Writes(), v) {
			writers = append(writers, w)
		}
	}
	if len(writers) == 1 && !slices.Contains(g.Reads(n), v) && readNext(g, writers[0], v) {
		return false
	}
	seen := map[graph.NodeID]bool{n.ID: true}
	for todo := []graph.NodeID{n.ID}; len(todo) > 0; todo = todo[1:] {
		for _, e := range g.In(todo[0]) {
			if slices.Contains(g.Nodes[e.From].Writes(), v) {
				return true
			}
			if !seen[e.From] {
				seen[e.From] = true
				todo = append(todo, e.From)
			}
		}
	}
	return false
}

func readNext(g *graph.Graph, writer *graph.Node, v graph.VarID) bool {
	for _, r := range g.Nodes {
		next := slices.ContainsFunc(g.Out(writer.ID), func(e *graph.Edge) bool { return e.To == r.ID })
		if slices.Contains(g.Reads(r), v) && (!next || r.Depth > 0 || writer.Depth > 0) {
			return false
		}
	}
	return true
}

func TestLivenessOfPrograms(t *testing.T) {
	depth.Checks(t, 30, 300)
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("fn f(input: [a, b], output: [c]):\n")
		statements(t, &b, "    ", 2, false)
		b.WriteString("    c = a\n\nfn main(input: [a, b], output: [c]):\n    c = 1\n")
		statements(t, &b, "    ", 3, true)
		g, err := graph.CompileText("random.ir", []byte(b.String()), ir.Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		sameLiveness(t, g)
		sameDataEdges(t, g)
	})
}

func statements(t *rapid.T, b *strings.Builder, indent string, depth int, main bool) {
	name := func() string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name") }
	for range rapid.IntRange(1, 4).Draw(t, "statements") {
		k := rapid.IntRange(0, 7).Draw(t, "kind")
		if k > 4 && depth == 0 {
			k = 0
		}
		switch k {
		case 0:
			fmt.Fprintf(b, "%s%s = %s + 1\n", indent, name(), name())
		case 1:
			fmt.Fprintf(b, "%s%s = @echo(value=%s)\n", indent, name(), name())
		case 2:
			fmt.Fprintf(b, "%s%s = spread %s:x -> @add(a=x, b=%s)\n", indent, name(), name(), name())
		case 3:
			fmt.Fprintf(b, "%s%s, %s = parallel:\n%s    @echo(value=%s)\n%s    @noop()\n", indent, name(), name(), indent, name(), indent)
		case 4:
			if main {
				fmt.Fprintf(b, "%s%s = f(a=%s, b=2)\n", indent, name(), name())
			} else {
				fmt.Fprintf(b, "%sif a:\n%s    return %s\n", indent, indent, name())
			}
		case 5:
			fmt.Fprintf(b, "%sif %s:\n", indent, name())
			statements(t, b, indent+"    ", depth-1, main)
			fmt.Fprintf(b, "%selse:\n", indent)
			statements(t, b, indent+"    ", depth-1, main)
		case 6:
			fmt.Fprintf(b, "%sfor %s in %s:\n", indent, name(), name())
			statements(t, b, indent+"    ", depth-1, main)
			fmt.Fprintf(b, "%s    if %s:\n%s        %s\n", indent, name(), indent, rapid.SampledFrom([]string{"break", "continue", "return"}).Draw(t, "exit"))
		case 7:
			fmt.Fprintf(b, "%swhile %s:\n", indent, name())
			statements(t, b, indent+"    ", depth-1, main)
		}
	}
}

// There must be an edge from each write to each read that it can reach, and no other.
func sameDataEdges(t *rapid.T, g *graph.Graph) {
	got := map[[3]int]bool{}
	for _, e := range g.DataEdges() {
		if e.Kind != graph.Data || got[[3]int{int(e.From), int(e.To), int(e.Var)}] {
			t.Fatalf("edge %+v is of the wrong kind or there twice", e)
		}
		got[[3]int{int(e.From), int(e.To), int(e.Var)}] = true
	}
	want := 0
	for _, n := range g.Nodes {
		for v := range g.Vars {
			if !slices.Contains(n.Writes(), graph.VarID(v)) {
				continue
			}
			for _, to := range reached(g, n, graph.VarID(v)) {
				if want++; !got[[3]int{int(n.ID), int(to), v}] {
					t.Fatalf("no data edge of %s from %s to %s\n%s", g.Vars[v].Name, n.Name, g.Nodes[to].Name, g.Text())
				}
			}
		}
	}
	if want != len(got) {
		t.Fatalf("%d data edges, want %d\n%s", len(got), want, g.Text())
	}
}

func reached(g *graph.Graph, n *graph.Node, v graph.VarID) []graph.NodeID {
	at := map[graph.NodeID]bool{}
	readers := map[graph.NodeID]bool{}
	var visit func(graph.NodeID)
	visit = func(from graph.NodeID) {
		for _, e := range g.Out(from) {
			to := g.Nodes[e.To]
			if slices.Contains(g.Reads(to), v) || to.Kind == graph.Aggregate && e.Var == v {
				readers[e.To] = true
			}
			if !at[e.To] && !slices.Contains(to.Kills(), v) {
				at[e.To] = true
				visit(e.To)
			}
		}
	}
	visit(n.ID)
	var out []graph.NodeID
	for r := range readers {
		out = append(out, r)
	}
	return out
}

// Random graphs have no loops, and nodes read earlier ones, near or far.
func TestLivenessOfHandBuiltGraphs(t *testing.T) {
	depth.Checks(t, 30, 300)
	rapid.Check(t, func(t *rapid.T) {
		b := graph.New("g", "n")
		var nodes []*graph.NodeBuilder
		var names []string
		for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
			name := fmt.Sprintf("x%d", i)
			args := []graph.Arg{arg("value", "n")}
			any := rapid.Bool().Draw(t, "any")
			var after []*graph.NodeBuilder
			for j, before := range nodes {
				if rapid.IntRange(0, 2).Draw(t, "after") > 0 {
					continue
				}
				if after = append(after, before); !any {
					args = append(args, arg(names[j], names[j]))
				}
			}
			node := b.Action(name, "echo", args...)
			if any {
				node.AfterAny(after...)
			} else {
				node.After(after...)
			}
			nodes, names = append(nodes, node), append(names, name)
		}
		b.Output("[" + strings.Join(names, ", ") + ", n]").After(nodes...)
		g, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		sameLiveness(t, g)
		sameDataEdges(t, g)
	})
}

// One graph is four times as large as another. Allocations are compared, and at night also the best time of several tries.
func TestBuildGrowsWithTheGraph(t *testing.T) {
	small := depth.Of(500, 2000)
	for _, c := range []struct {
		name  string
		build func(n int) *graph.Graph
	}{
		{"join", join},
		{"statements", func(n int) *graph.Graph {
			g, err := compile(t, "fn main(input: [n], output: [n]):\n"+strings.Repeat("    n = @echo(value=n)\n", n), ir.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			return g
		}},
		{"branches", func(n int) *graph.Graph {
			g, err := compile(t, "fn main(input: [n], output: [n]):\n"+strings.Repeat("    if n:\n        n = 2\n", n/3), ir.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			return g
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			took := func(n int) (bytes, seconds float64) {
				start, before := time.Now(), allocated()
				g := c.build(n)
				reads := make([][]graph.VarID, len(g.Nodes))
				for i, n := range g.Nodes {
					reads[i] = g.Reads(n)
				}
				g.Liveness(reads)
				return float64(allocated() - before), time.Since(start).Seconds()
			}
			best := math.Inf(1)
			for range depth.Of(1, 6) {
				bytes, seconds := took(small)
				manyBytes, manySeconds := took(4 * small)
				if manyBytes > 6*bytes {
					t.Fatalf("four times the nodes took %.1f times the bytes", manyBytes/bytes)
				}
				if best = min(best, manySeconds/seconds); best < 8 {
					return
				}
			}
			if depth.Night() {
				t.Errorf("four times the nodes took %.1f times as long", best)
			}
		})
	}
}

func join(n int) *graph.Graph {
	b := graph.New("join", "n")
	nodes := make([]*graph.NodeBuilder, n)
	names := make([]string, n)
	for i := range nodes {
		names[i] = fmt.Sprintf("x%d", i)
		nodes[i] = b.Action(names[i], "echo", arg("value", "n"))
	}
	all := b.Action("all", "sum", arg("values", "["+strings.Join(names, ", ")+"]")).After(nodes...)
	b.Output("all").After(all)
	g, err := b.Build()
	if err != nil {
		panic(err)
	}
	return g
}

func TestPaths(t *testing.T) {
	var p graph.Path
	if p.Last() != -1 || p.Len() != 0 || p.Cut(2) != "" || graph.Path("x").Last() != -1 {
		t.Error("the empty path")
	}
	p = p.Push(3).Push(0).Push(12)
	if p != "3.0.12" || p.Last() != 12 || p.Len() != 3 || p.Cut(0) != "" || p.Cut(1) != "3" || p.Cut(2) != "3.0" || p.Cut(3) != p || p.Cut(9) != p {
		t.Errorf("path %q", p)
	}
}
