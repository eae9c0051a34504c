package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/chaos/fault"
	"pulley/engine/oracle"
	"pulley/internal/depth"
	"pulley/reports/record"
)

// soakSeries is made up: a value for each second of a minute.
func soakSeries(value func(second int) float64) *record.SoakSeries {
	s := &record.SoakSeries{}
	for i := range 60 {
		v := value(i)
		s.AtS, s.Values = append(s.AtS, float64(i)), append(s.Values, &v)
	}
	s.Values[12] = nil // a sample that could not be had
	return s
}

// TestGrowth tells what grows from what rises at the begin, or for a moment.
func TestGrowth(t *testing.T) {
	s := &soak{run: &run{Case: Case{LastMS: 60_000}, result: newResult(Case{})}, series: map[string]*record.SoakSeries{
		seriesMemory:      soakSeries(func(i int) float64 { return min(10, float64(i)+1) }),
		seriesGoroutines:  soakSeries(func(i int) float64 { return 10 + float64(i%2) }),
		seriesConnections: soakSeries(func(i int) float64 { return float64(10 + 90*(i/59)) }), // its last sample only
		seriesTables:      soakSeries(func(i int) float64 { return float64(100 + i) }),
		seriesIndexes:     soakSeries(func(i int) float64 { return 100 - float64(i) }),
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
	if s.result.conclude(); s.result.Verdict != Fail || !slices.Equal(s.result.Invariants(), []string{"growth"}) {
		t.Errorf("the verdict is %s by %v, want a failure by growth", s.result.Verdict, s.result.Invariants())
	}
	if again := Shrink(t.Context(), s.result, Config{}, time.Minute); again != s.result {
		t.Error("growth was run again, to be made smaller")
	}
	s.result, s.series[seriesMemory] = newResult(Case{}), &record.SoakSeries{}
	if s.judge(); len(s.result.Why) != 1 || !strings.Contains(s.result.Why[0], "too few samples") {
		t.Errorf("%v, want one doubt about a series without samples", s.result.Why)
	}
}

// TestSoakPlan spares the first engine, and only from what ends processes.
func TestSoakPlan(t *testing.T) {
	c := Case{Engines: 2, Seed: 3, EveryMS: 1000, LeaseMS: 1000, CallMS: 1000}
	first := 0
	plan := c.SoakPlan(fault.Kinds(), 10*time.Minute)
	kinds := len(fault.Kinds()) - 1 // process.every is none of a soak
	longest := map[string]int{}
	for _, f := range plan[:kinds] {
		longest[f.Kind] = f.HoldMS
	}
	longer := 0
	for _, f := range plan[kinds:] {
		if f.HoldMS > longest[f.Kind] {
			longer++
		}
	}
	if len(longest) != kinds || longer > len(plan)/20 {
		t.Errorf("%d of %d kinds come first; %d of %d later faults last longer than the first of their kind", len(longest), kinds, longer, len(plan)-kinds)
	}
	for _, f := range plan {
		if f.Engine == 0 && slices.Contains(ends, f.Kind) || f.Kind == "process.every" {
			t.Errorf("%s ends the first engine", f)
		}
		if f.Engine == 0 {
			first++
		}
	}
	if first < 100 {
		t.Errorf("%d faults hit the first engine", first)
	}
}

// TestKeeps has the history of a long run be of some instances, each of them whole.
func TestKeeps(t *testing.T) {
	c := Case{Soak: true, LastMS: int((20 * time.Minute).Milliseconds())}
	w := newWatch()
	w.load, w.share = newLoad(c, nil, nil), c.share()
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

// TestSoak has a short one, in which ended instances are removed.
func TestSoak(t *testing.T) {
	t.Parallel()
	c := shortCase("push")
	c.Soak, c.LastMS, c.RatePerS, c.InFlight, c.EveryMS = true, depth.Of(soakLeastMS, 60_000), depth.Of(4.0, 8), 50, 3000
	c.CallMS = 5000 // a sample that takes longer is none
	c.Faults = []fault.Fault{{Kind: "process.kill", Engine: 1}}
	res := runCase(t, c)
	if unknown := slices.DeleteFunc(res.Invariants(), func(i string) bool { return i == "growth" }); len(unknown) > 0 || len(res.Why) > 0 {
		t.Errorf("violated: %v, inconclusive: %v", unknown, res.Why)
	}
	if res.Soak == nil || len(res.Soak.Growth) < 10 || !strings.Contains(res.Soak.Method, "instances were removed") || strings.Contains(res.Soak.Method, " 0 instances") {
		t.Errorf("the soak saw %+v", res.Soak)
	}
}

// TestNap has a soak see as many rounds of the server's vacuum as the day that it stands for.
func TestNap(t *testing.T) {
	for _, c := range []struct{ length, nap time.Duration }{
		{10 * time.Second, time.Second}, {30 * time.Minute, time.Second}, {8 * time.Hour, 20 * time.Second}, {24 * time.Hour, 0},
	} {
		if got := (Case{Soak: true, LastMS: int(c.length.Milliseconds())}).nap(); got != c.nap {
			t.Errorf("in a soak of %v vacuum comes round every %v; want %v", c.length, got, c.nap)
		}
	}
}

// TestWindows has both windows of a soak see every kind of fault, where there is the time.
func TestWindows(t *testing.T) {
	plan := []fault.Fault{{Kind: "a"}, {Kind: "b"}, {Kind: "a"}}
	for _, c := range []struct {
		last, every     int // seconds
		settled, window float64
	}{{1800, 10, 300, 180}, {1800, 100, 300, 200}, {60, 100, 10, 25}} {
		settled, window := Case{Soak: true, LastMS: 1000 * c.last, EveryMS: 1000 * c.every, Faults: plan}.windows()
		if settled != c.settled || window != c.window {
			t.Errorf("a soak of %d s with a fault every %d s has windows of %v s after %v s; want %v and %v", c.last, c.every, window, settled, c.window, c.settled)
		}
	}
}
