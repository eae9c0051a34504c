package changepoint_test

import (
	"fmt"

	"pulley/bench/changepoint"
)

// From which night on is a figure of each night's run another one?
func ExampleFind() {
	var nights []float64
	for night := range 40 {
		noise := float64(night*7%5) / 10
		if night < 25 {
			nights = append(nights, 10+noise)
		} else {
			nights = append(nights, 12+noise)
		}
	}
	found, err := changepoint.Find(nights, changepoint.FindOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, change := range found {
		fmt.Printf("night %d: from %.1f to %.1f, which is %.0f %%\n", change.Index, change.Before.Mean, change.After.Mean, 100*change.Magnitude())
	}
	// Output:
	// night 25: from 10.2 to 12.2, which is 20 %
}
