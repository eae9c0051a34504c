package explore_test

import (
	"fmt"

	"pulley/sim/explore"
)

// Seeds of one design are played until one violates an invariant; here a bug is planted.
func ExampleDrawing() {
	drawing := explore.Drawing{Backend: "push"}
	defer drawing.Close()
	for seed := uint64(0); seed < 200; seed++ {
		c, program, err := drawing.Case(seed)
		if err != nil {
			fmt.Println(err)
			return
		}
		c.Bug = "lease-not-fenced"
		result := program.Play(c)
		if len(result.Violations) == 0 {
			continue
		}
		again, trace, err := explore.Replay(c)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("found within 200 seeds; again the same:", again.Hash == result.Hash, "with a trace:", len(trace.Steps) > 0)
		return
	}
	// Output:
	// found within 200 seeds; again the same: true with a trace: true
}
