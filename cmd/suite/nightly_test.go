package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSharesAreAWholeNight(t *testing.T) {
	var sum float64
	for _, p := range parts() {
		sum += p.share
	}
	if math.Abs(sum-100) > 1e-9 {
		t.Errorf("the shares of the parts are %.1f %%", sum)
	}
}

func TestBudgetIsOfTheTimeThatIsLeft(t *testing.T) {
	left := []part{{share: 10}, {share: 30}}
	n := &night{nightlyCmd: &nightlyCmd{Night: time.Hour}, began: time.Now().Add(-20 * time.Minute)}
	if got := n.budget(left); got > 10*time.Minute || got < 5*time.Minute {
		t.Errorf("a quarter of 40 minutes, less what this test has taken, is %v", got)
	}
	n.began = time.Now().Add(-2 * time.Hour)
	if got := n.budget(left); got != 0 {
		t.Errorf("after the night there are still %v", got)
	}
}

func TestNightHasTheWorstVerdict(t *testing.T) {
	night := &totals{Parts: []*outcome{{Verdict: pass}, {Verdict: fail}, {Verdict: inconclusive}}}
	if judge(night); night.Verdict != fail {
		t.Errorf("%s, want %s", night.Verdict, fail)
	}
	night.Parts = night.Parts[2:]
	if judge(night); night.Verdict != inconclusive {
		t.Errorf("%s, want %s", night.Verdict, inconclusive)
	}
	o := &outcome{Verdict: fail}
	if o.Doubt(problem{}); o.Verdict != fail || len(o.Problems) != 1 {
		t.Errorf("%+v: what failed is not inconclusive afterwards", o)
	}
}

func TestChosenPartsExist(t *testing.T) {
	if _, err := (&nightlyCmd{Night: time.Hour, Only: []string{"seed"}}).choose(); err == nil || !strings.Contains(err.Error(), "tests, seeds, worlds") {
		t.Errorf("a part that does not exist: %v", err)
	}
	if _, err := (&nightlyCmd{Night: time.Minute}).choose(); err == nil {
		t.Error("a night of a minute is taken")
	}
	chosen, err := (&nightlyCmd{Night: time.Hour, Only: []string{"soak", "seeds"}}).choose()
	if err != nil || len(chosen) != 2 || chosen[0].name != "seeds" {
		t.Errorf("%v, %v", chosen, err)
	}
}

// The speed of the work is fixed, and the test keeps the time.
func TestChunksEndInTime(t *testing.T) {
	for _, speed := range []float64{0.5, 20, 5000} {
		c := chunks{first: 10, least: 5, begun: time.Second}
		left, done, runs := 10*time.Minute, 0, 0
		for {
			amount := c.next(left)
			if amount == 0 {
				break
			}
			left -= c.begun + time.Duration(float64(amount)/speed*float64(time.Second))
			done, runs, c.speed = done+amount, runs+1, speed
		}
		if left < -time.Second || runs > 60 || float64(done) < 0.8*speed*540 {
			t.Errorf("at %v a second: %d in %d chunks, %v left", speed, done, runs, left)
		}
	}
}

