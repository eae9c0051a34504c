package python_test

import (
	"context"
	"fmt"
	"log"

	"pulley/engine/ir"
	"pulley/python"
)

// A service compiles the Python workflow that its user gives, and completes the input by the type hints. This needs a python3,
// and nothing installed in it.
func ExampleInterpreter_Compile() {
	interpreter, err := python.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer interpreter.Close() //nolint:errcheck // the program ends
	ctx := context.Background()
	source, err := interpreter.Compile(ctx, "orders.py:Order")
	if err != nil {
		log.Fatal(err) // a line for each mistake, with its place
	}
	program, err := source.Parse("orders.py", ir.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	input, err := interpreter.Complete(ctx, "orders.py:Order", []byte(`{"id": "o1"}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s with %s:\n%s", source.Workflow, input, ir.Print(program))
	fmt.Println("its actions run in", interpreter.Worker("orders.py", 8))
}

// A command takes programs of both languages.
func ExampleSplitTarget() {
	for _, target := range []string{"orders.py:Order", "orders.py", "orders.ir"} {
		file, class, is := python.SplitTarget(target)
		fmt.Printf("%s: Python %t, file %q, class %q\n", target, is, file, class)
	}
	// Output:
	// orders.py:Order: Python true, file "orders.py", class "Order"
	// orders.py: Python true, file "orders.py", class ""
	// orders.ir: Python false, file "orders.ir", class ""
}
