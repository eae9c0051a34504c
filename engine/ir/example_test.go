package ir_test

import (
	"fmt"

	"pulley/engine/ir"
)

// An editor's formatter: Parse reads a program, and Print gives its canonical text.
func ExamplePrint() {
	const text = `
fn main(input:[order],output:[receipt]):
    # Money first.
    paid = @pay(order = order)  [ retry : 3 , backoff : 2s ] [timeout: 1m]
    receipt = @print(of=paid)
    return receipt
`
	program, err := ir.Parse("order.ir", []byte(text), ir.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(ir.Print(program))
	// Output:
	// fn main(input: [order], output: [receipt]):
	//     paid = @pay(order=order) [retry: 3, backoff: 2s] [timeout: 1m]
	//     receipt = @print(of=paid)
	//     return receipt
}

// An error names the place of the mistake, and what to write instead.
func ExampleParse_mistake() {
	_, err := ir.Parse("order.ir", []byte("fn main(input: [order], output: []):\n    for item of order:\n        @pack(item=item)\n"), ir.Limits{})
	fmt.Println(err)
	// Output:
	// order.ir:2:14: found of; write in, as in for x in xs:
}
