package history_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"pulley/bench/history"
	"pulley/reports/record"
)

// A nightly job appends what it measured, and asks whether something has become worse of late.
func ExampleAnalyze() {
	dir, err := os.MkdirTemp("", "history")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary directory
	file := filepath.Join(dir, history.FileName)
	for night := range 30 {
		ns := 1000 + float64(night*7%5)
		if night >= 24 {
			ns *= 1.2
		}
		if _, err := history.Append(file, []history.Run{{
			Time: time.Date(2026, 1, 1+night, 3, 0, 0, 0, time.UTC), Revision: fmt.Sprintf("%040d", night), Host: record.Host{CPU: "a CPU", Cores: 8},
			Scenario: "chain", Repetitions: 5, Figures: []history.Figure{{Name: "hop_p50_ns", Value: ns, Better: "lower"}},
		}}); err != nil {
			log.Fatal(err)
		}
	}
	runs, _, err := history.Read(file)
	if err != nil {
		log.Fatal(err)
	}
	for _, series := range history.Group(runs) {
		finding, err := history.Analyze(series, history.Options{})
		if err != nil {
			log.Fatal(err)
		}
		for _, change := range finding.Changes {
			fmt.Printf("%s is %s from %s on: %.2f times as much\n", finding.Name(), change.Direction, change.After.Time.Format(time.DateOnly), change.Ratio.Estimate)
		}
		fmt.Println(history.Spark(finding.Values, 15))
	}
	// Output:
	// chain hop_p50_ns is worse from 2026-01-25 on: 1.20 times as much
	// ▁▁▁▁▁▁▁▁▁▁▁▁███
}
