package capacity

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"pulley/bench"
	"pulley/bench/knee"
	"pulley/bench/load"
	"pulley/bench/stats"
	"pulley/reports/record"
	"pulley/scenarios"
	"pulley/scenarios/arrivals"
)

// KneeSpec configures a search.
type KneeSpec struct {
	Run RunLoad
	// InFlightMost bounds the open instances. A tenth of them saturates the system in a closed loop.
	InFlightMost int
	Arriving     Arriving // empty: Poisson
	// Objectives must hold; the first one's percentile is shown. Empty: p99 below three times its value in a closed loop at
	// half of the saturated rate.
	Objectives []record.KneeObjective
	// Tolerance is the greatest distance between the ends of the answer, relative to the lower one. Zero: 0.05.
	Tolerance float64
	// bounds the search; zero: 4 min
	MaxTime time.Duration
	Seed    uint64 // for the arrivals
	Limits  load.Limits

	Now func() time.Time
	Say func(line string) // called after every run; may be nil
}

const (
	defaultTime      = 4 * time.Minute
	defaultTolerance = 0.05
	leastTime        = 10 * time.Second
	mostTime         = 24 * time.Hour
)

// Validate returns what is wrong with a spec, in one line.
func (s KneeSpec) Validate() error {
	switch {
	case s.MaxTime != 0 && (s.MaxTime < leastTime || s.MaxTime > mostTime):
		return fmt.Errorf("%v for a search; choose from %v to %v", s.MaxTime, leastTime, mostTime)
	case s.Tolerance != 0 && !(s.Tolerance >= 0.005 && s.Tolerance <= 1):
		return fmt.Errorf("a tolerance of %v; choose from 0.005 to 1", s.Tolerance)
	case s.Arriving != "" && s.Arriving != Poisson && s.Arriving != Constant:
		return fmt.Errorf("arrivals %q; choose poisson or constant", s.Arriving)
	}
	return nil
}

const (
	// runs of usual length in a search
	partsOfTime = 36
	// the part of that time that one run may take if instances are few
	longestPart     = 6
	warmingPart     = 4
	saturatingPart  = 10
	saturatingLeast = 8
	// ladderStep multiplies the instances in flight from one closed loop to the next on the way to saturation. A loop whose
	// rate grows by less than the share growsLeast is saturated.
	ladderStep, growsLeast = 8, 0.1
	// relative to a saturated closed loop's rate
	startShare, mostShare = 0.8, 5
	// default objective, relative to the closed loop's latency
	looserThanClosed = 3
	// The check's rates, relative to the highest that holds.
	belowShare, aboveShare = 0.8, 1.2
	// checkTimes is how often each of them is run; checkRuns are the runs of usual length, with a closed loop, for which time
	// is reserved.
	checkTimes, checkRuns = 3, 2*3 + 1
	// successive invalid runs after which a search gives up
	invalidMax = 8
	// closed loops that look for a rate
	closedRuns = 5
)

type searching struct {
	KneeSpec
	times times
	began time.Time
	out   *record.Knee
	asked []scenarios.Objective
	seeds uint64

	knee *knee.Search                 // nil until open runs begin
	runs map[float64][]record.KneeRun // open runs, by rate
}

// FindKnee searches for the knee. With an error, of the system or ctx's cause, it also returns what it has.
func FindKnee(ctx context.Context, spec KneeSpec) (*record.Knee, error) {
	out := &record.Knee{Kind: string(knee.Undecided), Objectives: spec.Objectives, Seed: spec.Seed, InFlightMost: spec.InFlightMost}
	if err := spec.Validate(); err != nil {
		return out, err
	}
	spec.MaxTime, spec.Tolerance = cmp.Or(spec.MaxTime, defaultTime), cmp.Or(spec.Tolerance, defaultTolerance)
	spec.Arriving = cmp.Or(spec.Arriving, Poisson)
	if spec.Now == nil {
		spec.Now = time.Now
	}
	out.Arrivals = string(spec.Arriving)
	s := &searching{KneeSpec: spec, began: spec.Now(), out: out}
	unit := spec.MaxTime / partsOfTime
	s.times = times{warmUp: unit / warmingPart, measure: unit - unit/warmingPart, most: spec.MaxTime / longestPart}
	err := s.search(ctx)
	out.ElapsedNS = int64(spec.Now().Sub(s.began))
	if err != nil && out.Why == "" {
		out.Why = err.Error()
	}
	return out, err
}

