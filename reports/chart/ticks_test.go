package chart

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pulley/reports/units"
)

// The library's own logarithmic ticks do not guarantee labels.
func TestAxesAlwaysHaveLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := math.Pow(10, rapid.Float64Range(-6, 12).Draw(t, "exponent"))
		hi := lo * math.Pow(10, rapid.Float64Range(0, 14).Draw(t, "decades"))
		if rapid.Bool().Draw(t, "one figure") {
			hi = lo
		}
		limit := rapid.IntRange(5, 9).Draw(t, "labels")
		from, to := logLimits(lo, hi)
		if from > lo*(1+2*sameStep) || to < hi*(1-2*sameStep) || to/from < 10*(1-1e-9) {
			t.Fatalf("limits %g … %g around %g … %g", from, to, lo, hi)
		}
		labels := map[string]bool{}
		shown := 0
		for _, tick := range (logTicker{units.None.Tick, limit}).Ticks(from, to) {
			if tick.Value < from*(1-1e-9) || tick.Value > to*(1+1e-9) {
				t.Fatalf("tick %g is outside of %g … %g", tick.Value, from, to)
			}
			if tick.Label != "" {
				labels[tick.Label] = true
				shown++
			}
		}
		if shown < 2 || shown > limit || len(labels) != shown {
			t.Fatalf("%d labels (%v), want 2 to %d, all different, on %g … %g", shown, labels, limit, from, to)
		}
	})
}
