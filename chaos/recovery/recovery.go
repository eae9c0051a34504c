// Package recovery measures how work came back after faults, and holds that against what is promised of it.
//
// A [Run] is read from its history: for each fault, when the first completion came, when they came as fast again as before, and
// when every instance that was open had gone on and had ended. What is promised has a bound, which p99 of the faults must be
// within. A fault after which the next came too soon, or beside which the machine had no time for the run ([Stalls]), decides
// nothing. None of this is part of a run's own verdict: on a machine that has other things to do everything takes longer.
package recovery

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"pulley/chaos/fault"
	"pulley/engine/oracle"
	"pulley/reports/record"
)

// beyondMax is how many of the faults that cost too much a text names.
const beyondMax = 2

func percentiles(ms []float64) record.RecoveryPercentiles {
	if len(ms) == 0 {
		return record.RecoveryPercentiles{}
	}
	slices.Sort(ms)
	at := func(q float64) float64 { return ms[min(len(ms)-1, int(q*float64(len(ms))))] }
	return record.RecoveryPercentiles{N: len(ms), P50: at(0.5), P99: at(0.99), Max: ms[len(ms)-1]}
}

// Text words how work came back, over all faults and by kind, and how that stands to what is promised.
func Text(r record.Recovery) string {
	var b strings.Builder
	line := func(what string, p record.RecoveryPercentiles, of int) {
		if p.N > 0 {
			fmt.Fprintf(&b, "  %-44s p50 %.0f ms, p99 %.0f ms, max %.0f ms (%d of %d faults)\n", what, p.P50, p.P99, p.Max, p.N, of)
		}
	}
	line("to the first completion", r.First, r.Faults)
	line(fmt.Sprintf("to 95 %% of the earlier rate (first %.0f/s)", r.RateWas), r.Rate, r.Faults)
	line("until each instance that was open went on", r.Recovered, r.Faults)
	line("until all that was open had ended", r.Finished, r.Faults)
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		if k := r.Kinds[kind]; len(r.Kinds) > 1 {
			line(kind+": first completion", k.First, k.Faults)
			line(kind+": 95 % of the rate", k.Rate, k.Faults)
			line(kind+": all went on", k.Recovered, k.Faults)
			line(kind+": all had ended", k.Finished, k.Faults)
		}
	}
	if r.StalledMS > 0 {
		fmt.Fprintf(&b, "  for %.0f ms in all the machine had no time for the run\n", r.StalledMS)
	}
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "  recovery from %s: %s\n", v.Kind, verdictText(v))
		for _, one := range v.Beyond[:min(len(v.Beyond), beyondMax)] {
			fmt.Fprintf(&b, "    %s\n", one)
		}
	}
	return b.String()
}

// Span is when a fault was.
type Span struct {
	Fault       fault.Fault
	Begun, Over int64  // on oracle.MachineClock
	Killed      string // the engine's process that it ended, if that is what it does
}

// Run is what is known of a run.
type Run struct {
	History  oracle.History
	Applied  []int64 // when completions were applied, in order
	Spans    []Span  // of the faults that happened, in order
	Since    int64   // what was before it says nothing about the rate
	Closed   int64   // nothing new was submitted from it on
	Takeover time.Duration
	Stalls   *Stalls // of the machine
}

// Judge measures how work came back after the faults, and holds it against what is promised.
func (r Run) Judge() record.Recovery {
	lives := instanceSpansOf(r.History)
	rateWas, all := measure(r.Applied, lives, r.Spans, r.Since, r.Closed)
	out := summarize(rateWas, all)
	out.BoundMS = milliseconds(int64(r.Takeover))
	origin, own := int64(0), time.Duration(0)
	if len(r.Applied) > 0 {
		origin = r.Applied[0] // as in the timeline
	}
	if len(r.Spans) > 0 {
		own = lives.usualPause(r.Since, r.Spans[0].Begun)
	}
	for i := range all {
		s := &all[i]
		s.stalled = func(ns int64) int64 { return r.Stalls.Within(s.Over, s.Over+min(ns, int64(time.Hour))) }
	}
	out.StalledMS = milliseconds(r.Stalls.Within(0, never))
	out.Verdicts = verdicts(all, r.Takeover, own, origin)
	return out
}

const (
	rateShare  = 0.95
	rateWindow = 0.25 // seconds of the earlier rate that a window has the completions of
	rateLeast  = 10   // completions that it has at least
)

// Completions are the moments at which completions were applied, in order.
func Completions(h oracle.History) []int64 {
	var applied []int64
	for i := range h {
		if h[i].Kind == oracle.Answered && h[i].Answer == oracle.AnswerApplied {
			applied = append(applied, h[i].AtNS)
		}
	}
	slices.Sort(applied)
	return applied
}

// seen is how work came back after a fault, in nanoseconds from its end; never: that was not seen.
type seen struct {
	Span
	window      int64 // until the next fault begins, or without end
	loaded      int64 // of this, as long as there was load, with a rate to reach
	first, rate int64
	stalled     func(ns int64) int64 // of so long after it, how long the machine had no time for the run; nil: it always had

	open, inHand recovered // of all instances that were open at its end, and of those that a killed engine had in hand
}

