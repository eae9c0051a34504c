package capacity

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pulley/bench"
	"pulley/bench/knee"
	"pulley/bench/load"
	"pulley/bench/stats"
	"pulley/reports/record"
	"pulley/scenarios"
	"pulley/scenarios/arrivals"
)

// RunLoad puts load on a system and returns its record, as [bench.Testbed.Run] does.
type RunLoad func(ctx context.Context, o bench.OpenRun) (*record.Load, error)

// Arriving is how instances arrive in open runs.
type Arriving string

// How instances arrive.
const (
	Poisson  Arriving = "poisson"
	Constant Arriving = "constant"
)

func (a Arriving) at(perS float64) arrivals.Arrivals {
	if a == Constant {
		return arrivals.Constant(perS)
	}
	return arrivals.Poisson(perS)
}

// moreThanNeeded is relative to the number of instances that a percentile needs.
const moreThanNeeded = 1.3

type times struct {
	warmUp, measure time.Duration
	most            time.Duration
}

// forRate returns how long to measure for enough instances for the percentile.
func (t times) forRate(perS, percentile float64) time.Duration {
	if percentile >= 100 || perS <= 0 {
		return t.measure
	}
	needs := moreThanNeeded * float64(stats.QuantileNeeds(percentile/100, stats.Confidence)) / perS
	return min(max(t.measure, time.Duration(needs*float64(time.Second))), max(t.most, t.measure))
}

// decides reports whether a run may vote. An overloaded run may, however late the generator was: even less load than intended
// was too much.
func decides(l *record.Load) bool {
	ignored := []string{load.KindUnended}
	if l.Overloaded {
		ignored = append(ignored, load.KindOverload, load.KindLag, load.KindSaturated, load.KindTooFew, load.KindWarmUp, load.KindDrift)
	}
	return !slices.ContainsFunc(l.Findings, func(f record.LoadFinding) bool { return !slices.Contains(ignored, f.Kind) })
}

func voting(rate float64, l *record.Load) knee.Run {
	r := knee.Run{Rate: rate, Overloaded: l.Overloaded, Invalid: !decides(l)}
	for _, o := range l.Objectives {
		var list []knee.Window
		for _, w := range o.Windows {
			list = append(list, knee.Window{Count: w.Count, Above: w.Above})
		}
		r.Windows = append(r.Windows, list)
	}
	return r
}

// asked is the rate; 0 for a closed loop of inFlight instances.
func recorded(l *record.Load, what string, asked float64, inFlight int) record.KneeRun {
	r := record.KneeRun{
		What: what, InFlight: inFlight, AskedPerS: asked, OfferedPerS: l.OfferedPerS, AchievedPerS: l.AchievedPerS,
		Instances: l.Measured.Intended, MeasuredNS: l.Phases.MeasureNS - l.Phases.WarmUpNS, Dropped: l.Measured.Dropped,
		MeanNS: l.LatencyNS.MeanNS, P50NS: l.LatencyNS.P50, P99NS: l.LatencyNS.P99, AtNS: l.Asked.ValueNS, AtLoNS: l.Asked.LoNS, AtHiNS: l.Asked.HiNS,
		Valid: decides(l), Overloaded: l.Overloaded, Findings: append([]record.LoadFinding{}, l.Findings...),
	}
	for _, v := range l.Intervals {
		if v.Measured {
			r.Backlog = v.Backlog
		}
	}
	return r
}

func objectivesOf(list []record.KneeObjective) (out []scenarios.Objective) {
	for _, o := range list {
		out = append(out, scenarios.Objective{Percentile: o.Percentile, Most: time.Duration(o.MostNS)})
	}
	return out
}

// Methods describe how a report's figures are measured.
func Methods() []record.Method {
	return []record.Method{
		{Figure: "points", Text: "Open loop: instances are submitted at the times that the arrivals intend, whatever the scheduler does. A latency is from the intended time to the moment at " +
			"which the client has the result. Warm-up is left out."},
		{Figure: "vote", Text: "For each objective, the share of latencies above its bound, with an interval of 95 % over ten windows of the run: above 0 where that share is allowed, below where it is " +
			"not or the run was overloaded, 0 where the run is invalid. A rate's verdict is the sum of its runs' votes."},
		{Figure: "closed", Text: "Closed loop: so many instances in flight, the next whenever one ends. A latency is from submission to result."},
		{Figure: "law", Text: "X(N) = λN/(1 + σ(N−1) + κN(N−1)), least squares with σ, κ ≥ 0, over the valid runs; intervals of 95 % by a wild bootstrap."},
	}
}

func perSecond(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f/s", v)
	case v >= 10:
		return fmt.Sprintf("%.1f/s", v)
	default:
		return fmt.Sprintf("%.3g/s", v)
	}
}
