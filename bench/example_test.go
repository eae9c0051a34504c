package bench_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"pulley/bench"
	"pulley/engine/backend/designs"
)

// A comparison runs a workload on backends in turn, checks every result, and keeps a record that reports read. Backends on
// Postgres also need a DSN.
func ExampleCompare() {
	cases, err := bench.Cases(bench.CaseOptions{Scenarios: []string{"fanout=10"}})
	if err != nil {
		log.Fatal(err)
	}
	backends, err := designs.ParseAll([]string{"memory"})
	if err != nil {
		log.Fatal(err)
	}
	found, err := bench.Compare(context.Background(), bench.CompareConfig{
		Cases: cases, Backends: backends, Runs: 2, Workers: 8, InFlight: 4, MinNodes: 200,
	})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "comparison")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary directory
	fmt.Println(cases[0], "is valid:", found.Valid(), found.Write(dir))
	// Output:
	// fanout 10 is valid: true <nil>
}
