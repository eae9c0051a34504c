package record_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"pulley/reports/record"
)

// A tool reads what pulley compare has written, and compares two backends by a figure of its own.
func ExampleReadSummary() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary directory
	rows, untimed := func(n float64) *float64 { return &n }, []string{"only rows were counted"}
	if err := record.WriteSummary(dir, &record.Summary{Rows: []record.Row{ // pulley compare does this
		{Scenario: "fanout", Backend: "push", Size: 100, Nodes: 100, Runs: 5, RowsReadPerNode: rows(3), Valid: true, Warnings: untimed},
		{Scenario: "fanout", Backend: "pull", Size: 100, Nodes: 100, Runs: 5, RowsReadPerNode: rows(104), Valid: true, Warnings: untimed},
	}}); err != nil {
		log.Fatal(err)
	}
	summary, err := record.ReadSummary(filepath.Join(dir, "summary.json"))
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range summary.Rows {
		if row.Valid && row.RowsReadPerNode != nil {
			fmt.Printf("%s: %.0f rows read for an instance\n", row.Key(), *row.RowsReadPerNode*float64(row.Nodes))
		}
	}
	// Output:
	// fanout/push/100: 300 rows read for an instance
	// fanout/pull/100: 10400 rows read for an instance
}
