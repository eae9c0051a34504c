package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/engine/oracle"
	"pulley/internal/depth"
	"pulley/reports/record"
)

// soakSeries makes a series with a value for each second of a minute.
func soakSeries(value func(second int) float64) *record.SoakSeries {
	s := &record.SoakSeries{}
	for i := range 60 {
		v := value(i)
		s.AtS, s.Values = append(s.AtS, float64(i)), append(s.Values, &v)
	}
	s.Values[12] = nil
	return s
}

// TestGrowth distinguishes growth from a rise at the begin or for a moment.
func TestGrowth(t *testing.T) {
	s := &soak{run: &run{Case: cases.Case{LastMS: 60_000}, result: newResult(cases.Case{})}, series: map[string]*record.SoakSeries{
		seriesMemory:      soakSeries(func(i int) float64 { return min(10, float64(i)+1) * 100 * mebibyte }),
		seriesGoroutines:  soakSeries(func(i int) float64 { return 1000 + 90*float64(i%2) }),
		seriesConnections: soakSeries(func(i int) float64 { return float64(10 + 90*(i/59)) }), // only its last sample
		seriesTables:      soakSeries(func(i int) float64 { return float64(100+10*i) * mebibyte }),
		seriesIndexes:     soakSeries(func(int) float64 { return 100 }),
		"table other":     soakSeries(func(i int) float64 { return float64(i * i) }),
	}}
	out := s.judge()
	var grown []string
	for _, g := range out.Growth {
		if g.Judged && !g.Within {
			grown = append(grown, g.Name)
		}
	}
	if !slices.Equal(grown, []string{seriesTables}) || len(out.Growth) != 6 || len(out.Series) != 6 {
		t.Errorf("%v grow, of %d, want the tables alone", grown, len(out.Growth))
	}
	if s.result.conclude(); s.result.Verdict != Fail || !slices.Equal(s.result.Invariants(), []string{growth}) {
		t.Errorf("the verdict is %s by %v, want a failure by growth", s.result.Verdict, s.result.Invariants())
	}
	if again := Shrink(t.Context(), s.result, Config{}, time.Minute); again != s.result {
		t.Error("growth was run again, to be made smaller")
	}
	s.result, s.series[seriesMemory] = newResult(cases.Case{}), &record.SoakSeries{}
	if s.judge(); len(s.result.Why) != 1 || !strings.Contains(s.result.Why[0], "too few samples") {
		t.Errorf("%v, want one doubt about a series without samples", s.result.Why)
	}
}

// TestEveryLeakIsFound has each judged series grow by slightly more and slightly less than it may, and vary as much as with the
// load.
func TestEveryLeakIsFound(t *testing.T) {
	for _, one := range bounded {
		for _, base := range []float64{0, 100 * one.sways} {
			allowed := base*(soakMax-1) + one.sways
			for name, c := range map[string]struct {
				value func(second int) float64
				found bool
			}{
				"more": {func(i int) float64 { return base + 1.1*allowed*float64(i/30) }, true},
				"less": {func(i int) float64 { return base + 0.9*allowed*float64(i/30) }, false},
				"load": {func(i int) float64 { return base + one.sways*float64(i%2) }, false},
			} {
				s := &soak{run: &run{Case: cases.Case{LastMS: 60_000}, result: newResult(cases.Case{})}, series: map[string]*record.SoakSeries{one.name: soakSeries(c.value)}}
				if g := s.judge().Growth[0]; !g.Judged || g.Within == c.found || len(s.result.Violations) > 0 != c.found {
					t.Errorf("%s, %s: %+v, violations %v", one.name, name, g, s.result.Violations)
				}
			}
		}
	}
}

// TestKeeps checks that the history of a long run has some of the instances, each completely.
func TestKeeps(t *testing.T) {
	c := cases.Case{Soak: true, LastMS: int((20 * time.Minute).Milliseconds())}
	w := newWatch()
	w.load, w.share = newLoad(c, nil, nil), c.Share()
	line := func(instance string) []byte {
		return []byte(`{"kind":"answered","instance":"` + instance + `","answer":"applied"}` + "\n")
	}
	for _, id := range []string{"00000000-aa", "00000001-aa", "0000000" + string("0123456789abcdef"[w.share%16]) + "-aa"} {
		w.note(0, "engine", string(oracle.Answered), line(id))
	}
	w.note(0, "engine", string(oracle.Claiming), []byte(`{"kind":"claiming","call":1}`+"\n"))
	text := string(w.sources["engine"])
	if w.share < 2 || strings.Contains(text, "00000001-aa") || !strings.Contains(text, "00000000-aa") || !strings.Contains(text, "claiming") || len(w.applied) != 3 {
		t.Errorf("one of %d is kept, %d completions are counted: %s", w.share, len(w.applied), text)
	}
}

// TestSoak runs a short soak that removes ended instances, and checks that leaked goroutines are found. At night there is a soak
// without the bug, too: in a shorter time, growth is no bug yet.
func TestSoak(t *testing.T) {
	for _, bug := range depth.Of([]string{"leaves goroutines"}, []string{"leaves goroutines", ""}) {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			testSoak(t, bug)
		})
	}
}

func testSoak(t *testing.T, bug string) {
	c := shortCase("push")
	c.Soak, c.LastMS, c.RatePerS, c.InFlight, c.EveryMS = true, depth.Of(cases.SoakLeastMS, 60_000), depth.Of(4.0, 8), 50, 3000
	c.CallMS = 5000 // a slower sample is dropped
	c.Faults = []fault.Fault{{Kind: "process.kill", Engine: 1}}
	res := runCase(t, c, plantVariable+"="+bug)
	found := slices.ContainsFunc(res.Violations, func(v Violation) bool { return v.Invariant == growth && strings.HasPrefix(v.Message, seriesGoroutines) })
	if bug != "" && !found {
		t.Errorf("the bug was not found; violations: %v", res.Violations)
	}
	if unknown := slices.DeleteFunc(res.Invariants(), func(i string) bool { return i == growth }); len(unknown) > 0 || len(res.Why) > 0 {
		t.Errorf("violated: %v, inconclusive: %v", unknown, res.Why)
	}
	if res.Soak == nil || len(res.Soak.Growth) < 10 || !strings.Contains(res.Soak.Method, "instances were removed") || strings.Contains(res.Soak.Method, " 0 instances") {
		t.Errorf("the soak saw %+v", res.Soak)
	}
}
