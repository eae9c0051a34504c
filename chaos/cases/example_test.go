package cases_test

import (
	"fmt"
	"time"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
)

// A case is a run as data: its plan of faults follows from its seed, and a file repeats it.
func ExampleCase_Plan() {
	c := cases.Case{Workloads: []cases.Workload{{Scenario: "fanout", Size: 10}}, Backend: "push", Seed: 7}.WithDefaults()
	kinds, err := fault.Select([]string{"process.kill", "process.pause"})
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Faults = c.Plan(kinds, 30*time.Second)
	fmt.Println(c.Engines, "engines, a lease of", c.Lease(), "and", len(c.Faults), "faults")
	fmt.Println("of the seed again:", fmt.Sprint(c.Plan(kinds, 30*time.Second)) == fmt.Sprint(c.Faults))
	c.Backend = "memory"
	fmt.Println(c.Validate())
	// Output:
	// 2 engines, a lease of 2s and 15 faults
	// of the seed again: true
	// backend memory keeps nothing over a crash; name one that is on Postgres
}
