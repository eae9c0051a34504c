package load

import (
	"fmt"
	"math/rand/v2"
	"time"

	"pulley/scenarios/arrivals"
)

// RequestsMax bounds the requests of a run, whose results are kept until its end.
const RequestsMax = 2_000_000

// NewSchedule returns an open process's intended times before the end, in order. Evenly spaced processes ignore the seed. The
// error is the user's: the process is closed, or has no or too many arrivals.
func NewSchedule(a arrivals.Arrivals, end time.Duration, seed uint64) ([]time.Duration, error) {
	if !a.Open() {
		return nil, fmt.Errorf("arrivals %s: a closed process has no times of its own", a)
	}
	if n := a.Expected(end); n > RequestsMax {
		return nil, fmt.Errorf("arrivals %s: %.0f requests in %v; a run has %d at most: choose a lower rate or a shorter run", a, n, end, RequestsMax)
	}
	seq := a.Start(rand.New(rand.NewPCG(seed, arrivalsStream)))
	var times []time.Duration
	for {
		at, ok := seq.Next()
		if !ok || at >= end || len(times) == RequestsMax {
			break
		}
		times = append(times, at)
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("arrivals %s: nothing arrives within %v; choose a higher rate or a longer run", a, end)
	}
	return times, nil
}

// arrivalsStream separates the draws of arrivals from others of the same seed.
const arrivalsStream = 0x6172726976616c73