// left reports whether there is time for a run, and for after runs of usual length.
func (s *searching) left(measure time.Duration, after int) bool {
	usual := s.times.warmUp + s.times.measure
	needs := s.times.warmUp + measure + time.Duration(after)*usual
	return s.Now().Sub(s.began)+needs <= s.MaxTime
}

func (s *searching) percentile() float64 {
	if len(s.out.Objectives) > 0 {
		return s.out.Objectives[0].Percentile
	}
	return 99
}

func (s *searching) search(ctx context.Context) error {
	saturated, err := s.saturate(ctx)
	if err != nil || saturated == 0 {
		return err
	}
	if len(s.out.Objectives) == 0 {
		if err := s.setObjective(ctx, saturated/2); err != nil || len(s.out.Objectives) == 0 {
			return err
		}
	}
	s.asked = objectivesOf(s.out.Objectives)
	s.begin(saturated)
	if err := s.enclose(ctx); err != nil || s.out.HoldsPerS == nil {
		return err
	}
	return s.compareBelow(ctx)
}

// enclose climbs until the knee is enclosed, and checks above it. If the check's rate holds, the runs that broke below it were
// disturbed: the search continues from there.
func (s *searching) enclose(ctx context.Context) error {
	for {
		if err := s.climb(ctx); err != nil || s.out.BreaksPerS == nil || s.out.HoldsPerS == nil {
			return err
		}
		was := *s.out.HoldsPerS
		if err := s.checkAbove(ctx, was); err != nil || s.knee.Answer().Holds == was {
			return err
		}
		s.out.Check = nil
		s.say("%.0f %% of the knee holds, so something disturbed the runs that broke below it; the search continues", 100*aboveShare)
	}
}

// saturate runs closed loops with more and more in flight until the rate stops growing, and returns the highest.
func (s *searching) saturate(ctx context.Context) (perS float64, err error) {
	enough, best := max(s.InFlightMost/saturatingPart, saturatingLeast), 0
	for n := 1; ; n = min(n*ladderStep, enough) {
		what := "towards saturation"
		if n == 1 {
			what = "alone"
		}
		r, err := s.closed(ctx, n, what, s.times.measure)
		if err != nil {
			return 0, err
		}
		last := len(s.out.Closed) - 1
		grew := r.AchievedPerS > perS*(1+growsLeast)
		if r.AchievedPerS > perS {
			perS, best = r.AchievedPerS, last
		}
		if n >= enough || n > 1 && !grew {
			break
		}
	}
	if perS == 0 {
		s.out.Why = fmt.Sprintf("no instance ended within %v; give it more time", s.times.measure)
	} else if best > 0 {
		s.out.Closed[best].What = "saturated"
	}
	return perS, nil
}

func (s *searching) closed(ctx context.Context, inFlight int, what string, measure time.Duration) (*record.KneeRun, error) {
	l, err := s.run(ctx, arrivals.Closed(inFlight), measure, 0)
	if err != nil {
		return nil, err
	}
	r := recorded(l, what, 0, inFlight)
	s.out.Closed = append(s.out.Closed, r)
	s.say("closed loop, %d in flight (%s): %s, p50 %s, %s %s%s", inFlight, what, perSecond(r.AchievedPerS), short(r.P50NS), s.name(), short(r.AtNS), against(r))
	return &r, nil
}

func (s *searching) open(ctx context.Context, perS float64) (*record.Load, error) {
	return s.run(ctx, s.Arriving.at(perS), s.times.forRate(perS, s.percentile()), s.drain())
}

