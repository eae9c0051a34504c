package workload_test

import (
	"fmt"
	"strings"

	"pulley/adapter/workload"
	"pulley/scenarios"
)

// A fan-out of three becomes five tasks, each with what it needs.
func ExampleOf() {
	s, err := scenarios.Find("fanout")
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := s.Build(5, scenarios.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := workload.Of(&w, workload.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, task := range g.Tasks {
		fmt.Printf("%s: [%s]\n", task.Name, strings.Join(task.Needs, ", "))
	}
	fmt.Println("the result is that of", g.Result)
	// Output:
	// items: []
	// double[0]: [items]
	// double[1]: [items]
	// double[2]: [items]
	// sum: [double[0], double[1], double[2]]
	// the result is that of sum
}
