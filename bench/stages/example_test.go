package stages_test

import (
	"fmt"
	"time"

	"pulley/bench/stages"
	"pulley/engine/graph"
)

// An executor of one's own notes when a node run passes, and the recorder shows where the time went.
func ExampleRecorder() {
	recorder := stages.New(time.Second, 1, 1)
	ms := func(n int64) int64 { return n * int64(time.Millisecond) }
	page := recorder.Page(0)
	page.Store(ms(1))
	for node, at := graph.NodeID(0), int64(2); node < 2; node, at = node+1, at+30 {
		run := graph.Run{Node: node}
		page.Lease(run, ms(at))
		page.Start(run, ms(at+4))
		page.Finish(run, ms(at+24))
		page.Commit(run, ms(at+29))
	}
	for _, stage := range stages.All() {
		over := recorder.Over(stage, 0, 1)
		fmt.Printf("%s: %d node runs, %s in the mean\n", stage, over.Count, over.Mean.Round(time.Millisecond))
	}
	// Output:
	// leased: 2 node runs, 1ms in the mean
	// started: 2 node runs, 4ms in the mean
	// finished: 2 node runs, 20ms in the mean
	// committed: 2 node runs, 5ms in the mean
}
