package knee_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pulley/bench/knee"
	"pulley/scenarios"
)

func TestJudge(t *testing.T) {
	p99 := []scenarios.Objective{{Percentile: 99, Most: time.Second}}
	of := func(list ...knee.Window) [][]knee.Window { return [][]knee.Window{list} }
	even := func(above int) [][]knee.Window {
		var list []knee.Window
		for range 10 {
			list = append(list, knee.Window{Count: 1000, Above: above})
		}
		return [][]knee.Window{list}
	}
	for name, c := range map[string]struct {
		objectives []scenarios.Objective
		run        knee.Run
		want       knee.Vote
	}{
		"none above":             {p99, knee.Run{Windows: even(0)}, 3},
		"few above":              {p99, knee.Run{Windows: even(5)}, 2},
		"just too few":           {p99, knee.Run{Windows: of(knee.Window{1000, 19}, knee.Window{1000, 0}, knee.Window{1000, 8})}, 1},
		"just too many":          {p99, knee.Run{Windows: of(knee.Window{1000, 25}, knee.Window{1000, 0}, knee.Window{1000, 8})}, -1},
		"too many":               {p99, knee.Run{Windows: even(20)}, -2},
		"too few to say":         {p99, knee.Run{Windows: of(knee.Window{20, 0})}, 1},
		"nothing arrived":        {p99, knee.Run{Windows: of(knee.Window{})}, 0},
		"overload":               {p99, knee.Run{Windows: even(0), Overloaded: true}, -2},
		"invalid and overloaded": {p99, knee.Run{Windows: even(0), Overloaded: true, Invalid: true}, 0},
		"max holds":              {[]scenarios.Objective{{Percentile: 100, Most: 1}}, knee.Run{Windows: even(0)}, 2},
		"max breaks":             {[]scenarios.Objective{{Percentile: 100, Most: 1}}, knee.Run{Windows: of(knee.Window{100000, 1})}, -1},
		"the worst of two": {[]scenarios.Objective{p99[0], {Percentile: 95, Most: time.Second / 2}},
			knee.Run{Windows: append(even(0), even(90)...)}, -2},
	} {
		if got := knee.Judge(c.objectives, c.run); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func sharp(rate, at float64) knee.Run {
	w := knee.Window{Count: 5000}
	if rate > at {
		w.Above = 5000
	}
	return knee.Run{Rate: rate, Windows: [][]knee.Window{{w, w}}}
}

// Searches have any start, bounds and budget, and some invalid runs. The answer must enclose the true knee.
func TestSearchEnclosesEveryKnee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := knee.Config{
			Objectives: []scenarios.Objective{{Percentile: 99, Most: time.Second}},
			Start:      math.Exp(rapid.Float64Range(-3, 12).Draw(t, "ln start")),
			Tolerance:  rapid.SampledFrom([]float64{0, 0.01, 0.2}).Draw(t, "tolerance"),
			Total:      rapid.SampledFrom([]int{0, 3, 10, 1000}).Draw(t, "total"),
		}
		cfg.Least, cfg.Most = cfg.Start/rapid.Float64Range(1, 100).Draw(t, "down"), cfg.Start*rapid.Float64Range(1, 100).Draw(t, "up")
		truth := cfg.Start * math.Exp(rapid.Float64Range(-6, 6).Draw(t, "ln of the knee's distance"))
		every := rapid.SampledFrom([]int{0, 2, 3}).Draw(t, "every n-th run is invalid")
		s, runs := knee.NewSearch(cfg), 0
		for rate, more := s.Next(); more; rate, more = s.Next() {
			if rate < cfg.Least*(1-1e-9) || rate > cfg.Most*(1+1e-9) {
				t.Fatalf("%v is asked for, between %v and %v", rate, cfg.Least, cfg.Most)
			}
			r := sharp(rate, truth)
			runs++
			r.Invalid = every > 0 && runs%every == 0
			s.Add(r)
		}
		a := s.Answer()
		if limit := map[bool]int{true: 60, false: cfg.Total}[cfg.Total == 0]; runs > limit {
			t.Fatalf("%d runs", runs)
		}
		if a.Holds > truth || a.Breaks <= truth {
			t.Fatalf("%+v does not enclose %v; %+v", a, truth, s.Points())
		}
		tolerance := map[bool]float64{true: 0.05, false: cfg.Tolerance}[cfg.Tolerance == 0]
		enoughRuns := cfg.Total != 3 && cfg.Total != 10
		switch {
		case !enoughRuns || every == 2: // every second run invalid may leave a rate unclear
		case truth < cfg.Least && a.Kind != knee.Never, truth >= cfg.Most && a.Kind != knee.Always:
			t.Fatalf("%+v of a knee at %v between %v and %v", a, truth, cfg.Least, cfg.Most)
		case truth >= cfg.Least && truth < cfg.Most && (a.Kind != knee.Found || a.Tolerance > tolerance*1.001) && cfg.Total != 0:
			t.Fatalf("%+v of a knee at %v after %d runs, tolerance %v", a, truth, runs, tolerance)
		}
	})
}

