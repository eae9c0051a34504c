package load

import (
	"time"
)

// mserBatch is the number of observations per MSER-5 batch.
const mserBatch = 5

// WarmUpEnd returns the first observation of the steady state, of latencies in the order of intended times: with y the means of
// five neighbours each, and m of those, the beginning d that minimises
//
//	MSER(d) = Σ (y(i) − mean)² / (m − d)²  over i = d … m − 1,
//
// the square of the standard error of the rest. (White, Simulation 69(6), 1997: MSER-5.) d is sought in the first half only; if
// the minimum is at the end of that, the latencies are not steady, and ok is false. With fewer than fifty it returns the first
// and false.
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
	// Backwards: mean and squares of the rest, by Welford's recurrence.
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
