package graph_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

const mixed = `fn main(input: [n], output: [r]):
    r = []
    xs = spread range(n):x -> @double(value=x)
    for x in xs:
        if x > 2:
            y = @echo(value=x)
            r = r + [y]
    parallel:
        @noop()
        @noop()
    while len(r) < 3:
        r = r + [0]
    return r
`

const whole = `fn main(input: [n], output: [r]):
    r = []
    try:
        xs = spread range(n):x limit 2 -> f(x=x)
        for x in xs:
            sleep x
            r = r + [x, len(r)]
    except A, B as e:
        r = e
    except:
        a, b = parallel:
            f(x=n)
            @echo(value=n) [timeout: 5s]
        r = [a, b]
    return r

fn f(input: [x], output: [x]):
    while x > 2:
        try:
            x = @echo(value=x) [A -> retry: 2]
            break
        except A:
            return 0
`

func rows(t testing.TB) *graph.Graph {
	t.Helper()
	b := graph.New("g", "n")
	row := b.Each("rows", "row", "range(n)")
	cell := row.Each("cells", "cell", "range(row)")
	x, y := cell.Action("x", "echo"), cell.Action("y", "echo")
	cell.Output("[cells, x]").After(x).AfterAny(x, y)
	row.Output("cells").After(cell.For())
	b.Output("rows").After(row.Map(2))
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func diamond(t testing.TB) *graph.Graph {
	t.Helper()
	b := graph.New("g", "n")
	x, y := b.Action("x", "echo"), b.Action("y", "echo")
	br := b.Branch("b").After(x, y)
	z, w := b.Action("z", "echo"), b.Action("w", "echo")
	br.Case("n", z).Else(w)
	b.Output("n").AfterAny(z, w)
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func node(g *graph.Graph, name string) *graph.Node {
	for _, n := range g.Nodes {
		if n.Name == name {
			return n
		}
	}
	panic("no node " + name)
}

func edge(g *graph.Graph, from, to string) *graph.Edge {
	for _, e := range g.Edges {
		if g.Nodes[e.From].Name == from && g.Nodes[e.To].Name == to {
			return e
		}
	}
	panic("no edge from " + from + " to " + to)
}

func appending(g *graph.Graph) *graph.Set {
	for _, n := range g.Nodes {
		for i := range n.Sets {
			if n.Sets[i].Append != nil {
				return &n.Sets[i]
			}
		}
	}
	panic("nothing appends")
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name    string
		hand    bool // the diamond, not the program
		corrupt func(g *graph.Graph)
		want    string
	}{
		{"no nodes", false, func(g *graph.Graph) { g.Nodes = nil }, "node 0 is not the input"},
		{"no input", false, func(g *graph.Graph) { g.Nodes[0].Kind = graph.Assign }, "node 0 is not the input"},
		{"missing node", false, func(g *graph.Graph) { g.Nodes[3] = nil }, "node 3 is missing"},
		{"missing edge", false, func(g *graph.Graph) { g.Edges[3] = nil }, "edge 3 is missing"},
		{"missing variable", false, func(g *graph.Graph) { g.Vars[1] = nil }, "variable 1 is missing"},
		{"scope", false, func(g *graph.Graph) { g.Vars[1].Scope = -1 }, "variable 1 is missing or has a scope below 0"},
		{"frame's variable", false, func(g *graph.Graph) { g.Frames[0].Names["r"] = 900 }, "frame 0: r stands for variable 900"},
		{"id", false, func(g *graph.Graph) { g.Nodes[3].ID = 4 }, "has the id 4 at place 3"},
		{"name", false, func(g *graph.Graph) { g.Nodes[3].Name = g.Nodes[2].Name }, "the name is taken"},
		{"second input", false, func(g *graph.Graph) { node(g, "assign").Kind = graph.Input }, "is a second input node"},
		{"frame", false, func(g *graph.Graph) { g.Nodes[3].Frame = 99 }, "has no frame 99"},
		{"depth", false, func(g *graph.Graph) { g.Nodes[3].Depth = -1 }, "stands at the depth -1"},
		{"aggregate", false, func(g *graph.Graph) { node(g, "spread").Aggregate = 900 }, "has no aggregate 900"},
		{"outputs", false, func(g *graph.Graph) { node(g, "output").Kind = graph.Join }, "0 output nodes; there must be one"},
		{"target", false, func(g *graph.Graph) { node(g, "echo").Targets[0] = 900 }, "has no variable 900"},
		{"clear", false, func(g *graph.Graph) { node(g, "assign").Clear = []graph.VarID{-2} }, "has no variable -2"},
		{"set's target", false, func(g *graph.Graph) { node(g, "assign").Sets[0].Targets[0] = 900 }, "has no variable 900"},
		{"set's source", false, func(g *graph.Graph) { node(g, "assign").Sets[0] = graph.Set{From: 900} }, "has no variable 900"},
		{"var", false, func(g *graph.Graph) { node(g, "loop_head").Var = 900 }, "has no variable 900"},
		{"edge out of range", false, func(g *graph.Graph) { g.Edges[0].To = 900 }, "an edge leads from node 0 to node 900"},
		{"guard", false, func(g *graph.Graph) { g.Edges[0].Kind = graph.Guard }, "a guard edge cannot leave a input"},
		{"continue", false, func(g *graph.Graph) { g.Edges[0].Kind = graph.Continue }, "a continue edge cannot leave a input"},
		{"break", false, func(g *graph.Graph) { g.Edges[0].Kind = graph.Break }, "a break edge leads to a loop_exit, not to assign"},
		{"back", false, func(g *graph.Graph) { g.Edges[0].Kind = graph.Back }, "a back edge leads from a loop_next to the loop_head of its loop, not to assign"},
		{"edge kind", false, func(g *graph.Graph) { g.Edges[0].Kind = "sideways" }, `is of the unknown kind "sideways"`},
		{"forward from a branch", true, func(g *graph.Graph) { edge(g, "b", "z").Kind = graph.Forward }, "a forward edge cannot leave a branch"},
		{"forward from a loop head", false, func(g *graph.Graph) { edge(g, "loop_head", "if").Kind = graph.Forward }, "a forward edge cannot leave a loop_head"},
		{"deeper", false, func(g *graph.Graph) { node(g, "assign").Depth = 1 }, "stands deeper than input, which opens no loop or spread"},
		{"element", false, func(g *graph.Graph) { edge(g, "double", "spread_all").Var = graph.None }, "the edge from double carries no value"},
		{"required", true, func(g *graph.Graph) { node(g, "b").Required = 1 }, "node b: requires 1 arrivals where its edges make 2"},
		{"place of a branch", false, func(g *graph.Graph) { edge(g, "noop", "parallel_all").Element = 1 }, "has no place 1 for the value of noop_2"},
		{"place beyond the list", false, func(g *graph.Graph) { edge(g, "noop", "parallel_all").Element = 2 }, "has no place 2 for the value of noop"},
		{"required of a spread", false, func(g *graph.Graph) { node(g, "spread_all").Required = 1 }, "requires 1 arrivals where its edges make 0"},
		{"argument", false, func(g *graph.Graph) { node(g, "echo").Args[0].Value = nil }, "argument value has no value"},
		{"action", false, func(g *graph.Graph) { node(g, "echo").Action = "" }, "names no action"},
		{"kind", false, func(g *graph.Graph) { node(g, "echo").Kind = "magic" }, `has the unknown kind "magic"`},
		{"result", false, func(g *graph.Graph) { node(g, "output").Var = graph.None }, "has neither an expression nor a variable for the result"},
		{"loop_init", false, func(g *graph.Graph) { node(g, "loop_init").Expr = nil }, "has an expression without a variable to keep it in, or the reverse"},
		{"loop_head", false, func(g *graph.Graph) { node(g, "loop_2_head").Expr = nil }, "has neither a condition nor elements"},
		{"loop_init's head", false, func(g *graph.Graph) { node(g, "loop_init").Var = node(g, "spread_all").Var }, "does not lead to the loop_head that goes over what it keeps"},
		{"the last round", false, func(g *graph.Graph) { edge(g, "loop_next", "loop_head").From = node(g, "loop_2_next").ID }, "does not lead to one more round"},
		{"length of a length", false, func(g *graph.Graph) { v := g.Vars[g.Frames[0].Names["r"]]; g.Vars[v.Length].Length = v.Length }, "which is in use"},
		{"one length for two", false, func(g *graph.Graph) {
			names := g.Frames[0].Names
			g.Vars[names["y"]].Length = g.Vars[names["r"]].Length
		}, "which is in use"},
		{"length in another scope", false, func(g *graph.Graph) { g.Vars[g.Vars[g.Frames[0].Names["r"]].Length].Scope = 1 }, "or stands in another scope"},
		{"appends no list", false, func(g *graph.Graph) { appending(g).Append = graph.X("y") }, "appends what is no list, or to no accumulator"},
		{"appends what cannot be read", false, func(g *graph.Graph) { appending(g).Append = graph.X("[") }, "appends what is no list, or to no accumulator"},
		{"appends to no accumulator", false, func(g *graph.Graph) { g.Vars[g.Frames[0].Names["r"]].Length = 0 }, "appends what is no list, or to no accumulator"},
		{"sleep", false, func(g *graph.Graph) { n := node(g, "echo"); n.Kind = graph.Sleep }, "has no time to sleep for"},
		{"loop without a way out", false, func(g *graph.Graph) { edge(g, "loop_head", "loop_exit").From = node(g, "loop_init").ID }, "has 1 ways into the loop and 0 out of it"},
		{"spread", false, func(g *graph.Graph) { node(g, "spread").Expr = nil }, "has no elements, or no variable for one"},
		{"spread's action", false, func(g *graph.Graph) { node(g, "spread").Aggregate = node(g, "parallel_all").ID }, "node parallel_all: is the aggregate of 2 spreads or parallels, not of one"},
		{"spread without an aggregate", false, func(g *graph.Graph) { node(g, "spread").Aggregate = 0 }, "does not lead through one branch to its aggregate"},
		{"spread's limit", false, func(g *graph.Graph) { node(g, "spread").Limit = -1 }, "has a limit of -1"},
		{"region", false, func(g *graph.Graph) { node(g, "spread").Region = 99 }, "node spread: has no region 99"},
		{"region too deep", false, func(g *graph.Graph) { node(g, "input").Region = node(g, "loop_head").Region }, "node input: stands outside of its region"},
		{"regions' order", false, func(g *graph.Graph) { g.Regions[1].Parent = 1 }, "region 1 does not stand in one before it"},
		{"length", false, func(g *graph.Graph) { g.Vars[1].Length = 99 }, "variable 1 keeps its length in variable 99"},
		{"parallel", false, func(g *graph.Graph) { node(g, "parallel").Aggregate = 0 }, "has no aggregate"},
		{"unreachable", true, func(g *graph.Graph) { edge(g, "input", "x").From = node(g, "y").ID }, ""},
		{"cut off", true, func(g *graph.Graph) { e := edge(g, "input", "x"); e.From = e.To }, "node x: cannot be reached from the input"},
		{"cycle", true, func(g *graph.Graph) { edge(g, "input", "x").From = node(g, "z").ID }, "stands on a cycle: "},
		{"leads nowhere", true, func(g *graph.Graph) { e := edge(g, "z", "output"); e.From = node(g, "w").ID }, "node z: leads nowhere"},
		{"merge", true, func(g *graph.Graph) {
			edge(g, "z", "output").Kind, edge(g, "w", "output").Kind = graph.Forward, graph.Forward
			node(g, "output").Required = 2
		}, "node output: waits for w, which does not run if branch b takes another case"},
		{"too many nodes", false, func(g *graph.Graph) { g.Limits.Nodes = 5 }, "nodes are over the limit of 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := mustCompile(t, mixed)
			if c.hand {
				g = diamond(t)
			}
			c.corrupt(g)
			err := g.Check()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("a graph that is right is refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

// Stored definitions are changed at random places: the result must be refused, or be drawn, analysed and run without a panic.
func TestHostileDefinitions(t *testing.T) {
	var sources [][]byte
	for _, g := range []*graph.Graph{mustCompile(t, mixed), mustCompile(t, whole), diamond(t), rows(t)} {
		data, err := graph.Encode(g)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, data)
	}
	taken, refused := 0, 0
	f := func(t *rapid.T) {
		var tree any
		if err := json.Unmarshal(rapid.SampledFrom(sources).Draw(t, "graph"), &tree); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			tree = corrupt(t, tree)
		}
		data, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		g, err := graph.Decode(data)
		if err != nil {
			refused++
			return
		}
		taken++
		g.Text()
		g.DOT()
		g.Mermaid()
		p, err := plan.Compile(g)
		if err != nil {
			return
		}
		pl, err := p.Start(json.RawMessage(`{"n": 3}`))
		for i := 0; err == nil && i < 20 && pl.End == nil && len(pl.Enqueues) > 0; i++ {
			pl, err = p.Step(plan.Event{Run: pl.Enqueues[0].Run, Attempt: 1, Result: json.RawMessage("1")}, plan.Inbox{}, 0)
		}
	}
	depth.Checks(t, 200, 2000)
	rapid.Check(t, f)
	if taken == 0 || refused == 0 {
		t.Errorf("%d taken, %d refused: the changes do not try both", taken, refused)
	}
}

func corrupt(t *rapid.T, v any) any {
	if rapid.IntRange(0, 7).Draw(t, "here") > 0 {
		switch v := v.(type) {
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			if len(keys) > 0 {
				k := rapid.SampledFrom(sorted(keys)).Draw(t, "key")
				if k == "limits" || k == "timeout_ns" {
					return v
				}
				v[k] = corrupt(t, v[k])
				return v
			}
		case []any:
			if len(v) > 0 {
				i := rapid.IntRange(0, len(v)-1).Draw(t, "index")
				v[i] = corrupt(t, v[i])
				return v
			}
		}
	}
	switch v := v.(type) {
	case float64:
		return v + float64(rapid.SampledFrom([]int{-9, -1, 1, 2, 900}).Draw(t, "number"))
	case []any:
		if len(v) > 0 {
			return v[1:]
		}
	case string:
		return rapid.SampledFrom([]string{"", "forward", "soft", "back", "break", "guard", "action", "branch", "join", "loop_head", "spread", "aggregate", "n", "1 +", "é"}).Draw(t, "text")
	}
	return nil
}

func TestDecodeRefusesNonsense(t *testing.T) {
	for _, data := range []string{"", "{", "[]", "null", "{}", `{"nodes":[{"kind":"input"}]}`, `{"nodes":"x"}`} {
		if _, err := graph.Decode([]byte(data)); err == nil {
			t.Errorf("%s is taken", data)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, g := range []*graph.Graph{mustCompile(f, mixed), mustCompile(f, whole), diamond(f), rows(f)} {
		data, err := graph.Encode(g)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := graph.Decode(data)
		if err != nil {
			return
		}
		g.Text()
		if _, err := plan.Compile(g); err == nil {
			roundTrip(t, g)
		}
	})
}

func TestLimitsAreStored(t *testing.T) {
	source, err := os.ReadFile("testdata/programs/chain.ir")
	if err != nil {
		t.Fatal(err)
	}
	g, err := compile(t, string(source), ir.Limits{LoopIterations: 7})
	if err != nil {
		t.Fatal(err)
	}
	data, err := graph.Encode(g)
	if err != nil {
		t.Fatal(err)
	}
	back, err := graph.Decode(data)
	if err != nil || back.Limits.LoopIterations != 7 {
		t.Errorf("%+v, %v", back.Limits, err)
	}
}
