package capacity_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pulley/bench"
	"pulley/bench/capacity"
	"pulley/bench/load"
	"pulley/engine/backend/designs"
	"pulley/internal/depth"
	"pulley/reports/record"
)

// queue is a system of servers with exponential services, in virtual time. Its runs are analyzed like those of engines.
type queue struct {
	servers int
	mean    float64 // of a service, in seconds
	r       *rand.Rand
	now     time.Time
	runs    int
	fail    int // the run that fails; 0: none
	stall   int // every stall-th run, it stalls for a while; 0: never
	others  int // every others-th run, other programs use the machine; 0: never
	slow    int // so many first open runs have services half as long again

	disturbed func(o bench.OpenRun) bool // whether other programs use the machine in a run; nil: in none
}

var errBroken = errors.New("the store is gone")

func (q *queue) run(ctx context.Context, o bench.OpenRun) (*record.Load, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	q.runs++
	if q.fail > 0 && q.runs >= q.fail {
		return nil, errBroken
	}
	end := o.WarmUp + o.Measure
	requests, err := q.requests(o, end)
	if err != nil {
		return nil, err
	}
	drained := end
	for i := range requests {
		r := &requests[i]
		if r.Ended > end+o.Drain && o.Arrivals.Open() {
			r.Ended = 0
			drained = end + o.Drain
		}
		drained = max(drained, r.Ended)
	}
	q.now = q.now.Add(drained)
	run := load.Run{
		Requests: requests, Closed: !o.Arrivals.Open(), Steady: true, WarmUp: o.WarmUp, End: end, Drained: drained, Percentile: o.Percentile, Limits: o.Limits,
		Pace: load.Pace{Whole: end}, Cores: 2,
	}
	for _, b := range o.Objectives {
		run.Objectives = append(run.Objectives, record.LoadObjective{Percentile: b.Percentile, MostNS: int64(b.Most)})
	}
	if q.others > 0 && q.runs%q.others == 0 || q.disturbed != nil && q.disturbed(o) {
		used := int64(end)
		run.CPU = &record.CPU{OthersNS: &used}
	}
	return load.Analyze(run), nil
}

func (q *queue) requests(o bench.OpenRun, end time.Duration) (list []load.Request, err error) {
	frees := make([]float64, q.servers)
	stall := math.Inf(1)
	if q.stall > 0 && q.runs%q.stall == 0 {
		stall = end.Seconds() / 2
	}
	mean := q.mean
	if o.Arrivals.Open() && q.slow > 0 {
		mean, q.slow = 1.5*mean, q.slow-1
	}
	serve := func(at float64) time.Duration {
		first := 0
		for i := range frees {
			if frees[i] < frees[first] {
				first = i
			}
		}
		begin := max(at, frees[first])
		if begin >= stall {
			begin, stall = begin+end.Seconds()/10, math.Inf(1)
		}
		frees[first] = begin + mean*q.r.ExpFloat64()
		return time.Duration(frees[first] * 1e9)
	}
	if o.Arrivals.Open() {
		times, err := load.NewSchedule(o.Arrivals, end, o.Seed)
		if err != nil {
			return nil, err
		}
		for _, at := range times {
			sent := max(at, 1)
			list = append(list, load.Request{Intended: sent, Sent: sent, Stored: sent, Ended: serve(sent.Seconds())})
		}
		return list, nil
	}
	next := make([]time.Duration, o.Arrivals.InFlight()[0])
	for {
		first := 0
		for i := range next {
			if next[i] < next[first] {
				first = i
			}
		}
		at := max(next[first], 1)
		if at >= end {
			return list, nil
		}
		next[first] = serve(at.Seconds())
		list = append(list, load.Request{Intended: at, Sent: at, Stored: at, Ended: next[first]})
	}
}

func newQueue(seed uint64, servers int, perS float64) *queue {
	return &queue{servers: servers, mean: float64(servers) / perS, r: rand.New(rand.NewPCG(seed, 2)), now: time.Unix(0, 0)}
}

func (q *queue) spec() capacity.KneeSpec {
	return capacity.KneeSpec{Run: q.run, InFlightMost: 1000, MaxTime: 3 * time.Minute, Now: func() time.Time { return q.now }, Seed: 1}
}

