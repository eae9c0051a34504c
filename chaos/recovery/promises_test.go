package recovery

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/chaos/fault"
	"pulley/engine/oracle"
	"pulley/engine/reference"
	"pulley/reports/record"
)

// takeover is a lease of a second and two sweeps of a quarter.
const takeover = 1500 * time.Millisecond

// killedAt makes a history of instances, open from before the kills on, and kills: each instance has a completion applied
// so long after each, and ends so long after all; zero: never.
func killedAt(kills []int64, instances ...[]time.Duration) (oracle.History, []Span) {
	var h oracle.History
	var spans []Span
	for _, at := range kills {
		spans = append(spans, Span{Fault: fault.Fault{Kind: killing, Engine: 1}, Begun: at, Over: at})
	}
	for i, afters := range instances {
		id := string(rune('a' + i))
		h = append(h, oracle.Event{Kind: oracle.Submitting, Instance: id, AtNS: 1})
		for k, after := range afters {
			if after > 0 {
				h = append(h, oracle.Event{Kind: oracle.Answered, Answer: oracle.AnswerApplied, Instance: id, AtNS: kills[k] + int64(after)})
			}
		}
		if afters[len(afters)-1] > 0 {
			h = append(h, oracle.Event{Kind: oracle.Ended, Status: reference.Completed, Instance: id, AtNS: kills[len(kills)-1] + int64(time.Minute)})
		}
	}
	return h, spans
}

// TestRecoveryVerdict holds kills against the bound of 1.5 s. A kill after which an instance did not go on at all is
// beyond it, as is one that the next kill follows later than that; one that the next follows sooner decides nothing.
func TestRecoveryVerdict(t *testing.T) {
	const second = int64(time.Second)
	soon, late := 1400*time.Millisecond, 1600*time.Millisecond
	for name, w := range map[string]struct {
		kills     []int64
		instances [][]time.Duration
		verdict   string
		decided   int
		beyond    []string
	}{
		"in time":               {[]int64{10 * second, 20 * second}, [][]time.Duration{{soon, soon}, {1, 1}}, record.RecoveryMet, 2, nil},
		"late":                  {[]int64{10 * second, 20 * second}, [][]time.Duration{{1, 1}, {soon, late}}, record.RecoveryMissed, 2, []string{"20.0 s: engine 1 was killed, and instance b went on after 1600 ms"}},
		"not before the next":   {[]int64{10 * second, 12 * second}, [][]time.Duration{{0, soon}, {1, 1}}, record.RecoveryMissed, 2, []string{"10.0 s: engine 1 was killed, and instance a went on not within 2000 ms"}},
		"the next comes sooner": {[]int64{10 * second, 11 * second}, [][]time.Duration{{0, soon}, {1, 1}}, record.RecoveryUndecided, 1, nil},
		"stuck":                 {[]int64{10 * second}, [][]time.Duration{{1}, {0}}, record.RecoveryMissed, 1, []string{"instance b went on never"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, spans := killedAt(w.kills, w.instances...)
			_, all := measure(Completions(h), instanceSpansOf(h), spans, 0, never)
			got := verdicts(all, takeover, 0, 0)
			if len(got) != 1 || got[0].Verdict != w.verdict || got[0].Decided != w.decided || got[0].Faults != len(w.kills) || len(got[0].Beyond) != len(w.beyond) {
				t.Fatalf("got %+v, want it %s, %d decided, beyond %q", got, w.verdict, w.decided, w.beyond)
			}
			for i, text := range w.beyond {
				if !strings.Contains(got[0].Beyond[i], text) {
					t.Errorf("beyond is %q, want %q in it", got[0].Beyond[i], text)
				}
			}
		})
	}
}

// TestRateVerdict holds a killed Postgres against the earlier rate: reached in time, too late, not while there was load,
// or not to be seen since the load ended.
func TestRateVerdict(t *testing.T) {
	const second = int64(time.Second)
	for name, w := range map[string]struct {
		resumes, closed int64 // seconds after the kill; resumes 0: it does not
		verdict         string
	}{
		"in time":      {4, 20, record.RecoveryMet},
		"late":         {6, 20, record.RecoveryMissed},
		"not":          {0, 20, record.RecoveryMissed},
		"not any more": {0, 3, record.RecoveryUndecided},
	} {
		t.Run(name, func(t *testing.T) {
			var applied []int64
			for at := int64(0); at < 10*second; at += second / 20 {
				applied = append(applied, at)
			}
			kill := 10 * second
			for at := w.resumes * second; at > 0 && at < 20*second; at += second / 20 {
				applied = append(applied, kill+at)
			}
			slices.Sort(applied)
			_, all := measure(applied, nil, []Span{{Fault: fault.Fault{Kind: "postgres.kill"}, Begun: kill, Over: kill}}, 0, kill+w.closed*second)
			got := verdicts(all, 0, 0, 0)
			if len(got) != 1 || got[0].Verdict != w.verdict {
				t.Errorf("got %+v, want it %s", got, w.verdict)
			}
		})
	}
}

