package cases_test

import (
	"fmt"

	"pulley/sim/cases"
)

// A seed gives the case of a world: program, engines, faults. The case is data, which a file keeps when the generator has changed.
func ExampleDraw() {
	var drawn cases.Programs
	program, err := drawn.Of(11, "push")
	if err != nil {
		fmt.Println(err)
		return
	}
	c := cases.Draw(11, "push", program)
	again := cases.Draw(11, "push", program)
	fmt.Println("valid:", c.Validate(), "the same again:", fmt.Sprint(c) == fmt.Sprint(again))

	bug, ok := cases.BugOf("push", "lease-not-fenced")
	fmt.Println(ok, bug.What, "is found by", bug.Invariants)
	c.Bug = bug.Name
	c.Engines = 0
	fmt.Println(c.Validate())
	// Output:
	// valid: <nil> the same again: true
	// true who takes a lease over has the token of the holder before is found by I11
	// cases: engines is 0, must be at least 1
}
