package own_test

import (
	"fmt"
	"log"

	"pulley/adapter/own"
	"pulley/adapter/protocol"
)

// An adapter's program is func main() { adapter.Main(system) }.
func ExampleNew() {
	system, err := own.New("pull:scan=sql", "1.0")
	if err != nil {
		log.Fatal(err)
	}
	h := system.Describe()
	fmt.Println(h.System, h.SystemVersion, h.Shapes, h.Promises.Results)
	// Output:
	// pulley pull:scan=sql 1.0 [single graph repeat retries] once
}

// A workload becomes a program with a node for each task.
func ExampleProgram() {
	pair := &protocol.Workload{Name: "pair", Tasks: []protocol.Task{{Name: "a"}, {Name: "b", Needs: []string{"a"}}}, Result: "b"}
	program, err := own.Program(pair)
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range program.Graph().Nodes {
		fmt.Println(n.Name, "is an", n.Kind)
	}
	// Output:
	// input is an input
	// t1 is an action
	// t2 is an action
	// output is an output
}
