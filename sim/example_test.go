package sim_test

import (
	"encoding/json"
	"fmt"
	"time"

	"pulley/engine/plan"
	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
	"pulley/sim"
)

// A trace of a hundred tasks with recorded times runs on four workers: minutes of virtual time in a moment of real time.
func Example() {
	trace, err := wfformat.Generate(wfformat.Scatter, 100, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	scenario, err := scenarios.Find("trace")
	if err != nil {
		fmt.Println(err)
		return
	}
	workload, err := scenario.Build(0, scenarios.Options{Trace: trace, TimeScale: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := sim.Run(sim.Config{
		Seed: 7, Workload: workload, Workers: 4,
		Service: sim.Recorded, Latency: dist.Constant(2 * time.Millisecond),
		Act: func(_ string, args json.RawMessage, _ int) (json.RawMessage, *plan.Failure) {
			task, err := wfformat.ParseTask(args)
			if err != nil {
				return nil, &plan.Failure{Type: "Error", Message: err.Error()}
			}
			return fmt.Appendf(nil, "%d", task.Value()), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	bounds, err := sim.Bound(sim.TraceJobs(trace, 1), 1, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Instances[0].Status, "with", len(result.Violations), "violations")
	fmt.Println("not faster than possible:", result.Makespan >= bounds.Lower)
	fmt.Println("workers busy most of the time:", result.Utilisation > 0.5)
	// Output:
	// completed with 0 violations
	// not faster than possible: true
	// workers busy most of the time: true
}
