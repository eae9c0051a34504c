package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/ir/programs"
	"pulley/engine/plan"
	"pulley/engine/reference"
	"pulley/internal/depth"
)

func referenceAction(name string, args reference.Args, attempt int) (expr.Value, *reference.Error) {
	raw := map[string]json.RawMessage{}
	for _, a := range args {
		encoded, err := expr.Encode(a.Value)
		if err != nil {
			return nil, &reference.Error{Type: "ArgumentError", Message: err.Error()}
		}
		raw[a.Name] = encoded
	}
	out, failure := act(name, raw, attempt)
	if failure != nil {
		return nil, &reference.Error{Type: failure.Type, Message: failure.Message}
	}
	v, err := expr.Decode(out, ir.Limits{})
	if err != nil {
		panic(err)
	}
	return v, nil
}

func ended(e *plan.End) reference.End {
	if f := e.Failure; f != nil {
		return reference.End{Status: reference.Failed, Error: &reference.Error{Type: f.Type, Message: f.Message, Action: f.Action, Pos: f.Pos}}
	}
	return reference.End{Status: reference.Completed, Result: e.Result}
}

// Random programs run in random order. The result must be that of the reference interpreter, which runs the text line by line.
// Every plan must hold I1 and I2, be the same when made again, and write only what is live.
func TestSequentialMeaning(t *testing.T) {
	depth.Checks(t, 100, 2000)
	var completed, failed int
	all := programs.Generator(programs.Options{})
	rapid.Check(t, func(t *rapid.T) {
		drawn := all.Draw(t, "program")
		source, input := drawn.Source, string(drawn.Input)
		prog, err := ir.Parse("random.ir", []byte(source), ir.Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		g, err := graph.Compile(prog, ir.Limits{InlineSteps: 1 << 30})
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		p, err := plan.Compile(g)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		ref, err := reference.NewInterpreter(prog, ir.Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		outcomes, complete := ref.Possible(json.RawMessage(input), referenceAction, reference.Options{}, 200)
		if !complete || outcomes[0].Status == reference.Undecided {
			t.Skip("the reference does not decide")
		}
		d := newDriver(p)
		d.act = act
		d.pick = func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") }
		d.watch = onlyLive(g)
		if err := d.run(input); err != nil {
			t.Fatalf("input %s: %v\n%s\n%s", input, err, source, d.trace.String())
		}
		differs := ""
		for _, o := range outcomes {
			if differs = o.Differs(ended(d.end)); differs == "" {
				break
			}
		}
		if differs != "" {
			t.Fatalf("input %s: %s\n%s\n%s", input, differs, source, d.trace.String())
		}
		if d.end.Failure != nil {
			failed++
		} else {
			completed++
		}
	})
	t.Logf("%d programs completed, %d failed", completed, failed)
	if completed == 0 || failed == 0 {
		t.Errorf("%d programs completed and %d failed: the generator does not try both", completed, failed)
	}
}

// onlyLive checks by the plainest analysis that an action's successors or a barrier may read each written slot (D12).
func onlyLive(g *graph.Graph) func(plan.Plan) error {
	in := naiveLive(g)
	return func(pl plan.Plan) error {
		for _, w := range pl.Writes {
			if w.Value == nil {
				continue
			}
			needed := false
			for _, e := range pl.Enqueues {
				for _, a := range e.Args {
					needed = needed || a.Ref != nil && *a.Ref == w.Slot
				}
				for _, out := range g.Out(e.Run.Node) {
					needed = needed || in[out.To][w.Slot.Var] && !kills(g.Nodes[e.Run.Node], out, w.Slot.Var)
				}
			}
			for _, a := range pl.Arrivals {
				needed = needed || in[a.Run.Node][w.Slot.Var]
			}
			for _, r := range pl.Resumes {
				needed = needed || in[r.Node][w.Slot.Var]
			}
			for _, o := range pl.Opens {
				needed = needed || in[o.Run.Node][w.Slot.Var]
				for _, n := range g.Nodes { // elements that wait for their turn
					needed = needed || n.Aggregate == o.Run.Node && n.Limit > 0 && in[g.Out(n.ID)[0].To][w.Slot.Var]
				}
			}
			if !needed {
				return fmt.Errorf("D12: %s is written, and nothing reads it", g.Vars[w.Slot.Var].Name)
			}
		}
		return nil
	}
}

func kills(n *graph.Node, e *graph.Edge, v graph.VarID) bool {
	if e.Kind == graph.Exception {
		return e.Var == v
	}
	return slices.Contains(n.Kills(), v)
}

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
		for i := len(g.Nodes) - 1; i >= 0; i-- {
			for _, e := range g.Out(graph.NodeID(i)) {
				for v := range in[e.To] {
					if !in[i][v] && !kills(g.Nodes[i], e, v) {
						in[i][v], changed = true, true
					}
				}
			}
		}
	}
	return in
}
