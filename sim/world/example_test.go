package world_test

import (
	"fmt"
	"io"
	"os"

	"pulley/sim/cases"
	"pulley/sim/world"
)

// A program that plays a world with a trace can write what happened, line by line or as a drawing.
func ExampleTrace() {
	var drawn cases.Programs
	program, err := drawn.Of(1, "push")
	if err != nil {
		fmt.Println(err)
		return
	}
	trace := world.NewTrace(cases.Draw(1, "push", program), program)
	trace.Steps = []world.Step{ // a world does this while it is played
		{At: 1_000_000, What: world.Began, Who: 0},
		{At: 2_000_000, What: world.Died, Who: 0},
	}
	if err := trace.Write(os.Stdout); err != nil {
		fmt.Println(err)
	}
	fmt.Println(trace.SVG(io.Discard))
	fmt.Println("a design without owners has such steps:", world.Owns.Of("push"), world.Owns.Of("journal"))
	// Output:
	// 1          1ms  e0       process begins, incarnation 0
	//      2          2ms  e0       process dies, incarnation 0
	// <nil>
	// a design without owners has such steps: false true
}