// The knee of a queue of one server is known: p99 = ln 100/(μ − λ).
func TestKneeOfAKnownQueue(t *testing.T) {
	const perS = 1000.0
	for i, c := range []struct {
		stall, others int
		objective     time.Duration
	}{{0, 0, 30 * time.Millisecond}, {7, 0, 20 * time.Millisecond}, {0, 6, 20 * time.Millisecond}} {
		q := newQueue(uint64(i), 1, perS)
		q.stall, q.others = c.stall, c.others
		spec := q.spec()
		spec.Objectives = []record.KneeObjective{{Percentile: 99, MostNS: int64(c.objective), Source: "given"}}
		k, err := capacity.FindKnee(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		truth := perS - math.Log(100)/c.objective.Seconds()
		const slack = 0.07
		if k.Kind != "found" || *k.HoldsPerS > truth*(1+slack) || *k.BreaksPerS < truth*(1-slack) || *k.BreaksPerS / *k.HoldsPerS > 1.25 {
			t.Errorf("%+v: %s", c, text(k))
		}
		if took := time.Duration(k.ElapsedNS); took > spec.MaxTime+10*time.Second || took != q.now.Sub(time.Unix(0, 0)) {
			t.Errorf("%+v: it took %v, and %v by the clock", c, took, q.now.Sub(time.Unix(0, 0)))
		}
		t.Logf("%+v: truth %.0f; %s", c, truth, text(k))
	}
}

// The objective comes from the closed loop. Runs at 80 % and 120 % must confirm the knee.
func TestTheCheckOfAKnee(t *testing.T) {
	for _, servers := range depth.Of([]int{1, 8}, []int{1, 2, 4, 8, 32}) {
		q := newQueue(uint64(servers), servers, 2000)
		k, err := capacity.FindKnee(t.Context(), q.spec())
		if err != nil {
			t.Fatal(err)
		}
		t.Log(text(k))
		if k.Kind != "found" || len(k.Objectives) != 1 || k.Check == nil || k.Check.Ratio == nil {
			t.Errorf("%d servers: %s", servers, text(k))
			continue
		}
		c := k.Check
		if want := float64(*c.Below.AtNS) / float64(*c.Closed.AtNS); *c.Ratio != want || !c.Closed.Valid {
			t.Errorf("%d servers: the ratio of %d ns and %d ns is %v; the closed loop is valid: %v", servers, *c.Below.AtNS, *c.Closed.AtNS, *c.Ratio, c.Closed.Valid)
		}
		if below, above := c.Below.AskedPerS / *k.HoldsPerS, c.Above.AskedPerS / *k.HoldsPerS; math.Abs(below-0.8) > 1e-9 || math.Abs(above-1.2) > 1e-9 {
			t.Errorf("%d servers: the check is at %v and %v of the knee", servers, below, above)
		}
		if len(c.BelowRuns) != 3 || len(c.AboveRuns) < 3 {
			t.Errorf("%d servers: the check has %d and %d runs", servers, len(c.BelowRuns), len(c.AboveRuns))
		}
		if *c.Ratio <= 0 || *c.Ratio > 3 {
			t.Errorf("%d servers: at 80 %% p99 is %.2f times that of a closed loop", servers, *c.Ratio)
		}
		if math.Abs(c.Closed.AchievedPerS/c.Below.AskedPerS-1) > 0.2 && c.Closed.InFlight > 1 {
			t.Errorf("%d servers: the closed loop does %.0f, and %.0f were asked for", servers, c.Closed.AchievedPerS, c.Below.AskedPerS)
		}
		// Whether 120 % of the knee is overload depends on what share of the servers' capacity it is.
		if asked := c.Above.AskedPerS; (asked > 2000*1.05) != c.Above.Overloaded {
			t.Errorf("%d servers: at %.0f a second, of 2000 that they can do, overload is %v: %+v", servers, asked, c.Above.Overloaded, c.Above.Findings)
		}
	}
}

// The servers slow down during the search, so that it encloses a false knee.
func TestTheCheckOverrulesWhatWasDisturbed(t *testing.T) {
	for _, opens := range depth.Of([]int{12}, []int{4, 8, 12, 16}) {
		q := newQueue(3, 1, 1000)
		q.slow = opens
		spec := q.spec()
		const most = 30 * time.Millisecond
		spec.Objectives = []record.KneeObjective{{Percentile: 99, MostNS: int64(most), Source: "given"}}
		var lines []string
		spec.Say = func(line string) { lines = append(lines, line) }
		k, err := capacity.FindKnee(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		const slack = 0.07
		truth := 1000 - math.Log(100)/most.Seconds()
		if k.Kind != "found" || *k.HoldsPerS > truth*(1+slack) || *k.BreaksPerS < truth*(1-slack) || k.Check == nil || k.Check.Above == nil || k.Check.Above.Vote > 0 {
			t.Errorf("%d slow runs: truth %.0f; %s\n%s", opens, truth, text(k), strings.Join(lines, "\n"))
		}
	}
}

// The middle of the valid runs is taken, where overloaded ones sort last.
func TestTheCheckTakesTheMiddle(t *testing.T) {
	of := func(ns int64, valid, overloaded bool) record.KneeRun {
		return record.KneeRun{AtNS: &ns, Valid: valid, Overloaded: overloaded}
	}
	good := func(ns int64) record.KneeRun { return of(ns, true, false) }
	for _, c := range []struct {
		runs []record.KneeRun
		want int64
	}{
		{nil, 0},
		{[]record.KneeRun{good(20), good(30), good(10)}, 20},
		{[]record.KneeRun{good(30), good(10), good(20)}, 20},
		{[]record.KneeRun{of(15, false, false), good(30), good(20)}, 30},
		{[]record.KneeRun{good(20), of(1, true, true), good(10)}, 20},
		{[]record.KneeRun{of(3, false, false), of(2, false, false)}, 3},
	} {
		switch got := capacity.Middle(c.runs); {
		case got == nil && c.want != 0, got != nil && *got.AtNS != c.want:
			t.Errorf("%+v is taken; want %d of %d runs", got, c.want, len(c.runs))
		}
	}
}

// Other programs use the machine during a closed loop at the check's rate.
func TestTheCheckLeavesInvalidLoopsOut(t *testing.T) {
	q := newQueue(8, 8, 2000)
	spec, opened, disturbed := q.spec(), false, false
	q.disturbed = func(o bench.OpenRun) bool {
		opened = opened || o.Arrivals.Open()
		if !opened || o.Arrivals.Open() || disturbed {
			return false
		}
		disturbed = true
		return true
	}
	k, err := capacity.FindKnee(t.Context(), spec)
	if err != nil || !disturbed || k.Check == nil || k.Check.Closed == nil || !k.Check.Closed.Valid || k.Check.Ratio == nil {
		t.Errorf("%v; a loop was disturbed: %v; %s", err, disturbed, text(k))
	}
}

func TestSearchesEnd(t *testing.T) {
	objective := func(most time.Duration) []record.KneeObjective {
		return []record.KneeObjective{{Percentile: 99, MostNS: int64(most)}}
	}
	for name, c := range map[string]struct {
		prepare func(q *queue, s *capacity.KneeSpec)
		kind    string
		why     string
		failed  error
	}{
		"the bound is below a service":    {func(_ *queue, s *capacity.KneeSpec) { s.Objectives = objective(time.Microsecond) }, "never", "", nil},
		"the store fails":                 {func(q *queue, s *capacity.KneeSpec) { q.fail = 6; s.Objectives = objective(time.Second) }, "undecided", "the store is gone", errBroken},
		"others always use the machine":   {func(q *queue, s *capacity.KneeSpec) { q.others = 1 }, "undecided", "other-load", nil},
		"others use it while it searches": {func(q *queue, s *capacity.KneeSpec) { q.others = 1; s.Objectives = objective(time.Second) }, "undecided", "other-load", nil},
		"there is little time":            {func(q *queue, s *capacity.KneeSpec) { s.MaxTime = 10 * time.Second; *q = *newQueue(1, 1, 20) }, "undecided", "", nil},
	} {
		q := newQueue(9, 1, 500)
		spec := q.spec()
		c.prepare(q, &spec)
		spec.Run, spec.Now = q.run, func() time.Time { return q.now }
		k, err := capacity.FindKnee(t.Context(), spec)
		if !errors.Is(err, c.failed) || k.Kind != c.kind || !strings.Contains(k.Why, c.why) || k.Kind == "undecided" && k.Why == "" {
			t.Errorf("%s: %v; %s", name, err, text(k))
		}
		if took := time.Duration(k.ElapsedNS); took > spec.MaxTime*3/2 {
			t.Errorf("%s: it took %v of %v", name, took, spec.MaxTime)
		}
	}
}

func TestAnInterruptedSearchKeepsWhatItHas(t *testing.T) {
	q := newQueue(4, 1, 1000)
	ctx, cancel := context.WithCancelCause(t.Context())
	spec := q.spec()
	spec.Objectives = []record.KneeObjective{{Percentile: 99, MostNS: 3e7}}
	stop := errors.New("enough")
	runs := 0
	spec.Say = func(string) {
		if runs++; runs == 8 {
			cancel(stop)
		}
	}
	k, err := capacity.FindKnee(ctx, spec)
	if !errors.Is(err, stop) || len(k.Closed) != 2 || len(k.Points) == 0 || k.Why != "enough" {
		t.Errorf("%v; %s", err, text(k))
	}
}

func TestScaling(t *testing.T) {
	law := func(n float64) float64 { return 400 * n / (1 + 0.05*(n-1) + 0.004*n*(n-1)) }
	open, seed := 0, uint64(0)
	spec := capacity.ScaleSpec{
		Axis: capacity.Workers, Values: []int{1, 2, 4, 8, 16, 32}, Measure: 1500 * time.Millisecond,
		Open: func(_ context.Context, n int) (capacity.RunLoad, int, func(context.Context) error, error) {
			open++
			seed++
			return newQueue(seed, 1, law(float64(n))).run, 100, func(context.Context) error { open--; return nil }, nil
		},
	}
	s, err := capacity.MeasureScaling(t.Context(), spec)
	if err != nil || open != 0 || len(s.Runs) != 18 || s.InFlight != 10 || s.Law == nil {
		t.Fatalf("%v, %d open, %+v", err, open, s)
	}
	if s.Runs[5].N != 32 || s.Runs[6].N != 32 || s.Runs[17].N != 32 {
		t.Errorf("the values do not take turns: %+v", s.Runs)
	}
	peak := math.Sqrt(0.95 / 0.004)
	if p := s.Law.Peak; !s.Law.Determined || *p.Lo > peak*1.05 || *p.Hi < peak*0.95 || *p.Value < peak*0.7 || *p.Value > peak*1.3 {
		t.Errorf("peak %v [%v, %v], should be %.1f; %q", *p.Value, *p.Lo, *p.Hi, peak, s.Warnings)
	}
	if len(s.Law.Curve) == 0 || s.Law.Curve[0].N != 1 || s.Law.Curve[0].Lo > s.Law.Curve[0].Hi {
		t.Errorf("%+v", s.Law.Curve)
	}
}

func TestParseAxis(t *testing.T) {
	axis, values, err := capacity.ParseAxis("workers=16,1,4")
	if err != nil || axis != capacity.Workers || len(values) != 3 || values[0] != 1 || values[2] != 16 {
		t.Errorf("%v %v %v", axis, values, err)
	}
	for _, text := range []string{"", "workers", "worker=1,2,3", "workers=1,2", "workers=1,2,2", "workers=0,1,2", "connections=1,2,3", "workers=1,x,3", "workers=1,2,99999"} {
		if _, _, err := capacity.ParseAxis(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
	spec, err := designs.Parse("memory")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := capacity.Connections.Scale(bench.TestbedSpec{Backend: spec}, 4); err == nil {
		t.Error("the memory has connections")
	}
}

func text(k *record.Knee) string {
	var b strings.Builder
	b.WriteString(k.Kind + " " + k.Why)
	if k.HoldsPerS != nil {
		b.WriteString(" holds " + time.Duration(*k.HoldsPerS*1e9).String())
	}
	if k.BreaksPerS != nil {
		b.WriteString(" breaks " + time.Duration(*k.BreaksPerS*1e9).String())
	}
	for _, o := range k.Objectives {
		b.WriteString(" " + time.Duration(o.MostNS).String() + " " + o.Source)
	}
	for _, p := range k.Points {
		b.WriteString("\n   ")
		b.WriteString(time.Duration(p.RatePerS * 1e9).String())
		b.WriteString(" " + p.Verdict)
		for _, r := range p.Runs {
			b.WriteString(map[int]string{-2: " --", -1: " -", 0: " 0", 1: " +", 2: " ++", 3: " +++"}[r.Vote])
			for _, f := range r.Findings {
				b.WriteString("/" + f.Kind)
			}
		}
	}
	if c := k.Check; c != nil && c.Ratio != nil {
		b.WriteString("\n   ratio " + time.Duration(*c.Ratio*1e9).String())
	}
	return b.String() + "\n   took " + time.Duration(k.ElapsedNS).String()
}
