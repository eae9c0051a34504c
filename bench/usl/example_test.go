package usl_test

import (
	"fmt"

	"pulley/bench/usl"
)

// Throughputs with 1 to 32 workers: how many should there be?
func ExampleFitLaw() {
	var runs []usl.Point
	for i, n := range []float64{1, 2, 4, 8, 16, 32, 1, 2, 4, 8, 16, 32} {
		noise := 1 + 0.01*float64(i%3-1)
		runs = append(runs, usl.Point{N: n, PerS: noise * usl.Law{Lambda: 1000, Sigma: 0.05, Kappa: 0.002}.At(n)})
	}
	fit, err := usl.FitLaw(runs, usl.Options{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f workers do most, %.0f a second; with 64 it would be %.0f\n", fit.Peak(), fit.Highest(), fit.At(64))
	fmt.Println("that there is a peak is shown:", fit.Determined)
	// Output:
	// 22 workers do most, 7416 a second; with 64 it would be 5393
	// that there is a peak is shown: true
}
