package pressure_test

import (
	"context"
	"log"
	"os"
	"time"

	"pulley/bench/pressure"
	"pulley/scenarios"
)

// A benchmark of one's own runs while a report holds a transaction open, and with the round trips of another data centre.
func ExampleStart() {
	ctx := context.Background()
	production := scenarios.Pressure{HeldTransaction: true, Readers: 2, ReadEvery: time.Second, RoundTrip: 2 * time.Millisecond}
	on, err := pressure.Start(ctx, production, pressure.Site{DSN: os.Getenv("PULLEY_DSN"), Schema: "pulley_push"})
	if err != nil {
		log.Fatal(err)
	}
	log.Print("the engines connect to ", on.DSN())
	// What is measured runs here.
	report, err := on.Stop(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if len(report.Missing) > 0 {
		log.Fatal("the figures mean nothing: ", report.Missing)
	}
	log.Printf("a transaction was held for %d others; tables were read %d times", report.HeldAge, report.Reads)
}
