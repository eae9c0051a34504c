package explore

import (
	"path/filepath"
	"testing"

	"pulley/scenarios"
	"pulley/sim/cases"
)

// TestPastBugs plays the cases of past bugs, each named after what it showed. If a case names its bug, the test checks that
// planting the bug shows it again.
func TestPastBugs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	for _, file := range files {
		c, err := cases.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for planted := c.Bug != ""; ; planted, c.Bug = false, "" {
			r, _, err := Replay(c)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case planted && (len(r.Violations) == 0 || cases.InvariantOf(r.Violations[0]) != cases.InvariantOf(c.Why)):
				t.Errorf("%s shows %q with %s; want %q", file, r.Violations, c.Bug, c.Why)
			case !planted && len(r.Violations) > 0:
				t.Errorf("%s, which showed %q: %s", file, c.Why, r.Violations[0])
			}
			if !planted {
				break
			}
		}
	}
}

// TestDrawing checks that what a world leaves to the next one has no effect, by playing seeds of several programs with one
// Drawing.
func TestDrawing(t *testing.T) {
	for _, backend := range Backends() {
		all := Drawing{Backend: backend}
		defer all.Close()
		for _, seed := range []uint64{3, 4, 20, 35, 3} {
			alone := Drawing{Backend: backend}
			want := play(t, &alone, seed)
			alone.Close()
			if got := play(t, &all, seed); got != want {
				t.Errorf("%s, seed %d: after other seeds the trace is %s; alone it is %s", backend, seed, got, want)
			}
		}
	}
}

func play(t *testing.T, d *Drawing, seed uint64) string {
	t.Helper()
	c, load, err := d.Case(seed)
	if err != nil {
		t.Fatal(err)
	}
	return load.Play(c).Hash
}

// TestDrawingOfMix checks that the programs of a mix take turns.
func TestDrawingOfMix(t *testing.T) {
	var mix scenarios.Mix
	for i := range uint64(2) {
		d := Drawing{Backend: "push"}
		c, _, err := d.Case(i * cases.SeedsPerProgram)
		if err != nil {
			t.Fatal(err)
		}
		mix.Workloads = append(mix.Workloads, scenarios.Workload{Source: c.Source, Input: c.Input})
		mix.Order = append(mix.Order, int(i))
	}
	d := Drawing{Backend: "push", Mix: &mix}
	for seed, want := range map[uint64]int{0: 0, cases.SeedsPerProgram - 1: 0, cases.SeedsPerProgram: 1, 2 * cases.SeedsPerProgram: 0} {
		if c, _, err := d.Case(seed); err != nil || c.Source != mix.Workloads[want].Source {
			t.Errorf("seed %d does not play workload %d: %v", seed, want, err)
		}
	}
}
