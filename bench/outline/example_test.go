package outline_test

import (
	"fmt"
	"log"

	"pulley/bench/outline"
	"pulley/engine/graph"
)

// Three actions that are alike are one node of the outline.
func ExampleOf() {
	b := graph.New("report", "day")
	day := graph.Arg{Name: "day", Value: graph.X("day")}
	north, south, west := b.Action("north", "count", day), b.Action("south", "count", day), b.Action("west", "count", day)
	sum := b.Action("sum", "add", day).After(north, south, west)
	b.Output("sum").After(sum)
	g, err := b.Build()
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range outline.Of(g, nil).Nodes {
		fmt.Println(n.Kind, n.Name, n.Nodes, n.Waits)
	}
	// Output:
	// input input 1 false
	// action count 3 false
	// action add 1 true
	// output output 1 false
}