// recovered is how some instances went on after a fault.
type recovered struct {
	n         int    // instances
	recovered int64  // all of them
	finished  int64  // they had all ended
	last      string // the one that went on last
}

// never is when something happens that does not.
const never = math.MaxInt64

// within is a time after a fault, or never where it is not before the end of what is the fault's own.
func within(at, over, window int64) int64 {
	if at == never || at-over >= window {
		return never
	}
	return at - over
}

// measure reads from the completions and instances of a history how work came back after each fault. The earlier rate is
// that since the fault before, or before the first; what was before a moment says nothing about it, and from closed on
// nothing new is submitted.
func measure(applied []int64, all instanceSpans, spans []Span, since, closed int64) (rateWas float64, seenOf []seen) {
	if len(spans) == 0 {
		return 0, nil
	}
	begin, _ := slices.BinarySearch(applied, since)
	rateWas = rateBefore(applied[begin:], spans[0].Begun)
	for i, s := range spans {
		one := seen{Span: s, window: never, first: never, rate: never}
		next := int64(never)
		if i+1 < len(spans) {
			next = spans[i+1].Begun
			one.window = next - s.Over
		}
		earlier := rateWas
		if i > 0 { // a machine that others use as well is not as fast all the time
			begin, _ = slices.BinarySearch(applied, spans[i-1].Over)
			earlier = rateBefore(applied[begin:], s.Begun)
		}
		if earlier > 0 {
			one.loaded = max(0, min(next, closed)-s.Over)
		}
		from, _ := slices.BinarySearch(applied, s.Over)
		to, _ := slices.BinarySearch(applied, next)
		after := applied[from:max(from, to)]
		if len(after) > 0 {
			one.first = after[0] - s.Over
		}
		if at, found := regained(after, earlier); found {
			one.rate = at - s.Over
		}
		one.open = all.after(s.Over, one.window, "")
		one.inHand = recovered{recovered: never, finished: never}
		if s.Killed != "" {
			one.inHand = all.after(s.Over, one.window, s.Killed)
		}
		seenOf = append(seenOf, one)
	}
	return rateWas, seenOf
}

// summarize has the percentiles over all faults, and by kind.
func summarize(rateWas float64, all []seen) record.Recovery {
	kinds := map[string][]seen{}
	for _, s := range all {
		kinds[s.Fault.Kind] = append(kinds[s.Fault.Kind], s)
	}
	out := record.Recovery{RecoveryTimes: timesOf(all), RateWas: rateWas, Kinds: map[string]record.RecoveryTimes{}}
	for kind, some := range kinds {
		out.Kinds[kind] = timesOf(some)
	}
	return out
}

func timesOf(all []seen) record.RecoveryTimes {
	over := func(of func(seen) int64) record.RecoveryPercentiles {
		var ms []float64
		for _, s := range all {
			if ns := of(s); ns != never {
				ms = append(ms, milliseconds(ns))
			}
		}
		return percentiles(ms)
	}
	return record.RecoveryTimes{
		Faults: len(all),
		First:  over(func(s seen) int64 { return s.first }), Rate: over(func(s seen) int64 { return s.rate }),
		Recovered: over(func(s seen) int64 { return s.open.recovered }), Finished: over(func(s seen) int64 { return s.open.finished }),
	}
}

func milliseconds(ns int64) float64 { return float64(ns/1000) / 1000 }

// rateBefore is completions per second up to a moment, the first half of them left out: engines start.
func rateBefore(applied []int64, until int64) float64 {
	n, _ := slices.BinarySearch(applied, until)
	half := applied[n/2 : n]
	if len(half) < 2 || half[len(half)-1] == half[0] {
		return 0
	}
	return float64(len(half)-1) / (float64(half[len(half)-1]-half[0]) / 1e9)
}

// regained is when completions began to come at the share of a rate.
func regained(applied []int64, rate float64) (at int64, found bool) {
	n := max(rateLeast, int(rateWindow*rate))
	most := int64(float64(n-1) / (rateShare * rate) * 1e9)
	for i := 0; rate > 0 && i+n <= len(applied); i++ {
		if applied[i+n-1]-applied[i] <= most {
			return applied[i], true
		}
	}
	return 0, false
}

// windowsMax bounds the windows of a timeline; one is no shorter than windowLeast.
const (
	windowsMax  = 600
	windowLeast = 100 * time.Millisecond
)

// Timeline counts completions by time, with the faults beside them.
func (r Run) Timeline() record.Timeline {
	applied := r.Applied
	out := record.Timeline{Completions: []int{}, Faults: []record.FaultTime{}}
	if len(applied) == 0 {
		return out
	}
	origin, last := applied[0], applied[len(applied)-1]
	window := max(int64(windowLeast), (last-origin)/windowsMax+1)
	out.WindowMS = milliseconds(window)
	out.Completions = make([]int, (last-origin)/window+1)
	for _, at := range applied {
		out.Completions[(at-origin)/window]++
	}
	for _, s := range r.Spans {
		out.Faults = append(out.Faults, record.FaultTime{
			Kind: s.Fault.Kind, BeginMS: milliseconds(s.Begun - origin), EndMS: milliseconds(s.Over - origin),
		})
	}
	return out
}
