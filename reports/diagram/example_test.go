package diagram_test

import (
	"fmt"

	"pulley/reports/diagram"
)

// A graph of three nodes in a row, from left to right.
func ExampleLay() {
	box := diagram.Size{W: 40, H: 20}
	l := diagram.Lay(diagram.Graph{
		Sizes: []diagram.Size{box, box, box}, Edges: []diagram.Edge{{From: 0, To: 1}, {From: 1, To: 2}},
	}, diagram.Options{Across: true, Layers: 30, Nodes: 10})
	fmt.Println(l.W, l.H, l.Boxes)
	// Output:
	// 180 20 [{20 10 40 20} {90 10 40 20} {160 10 40 20}]
}
