package chaos_test

import (
	"context"
	"log"
	"os"
	"time"

	"pulley/chaos"
	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/process"
)

// A program runs a scenario under faults. It is also the program of the engines, which the run starts and kills.
func ExampleRun() {
	ctx := context.Background()
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		if err := process.Engine(ctx, os.Stdin, os.Stdout, process.Hooks{}); err != nil {
			log.Fatal(err)
		}
		return
	}
	kinds, err := fault.Select([]string{"process", "wire"})
	if err != nil {
		log.Fatal(err)
	}
	c := cases.Case{Workloads: []cases.Workload{{Scenario: "fanout", Size: 10}}, Backend: "push", Seed: 1}.WithDefaults()
	c.Faults = c.Plan(kinds, time.Minute)
	result, err := chaos.Run(ctx, c, chaos.Config{Command: []string{os.Args[0], "engine"}, Progress: func(line string) { log.Print(line) }})
	if err != nil {
		log.Fatal(err)
	}
	log.Print(result.Text())
	if result.Verdict == chaos.Fail {
		if err := c.Save("failed.json"); err != nil {
			log.Fatal(err)
		}
	}
}
