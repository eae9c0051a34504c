package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"pulley/engine/backend"
	"pulley/scenarios/wfformat"
)

// Distribution draws a duration, which must not be negative.
type Distribution func(r *rand.Rand) time.Duration

// Constant is always the same.
func Constant(d time.Duration) Distribution {
	return func(*rand.Rand) time.Duration { return d }
}

// Uniform is anything from lo to hi, hi included; lo where hi is not greater.
func Uniform(lo, hi time.Duration) Distribution {
	return func(r *rand.Rand) time.Duration {
		if hi <= lo {
			return lo
		}
		// The width of any two durations fits an unsigned number, and so does one more unless it is all of them.
		return lo + time.Duration(r.Uint64N(uint64(hi)-uint64(lo)+1))
	}
}

// Exponential is without memory: -mean · ln(1 - u), u uniform in [0,1).
func Exponential(mean time.Duration) Distribution {
	return func(r *rand.Rand) time.Duration {
		return time.Duration(min(float64(mean)*r.ExpFloat64(), float64(longest)))
	}
}

// longest bounds what the world adds to its clock at once, about a hundred years: that a run cannot
// reach the end of time.Duration.
const longest = math.MaxInt64 / 3

// Service gives how long an attempt takes.
type Service func(r *rand.Rand, task backend.Task) (time.Duration, error)

// Each draws every attempt's time from one distribution.
func Each(d Distribution) Service {
	return func(r *rand.Rand, _ backend.Task) (time.Duration, error) { return d(r), nil }
}

// Recorded is the run time that a trace's task carries in its arguments, times the scale that its
// graph was built with. Other actions have none, which is an error.
func Recorded(_ *rand.Rand, task backend.Task) (time.Duration, error) {
	if task.Action != wfformat.ActionTask {
		return 0, fmt.Errorf("action %s is no task of a trace, and has no recorded time", task.Action)
	}
	args, err := wfformat.ParseTask(task.Args)
	if err != nil {
		return 0, err
	}
	return args.Wait(), nil
}
