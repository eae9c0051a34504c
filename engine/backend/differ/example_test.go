package differ_test

import (
	"context"
	"encoding/json"
	"fmt"

	"pulley/engine/backend/differ"
	"pulley/engine/backend/memory"
	"pulley/engine/ir/programs"
)

// The author of a backend runs a program on it, with completions offered twice and tasks lost, and learns how the run differs
// from what the text says.
func ExampleRun() {
	store := memory.New(memory.Options{})
	defer store.Close()
	c := differ.Case{
		Program: programs.Program{
			Source: `
fn main(input: [xs], output: [total]):
    twice = spread xs:x -> @double(value=x)
    total = @sum(values=twice)
    return total
`,
			Input: json.RawMessage(`{"xs": [1, 2, 3]}`),
		},
		Schedule: differ.Schedule{Seed: 7, Batch: 2, Duplicates: 50},
	}
	report, err := differ.Run(context.Background(), c, differ.Store{Backend: store, Leftovers: store.Leftovers})
	if err != nil {
		fmt.Println("the backend is wrong:", err)
		return
	}
	fmt.Println(report.Status, "as the text says, after", report.Calls, "calls")
	// Output:
	// completed as the text says, after 4 calls
}
