package chaos

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"pulley/engine/oracle"
	"pulley/reports/record"
)

func percentiles(ms []float64) record.RecoveryPercentiles {
	if len(ms) == 0 {
		return record.RecoveryPercentiles{}
	}
	slices.Sort(ms)
	at := func(q float64) float64 { return ms[min(len(ms)-1, int(q*float64(len(ms))))] }
	return record.RecoveryPercentiles{N: len(ms), P50: at(0.5), P99: at(0.99), Max: ms[len(ms)-1]}
}

// recoveryText words how work came back, over all faults and by kind, and how that stands to what is promised.
func recoveryText(r record.Recovery) string {
	var b strings.Builder
	line := func(what string, p record.RecoveryPercentiles, of int) {
		if p.N > 0 {
			fmt.Fprintf(&b, "  %-44s p50 %.0f ms, p99 %.0f ms, max %.0f ms (%d of %d faults)\n", what, p.P50, p.P99, p.Max, p.N, of)
		}
	}
	line("to the first completion", r.First, r.Faults)
	line(fmt.Sprintf("to 95 %% of the earlier rate (first %.0f/s)", r.RateWas), r.Rate, r.Faults)
	line("until each instance that was open went on", r.WentOn, r.Faults)
	line("until all that was open had ended", r.Finished, r.Faults)
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		if k := r.Kinds[kind]; len(r.Kinds) > 1 {
			line(kind+": first completion", k.First, k.Faults)
			line(kind+": 95 % of the rate", k.Rate, k.Faults)
			line(kind+": all went on", k.WentOn, k.Faults)
			line(kind+": all had ended", k.Finished, k.Faults)
		}
	}
	if r.StalledMS > 0 {
		fmt.Fprintf(&b, "  for %.0f ms in all the machine had no time for the run\n", r.StalledMS)
	}
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "  recovery from %s: %s\n", v.Kind, recoveryVerdictText(v))
		for _, one := range v.Beyond[:min(len(v.Beyond), textMost)] {
			fmt.Fprintf(&b, "    %s\n", one)
		}
	}
	return b.String()
}

const (
	rateShare  = 0.95
	rateWindow = 0.25 // seconds of the earlier rate that a window has the completions of
	rateLeast  = 10   // completions that it has at least
)

// applied are the moments at which completions were applied, in order.
func appliedIn(h oracle.History) []int64 {
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
	span
	window      int64 // until the next fault begins, or without end
	loaded      int64 // of this, as long as there was load, with a rate to reach
	first, rate int64
	stalled     func(ns int64) int64 // of so long after it, how long the machine had no time for the run; nil: it always had

	open, inHand comeback // of all instances that were open at its end, and of those that a killed engine had in hand
}