func TestNextNightContinues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	s, err := readState(file)
	if err != nil {
		t.Fatal(err)
	}
	if s.next("worlds") == 0 {
		t.Error("without a memory, every night begins with the same worlds")
	}
	s.Next["worlds"] = 42
	if err := s.write(); err != nil {
		t.Fatal(err)
	}
	if s, err = readState(file); err != nil || s.next("worlds") != 42 {
		t.Errorf("the next night begins at %d, %v; want 42", s.next("worlds"), err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = readState(file); err == nil || !strings.Contains(err.Error(), "remove it to begin anew") {
		t.Errorf("a broken memory: %v", err)
	}
}

func TestPageTellsWhatFailed(t *testing.T) {
	n := &night{nightlyCmd: &nightlyCmd{Out: t.TempDir()}}
	o := &outcome{Part: "seeds", About: "worlds", Counts: []count{}}
	o.Add("seeds of push", 1234567)
	o.Fail(problem{What: "I4 <b>", Again: "go run ./cmd/pulley sim --replay x", Output: "some output"})
	if err := n.write(&totals{Verdict: fail, Night: "1h0m0s", Seconds: 3723, Ended: true, Parts: []*outcome{o}}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(n.file("report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The night failed: 1 of 1 part failed", "1,234,567 seeds of push", "I4 &lt;b&gt;", "sim --replay x", "some output", `data-name="totals.json"`} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestCheckNeedsNoServer(t *testing.T) {
	t.Chdir("../..")
	err := within(func(p *workdir) error {
		found, err := p.alone(t.Context())
		if err != nil {
			return err
		}
		has := map[string]bool{}
		for _, name := range found {
			has[short(name)] = true
		}
		for _, name := range []string{"engine/ir", "engine/expr", "engine/graph", "engine/plan", "engine/dispatch", "bench/stats", "sim", "sim/explore", "sim/pgsim", "sim/pgsim/push", "engine/oracle", "engine/backend/differ", "scenarios", "reports"} {
			if !has[name] {
				t.Errorf("check leaves out %s", name)
			}
		}
		for _, name := range []string{"engine/backend/postgres/push", "chaos", "cmd/pulley", "chaos/mutants", "engine/pgserver", "cmd/suite"} {
			if has[name] {
				t.Errorf("check runs %s, which needs a server or a second process", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFiguresAreWholeLines(t *testing.T) {
	var kept bytes.Buffer
	n := keepFigures(&kept, "pkg: a\nBenchmarkA-2 \t 10 \t 5 ns/op\nBenchmarkB-2\n--- BENCH: BenchmarkB-2\n?   \tpulley\t[no test files]\nBenchmarkC-2 \t 10 \t 5 ns/o")
	if n != 1 || strings.Contains(kept.String(), "no test files") || strings.Contains(kept.String(), "BenchmarkC") || !strings.HasPrefix(kept.String(), "pkg: a\nBenchmarkA") {
		t.Errorf("%d figures, kept:\n%s", n, kept.String())
	}
}

func TestFiguresOfAnotherNightAreNotKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.txt")
	if err := os.WriteFile(file, []byte("BenchmarkA-2 \t 10 \t 5 ns/op\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	figures, err := new(night).runGoBenchmarks(t.Context(), file, time.Now(), new(outcome))
	if err != nil || figures != 0 {
		t.Errorf("%d figures, %v, of no time", figures, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the figures of another night are still there, to be added to the history with this night's revision")
	}
}

// The history gets what git log takes: no description such as v1-2-gabc or abc-dirty.
func TestHistoryNamesCommits(t *testing.T) {
	err := within(func(p *workdir) error {
		n := &night{nightlyCmd: &nightlyCmd{}, workdir: p}
		head := n.commit(t.Context())
		if head == "" {
			t.Skip("this needs a checkout, whose revision git tells")
		}
		if again, err := n.resolve(t.Context(), head); err != nil || again != head || len(head) < 40 {
			t.Errorf("%q is no whole commit: %v", head, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFigure(t *testing.T) {
	const said = "=== RUN   TestA\ndone: TestA programs=12 tried=15\ndone: TestAll programs=100\ndone: TestA/push programs=3\ndone: TestA/pull programs=x\n"
	for _, c := range []struct {
		test, name string
		want       int64
	}{{"TestA", "programs", 15}, {"TestA", "tried", 15}, {"TestAll", "programs", 100}, {"TestB", "programs", 0}} {
		if got := figure(said, c.test, c.name); got != c.want {
			t.Errorf("%s of %s: %d, want %d", c.name, c.test, got, c.want)
		}
	}
}

// TestModulesAreFound checks that a night builds what go's own patterns leave out.
func TestModulesAreFound(t *testing.T) {
	t.Chdir("../..")
	found, err := (&workdir{}).nestedModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"adapters/gue", "adapters/river", "adapters/temporal"} {
		if !slices.Contains(found, want) {
			t.Errorf("%s is not among %v", want, found)
		}
	}
}

func TestTheEndOfAFuzzTargetsTimeIsNoFailure(t *testing.T) {
	for output, want := range map[string]bool{
		"--- FAIL: FuzzParse (1.03s)\n    context deadline exceeded\nFAIL\n":                                                         true,
		"--- FAIL: FuzzParse (1.03s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzParse/1\nFAIL\n": false,
		"--- FAIL: FuzzParse (1.03s)\n    panic: context deadline exceeded\nFAIL\n":                                                  false,
	} {
		if got := onlyRanOut(output); got != want {
			t.Errorf("%v for %s", got, output)
		}
	}
}
