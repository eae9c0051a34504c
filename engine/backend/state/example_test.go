package state_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/google/uuid"

	"pulley/engine/backend/state"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// A design applies the plan of a completion in memory before it commits, and takes it back where the commit fails.
func ExampleTx_Rollback() {
	program, err := plan.CompileText("two.ir", []byte(`
fn main(input: [x], output: [z]):
    y = @double(x=x)
    z = @add(a=x, b=y)
    return z
`), ir.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	begin, err := program.Start(json.RawMessage(`{"x": 3}`))
	if err != nil {
		log.Fatal(err)
	}
	var space state.Space
	tx, instance := space.Begin(0), &state.Instance{ID: uuid.New(), Core: program}
	tx.Begin(instance)
	show := func(when string, end *plan.End, err error) {
		fmt.Println(when, end != nil, err)
		for _, run := range instance.RunsInOrder() {
			args, err := run.AssembleArgs()
			fmt.Println("  enqueued:", run.Action, string(args), err)
		}
	}
	end, err := tx.Apply(instance, begin)
	show("submitted", end, err)

	before, double := tx.Savepoint(), instance.RunsInOrder()[0]
	tx.Done(double)
	next, err := tx.Step(instance, plan.Event{Run: double.Key, Attempt: 1, Result: json.RawMessage("6")}, 0)
	if err != nil {
		log.Fatal(err)
	}
	end, err = tx.Apply(instance, next)
	show("completed", end, err)

	tx.Rollback(before) // the commit has failed
	show("rolled back", nil, nil)
	tx.Leave()
	// Output:
	// submitted false <nil>
	//   enqueued: double {"x":3} <nil>
	// completed false <nil>
	//   enqueued: add {"a":3,"b":6} <nil>
	// rolled back false <nil>
	//   enqueued: double {"x":3} <nil>
}