// comeback is how some instances went on after a fault.
type comeback struct {
	n        int    // instances
	wentOn   int64  // all of them
	finished int64  // they had all ended
	last     string // the one that went on last
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

// recovery reads from the completions and instances of a history how work came back after each fault. The earlier rate is
// that since the fault before, or before the first; what was before a moment says nothing about it, and from closed on
// nothing new is submitted.
func recovery(applied []int64, all lives, spans []span, since, closed int64) (rateWas float64, seenOf []seen) {
	if len(spans) == 0 {
		return 0, nil
	}
	begin, _ := slices.BinarySearch(applied, since)
	rateWas = rateBefore(applied[begin:], spans[0].begun)
	for i, s := range spans {
		one := seen{span: s, window: never, first: never, rate: never}
		next := int64(never)
		if i+1 < len(spans) {
			next = spans[i+1].begun
			one.window = next - s.over
		}
		earlier := rateWas
		if i > 0 { // a machine that others use as well is not as fast all the time
			begin, _ = slices.BinarySearch(applied, spans[i-1].over)
			earlier = rateBefore(applied[begin:], s.begun)
		}
		if earlier > 0 {
			one.loaded = max(0, min(next, closed)-s.over)
		}
		from, _ := slices.BinarySearch(applied, s.over)
		to, _ := slices.BinarySearch(applied, next)
		after := applied[from:max(from, to)]
		if len(after) > 0 {
			one.first = after[0] - s.over
		}
		if at, found := regained(after, earlier); found {
			one.rate = at - s.over
		}
		one.open = all.after(s.over, one.window, "")
		one.inHand = comeback{wentOn: never, finished: never}
		if s.killed != "" {
			one.inHand = all.after(s.over, one.window, s.killed)
		}
		seenOf = append(seenOf, one)
	}
	return rateWas, seenOf
}

// recoveryOf has the percentiles over all faults, and by kind.
func recoveryOf(rateWas float64, all []seen) record.Recovery {
	kinds := map[string][]seen{}
	for _, s := range all {
		kinds[s.fault.Kind] = append(kinds[s.fault.Kind], s)
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
		WentOn: over(func(s seen) int64 { return s.open.wentOn }), Finished: over(func(s seen) int64 { return s.open.finished }),
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

// life is an instance from its submission to its end; ended is never where none was seen.
type life struct {
	id           string
	begun, ended int64
	applied      []int64 // when completions of it were, in order
	held         []hold
}

// hold is a time in which an engine's process had something of an instance in hand: it had leased a node run, and no
// answer to its completion, or it had been asked to submit the instance, and had no answer either.
type hold struct {
	process  string
	from, to int64 // never: it did not get one
}

func (l *life) isInHand(process string, at int64) bool {
	return slices.ContainsFunc(l.held, func(h hold) bool { return h.process == process && h.from <= at && at < h.to })
}

type lives []life

// holding is what begins and ends a hold, of an instance.
type holding struct {
	process     string
	token, call int64
}

// hold notes what an event says of what its process has in hand. begun are holds of the instance, by their places.
func (l *life) hold(e *oracle.Event, begun map[holding]int) {
	var of holding
	switch e.Kind {
	case oracle.Leased, oracle.Answered, oracle.Released:
		of = holding{process: e.Source, token: e.Token}
	case oracle.Submitting, oracle.Submitted:
		of = holding{process: e.Source, call: e.Call}
	default:
		return
	}
	if e.Kind == oracle.Leased || e.Kind == oracle.Submitting {
		begun[of] = len(l.held)
		l.held = append(l.held, hold{process: e.Source, from: e.AtNS, to: never})
	} else if i, known := begun[of]; known {
		l.held[i].to = min(l.held[i].to, e.AtNS)
	}
}

// livesOf collects the instances of a history. An end that nobody told of is when it was found.
func livesOf(h oracle.History) lives {
	by := map[string]*life{}
	begun := map[string]map[holding]int{}
	for i := range h {
		e := &h[i]
		if e.Instance == "" {
			continue
		}
		l := by[e.Instance]
		if l == nil {
			l = &life{id: e.Instance, begun: never, ended: never}
			by[e.Instance], begun[e.Instance] = l, map[holding]int{}
		}
		l.hold(e, begun[e.Instance])
		if e.Kind != oracle.Looked {
			l.begun = min(l.begun, e.AtNS)
		}
		if e.Kind == oracle.Answered && e.Answer == oracle.AnswerApplied {
			l.applied = append(l.applied, e.AtNS)
		}
		if e.Kind == oracle.Ended || e.Kind == oracle.Looked && e.Status != oracle.Running && e.Status != "" {
			l.ended = min(l.ended, e.AtNS)
		}
	}
	out := make(lives, 0, len(by))
	for _, id := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[id].applied)
		out = append(out, *by[id])
	}
	return out
}

// after gives how the instances that were open at a moment came back in the time from it on, or those of them that a process
// had in hand then: until each had a completion applied or had ended.
func (l lives) after(at, window int64, process string) comeback {
	var c comeback
	for i := range l {
		one := &l[i]
		if one.begun >= at || one.ended < at || process != "" && !one.isInHand(process, at) {
			continue
		}
		c.n++
		next := one.ended
		if i, _ := slices.BinarySearch(one.applied, at); i < len(one.applied) {
			next = min(next, one.applied[i])
		}
		if c.finished = max(c.finished, one.ended); next > c.wentOn {
			c.wentOn, c.last = next, one.id
		}
	}
	if c.n == 0 {
		return comeback{wentOn: never, finished: never}
	}
	c.wentOn, c.finished = within(c.wentOn, at, window), within(c.finished, at, window)
	return c
}

// windowsMost bounds the windows of a timeline; one is no shorter than windowLeast.
const (
	windowsMost = 600
	windowLeast = 100 * time.Millisecond
)

// timeline counts completions by time, with the faults beside them.
func timeline(applied []int64, spans []span) record.Timeline {
	out := record.Timeline{Completions: []int{}, Faults: []record.FaultTime{}}
	if len(applied) == 0 {
		return out
	}
	origin, last := applied[0], applied[len(applied)-1]
	window := max(int64(windowLeast), (last-origin)/windowsMost+1)
	out.WindowMS = milliseconds(window)
	out.Completions = make([]int, (last-origin)/window+1)
	for _, at := range applied {
		out.Completions[(at-origin)/window]++
	}
	for _, s := range spans {
		out.Faults = append(out.Faults, record.FaultTime{
			Kind: s.fault.Kind, BeginMS: milliseconds(s.begun - origin), EndMS: milliseconds(s.over - origin),
		})
	}
	return out
}
