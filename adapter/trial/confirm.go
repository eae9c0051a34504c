package trial

import (
	"context"
	"slices"
	"time"

	"pulley/adapter/judge"
	"pulley/chaos/fault/inject"
)

// Finding is the outcome of a case that was repeated.
type Finding struct {
	First     *Result `json:"first"`
	Smallest  *Result `json:"smallest,omitempty"` // the violating run with the fewest faults; nil: First violated nothing
	Repeats   int     `json:"repeats"`            // of the first case
	Confirmed int     `json:"confirmed"`          // of these violated a rule that First violated

	Interrupted bool `json:"interrupted,omitempty"` // not all repetitions and smaller cases were run
}

// Outcome returns the first run's verdict. A violation that was not seen again is inconclusive.
func (f *Finding) Outcome() judge.Result {
	if f.First.Outcome() == judge.Breaks && f.Confirmed == 0 {
		return judge.Inconclusive
	}
	return f.First.Outcome()
}

// repeatsMax is how often a violating case is repeated until it violates again.
const repeatsMax = 3

// Confirm runs a case. If it violates a promise, Confirm repeats it until it does so again, and then looks for a smaller case
// that does, for most at the longest. The error is of the first run, or of ctx. If ctx ends after a violation, Confirm also
// returns what it has found until then.
func Confirm(ctx context.Context, c Case, cfg Config, most time.Duration) (*Finding, error) {
	return confirm(ctx, c, most, cfg.say, func(ctx context.Context, c Case) (*Result, error) { return Run(ctx, c, cfg) })
}

func confirm(ctx context.Context, c Case, most time.Duration, say func(format string, args ...any), run func(context.Context, Case) (*Result, error)) (*Finding, error) {
	first, err := run(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Kinds != nil {
		c = first.Case // which has the plan
	}
	f := &Finding{First: first}
	if first.Outcome() != judge.Breaks {
		return f, nil
	}
	f.Smallest = first
	say("it breaks its promises: %v; the case is repeated", first.Rules())
	c.QuietMS = 0 // measured once
	again := func(ctx context.Context, c Case) bool {
		found, err := run(ctx, c)
		if err != nil || !sharesRule(first, found) {
			return false
		}
		f.Smallest = found
		return true
	}
	for f.Confirmed == 0 && f.Repeats < repeatsMax {
		confirmed := again(ctx, c)
		if !confirmed && ctx.Err() != nil {
			break
		}
		f.Repeats++
		if confirmed {
			f.Confirmed++
		}
	}
	if f.Confirmed > 0 && most > 0 {
		say("it does so again; a smaller case is looked for")
		shrinking, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		shrink(shrinking, c, again)
	}
	if f.Interrupted = ctx.Err() != nil; f.Interrupted {
		return f, context.Cause(ctx)
	}
	return f, nil
}

func sharesRule(a, b *Result) bool {
	return slices.ContainsFunc(b.Rules(), func(r judge.Rule) bool { return slices.Contains(a.Rules(), r) })
}

// shrink takes faults away, in halves, quarters and so on, as long as the case still violates, and then the exhaustive part, and
// the load that lasts after the faults.
func shrink(ctx context.Context, c Case, violates func(context.Context, Case) bool) {
	inject.Shrink(len(c.Faults), func(from, to int) bool {
		smaller := c
		smaller.Faults = slices.Delete(slices.Clone(c.Faults), from, to)
		smaller.LastMS = c.LastMS * int64(len(smaller.Faults)+1) / int64(len(c.Faults)+1)
		if ctx.Err() != nil || !violates(ctx, smaller) {
			return false
		}
		c = smaller
		return true
	})
	if smaller := c; c.ExhaustMS > 0 && ctx.Err() == nil {
		smaller.ExhaustMS = 0
		violates(ctx, smaller)
	}
}
