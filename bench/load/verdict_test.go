package load_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pulley/bench/load"
	"pulley/reports/record"
)

// steadyRun is valid: 200 requests a second for 30 s, each of which takes about 10 ms.
func steadyRun(change func(i int, r *load.Request)) load.Run {
	r := rand.New(rand.NewPCG(3, 3))
	const end = 30 * time.Second
	run := load.Run{Steady: true, WarmUp: 5 * time.Second, End: end, Drained: end + time.Second, Percentile: 99, Cores: 2,
		Pace: load.Pace{Busy: 100 * time.Millisecond, Whole: end}}
	for at := time.Duration(0); at < end; at += 5 * time.Millisecond {
		q := load.Request{Intended: at, Sent: at + 100*time.Microsecond, Stored: at + 2*time.Millisecond}
		q.Ended = q.Sent + 8*time.Millisecond + time.Duration(r.ExpFloat64()*float64(2*time.Millisecond))
		if change != nil {
			change(len(run.Requests), &q)
		}
		run.Requests = append(run.Requests, q)
	}
	return run
}

func kinds(l *record.Load) string {
	var out []string
	for _, f := range l.Findings {
		if len(out) == 0 || out[len(out)-1] != f.Kind {
			out = append(out, f.Kind)
		}
	}
	return strings.Join(out, " ")
}

// Each finding is planted alone, and a value just below its threshold.
func TestVerdict(t *testing.T) {
	others := func(share float64) *record.CPU {
		ns := int64(share * 2 * 30e9)
		return &record.CPU{OthersNS: &ns}
	}
	share := func(i int) time.Duration { return time.Duration(i) } // of 6,000 requests
	for name, c := range map[string]struct {
		run  load.Run
		want string
	}{
		"nothing":         {steadyRun(nil), ""},
		"slow but steady": {steadyRun(func(_ int, r *load.Request) { r.Ended += 2 * time.Second }), ""},
		"dropped": {steadyRun(func(i int, r *load.Request) {
			if i == 4000 {
				*r = load.Request{Intended: r.Intended}
			}
		}), load.KindOverload},
		"dropped in the warm-up": {steadyRun(func(i int, r *load.Request) {
			if i == 40 {
				*r = load.Request{Intended: r.Intended}
			}
		}), ""},
		"slower and slower":  {steadyRun(func(i int, r *load.Request) { r.Ended += share(i) * time.Second * 3 / 6000 }), load.KindOverload},
		"slower for a while": {steadyRun(func(i int, r *load.Request) { r.Ended += share(i%1000) * time.Second / 6000 }), ""},
		"drifting":           {steadyRun(func(i int, r *load.Request) { r.Ended += share(i) * 3 * time.Millisecond / 6000 }), load.KindDrift},
		"hardly drifting":    {steadyRun(func(i int, r *load.Request) { r.Ended += share(i) * 500 * time.Microsecond / 6000 }), ""},
		"getting faster":     {steadyRun(func(i int, r *load.Request) { r.Ended += share(6000-i) * 3 * time.Millisecond / 6000 }), load.KindDrift},
		"one without an end": {steadyRun(func(i int, r *load.Request) {
			if i == 5999 {
				r.Ended = 0
			}
		}), load.KindUnended},
		"many without an end": {steadyRun(func(i int, r *load.Request) {
			if i >= 5000 && i%3 == 0 {
				r.Ended = 0
			}
		}), load.KindOverload},
		"late": {steadyRun(func(i int, r *load.Request) {
			if i%50 == 0 {
				r.Sent += 9 * time.Millisecond
				r.Ended += 9 * time.Millisecond
			}
		}), load.KindLag},
		"late, but rarely": {steadyRun(func(i int, r *load.Request) {
			if i%200 == 0 {
				r.Sent += 9 * time.Millisecond
				r.Ended += 9 * time.Millisecond
			}
		}), ""},
		"late, but slow anyway": {steadyRun(func(i int, r *load.Request) {
			r.Ended += 100 * time.Millisecond
			if i%50 == 0 {
				r.Sent += 9 * time.Millisecond
			}
		}), ""},
		"too few": {func() load.Run {
			run := steadyRun(nil)
			run.Percentile = 99.95
			return run
		}(), load.KindTooFew},
		"busy": {func() load.Run {
			run := steadyRun(nil)
			run.Pace.Busy = 20 * time.Second
			return run
		}(), load.KindSaturated},
		"closed, and all sent too soon": {func() load.Run {
			run := steadyRun(nil)
			run.Closed, run.Pace.Whole = true, 29*time.Second
			return run
		}(), load.KindSaturated},
		"closed, and sent to the end": {func() load.Run {
			run := steadyRun(nil)
			run.Closed = true
			return run
		}(), ""},
		"others": {func() load.Run {
			run := steadyRun(nil)
			run.CPU = others(0.11)
			return run
		}(), load.KindOthers},
		"few others": {func() load.Run {
			run := steadyRun(nil)
			run.CPU = others(0.09)
			return run
		}(), ""},
		"wrong": {func() load.Run {
			run := steadyRun(nil)
			run.Wrong = []string{"instance 7: the result is 1, not 2"}
			return run
		}(), load.KindWrong},
	} {
		got := load.Analyze(c.run)
		if kinds(got) != c.want || got.Valid != (c.want == "") || got.Overloaded != (c.want == load.KindOverload) {
			t.Errorf("%s: %q (valid: %v, overloaded: %v), want %q", name, got.Findings, got.Valid, got.Overloaded, c.want)
		}
	}
}

