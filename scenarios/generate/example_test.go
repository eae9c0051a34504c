package generate_test

import (
	"fmt"

	"pulley/engine/ir"
	"pulley/scenarios/generate"
)

// A test of a scheduler needs a workflow of a shape and a size. The reference interpreter knows the program's result.
func ExampleShape_Write() {
	shape, err := generate.Find("chain")
	if err != nil {
		fmt.Println(err)
		return
	}
	workflow, err := shape.Write(generate.Values{Numbers: map[string]int{"steps": 3}}, 7, ir.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(workflow.Source)
	// Output:
	// fn main(input: [start], output: [value]):
	//     value = start
	//     value = @add(a=value * 3 % 1000003, b=1)
	//     value = @add(a=value * 3 % 1000003, b=2)
	//     value = @add(a=value * 3 % 1000003, b=3)
	//     return value
}