// drain bounds the wait for instances open at the end of an open run: several times the objective. Longer latencies exceed the
// bound anyway.
func (s *searching) drain() time.Duration {
	const least, most, factor = 2 * time.Second, 10 * time.Second, 4
	longest := time.Duration(0)
	for _, o := range s.asked {
		longest = max(longest, o.Most)
	}
	return max(min(factor*longest, most), least)
}

func (s *searching) run(ctx context.Context, a arrivals.Arrivals, measure, drain time.Duration) (*record.Load, error) {
	s.seeds++ // so that no two runs draw the same
	return s.Run(ctx, bench.OpenRun{
		Arrivals: a, Seed: s.Seed + s.seeds, WarmUp: s.times.warmUp, WarmUpFixed: true, Measure: measure, Drain: drain,
		Percentile: s.percentile(), Objectives: s.asked, Limits: s.Limits,
	})
}

// closedAt returns the nearest valid closed loop to a rate; nil: none is near. Invalid runs also help to find the number in
// flight.
func (s *searching) closedAt(ctx context.Context, perS float64, what string, after int) (*record.KneeRun, error) {
	measure := s.times.forRate(perS, s.percentile())
	for range closedRuns {
		runs := latest(s.out.Closed)
		inFlight, best, more := 1, 0, true
		if len(runs) > 0 {
			inFlight, best, more = knee.NextInFlight(loops(runs), perS)
		}
		if !more {
			if inFlight = runs[best].InFlight; usable(runs[best]) {
				return runs[best], nil
			}
		}
		if !s.left(measure, after) {
			break
		}
		if _, err := s.closed(ctx, inFlight, what, measure); err != nil {
			return nil, err
		}
	}
	runs := slices.DeleteFunc(latest(s.out.Closed), func(r *record.KneeRun) bool { return !usable(r) })
	if len(runs) == 0 {
		return nil, nil
	}
	_, best, _ := knee.NextInFlight(loops(runs), perS)
	if r := runs[best]; r.AchievedPerS > perS/nearFactor && (r.AchievedPerS < perS*nearFactor || r.InFlight == 1) {
		return r, nil
	}
	return nil, nil
}

// nearFactor bounds the ratio of a closed loop's rate to the intended one.
const nearFactor = 1.5

// latest returns the latest run with a rate for each number in flight, preferring valid ones.
func latest(runs []record.KneeRun) []*record.KneeRun {
	of := map[int]*record.KneeRun{}
	for i := range runs {
		r := &runs[i]
		if have := of[r.InFlight]; r.AchievedPerS > 0 && (have == nil || usable(r) || !usable(have)) {
			of[r.InFlight] = r
		}
	}
	var out []*record.KneeRun
	for _, n := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[n])
	}
	return out
}

func usable(r *record.KneeRun) bool { return r.Valid && r.AtNS != nil }

func loops(runs []*record.KneeRun) (out []knee.Closed) {
	for _, r := range runs {
		out = append(out, knee.Closed{InFlight: r.InFlight, PerS: r.AchievedPerS})
	}
	return out
}

func (s *searching) setObjective(ctx context.Context, perS float64) error {
	r, err := s.closedAt(ctx, perS, "half of saturation", checkRuns+closedRuns)
	if err != nil {
		return err
	}
	if r == nil {
		s.out.Why = "no closed loop near half of saturation gave a latency to take the objective from: " + s.complaints() + "; give an objective"
		return nil
	}
	most := time.Duration(threeDigits(looserThanClosed * float64(*r.AtNS)))
	s.out.Objectives = []record.KneeObjective{{Percentile: 99, MostNS: int64(most), Source: fmt.Sprintf(
		"%d times the p99 of a closed loop with %d in flight, which does %s of the %s at saturation", looserThanClosed, r.InFlight, perSecond(r.AchievedPerS), perSecond(2*perS))}}
	s.say("objective: p99 < %v", most)
	return nil
}

