package gantt_test

import (
	"fmt"
	"strings"
	"time"

	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/sim"
	"pulley/sim/gantt"
)

// A forecast is drawn: what do three workers do with a fan-out, and when could it have ended at best?
func ExampleChart_Write() {
	scenario, err := scenarios.Find("fanout")
	if err != nil {
		fmt.Println(err)
		return
	}
	workload, err := scenario.Build(10, scenarios.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := sim.Run(sim.Config{Seed: 1, Workload: workload, Workers: 3, Service: sim.Each(dist.Constant(time.Second))})
	if err != nil {
		fmt.Println(err)
		return
	}
	var svg strings.Builder
	chart := gantt.Chart{Title: "a fan-out on three workers", Workers: 3, Result: result, Marks: []gantt.Mark{{At: 5 * time.Second, Name: "at best"}}}
	if err := chart.Write(&svg, "svg"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("it takes", result.Makespan, "and the drawing says so:", strings.Contains(svg.String(), "at best"))
	// Output:
	// it takes 5s and the drawing says so: true
}