// Whatever the outcomes, the search must end, no rate be run more often than allowed, and the highest rate that holds stay
// below the lowest that breaks.
func TestSearchEndsWhateverRunsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := knee.NewSearch(knee.Config{Objectives: []scenarios.Objective{{Percentile: 99, Most: time.Second}}, Start: 100, Least: 20, Most: 900, Total: 10_000})
		runs := map[float64]int{}
		for rate, more := s.Next(); more; rate, more = s.Next() {
			if runs[rate]++; runs[rate] > 5 {
				t.Fatalf("%v is run again: %+v", rate, s.Points())
			}
			r := sharp(rate, rapid.SampledFrom([]float64{0, 1000}).Draw(t, "knee"))
			r.Invalid = rapid.IntRange(0, 3).Draw(t, "0 is invalid") == 0
			s.Add(r)
			if a := s.Answer(); a.Holds >= a.Breaks {
				t.Fatalf("%+v: %+v", a, s.Points())
			}
		}
	})
}

// Runs of a rate contradict each other: the search must continue on both sides.
func TestAnUnclearRateMakesTheAnswerWider(t *testing.T) {
	s := knee.NewSearch(knee.Config{Objectives: []scenarios.Objective{{Percentile: 99, Most: time.Second}}, Start: 100})
	turn := false
	for rate, more := s.Next(); more; rate, more = s.Next() {
		r := sharp(rate, 100)
		if rate > 94 && rate < 106 {
			turn = !turn
			r.Windows[0][0].Above, r.Windows[0][1].Above = 50, map[bool]int{true: 55, false: 45}[turn]
		}
		s.Add(r)
	}
	a := s.Answer()
	if a.Kind != knee.Found || a.Holds > 94 || a.Breaks < 106 || a.Holds < 94/1.05 || a.Breaks > 106*1.05 {
		t.Errorf("%+v; %+v", a, s.Points())
	}
}

// The first run of every rate breaks.
func TestOneDisturbedRunDoesNotBreak(t *testing.T) {
	s := knee.NewSearch(knee.Config{Objectives: []scenarios.Objective{{Percentile: 99, Most: time.Second}}, Start: 50})
	seen := map[float64]bool{}
	for rate, more := s.Next(); more; rate, more = s.Next() {
		r := sharp(rate, 100)
		r.Overloaded = !seen[rate]
		seen[rate] = true
		s.Add(r)
	}
	if a := s.Answer(); a.Kind != knee.Found || a.Holds > 100 || a.Breaks < 100 || a.Tolerance > 0.0501 {
		t.Errorf("%+v; %+v", a, s.Points())
	}
}

func TestNextInFlight(t *testing.T) {
	// A closed loop whose throughput grows with the number until it is saturated.
	loop := func(n int) float64 { return 1000 * float64(n) / (float64(n) + 20) }
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Float64Range(10, 990).Draw(t, "rate")
		done := []knee.Closed{{500, loop(500)}}
		if rapid.Bool().Draw(t, "alone is known") {
			done = append(done, knee.Closed{1, loop(1)})
		}
		n, best, more := knee.NextInFlight(done, want)
		tries := 0
		for ; more; n, best, more = knee.NextInFlight(done, want) {
			done = append(done, knee.Closed{n, loop(n)})
			if tries++; tries > 12 {
				t.Fatalf("%v is not found: %v", want, done)
			}
		}
		got := done[best]
		// No neighbouring number is nearer, or this one is near enough.
		for _, other := range []int{got.InFlight - 1, got.InFlight + 1} {
			if other >= 1 && math.Abs(math.Log(got.PerS/want)) > math.Log(1.1) && math.Abs(math.Log(loop(other)/want)) < math.Abs(math.Log(got.PerS/want))*0.99 {
				t.Fatalf("%d in flight do %.1f, and %d are nearer to %.1f: %v", got.InFlight, got.PerS, other, want, done)
			}
		}
	})
}
