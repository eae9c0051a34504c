package recovery_test

import (
	"fmt"
	"time"

	"pulley/chaos/fault"
	"pulley/chaos/recovery"
)

// An engine is killed in the third second of a run with a completion every 10 ms, and nothing is applied for a second.
func ExampleRun_Judge() {
	second := int64(time.Second)
	run := recovery.Run{
		Spans:    []recovery.Span{{Fault: fault.Fault{Kind: "process.kill"}, Begun: 3 * second, Over: 3 * second, Killed: "engine 1"}},
		Closed:   10 * second,
		Takeover: 2 * time.Second,
		Stalls:   &recovery.Stalls{},
	}
	for at := int64(0); at < 10*second; at += second / 100 {
		if at < 3*second || at > 4*second {
			run.Applied = append(run.Applied, at)
		}
	}
	fmt.Println(recovery.Text(run.Judge()))
	run.Stalls.Add(3*second, 4*second) // the machine had no time for the run
	fmt.Println(run.Stalls.Slow(3*second, 4*second), time.Duration(run.Stalls.Within(0, 10*second)))
	// Output:
	// to the first completion                      p50 1010 ms, p99 1010 ms, max 1010 ms (1 of 1 faults)
	//   to 95 % of the earlier rate (first 100/s)    p50 1010 ms, p99 1010 ms, max 1010 ms (1 of 1 faults)
	//
	// true 1s
}
