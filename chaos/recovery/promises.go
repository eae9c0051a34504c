package recovery

import (
	"fmt"
	"slices"
	"time"

	"pulley/reports/record"
)

// promise is what is promised of how work comes back after a kind of fault.
type promise struct {
	kind        string
	what        string                                     // comes within the bound
	words       string                                     // of the bound
	bound       func(takeover time.Duration) time.Duration // from the fault's end
	addsOwnWork bool                                       // and an instance's own work besides
	measure     func(seen) int64                           // nanoseconds; never: it was not seen
	watched     func(seen) int64                           // how long it would have been seen
	nothing     func(seen) bool                            // the fault found nothing that could come back
	beyond      func(seen) string                          // what came too late
}

// rateBound is how long work may take to be as fast as before once a killed Postgres is there again.
const rateBound = 5 * time.Second

// The kinds of which something is promised.
const (
	killing  = "process.kill"
	felling  = "host.kill" // kills the engine too
	crashing = "postgres.kill"
)

// KillsEngine says whether faults of a kind kill their engine, once.
func KillsEngine(kind string) bool { return kind == killing || kind == felling }

var promises = slices.Concat(promisesOfKills(killing), promisesOfKills(felling), []promise{
	{
		kind: crashing, what: "95 % of the earlier rate", words: "5 s", bound: func(time.Duration) time.Duration { return rateBound },
		measure: func(s seen) int64 { return s.rate },
		watched: func(s seen) int64 { return s.loaded },
		nothing: func(seen) bool { return false },
		beyond:  func(seen) string { return "the rate was reached" },
	},
})

func itself(takeover time.Duration) time.Duration { return takeover }

// promisesOfKills are those of a kind that kills an engine.
func promisesOfKills(kind string) []promise {
	return []promise{
		{
			kind: kind, what: "what the engine had in hand went on", words: "lease and two sweeps", bound: itself,
			measure: func(s seen) int64 { return s.inHand.recovered },
			watched: func(s seen) int64 { return s.window },
			nothing: func(s seen) bool { return s.inHand.n == 0 },
			beyond:  func(s seen) string { return recoveredText(s, s.inHand) },
		},
		{
			kind: kind, what: "each instance that was open went on", words: "lease, two sweeps and its own work", bound: itself, addsOwnWork: true,
			measure: func(s seen) int64 { return s.open.recovered },
			watched: func(s seen) int64 { return s.window },
			nothing: func(s seen) bool { return s.open.n == 0 },
			beyond:  func(s seen) string { return recoveredText(s, s.open) },
		},
	}
}

func recoveredText(s seen, c recovered) string {
	return fmt.Sprintf("engine %d was killed, and instance %s went on", s.Fault.Engine, c.last)
}

// verdicts holds what was seen against what is promised; own is how long an instance takes to go on by itself, and
// origin when the run's time begins. They are no part of the run's own verdict: on a machine that has other things to do
// everything takes longer.
func verdicts(all []seen, takeover, own time.Duration, origin int64) []record.RecoveryVerdict {
	out := []record.RecoveryVerdict{}
	for _, p := range promises {
		some := slices.DeleteFunc(slices.Clone(all), func(s seen) bool { return s.Fault.Kind != p.kind || p.nothing(s) })
		if len(some) == 0 {
			continue
		}
		bound := p.bound(takeover)
		if p.addsOwnWork {
			bound += own
		}
		v := p.judge(some, bound, origin)
		v.OwnMS = milliseconds(int64(bound - p.bound(takeover)))
		out = append(out, v)
	}
	return out
}

// isExcused says that what took longer than the bound would not have, as far as one can tell, had the machine had time for it.
func (s seen) isExcused(took, bound int64) bool {
	return s.stalled != nil && took != never && took-s.stalled(took) <= bound
}

// judge holds faults of the kind against the bound. One after which it was not seen, though it would have been, is beyond
// the bound; one that was followed too soon by another is not decided, nor is one beside which the machine had no time
// for the run. The verdict is one that these cannot change.
func (p promise) judge(all []seen, bound time.Duration, origin int64) record.RecoveryVerdict {
	v := record.RecoveryVerdict{
		Kind: p.kind, What: p.what, Bound: p.words, BoundMS: milliseconds(int64(bound)), Faults: len(all), Beyond: []string{},
	}
	var ms []float64
	for _, s := range all {
		took, watched := p.measure(s), p.watched(s)
		if took == never && watched <= int64(bound) || took > int64(bound) && s.isExcused(min(took, watched), int64(bound)) {
			continue
		}
		v.Decided++
		if took != never {
			ms = append(ms, milliseconds(took))
		}
		if took > int64(bound) {
			v.Beyond = append(v.Beyond, p.tooLate(s, origin))
		}
	}
	v.P99 = percentiles(ms).P99
	few := func(beyond, of int) bool { return of > 0 && beyond < of-int(0.99*float64(of)) } // so that p99 is within
	switch {
	case v.Decided > 0 && !few(len(v.Beyond), v.Faults):
		v.Verdict = record.RecoveryMissed
	case few(len(v.Beyond)+v.Faults-v.Decided, v.Faults):
		v.Verdict = record.RecoveryMet
	default:
		v.Verdict = record.RecoveryUndecided
	}
	return v
}

// usualPauseQuantile is how many of the pauses before the first fault are no longer than what counts as an instance's own work.
const usualPauseQuantile = 0.99

// usualPause is how long instances went without a completion while nothing had gone wrong: what there was to do for the next
// one, and the wait for a turn at it. It goes by those that ended within a time.
func (l instanceSpans) usualPause(since, until int64) time.Duration {
	var pauses []int64
	for _, one := range l {
		if one.begun < since {
			continue
		}
		last := one.begun
		for _, at := range append(slices.Clone(one.applied), one.ended) {
			if at <= until {
				pauses = append(pauses, at-last)
			}
			last = at
		}
	}
	if len(pauses) == 0 {
		return 0
	}
	slices.Sort(pauses)
	return time.Duration(pauses[min(len(pauses)-1, int(usualPauseQuantile*float64(len(pauses))))])
}

// tooLate names a fault that cost more than it may.
func (p promise) tooLate(s seen, origin int64) string {
	text := fmt.Sprintf("%s at %.1f s: %s", s.Fault.Kind, float64(s.Over-origin)/1e9, p.beyond(s))
	if took := p.measure(s); took != never {
		return fmt.Sprintf("%s after %.0f ms", text, milliseconds(took))
	}
	if watched := p.watched(s); watched != never {
		return fmt.Sprintf("%s not within %.0f ms", text, milliseconds(watched))
	}
	return text + " never"
}

// verdictText words a verdict.
func verdictText(v record.RecoveryVerdict) string {
	text := fmt.Sprintf("%s: %s within %s (%.0f ms", v.Verdict, v.What, v.Bound, v.BoundMS)
	if v.OwnMS > 0 {
		text = fmt.Sprintf("%s: %s within %s (%.0f + %.0f ms", v.Verdict, v.What, v.Bound, v.BoundMS-v.OwnMS, v.OwnMS)
	}
	text += ")"
	if v.P99 > 0 {
		text += fmt.Sprintf(": p99 %.0f ms", v.P99)
	}
	if len(v.Beyond) > 0 {
		text += fmt.Sprintf(", %d beyond it", len(v.Beyond))
	}
	return text + fmt.Sprintf(" (%d of %d faults decided)", v.Decided, v.Faults)
}
