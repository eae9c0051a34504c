package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"pulley/engine"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

const greetings = `
fn main(input: [names], output: [all]):
    all = spread names:name -> @greet(name=name)
    return all
`

// Example runs a workflow with an action in memory. With a backend on Postgres it would survive the process.
func Example() {
	ready, err := plan.CompileText("greetings.ir", []byte(greetings), ir.Limits{})
	if err != nil {
		log.Fatal(err)
	}

	actions, err := worker.NewRegistry(worker.Action{Name: "greet", Run: func(_ context.Context, call worker.Call) (any, error) {
		var args struct {
			Name string `json:"name"`
		}
		if err := call.Bind(&args); err != nil {
			return nil, err
		}
		return "hello, " + args.Name, nil
	}})
	if err != nil {
		log.Fatal(err)
	}
	store := memory.New(memory.Options{})
	defer store.Close()
	e, err := engine.New(engine.Config{Backend: store, Workers: actions, CheckActions: true})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.Start(ctx); err != nil {
		log.Fatal(err)
	}
	id, err := e.Submit(ctx, engine.SubmitRequest{Program: ready, Input: json.RawMessage(`{"names": ["Ada", "Grace"]}`)})
	if err != nil {
		log.Fatal(err)
	}
	instance, err := e.Wait(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(instance.Status, string(instance.Result))
	if err := e.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: completed ["hello, Ada","hello, Grace"]
}
