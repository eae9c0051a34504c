package load

import (
	"time"
)

// mserBatch is how many observations MSER-5 takes together.
const mserBatch = 5

// WarmUpEnd finds the observation from which on latencies, in the order of the intended times, are best taken for those of a
// steady state: with y the means of five neighbours each, and m of those, the beginning d that minimises
//
//	MSER(d) = Σ (y(i) − mean)² / (m − d)²  over i = d … m − 1,
//
// the square of the standard error of what is left. (White, Simulation 69(6), 1997: MSER-5.) d is sought in the first half
// only; where the smallest one lies at the end of that, the latencies did not settle, and ok is false. It is false, and the
// first observation is given, where there are fewer than fifty.
func WarmUpEnd(latencies []time.Duration) (first int, ok bool) {
	const least = 10
	m := len(latencies) / mserBatch
	if m < least {
		return 0, false
	}
	y := make([]float64, m)
	for i := range y {
		for _, l := range latencies[i*mserBatch : (i+1)*mserBatch] {
			y[i] += l.Seconds() / mserBatch
		}
	}
	// From the back: mean and squares of what is left, by Welford's recurrence.
	best, at := 0.0, -1
	mean, squares, n := 0.0, 0.0, 0.0
	half := m / 2
	for d := m - 1; d >= 0; d-- {
		n++
		delta := y[d] - mean
		mean += delta / n
		squares += delta * (y[d] - mean)
		if d > half {
			continue
		}
		if err := squares / (n * n); at < 0 || err <= best {
			best, at = err, d
		}
	}
	return at * mserBatch, at < half
}
