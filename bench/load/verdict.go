package load

import (
	"fmt"
	"math"
	"time"

	"pulley/bench/stats"
	"pulley/reports/record"
)

// The kinds of findings.
const (
	KindOverload  = "overload" // the system could not keep up
	KindCut       = "cut"
	KindUnended   = "unfinished"
	KindLag       = "lag"
	KindSaturated = "saturated"  // the generator was too busy, or had nothing left to send
	KindTooFew    = "too-few"    // for the percentile
	KindDrift     = "drift"      // within the measured phase
	KindOthers    = "other-load" // on the machine
	KindWarmUp    = "warm-up"    // latencies drift, and the warm-up's end was not found
	KindWrong     = "wrong"
)

func (a *analysis) judge() {
	o := a.out
	for _, text := range a.Wrong {
		a.find(KindWrong, "%s", text)
	}
	if a.Asked > 0 {
		a.find(KindCut, "it was interrupted after %v of %v", a.Drained.Round(time.Millisecond), a.Asked)
	}
	a.judgeLoad()
	a.judgeGenerator()
	a.judgeMachine()
	if n := o.Measured.Intended; n < o.Asked.Needs || n == 0 {
		a.find(KindTooFew, "%s takes %d instances in the measured phase, and there were %d: %s", record.PercentileName(a.Percentile), max(o.Asked.Needs, 1), n, a.more())
	}
	if !o.Overloaded {
		a.judgeDrift()
	}
	if !o.Phases.Settled {
		a.note("the end of the warm-up was not found within its longest time, %v: what comes after that is measured", a.WarmUp)
	}
	o.Valid = len(o.Findings) == 0
}

func (a *analysis) find(kind, format string, args ...any) {
	a.out.Findings = append(a.out.Findings, record.LoadFinding{Kind: kind, Text: fmt.Sprintf(format, args...)})
	a.out.Overloaded = a.out.Overloaded || kind == KindOverload
}

func (a *analysis) note(format string, args ...any) {
	a.out.Notes = append(a.out.Notes, fmt.Sprintf(format, args...))
}

func (a *analysis) more() string {
	n, needs := a.out.Measured.Intended, a.out.Asked.Needs
	if n == 0 {
		return "measure for longer"
	}
	longer := time.Duration(float64(a.End-a.from) * float64(needs) / float64(n))
	return fmt.Sprintf("measure for %v, or ask for a lower percentile", roundUp(longer))
}

func roundUp(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Truncate(time.Second) + time.Second
	}
	return d.Truncate(time.Millisecond) + time.Millisecond
}

func (a *analysis) judgeLoad() {
	o := a.out
	if a.Closed {
		if o.Whole.Unfinished > 0 {
			a.find(KindUnended, "%d of %d instances had not ended when the drain had", o.Whole.Unfinished, o.Whole.Sent)
		}
		return
	}
	if n := o.Measured.Dropped; n > 0 {
		a.find(KindOverload, "overload: %d of %d instances could not be sent, since as many were in flight as may be", n, o.Measured.Intended)
	}
	if grown, ok := a.growth(); ok && grown > a.Limits.GrowthShare*float64(o.Measured.Intended) && grown >= 1 {
		a.find(KindOverload, "overload: %.1f instances a second were asked for and %.1f ended; the backlog grew by %.0f within the measured phase",
			o.AskedPerS, o.AchievedPerS, grown)
	}
	switch n := o.Whole.Unfinished; {
	case a.Asked > 0: // nobody waited for their end
	case n > 0 && float64(n) > a.Limits.GrowthShare*float64(o.Measured.Intended):
		a.find(KindOverload, "overload: %d of %d instances had not ended when the drain had, %v after the last arrival", n, o.Whole.Sent, (a.Drained - a.End).Round(time.Millisecond))
	case n > 0:
		a.find(KindUnended, "%d of %d instances had not ended when the drain had, %v after the last arrival", n, o.Whole.Sent, (a.Drained - a.End).Round(time.Millisecond))
	}
}

// growth of the backlog's trend over the measured phase, if there is a trend
func (a *analysis) growth() (grown float64, ok bool) {
	var series []float64
	for _, v := range a.out.Intervals {
		if v.Measured {
			series = append(series, float64(v.Backlog))
		}
	}
	t, err := stats.TrendOf(series, confidence)
	if err != nil {
		return 0, false
	}
	return t.Slope * float64(len(series)-1), t.P < a.Limits.P && t.Lo > 0
}

func (a *analysis) judgeGenerator() {
	o := a.out
	if share := o.Pace.BusyShare; share > a.Limits.BusyShare {
		a.find(KindSaturated, "the generator's loop was busy for %.0f %% of the time; above %.0f %% it has no time to be on time", 100*share, 100*a.Limits.BusyShare)
	}
	if a.Closed {
		if ended := a.Pace.Whole; ended > 0 && ended < a.End {
			a.find(KindSaturated, "after %v nothing was sent, since a run has no more than %d instances: measure for a shorter time", ended.Round(time.Millisecond), o.Whole.Sent)
		}
		return
	}
	if e := o.Pace.RateError; e > a.Limits.RateError {
		a.find(KindLag, "the generator offered %.2f %% less than it was asked for; %.2f %% would do", 100*e, 100*a.Limits.RateError)
	}
	lag := a.lag.at(min(a.Percentile/100, 1))
	if lag == nil || *lag <= int64(a.Limits.LagLeast) {
		return
	}
	if l := o.Asked.ValueNS; l == nil || float64(*lag) > a.Limits.LagShare*float64(*l) {
		a.find(KindLag, "the generator was late: its own lag is %s at %s, where at most %s or %.0f %% of the latency would do",
			short(*lag), record.PercentileName(a.Percentile), a.Limits.LagLeast, 100*a.Limits.LagShare)
	}
}

func (a *analysis) judgeMachine() {
	if a.CPU == nil || a.CPU.OthersNS == nil || a.Cores == 0 {
		return
	}
	share := float64(*a.CPU.OthersNS) / (a.End.Seconds() * 1e9 * float64(a.Cores))
	if share > a.Limits.OthersShare {
		a.find(KindOthers, "other programs used %.0f %% of the machine's processors; %.0f %% would do", 100*share, 100*a.Limits.OthersShare)
	}
}

func (a *analysis) judgeDrift() {
	if !a.Steady {
		a.note("whether latencies drift is not judged, since the rate itself changes")
		return
	}
	var medians []float64
	for _, v := range a.out.Intervals {
		if v.Measured && v.P50NS != nil {
			medians = append(medians, float64(*v.P50NS))
		}
	}
	t, err := stats.TrendOf(medians, confidence)
	if err != nil {
		a.note("whether latencies drift is not judged: the measured phase has too few intervals with instances")
		return
	}
	middle := stats.Median(medians)
	change := t.Slope * float64(len(medians)-1)
	if t.P < a.Limits.P && math.Abs(change) > a.Limits.DriftShare*middle {
		if !a.out.Phases.Settled {
			a.find(KindWarmUp, "the warm-up had not ended within its longest time, %v", a.WarmUp)
		}
		a.find(KindDrift, "the median latency drifted by %+.0f %% within the measured phase (p = %.1g); warm up for longer, or see what grows", 100*change/middle, t.P)
	}
}

func short(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Hour; unit >= time.Microsecond; unit /= 10 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