func TestFallingBehind(t *testing.T) {
	got := load.Analyze(steadyRun(func(_ int, r *load.Request) {
		behind := r.Intended / 100
		r.Sent, r.Stored, r.Ended = r.Sent+behind, r.Stored+behind, r.Ended+behind
	}))
	if e := got.Pace.RateError; e < 0.0095 || e > 0.0101 || !strings.Contains(kinds(got), load.KindLag) {
		t.Errorf("the rate error is %v: %+v", e, got.Findings)
	}
}

// Requests are late, exceed an objective, or are stored slowly. Only those of the measured phase count, and a request that ends
// after the phase does not count as achieved in it.
func TestWhatIsCounted(t *testing.T) {
	run := steadyRun(func(i int, r *load.Request) {
		r.Ended = r.Intended + 10*time.Millisecond
		if i%10 == 0 {
			r.Sent = r.Intended + 2*time.Millisecond
		}
		if i >= 5500 && i%2 == 0 { // last tenth of the measured phase
			r.Ended = r.Intended + 31*time.Second
		}
		if i < 1000 { // warm-up
			r.Stored = r.Sent + time.Second
		}
	})
	run.Objectives = []record.LoadObjective{{Percentile: 50, MostNS: int64(10 * time.Millisecond)}}
	got := load.Analyze(run)
	if got.Whole.Late != 600 || got.Measured.Late != 500 {
		t.Errorf("late: %d of all, %d of those measured", got.Whole.Late, got.Measured.Late)
	}
	for i, w := range got.Objectives[0].Windows {
		if above := map[bool]int{true: 250}[i == 9]; w.Count != 500 || w.Above != above {
			t.Errorf("part %d: %+v, want %d above", i, w, above)
		}
	}
	// 5,000 in 25 s, less 250, plus one or two: more end in the phase from the warm-up than remain at its end.
	if got.AchievedPerS < 189.5 || got.AchievedPerS > 190.5 {
		t.Errorf("%v ended a second", got.AchievedPerS)
	}
	if s := got.Stages[0]; s.NS.Count != 5000 || *s.NS.Max > int64(10*time.Millisecond) {
		t.Errorf("%+v", s)
	}
}

func TestTooFewSaysHowMany(t *testing.T) {
	run := steadyRun(nil)
	run.Percentile = 99.9
	run.End = 10 * time.Second
	run.Requests = run.Requests[:2000]
	got := load.Analyze(run)
	if len(got.Findings) != 1 || got.Findings[0].Text != "p99.9 takes 3688 instances in the measured phase, and there were 1000: measure for 19s, or ask for a lower percentile" {
		t.Errorf("%+v", got.Findings)
	}
}

