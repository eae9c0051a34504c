package inject_test

import (
	"fmt"
	"slices"

	"pulley/chaos/fault/inject"
)

// Of eight faults two are needed to show a bug. Runs of smaller plans find them.
func ExampleShrink() {
	plan, runs := []string{"cut", "kill", "stall", "cut", "pause", "slice", "delay", "cut"}, 0
	shows := func(plan []string) bool {
		runs++
		return slices.Contains(plan, "kill") && slices.Contains(plan, "pause")
	}
	inject.Shrink(len(plan), func(from, to int) bool {
		smaller := slices.Delete(slices.Clone(plan), from, to)
		if !shows(smaller) {
			return false
		}
		plan = smaller
		return true
	})
	fmt.Println(plan, "after", runs, "runs")
	// Output: [kill pause] after 11 runs
}
