package scenarios_test

import (
	"fmt"

	"pulley/scenarios"
)

// A workload has all that a run needs, and its expected result.
func ExampleFind() {
	s, err := scenarios.Find("fanout")
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := s.Build(10, scenarios.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Nodes, "nodes of", w.Actions)
	fmt.Println(string(w.Input), "gives", string(w.Expected))

	_, err = s.Build(1, scenarios.Options{})
	fmt.Println(err)
	// Output:
	// 10 nodes of [double items sum]
	// {"width":8} gives 56
	// fanout: size 1: the smallest size is 2 (nodes, the first and the last included)
}