// complaints describes what spoke against the closed loops.
func (s *searching) complaints() string {
	if kinds := record.InvalidKinds(s.out.Closed...); len(kinds) > 0 {
		return "runs are invalid (" + strings.Join(kinds, ", ") + ")"
	}
	return "none did that rate"
}

func (s *searching) begin(saturated float64) {
	start := startShare * saturated
	needs := moreThanNeeded * float64(stats.QuantileNeeds(min(s.percentile()/100, 0.999), stats.Confidence))
	s.knee = knee.NewSearch(knee.Config{
		Objectives: s.asked, Start: start, Least: min(needs/s.times.most.Seconds(), start/2), Most: mostShare * saturated, Tolerance: s.Tolerance,
	})
	s.runs = map[float64][]record.KneeRun{}
}

func (s *searching) climb(ctx context.Context) (err error) {
	s.out.Why = ""
	invalid := 0
	defer func() { s.answer(err) }()
	for rate, more := s.knee.Next(); more; rate, more = s.knee.Next() {
		if invalid == invalidMax {
			s.out.Why = fmt.Sprintf("%d runs in a row decide nothing", invalid)
			return nil
		}
		after := checkRuns
		if s.knee.Answer().Holds == 0 { // there may be nothing to check
			after = checkTimes + 1
		}
		if !s.left(s.times.forRate(rate, s.percentile()), after) {
			s.out.Why = fmt.Sprintf("the time of %v was over; give it more", s.MaxTime)
			return nil
		}
		r, err := s.add(ctx, rate)
		if err != nil {
			return err
		}
		if invalid++; r.Valid {
			invalid = 0
		}
		s.say("%s: %s", perSecond(rate), s.describe(r))
	}
	return nil
}

func (s *searching) add(ctx context.Context, rate float64) (*record.KneeRun, error) {
	r, shown, err := s.judged(ctx, rate)
	if err != nil {
		return nil, err
	}
	s.runs[rate] = append(s.runs[rate], *r)
	s.knee.Add(shown)
	return r, nil
}

func (s *searching) judged(ctx context.Context, rate float64) (*record.KneeRun, knee.Run, error) {
	l, err := s.open(ctx, rate)
	if err != nil {
		return nil, knee.Run{}, err
	}
	r, shown := recorded(l, "", rate, 0), voting(rate, l)
	r.Vote = int(knee.Judge(s.asked, shown))
	return &r, shown, nil
}

func (s *searching) answer(err error) {
	s.out.Points, s.out.HoldsPerS, s.out.BreaksPerS = nil, nil, nil
	unclear := 0
	for _, p := range s.knee.Points() {
		s.out.Points = append(s.out.Points, record.KneePoint{RatePerS: p.Rate, Verdict: string(p.Verdict), Runs: s.runs[p.Rate]})
		if p.Verdict == knee.Unclear {
			unclear++
		}
	}
	if strings.HasSuffix(s.out.Why, "decide nothing") {
		s.out.Why += s.invalidKinds()
	}
	a := s.knee.Answer()
	s.out.Kind = string(a.Kind)
	if a.Holds > 0 {
		s.out.HoldsPerS = &a.Holds
	}
	if !math.IsInf(a.Breaks, 1) {
		s.out.BreaksPerS = &a.Breaks
	}
	if err == nil && s.out.Why == "" && unclear > 0 && (a.Kind == knee.Undecided || a.Tolerance > s.Tolerance*1.01) {
		s.out.Why = fmt.Sprintf("runs of %d rates contradict each other or are invalid%s", unclear, s.invalidKinds())
	}
}

func (s *searching) invalidKinds() string {
	var runs []record.KneeRun
	for _, p := range s.out.Points {
		runs = append(runs, p.Runs...)
	}
	return against(runs...)
}

