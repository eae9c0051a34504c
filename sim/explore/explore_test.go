package explore

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	seeds    = flag.Uint64("seeds", 2000, "how many seeds are played for each design")
	searches = flag.Int("searches", 1, "how many searches look for each planted bug, each from a million seeds on; their median is told")
)

// TestSeeds plays seeds twice: no invariant may be violated, and both must give the same trace (I13). What there is must
// have happened. With the race detector a binary that is built without it does that, ten times as many: there is one
// goroutine in a world, and a search has nothing that races but its end.
func TestSeeds(t *testing.T) {
	if raced {
		unraced(t, "^TestSeeds$", "-seeds", "20000")
		*seeds = 32
	}
	for _, backend := range Backends() {
		t.Run(backend, func(t *testing.T) {
			f, err := Search{Backend: backend, To: *seeds - 1, Twice: true}.Do(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if f.Bad != nil {
				t.Fatalf("seed %d: %s\nsee it with: pulley sim --backend %s --seeds %d..%d", f.Bad.Seed, strings.Join(f.Why, "\n"), backend, f.Bad.Seed, f.Bad.Seed)
			}
			if never := f.Never(); len(never) > 0 && *seeds >= 1000 || f.Counts.Seeds != int(*seeds) {
				t.Errorf("in %d seeds there was never: %s", f.Counts.Seeds, strings.Join(never, "; "))
			}
			t.Log(Progress{Counts: &f.Counts, Elapsed: f.Elapsed})
		})
	}
}

// unraced runs a test of this package in a binary without the race detector.
func unraced(t *testing.T, test string, args ...string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "explore.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-race=false", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building without the race detector: %v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), binary, append([]string{"-test.v", "-test.run", test}, args...)...)
	run.Env = append(os.Environ(), "GOGC=400") // worlds are small and short
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%s without the race detector: %v\n%s", test, err, out)
	}
	t.Logf("without the race detector:\n%s", out)
}

// TestBugs plants bugs. Each must be found, by one of the invariants that it breaks.
func TestBugs(t *testing.T) {
	if raced {
		unraced(t, "^TestBugs$")
		return
	}
	for _, backend := range Backends() {
		for _, bug := range Bugs(backend) {
			t.Run(backend+"/"+bug, func(t *testing.T) {
				var took []uint64
				for i := range uint64(*searches) {
					took = append(took, find(t, backend, bug, i*1_000_000))
				}
				slices.Sort(took)
				t.Logf("found after %d seeds in the median of %d searches, from %d to %d", (took[(len(took)-1)/2]+took[len(took)/2])/2,
					len(took), took[0], took[len(took)-1])
			})
		}
	}
}

// find looks for a bug from a seed on, and gives how many seeds that took.
func find(t *testing.T, backend, bug string, from uint64) uint64 {
	f, err := Search{Backend: backend, Bug: bug, From: from, To: from + 32767, Workers: 1}.Do(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if f.Bad == nil {
		t.Fatalf("not found in %d seeds", f.Counts.Seeds)
	}
	invariant, _, _ := strings.Cut(f.Why[0], ":")
	if invariants := bugs[backend][bug]; !strings.Contains(" "+invariants+" ", " "+invariant+" ") {
		t.Errorf("seed %d found it by %s; want one of %s", f.Bad.Seed, f.Why[0], invariants)
	}
	if *searches == 1 {
		t.Logf("seed %d: %.150s", f.Bad.Seed, f.Why[0])
	}
	return f.Bad.Seed - from + 1
}

// TestShrink makes the case of a planted bug smaller, which must show it still, when it was written and read.
func TestShrink(t *testing.T) {
	f, err := Search{Backend: "push", Bug: bugTokenIgnored, To: 1023}.Do(context.Background())
	if err != nil || f.Bad == nil {
		t.Fatalf("the bug was not found: %v", err)
	}
	small, why := Shrink(*f.Bad, f.Why, 10*time.Second)
	if len(small.Faults) >= len(f.Bad.Faults) || len(small.Source) > len(f.Bad.Source) || len(small.Arrivals) > len(f.Bad.Arrivals) {
		t.Errorf("%d faults, %d instances and %d bytes of program became %d, %d and %d", len(f.Bad.Faults), len(f.Bad.Arrivals),
			len(f.Bad.Source), len(small.Faults), len(small.Arrivals), len(small.Source))
	}
	file := t.TempDir() + "/case.json"
	if err := small.Save(file); err != nil {
		t.Fatal(err)
	}
	again, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	r, trace, err := Replay(again)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Violations) == 0 || r.Violations[0] != why[0] {
		t.Errorf("played again it violates %q; want %q", r.Violations, why)
	}
	var words, drawing strings.Builder
	if err := trace.Write(&words); err != nil || !strings.Contains(words.String(), "violation: "+why[0]) {
		t.Errorf("the trace in words has no violation (%v):\n%.500s", err, words.String())
	}
	if err := trace.SVG(&drawing); err != nil || !strings.Contains(drawing.String(), `fill="#d00"`) || !strings.HasSuffix(drawing.String(), "</svg>\n") {
		t.Errorf("the drawing has no violation in red (%v)", err)
	}
}

// TestRefusedCases wants a case that makes no sense to be named.
func TestRefusedCases(t *testing.T) {
	var d drawn
	load, err := d.workload(0)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Case){
		"engines is 0": func(c *Case) { c.Engines = 0 },
		"lease_us is":  func(c *Case) { c.LeaseUS = 1 },
		"arrival 0":    func(c *Case) { c.Arrivals = []Arrival{{Engine: 9}} },
		"fault 0":      func(c *Case) { c.Faults = []Fault{{Kind: ""}} },
	} {
		c := draw(0, "push", load)
		if change(&c); c.validate() == nil || !strings.Contains(c.validate().Error(), want) {
			t.Errorf("the error is %v; want %q", c.validate(), want)
		}
	}
}

// BenchmarkSeeds plays worlds, with the making of their programs.
func BenchmarkSeeds(b *testing.B) {
	for _, backend := range Backends() {
		b.Run(backend, func(b *testing.B) {
			h := &hunt{Search: Search{Backend: backend, To: 1 << 40}, found: &Found{}}
			var counts Counts
			var number uint64
			for b.Loop() {
				if number%SeedsPerProgram == 0 {
					if bad, why, err := h.program(number/SeedsPerProgram, &counts); bad != nil || err != nil {
						b.Fatal(why, err)
					}
				}
				number++
			}
			b.ReportMetric(float64(counts.Steps)/float64(counts.Seeds), "steps/seed")
		})
	}
}

// TestPastBugs plays the cases of bugs that were found, each named after what it showed.
func TestPastBugs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	for _, file := range files {
		c, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := Replay(c)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Violations) > 0 {
			t.Errorf("%s, which showed %q: %s", file, c.Why, r.Violations[0])
		}
	}
}
