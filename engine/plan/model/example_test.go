package model_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/plan/model"
)

// The model applies each plan, so that a test of a store can ask what the store should hold after every completion.
func Example() {
	const text = `
fn main(input: [xs], output: [sum]):
    twice = spread xs:x -> @double(x=x)
    sum = @add(numbers=twice)
    return sum
`
	program, err := plan.CompileText("sum.ir", []byte(text), ir.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	should := model.New(program, model.Watch[string]{
		Wrong:    func(invariant, format string, args ...any) { fmt.Printf(invariant+": "+format+"\n", args...) },
		Enqueued: func(e *plan.Enqueue) string { return program.RunName(e.Run) },
	})
	byNode := func(a, b graph.Run) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Path, b.Path)) }
	next := func(ev plan.Event) (plan.Plan, error) { return should.Step(ev, 0) }
	begin, err := program.Start(json.RawMessage(`{"xs": [1, 2]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for end, p := (*plan.End)(nil), begin; end == nil; {
		if end, err = should.Fixpoint(p, next); err != nil || end != nil {
			fmt.Println("it ends:", end != nil, err)
			return
		}
		runs := slices.SortedFunc(maps.Keys(should.Runs), byNode)
		fmt.Println("enqueued:", should.Runs[runs[0]], "and", len(runs)-1, "more")
		delete(should.Runs, runs[0]) // it is done
		if p, err = next(plan.Event{Run: runs[0], Attempt: 1, Result: json.RawMessage("7")}); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// enqueued: double[0] and 1 more
	// enqueued: double[1] and 0 more
	// enqueued: add and 0 more
	// it ends: true <nil>
}
