package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"pulley/engine"
	"pulley/engine/backend/memory"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

// A branch continues to one of its cases. Only one case runs, so what follows both comes after any of them, and may choose
// between their values.
func ExampleBuilder() {
	b := graph.New("size", "n")
	twice := b.Action("twice", "double", graph.Arg{Name: "value", Value: graph.X("n")})
	more := b.Action("more", "add", graph.Arg{Name: "a", Value: graph.X("twice")}, graph.Arg{Name: "b", Value: graph.X("100")})
	same := b.Action("same", "echo", graph.Arg{Name: "value", Value: graph.X("twice")})
	b.Branch("size").After(twice).Case("twice < 10", more).Else(same)
	b.Output("more if twice < 10 else same").AfterAny(more, same)
	run(b, `{"n": 4}`, `{"n": 40}`)
	// Output:
	// completed 108
	// completed 80
}

// Each element runs two actions in sequence; the elements run concurrently, two at once.
func ExampleEach_Map() {
	b := graph.New("map", "numbers")
	each := b.Each("results", "number", "numbers")
	twice := each.Action("twice", "double", graph.Arg{Name: "value", Value: graph.X("number")})
	sum := each.Action("sum", "add", graph.Arg{Name: "a", Value: graph.X("twice")}, graph.Arg{Name: "b", Value: graph.X("number")}).After(twice)
	each.Output("sum").After(sum)
	b.Output("results").After(each.Map(2))
	run(b, `{"numbers": [1, 2, 3]}`)
	// Output: completed [3,6,9]
}

// The elements run in sequence. In the body the name of the whole is the list so far.
func ExampleEach_For() {
	b := graph.New("for", "numbers")
	each := b.Each("totals", "number", "numbers")
	add := each.Action("total", "add",
		graph.Arg{Name: "a", Value: graph.X("number")},
		graph.Arg{Name: "b", Value: graph.X("totals[-1] if totals else 0")})
	each.Output("total").After(add)
	b.Output("totals").After(each.For())
	run(b, `{"numbers": [1, 2, 3]}`)
	// Output: completed [1,3,6]
}

// The workflow continues when the action has failed for the second time, and its value is the error.
func ExampleNodeBuilder_OnError() {
	b := graph.New("errors")
	risky := b.Action("risky", "fail",
		graph.Arg{Name: "type", Value: graph.X(`"Declined"`)}, graph.Arg{Name: "message", Value: graph.X(`"no funds"`)}).
		Retry(graph.Retry{Count: 1}).OnError(graph.Continue)
	b.Output(`"not paid" if isexception(risky, "Declined") else risky`).After(risky)
	run(b, `{}`)
	// Output: completed "not paid"
}

// What waits for both cases of a branch would wait for ever, so it is not built.
func ExampleNodeBuilder_After() {
	b := graph.New("merge", "n")
	x, y := b.Action("x", "noop"), b.Action("y", "noop")
	b.Branch("choice").Case("n > 1", x).Else(y)
	b.Output("n").After(x, y)
	_, err := b.Build()
	fmt.Println(err)
	// Output:
	// graph merge: node output: waits for y, which does not run if branch choice takes another case, so it might never run itself; use AfterAny for the ends of a branch's cases
}

func run(b *graph.Builder, inputs ...string) {
	g, err := b.Build()
	if err != nil {
		log.Fatal(err)
	}
	program, err := plan.Compile(g)
	if err != nil {
		log.Fatal(err)
	}
	actions, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		log.Fatal(err)
	}
	store := memory.New(memory.Options{})
	defer store.Close()
	e, err := engine.New(engine.Config{Backend: store, Workers: actions})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := e.Start(ctx); err != nil {
		log.Fatal(err)
	}
	for _, input := range inputs {
		id, err := e.Submit(ctx, engine.SubmitRequest{Program: program, Input: json.RawMessage(input)})
		if err != nil {
			log.Fatal(err)
		}
		instance, err := e.Wait(ctx, id)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(instance.Status, string(instance.Result))
	}
	if err := e.Stop(ctx); err != nil {
		log.Fatal(err)
	}
}
