package process_test

import (
	"context"
	"log"
	"os"
	"time"

	"pulley/chaos/cases"
	"pulley/chaos/process"
)

// An engine is started in a process of its own, and killed once it works. The program is also that of the engine.
func ExampleStart() {
	ctx := context.Background()
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		if err := process.Engine(ctx, os.Stdin, os.Stdout, process.Hooks{}); err != nil {
			log.Fatal(err)
		}
		return
	}
	c := cases.Case{Workloads: []cases.Workload{{Scenario: "chain", Size: 10}}, Backend: "push"}.WithDefaults()
	setup := process.Setup{Case: c.ForEngines(), DSN: os.Getenv("PULLEY_DSN"), Source: "engine 0"}
	heard := func(p *process.Process, line []byte) { log.Printf("%s: %s", p.Source(), line) }
	p, err := process.Start(ctx, process.LaunchChild([]string{os.Args[0], "engine"}), setup, heard, func(*process.Process) {})
	if err != nil {
		log.Fatal(err)
	}
	select {
	case <-p.Ready():
		err = p.Signal(os.Kill)
	case <-p.Exited():
	case <-time.After(time.Minute):
		p.Finish()
	}
	<-p.Exited()
	log.Print(err, p.Err(), p.Complaint())
}
