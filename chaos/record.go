package chaos

import (
	"fmt"
	"strings"

	"pulley/reports/record"
)

// Record returns what a report shows of the result.
func (r *Result) Record() *record.Chaos {
	out := &record.Chaos{
		Verdict: string(r.Verdict), Why: append([]string{}, r.Why...), Backend: r.Backend, Engines: r.Engines, Seed: r.Seed,
		Instances: r.Instances, Completions: r.Completions, Faults: r.Faults, LeftOut: r.LeftOut, Repeat: r.Repeat,
		Recovery: r.RecoveryMS, Timeline: r.Timeline, Soak: r.Soak,
	}
	shown := map[string]int{}
	for _, v := range r.Violations {
		if shown[v.Invariant]++; shown[v.Invariant] <= textMax {
			out.Why = append(out.Why, fmt.Sprintf("%s: %s", v.Invariant, v.Message))
		}
	}
	out.Facts = append(out.Facts, r.loadFact(),
		fmt.Sprintf("Leases of %d ms, sweeps every %d ms, calls of the store of at most %d ms.", r.Case.LeaseMS, r.Case.SweepMS, r.Case.CallMS),
		fmt.Sprintf("%d calls were of unknown outcome; %d completions were turned down as stale; after the last fault every instance had ended within %d ms.",
			r.Unknown, r.Stale, r.LivenessMS),
		fmt.Sprintf("Deadlocks: %d counted by the server, %d seen by the engines. Of %d joins, %d had completions from several engines.",
			r.Deadlocks.Server, r.Deadlocks.Engines, r.Joins.All, r.Joins.Contended),
	)
	if text := r.limitText(); text != "" {
		out.Facts = append(out.Facts, text+".")
	}
	return out
}

func (r *Result) loadFact() string {
	var names []string
	for _, w := range r.Workloads {
		names = append(names, w.Name())
	}
	text := fmt.Sprintf("%s in turn, ", strings.Join(names, ", "))
	switch {
	case r.KneePerS > 0:
		return text + fmt.Sprintf("%.1f instances/s evenly: %.0f %% of the %.1f/s that were the most at the run's begin.", r.RatePerS, 100*r.RatePerS/r.KneePerS, r.KneePerS)
	case r.RatePerS > 0:
		return text + fmt.Sprintf("%.1f instances/s evenly.", r.RatePerS)
	}
	return text + fmt.Sprintf("%d at once: when one ends, the next is submitted.", r.Case.InFlight)
}