// TestNothingInHand has an engine be killed where there is nothing that could come back: nothing is said of that.
func TestNothingInHand(t *testing.T) {
	h, spans := killedAt([]int64{int64(time.Minute)})
	_, all := measure(Completions(h), instanceSpansOf(h), spans, 0, never)
	if got := verdicts(all, 0, 0, 0); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestOwnWork has instances go on every second, two late: p99 of a hundred and more pauses leaves the latest out. What
// lies after the first fault counts for nothing; and what is an instance's own work comes on top of the bound.
func TestOwnWork(t *testing.T) {
	second := int64(time.Second)
	var all instanceSpans
	for range 150 {
		all = append(all, instanceSpan{begun: 10 * second, applied: []int64{11 * second}, ended: 12 * second})
	}
	all = append(all, instanceSpan{begun: 10 * second, applied: []int64{13 * second}, ended: 90 * second}, instanceSpan{begun: 0, ended: 50 * second})
	if got := all.usualPause(second, 60*second); got != time.Second {
		t.Errorf("own work is %v, want 1s", got)
	}
	if got := (instanceSpans{}).usualPause(0, second); got != 0 {
		t.Errorf("of no instances, own work is %v", got)
	}
	h, spans := killedAt([]int64{10 * second}, []time.Duration{1700 * time.Millisecond})
	_, after := measure(Completions(h), instanceSpansOf(h), spans, 0, never)
	for own, want := range map[time.Duration]string{0: record.RecoveryMissed, 300 * time.Millisecond: record.RecoveryMet} {
		got := verdicts(after, takeover, own, 0)[0]
		if got.Verdict != want || got.OwnMS != milliseconds(int64(own)) || got.BoundMS != 1500+got.OwnMS {
			t.Errorf("with %v of own work it is %+v, want it %s", own, got, want)
		}
	}
}

// TestEarlierRate has the machine be half as fast from the second kill of the server on as before: after the third the rate
// is held against what it was before that, and after the second against what it was before that.
func TestEarlierRate(t *testing.T) {
	const second = int64(time.Second)
	var applied []int64
	for at := int64(0); at < 40*second; {
		applied = append(applied, at)
		if at += second / 40; at > 20*second {
			at += second / 40
		}
	}
	var spans []Span
	for _, at := range []int64{10 * second, 20 * second, 30 * second} {
		spans = append(spans, Span{Fault: fault.Fault{Kind: crashing}, Begun: at, Over: at})
	}
	_, all := measure(applied, nil, spans, 0, 40*second)
	if late := []bool{all[0].rate > second, all[1].rate > second, all[2].rate > second}; !slices.Equal(late, []bool{false, true, false}) {
		t.Errorf("the rate comes late after %v, want the second alone", late)
	}
}

// TestInHand has an engine be killed while it holds a lease and is submitting, and another hold a lease. Of the first alone
// is counted when instances went on; what it had been answered before it had not in hand any more.
func TestInHand(t *testing.T) {
	const second = int64(time.Second)
	h := oracle.History{
		{Kind: oracle.Submitting, Instance: "a", Source: "killed", Call: 1, AtNS: 1},
		{Kind: oracle.Submitted, Instance: "a", Source: "killed", Call: 1, AtNS: 2},
		{Kind: oracle.Leased, Instance: "a", Source: "killed", Token: 1, AtNS: 2},
		{Kind: oracle.Submitting, Instance: "b", Source: "killed", Call: 2, AtNS: 3},
		{Kind: oracle.Submitting, Instance: "c", Source: "killed", Call: 3, AtNS: 3},
		{Kind: oracle.Submitted, Instance: "c", Source: "killed", Call: 3, AtNS: 4},
		{Kind: oracle.Leased, Instance: "c", Source: "killed", Token: 2, AtNS: 4},
		{Kind: oracle.Answered, Answer: oracle.AnswerApplied, Instance: "c", Source: "killed", Token: 2, AtNS: 5},
		{Kind: oracle.Leased, Instance: "c", Source: "alive", Token: 3, AtNS: 5},
	}
	for id, at := range map[string]int64{"a": 11 * second, "b": 12 * second, "c": 19 * second} {
		h = append(h, oracle.Event{Kind: oracle.Ended, Status: reference.Completed, Instance: id, AtNS: at})
	}
	at := 10 * second
	_, all := measure(nil, instanceSpansOf(h), []Span{{Fault: fault.Fault{Kind: killing}, Begun: at, Over: at, Killed: "killed"}}, 0, never)
	if got := all[0].inHand; got != (recovered{n: 2, recovered: 2 * second, finished: 2 * second, last: "b"}) {
		t.Errorf("in hand: %+v, want a and b", got)
	}
	if got := all[0].open; got != (recovered{n: 3, recovered: 9 * second, finished: 9 * second, last: "c"}) {
		t.Errorf("open: %+v, want all three", got)
	}
	for i, want := range []string{record.RecoveryMet, record.RecoveryMissed} {
		if got := verdicts(all, 2*time.Second, 0, 0)[i]; got.Verdict != want {
			t.Errorf("%+v, want it %s", got, want)
		}
	}
}

// TestStalls has a look at the clock be late by 300 ms after a kill: what took that much too long is not decided, what took
// longer still is too late all the same.
func TestStalls(t *testing.T) {
	const second = int64(time.Second)
	at := 10 * second
	var s Stalls
	last := at
	for _, now := range []int64{at + int64(stallBeat), at + int64(stallBeat+stallLeast), at + int64(2*stallBeat+stallLeast) + 3*second/10} {
		last = s.beat(last, now)
	}
	if len(s.all) != 1 || s.Within(0, never) != 3*second/10 || s.Within(at, last-second/10) != 2*second/10 || s.Within(0, at) != 0 {
		t.Fatalf("stalls are %v", s.all)
	}
	for took, want := range map[time.Duration]string{
		1400 * time.Millisecond: record.RecoveryMet, 1700 * time.Millisecond: record.RecoveryUndecided, 1900 * time.Millisecond: record.RecoveryMissed,
	} {
		h, spans := killedAt([]int64{at}, []time.Duration{took})
		_, all := measure(Completions(h), instanceSpansOf(h), spans, 0, never)
		all[0].stalled = func(ns int64) int64 { return s.Within(at, at+ns) }
		if got := verdicts(all, takeover, 0, 0)[0]; got.Verdict != want {
			t.Errorf("after %v: %+v, want it %s", took, got, want)
		}
	}
}

// TestRecovery reads a made-up history: ten completions a second before a fault, none for two seconds, then
// the same rate.
func TestRecovery(t *testing.T) {
	var h oracle.History
	second := int64(time.Second)
	applied := func(at int64) {
		h = append(h, oracle.Event{Kind: oracle.Answered, Answer: oracle.AnswerApplied, AtNS: at, Instance: "i"})
	}
	for i := range int64(50) {
		applied(i * second / 10)
	}
	over := 5*second + second/2
	for i := range int64(50) {
		applied(over + 2*second + i*second/10)
	}
	h = append(h, oracle.Event{Kind: oracle.Ended, Status: reference.Completed, AtNS: over + 7*second, Instance: "i"})
	spans := []Span{{Fault: fault.Fault{Kind: "process.kill"}, Begun: 5 * second, Over: over}}
	rateWas, all := measure(Completions(h), instanceSpansOf(h), spans, 0, never)
	got := summarize(rateWas, all)
	want := func(what string, p record.RecoveryPercentiles, ms float64) {
		if p.N != 1 || p.P50 != ms || p.Max != ms {
			t.Errorf("%s: %+v, want %v ms once", what, p, ms)
		}
	}
	want("first", got.First, 2000)
	want("rate", got.Rate, 2000)
	want("went on", got.Recovered, 2000)
	want("finished", got.Finished, 7000)
	want("first, of its kind", got.Kinds["process.kill"].First, 2000)
	line := Run{Applied: Completions(h), Spans: spans}.Timeline()
	if total := sum(line.Completions); total != 100 || line.WindowMS < 100 || len(line.Faults) != 1 || line.Faults[0].BeginMS != 5000 || line.Faults[0].EndMS != 5500 {
		t.Errorf("the timeline has %d completions of 100, windows of %v ms, faults %v", total, line.WindowMS, line.Faults)
	}
	if got.RateWas < 9.9 || got.RateWas > 10.1 {
		t.Errorf("the rate was %v, want 10", got.RateWas)
	}
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// TestAKilledHostIsAKilledEngine holds one against the promises.
func TestAKilledHostIsAKilledEngine(t *testing.T) {
	h, spans := killedAt([]int64{int64(time.Minute)}, []time.Duration{1600 * time.Millisecond})
	for i := range spans {
		spans[i].Fault.Kind = felling
	}
	_, all := measure(Completions(h), instanceSpansOf(h), spans, 0, never)
	got := verdicts(all, takeover, 0, 0)
	if len(got) != 1 || got[0].Kind != felling || got[0].Verdict != record.RecoveryMissed {
		t.Errorf("got %+v, want it missed", got)
	}
	if !KillsEngine(felling) || KillsEngine(crashing) {
		t.Error("a killed host's engine counts as alive, or that of a killed server as killed")
	}
}
