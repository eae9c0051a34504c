package signal_test

import (
	"context"
	"encoding/json"
	"fmt"

	"pulley/engine"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/signal"
	"pulley/engine/worker"
)

func Example() {
	ctx := context.Background()
	program, err := plan.CompileText("order.ir", []byte(`fn main(input: [order], output: [by]):
    by = @wait_signal(name="approved") [timeout: 72h]
    box = @wait_signal(name="packed")
`), ir.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	store := memory.New(memory.Options{})
	defer store.Close()
	actions, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := engine.New(engine.Config{Backend: store, Workers: actions, Signals: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := e.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	id, err := e.Submit(ctx, engine.SubmitRequest{Program: program, Input: json.RawMessage(`{"order": 17}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		isNew, err := signal.Send(ctx, store, signal.Message{Instance: id, Name: "approved", Value: json.RawMessage(`"Ada"`), Key: "click 1"})
		fmt.Println("new:", isNew, err)
	}
	if _, err := e.Signal(ctx, id, "packed", nil, ""); err != nil {
		fmt.Println(err)
	}
	instance, err := e.Wait(ctx, id)
	fmt.Println(string(instance.Result), err)
	fmt.Println(e.Stop(ctx))
	// Output:
	// new: true <nil>
	// new: false <nil>
	// "Ada" <nil>
	// <nil>
}
