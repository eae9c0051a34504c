package arrivals_test

import (
	"fmt"
	"time"

	"pulley/scenarios/arrivals"
)

// A load test of one's own takes the process as text, and offers requests at the times that it intends.
func ExampleParse() {
	load, err := arrivals.Parse("steps:2/s*2s,4/s", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(load, "brings", load.Expected(4*time.Second), "requests in 4 s,", load.MeanRate(2*time.Second, 4*time.Second), "a second at the end")
	times := load.Start(nil) // evenly spaced: nothing is drawn
	var first []time.Duration
	for range 6 {
		at, _ := times.Next()
		first = append(first, at)
	}
	fmt.Println(first)
	_, err = arrivals.Parse("poison:200/s", nil)
	fmt.Println(err)
	// Output:
	// steps:2/s*2s,4/s brings 12 requests in 4 s, 4 a second at the end
	// [250ms 750ms 1.25s 1.75s 2.125s 2.375s]
	// arrivals "poison:200/s": there is no process "poison"; did you mean poisson?
}
