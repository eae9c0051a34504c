package histogram_test

import (
	"fmt"
	"time"

	"pulley/bench/histogram"
)

// A histogram has the percentiles of latencies. Each worker has its own; they are merged at the end.
func ExampleHist() {
	all := histogram.New()
	for worker := range 4 {
		own := histogram.New()
		for ms := 1; ms <= 500; ms++ {
			own.Record(time.Duration(ms+worker) * time.Millisecond)
		}
		all.Merge(own)
	}
	p := all.Percentiles()
	fmt.Println(all.Count(), "latencies, median", time.Duration(p.P50).Round(time.Millisecond), "99th percentile", time.Duration(p.P99).Round(time.Millisecond))
	fmt.Println(all.Warnings())
	// Output:
	// 2000 latencies, median 252ms 99th percentile 497ms
	// []
}
