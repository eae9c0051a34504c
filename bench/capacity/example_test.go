package capacity_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"pulley/bench"
	"pulley/bench/capacity"
	"pulley/engine/backend/designs"
	"pulley/reports/record"
)

// How many instances a second does a design take while nine of ten end within a moment?
func ExampleFindKnee() {
	ctx := context.Background()
	cases, err := bench.Cases(bench.CaseOptions{Scenarios: []string{"fanout=10"}})
	if err != nil {
		log.Fatal(err)
	}
	backend, err := designs.Parse("push")
	if err != nil {
		log.Fatal(err)
	}
	testbed, err := bench.OpenTestbed(ctx, bench.TestbedSpec{Case: cases[0], Backend: backend, DSN: os.Getenv("PULLEY_DSN")})
	if err != nil {
		log.Fatal(err)
	}
	defer testbed.Close(ctx) //nolint:errcheck // the program ends
	knee, err := capacity.FindKnee(ctx, capacity.KneeSpec{
		Run: testbed.Run, InFlightMost: testbed.InFlight(), Seed: 1, MaxTime: 10 * time.Minute,
		Say: func(line string) { log.Print(line) },
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := record.WriteKnees(".", &record.KneeReport{Knees: []record.Knee{*knee}}); err != nil {
		log.Fatal(err)
	}
}

// A flag names what is scaled.
func ExampleParseAxis() {
	fmt.Println(capacity.ParseAxis("workers=1,2,4,8"))
	_, _, err := capacity.ParseAxis("engines=1,2")
	fmt.Println(err)
	// Output:
	// workers [1 2 4 8] <nil>
	// scale "engines=1,2": write workers=1,2,4,8,16 or connections=2,4,8,16
}
