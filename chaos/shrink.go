package chaos

import (
	"context"
	"slices"
	"time"

	"pulley/chaos/cases"
	"pulley/chaos/fault/inject"
)

// Shrink looks for a smaller case that fails by one of the same invariants: with fewer faults, workloads and instances in flight.
// It returns the result of the smallest that failed before most had passed, or else failed. A smaller case may have passed by
// chance. A case of growth is not shrunk, because it takes a soak's whole time.
func Shrink(ctx context.Context, failed *Result, cfg Config, most time.Duration) *Result {
	if slices.Equal(failed.Invariants(), []string{growth}) {
		return failed
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return shrink(failed, func(c cases.Case) *Result {
		if ctx.Err() != nil {
			return nil
		}
		cfg.say("shrinking: %d faults, %d workloads, %d instances in flight", len(c.Faults), len(c.Workloads), c.InFlight)
		res, err := Run(ctx, c, cfg)
		if err != nil {
			return nil
		}
		return res
	})
}

// shrinkTries is how often a smaller case must pass to count as passing.
const shrinkTries = 2

// shrink tries smaller cases with a function that runs one; nil: there was no run.
func shrink(failed *Result, try func(cases.Case) *Result) *Result {
	best := failed
	fails := func(c cases.Case) bool {
		for range shrinkTries {
			res := try(c)
			if res != nil && res.Verdict == Fail && slices.ContainsFunc(res.Invariants(), func(i string) bool { return slices.Contains(failed.Invariants(), i) }) {
				best = res
				return true
			}
		}
		return false
	}
	inject.Shrink(len(best.Case.Faults), func(from, to int) bool {
		c := best.Case
		c.Faults = slices.Delete(slices.Clone(c.Faults), from, to)
		return fails(c)
	})
	for i := 0; len(best.Case.Workloads) > 1 && i < len(best.Case.Workloads); {
		c := best.Case
		c.Workloads = slices.Delete(slices.Clone(c.Workloads), i, i+1)
		if !fails(c) {
			i++
		}
	}
	for best.Case.InFlight > 1 {
		c := best.Case
		c.InFlight /= 2
		if !fails(c) {
			break
		}
	}
	return best
}
