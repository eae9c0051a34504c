package verdicts_test

import (
	"fmt"

	"pulley/reports/record"
	"pulley/reports/verdicts"
)

// A search in simulated worlds that found nothing, and did not meet everything.
func ExampleSim() {
	p := verdicts.Sim(&verdicts.SimRecord{Sim: &record.Sim{Searches: []record.SimSearch{
		{Backend: "journal", Seeds: 10_000, Steps: 4_000_000, Faults: map[string]int{"cut": 70_000}, Never: []string{"fault: stuck"}},
	}}})
	fmt.Println(p.Answer)
	fmt.Println(p.State.Mark.Sign(), p.State.Text)
	// Output:
	// No invariant is violated in 10,000 seeds of 1 search.
	// ~ no violation, but 1 kind of steps and faults never happened
}
