package dist_test

import (
	"fmt"
	"time"

	"pulley/scenarios/dist"
)

// A simulator draws how long a step takes from what its user writes. The number of a step depends only on the step's name and
// the seed, in whatever order steps draw.
func ExampleParse() {
	law, err := dist.Parse("mix:90%=uniform:1ms..3ms|10%=const:1s", dist.Durations, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("mean %s, %.0f %% above 10ms\n", time.Duration(law.Mean()).Round(time.Millisecond), 100*law.Above(int64(10*time.Millisecond)))
	draw := func(step string, attempt int) time.Duration {
		return time.Duration(law.Draw(dist.NewKey().Text(step).Number(attempt).Rand(42)))
	}
	first := draw("pay", 1)
	draw("pack", 1)
	fmt.Println("the same again:", draw("pay", 1) == first)
	// Output:
	// mean 102ms, 10 % above 10ms
	// the same again: true
}