// checkAbove makes runs above a rate, the highest known to hold. It makes more than checkTimes if these neither hold nor break.
func (s *searching) checkAbove(ctx context.Context, holds float64) error {
	above := aboveShare * holds
	c := &record.KneeCheck{BelowShare: belowShare, AboveShare: aboveShare}
	s.out.Check = c
	for made := 0; made < checkTimes || s.wants(above); made++ {
		if !s.left(s.times.forRate(above, s.percentile()), checkTimes+1) {
			break
		}
		r, err := s.add(ctx, above)
		if err != nil {
			return err
		}
		s.say("check at %s: %s", perSecond(above), s.describe(r))
		c.AboveRuns = append(c.AboveRuns, *r)
	}
	c.Above = middle(c.AboveRuns)
	s.answer(nil)
	return nil
}

// wants reports whether the search has no verdict on a rate yet.
func (s *searching) wants(rate float64) bool {
	next, more := s.knee.Next()
	return more && next == rate
}

// compareBelow makes runs below the knee, and a closed loop of the same throughput.
func (s *searching) compareBelow(ctx context.Context) (err error) {
	if s.out.Check == nil {
		s.out.Check = &record.KneeCheck{BelowShare: belowShare, AboveShare: aboveShare}
	}
	c, below := s.out.Check, belowShare**s.out.HoldsPerS
	for range checkTimes {
		if !s.left(s.times.forRate(below, s.percentile()), 1) {
			break
		}
		r, _, err := s.judged(ctx, below)
		if err != nil {
			return err
		}
		s.say("check at %s: %s", perSecond(below), s.describe(r))
		c.BelowRuns = append(c.BelowRuns, *r)
	}
	if c.Below = middle(c.BelowRuns); c.Below == nil {
		return nil
	}
	if c.Closed, err = s.closedAt(ctx, below, "the rate of the check", 0); err != nil || c.Closed == nil {
		return err
	}
	if c.Below.Valid && !c.Below.Overloaded && c.Below.AtNS != nil {
		ratio := float64(*c.Below.AtNS) / float64(*c.Closed.AtNS)
		c.Ratio = &ratio
	}
	return nil
}

// middle returns the valid run of median latency, since one may be disturbed; overloaded runs come last. Without a valid run it
// is the first; nil for none.
func middle(runs []record.KneeRun) *record.KneeRun {
	var valid []*record.KneeRun
	for i := range runs {
		if runs[i].Valid {
			valid = append(valid, &runs[i])
		}
	}
	if len(valid) == 0 {
		if len(runs) == 0 {
			return nil
		}
		return &runs[0]
	}
	latency := func(r *record.KneeRun) float64 {
		if r.Overloaded || r.AtNS == nil {
			return math.Inf(1)
		}
		return float64(*r.AtNS)
	}
	slices.SortStableFunc(valid, func(a, b *record.KneeRun) int { return cmp.Compare(latency(a), latency(b)) })
	return valid[len(valid)/2]
}

func (s *searching) name() string { return record.PercentileName(s.percentile()) }

func (s *searching) describe(r *record.KneeRun) string {
	switch {
	case !r.Valid:
		return "decides nothing" + against(*r)
	case r.Overloaded:
		return fmt.Sprintf("overload, %s achieved", perSecond(r.AchievedPerS))
	}
	word := map[bool]string{true: "holds", false: "breaks"}[r.Vote > 0]
	return fmt.Sprintf("%s, p50 %s, %s %s", word, short(r.P50NS), s.name(), short(r.AtNS))
}

// against lists in brackets what makes runs invalid.
func against(runs ...record.KneeRun) string {
	kinds := record.InvalidKinds(runs...)
	if len(kinds) == 0 {
		return ""
	}
	return " (" + strings.Join(kinds, ", ") + ")"
}

func (s *searching) say(format string, args ...any) {
	if s.Say != nil {
		s.Say(fmt.Sprintf(format, args...))
	}
}

func threeDigits(v float64) float64 {
	if v <= 0 {
		return v
	}
	step := math.Pow(10, math.Floor(math.Log10(v))-2)
	return math.Ceil(v/step) * step
}

func short(ns *int64) string {
	if ns == nil {
		return "–"
	}
	return time.Duration(threeDigits(float64(*ns))).String()
}
