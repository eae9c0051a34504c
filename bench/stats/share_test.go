package stats_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"pulley/bench/stats"
)

// At each end of the interval, what was found or more, or less, has half of what is left of the confidence.
func TestShareInterval(t *testing.T) {
	for _, c := range []struct{ found, tries int }{{0, 20}, {1, 20}, {19, 20}, {20, 20}, {3, 100}, {0, 0}} {
		lo, hi := stats.ShareInterval(c.found, c.tries, 0.95)
		if c.found == 0 && lo != 0 || c.found == c.tries && hi != 1 || lo > hi {
			t.Errorf("%d of %d: from %v to %v", c.found, c.tries, lo, hi)
		}
		n := float64(c.tries)
		if c.found > 0 {
			if p := 1 - (distuv.Binomial{N: n, P: lo}).CDF(float64(c.found-1)); math.Abs(p-0.025) > 1e-6 {
				t.Errorf("%d of %d: with %v, so many or more have %v", c.found, c.tries, lo, p)
			}
		}
		if c.found < c.tries {
			if p := (distuv.Binomial{N: n, P: hi}).CDF(float64(c.found)); math.Abs(p-0.025) > 1e-6 {
				t.Errorf("%d of %d: with %v, so many or fewer have %v", c.found, c.tries, hi, p)
			}
		}
	}
}
