package search_test

import (
	"context"
	"fmt"
	"time"

	"pulley/sim/cases"
	"pulley/sim/explore/search"
)

// A search plays seeds on all processors. What it finds is made smaller, and saved as a case.
func ExampleSearch_Do() {
	found, err := search.Search{Backend: "push", Bug: "acknowledged-before-commit", From: 0, To: 63}.Do(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	if found.Bad == nil {
		fmt.Println("no seed violates an invariant")
		return
	}
	bug, _ := cases.BugOf("push", "acknowledged-before-commit")
	fmt.Println("by an invariant of the bug:", bug.FoundBy(found.Why[0]))
	small, why := search.Shrink(*found.Bad, found.Why, time.Second)
	fmt.Println("smaller:", len(small.Faults) <= len(found.Bad.Faults), "the same invariant:", cases.InvariantOf(why[0]) == cases.InvariantOf(found.Why[0]))
	// Output:
	// by an invariant of the bug: true
	// smaller: true the same invariant: true
}
