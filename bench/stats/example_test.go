package stats_test

import (
	"fmt"

	"pulley/bench/stats"
)

// Two programs ran in turn, eight times each. The pairs tell that the candidate is slower, although the machine was slower
// still in the second half.
func ExampleComparePairs() {
	before := []float64{100, 103, 99, 101, 150, 155, 149, 152}
	after := []float64{110, 112, 109, 113, 166, 169, 163, 167}
	test, err := stats.ComparePairs(before, after)
	if err != nil {
		fmt.Println(err)
		return
	}
	in := test.Interval(0.95)
	fmt.Printf("%.2f times as long, from %.2f to %.2f, p %.3f\n", test.Estimate(), in.Lo, in.Hi, test.P())
	verdict := stats.Judge([]stats.Question{{Test: test, Margin: 0.03}}, 0.05)[0]
	fmt.Println(verdict.Decision)

	groups, err := stats.CompareGroups(before, after) // without the pairs
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stats.Judge([]stats.Question{{Test: groups, Margin: 0.03}}, 0.05)[0].Decision)
	// Output:
	// 1.10 times as long, from 1.09 to 1.11, p 0.008
	// worse
	// unclear
}

// The 99th percentile needs many requests before anything encloses it.
func ExampleQuantileNeeds() {
	fmt.Println(stats.QuantileNeeds(0.99, 0.95))
	fmt.Println(stats.QuantileRanks(1000, 0.99, 0.95))
	fmt.Println(stats.QuantileRanks(100, 0.99, 0.95))
	// Output:
	// 368
	// 983 997 true
	// 0 0 false
}