// A percentile that falls among requests without an end must be unknown, not too short.
func TestUnknownPercentiles(t *testing.T) {
	run := steadyRun(func(i int, r *load.Request) {
		if i%50 == 0 {
			r.Ended = 0
		}
	})
	run.Objectives = []record.LoadObjective{{Percentile: 99, MostNS: 1 << 60}, {Percentile: 90, MostNS: int64(20 * time.Millisecond)}, {Percentile: 90, MostNS: int64(9 * time.Millisecond)}}
	got := load.Analyze(run)
	if l := got.LatencyNS; l.P99 != nil || l.Max != nil || l.MeanNS != nil || l.P90 == nil || l.Count != 5000 {
		t.Errorf("%+v", l)
	}
	if got.Asked.ValueNS != nil {
		t.Errorf("%+v", got.Asked)
	}
	for i, want := range []bool{false, true, false} {
		if got.Objectives[i].Held != want {
			t.Errorf("%+v", got.Objectives[i])
		}
	}
}

// The first latencies are ten times as long, and fall within two seconds.
func TestWarmUpIsFound(t *testing.T) {
	for _, most := range []time.Duration{5 * time.Second, time.Second} {
		run := steadyRun(func(i int, r *load.Request) {
			if left := 2*time.Second - r.Intended; left > 0 {
				r.Ended += left / 20
			}
		})
		run.Auto, run.WarmUp = true, most
		got := load.Analyze(run)
		p := got.Phases
		if found := time.Duration(p.WarmUpNS); most > 2*time.Second && (!p.Settled || found < 1700*time.Millisecond || found > 3*time.Second) || most < 2*time.Second && (p.Settled || found != most) {
			t.Errorf("the warm-up lasts %v (settled: %v), with %v at most", found, p.Settled, most)
		}
		if got.Valid != (most > 2*time.Second) && len(got.Notes) == 0 {
			t.Errorf("%+v", got)
		}
	}
}

func TestIntervalsAddUp(t *testing.T) {
	run := steadyRun(func(i int, r *load.Request) {
		if i%100 == 7 {
			*r = load.Request{Intended: r.Intended}
		}
		if i == 5000 {
			r.Ended = 0
		}
	})
	got := load.Analyze(run)
	var intended, sent, dropped, ended int
	for _, v := range got.Intervals {
		intended, sent, dropped, ended = intended+v.Intended, sent+v.Offered, dropped+v.Dropped, ended+v.Achieved
		if v.Backlog != intended-dropped-ended {
			t.Errorf("%+v", v)
		}
		if v.Measured != (v.FromNS >= got.Phases.WarmUpNS) || v.ToNS-v.FromNS != int64(time.Second) || v.P50NS == nil {
			t.Errorf("%+v", v)
		}
	}
	w := got.Whole
	if intended != 6000 || dropped != 60 || sent != w.Sent || w.Unfinished != 1 || w.Ended-ended < 0 || w.Ended-ended > 3 || len(got.Intervals) != 30 {
		t.Errorf("%d intended, %d sent, %d dropped, %d ended in %d intervals, of %+v", intended, sent, dropped, ended, len(got.Intervals), w)
	}
}

func TestSpan(t *testing.T) {
	for _, c := range []struct{ measure, end, want time.Duration }{
		{30 * time.Second, 40 * time.Second, time.Second},
		{5 * time.Second, 6 * time.Second, 500 * time.Millisecond},
		{time.Millisecond, time.Second, time.Millisecond},
		{time.Hour, time.Hour, 7 * time.Second},
		{10 * time.Minute, 10 * time.Minute, time.Second},
	} {
		if got := load.Span(c.measure, c.end); got != c.want {
			t.Errorf("%v of %v: %v, want %v", c.measure, c.end, got, c.want)
		}
	}
}
