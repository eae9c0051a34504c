package worker_test

import (
	"context"
	"encoding/json"
	"fmt"

	"pulley/engine/backend"
	"pulley/engine/worker"
)

// ExampleRegister names a Go function for workflows to call.
func ExampleRegister() {
	type receipt struct {
		Order string `json:"order"`
		Cents int    `json:"cents"`
	}
	reg, err := worker.NewRegistry()
	if err != nil {
		fmt.Println(err)
		return
	}
	err = worker.Register(reg, "payments.charge", func(_ context.Context, args struct {
		Order string `json:"order"`
		Cents int    `json:"cents"`
	}) (receipt, error) {
		if args.Cents <= 0 {
			return receipt{}, &worker.Error{Type: "Declined", Message: "nothing to charge"} // retry and except see its type
		}
		return receipt{args.Order, args.Cents}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, args := range []string{`{"order": "o1", "cents": 250}`, `{"order": "o2", "cents": 0}`} {
		// An engine does this with a task that it has leased.
		result, failure := reg.Execute(context.Background(), backend.Task{Action: "payments.charge", Args: json.RawMessage(args), Attempt: 1})
		fmt.Printf("%s %v\n", result, failure)
	}
	// Output:
	// {"order":"o1","cents":250} <nil>
	//  Declined: nothing to charge (@payments.charge)
}
