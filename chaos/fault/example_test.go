package fault_test

import (
	"fmt"
	"time"

	"pulley/chaos/fault"
)

// A test of another system draws a plan of faults by the words of its user.
func ExampleDraw() {
	_, err := fault.Select([]string{"process.kil"})
	fmt.Println(err)
	kinds, err := fault.Select([]string{"process.kill", "process.pause"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, kind := range kinds {
		fmt.Println(kind.Name, "of group", kind.Group())
	}
	for _, planned := range fault.Draw(1, kinds, 4, 2, fault.Timing{Lease: 2 * time.Second, Call: 2 * time.Second}) {
		fmt.Println(planned)
	}
	// Output:
	// there is no fault "process.kil", did you mean "process.kill"?
	// process.kill of group process
	// process.pause of group process
	// process.pause engine=0 hold_ms=3993
	// process.kill engine=0
	// process.pause engine=1 hold_ms=2283
	// process.kill engine=0
}
