package reference_test

import (
	"encoding/json"
	"fmt"

	"pulley/engine/ir"
	"pulley/engine/reference"
)

// The interpreter gives a workflow's right result, and the calls on the way to it. A test compares both with what an engine
// did.
func ExampleInterpret() {
	const text = `
fn main(input: [prices], output: [total]):
    gross = spread prices:price -> @tax(price=price)
    total = sum(gross)
    return total
`
	program, err := ir.Parse("prices.ir", []byte(text), ir.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	tax := reference.OnJSON(ir.Limits{}, func(_ string, args json.RawMessage, _ int) (json.RawMessage, *reference.Error) {
		var given struct{ Price int }
		if err := json.Unmarshal(args, &given); err != nil {
			return nil, &reference.Error{Type: "TypeError", Message: err.Error()}
		}
		return fmt.Appendf(nil, "%d", given.Price*6/5), nil
	})
	outcome := reference.Interpret(program, json.RawMessage(`{"prices": [10, 20]}`), tax, reference.Options{})
	fmt.Println(outcome.Describe())
	for _, call := range outcome.Calls {
		fmt.Println(call.Key(), "gives", call.Result)
	}
	fmt.Println(outcome.Differs(reference.End{Status: reference.Completed, Result: json.RawMessage("35")}))
	// Output:
	// completed with 36
	// @tax at [0] {"price":10} gives 12
	// @tax at [1] {"price":20} gives 24
	// result 35; the reference interpreter gives 36
}
