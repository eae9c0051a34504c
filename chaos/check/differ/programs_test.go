package differ_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pulley/chaos/check/differ"
	"pulley/chaos/check/programs"
	"pulley/engine/pgserver/pgtest"
)

var (
	caseFile = flag.String("case", "", "run this one case, on the backend that it names, instead of all tests")
	backends = flag.String("backends", "", "backends to run generated programs on, by commas; empty: all")
	count    = flag.Int("programs", 0, "generated programs on each backend; 0: as many as its row in the table says")
	soak     = flag.Bool("soak", false, "as many programs as a soak has")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// A case file has all that rapid's own would have, and outlives the generator.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	pgtest.Main(m)
}

// checks sets how many programs rapid tries.
func checks(t *testing.T, n int) {
	t.Helper()
	before := flag.Lookup("rapid.checks").Value.String()
	if err := flag.Set("rapid.checks", fmt.Sprint(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set("rapid.checks", before) })
}

// schedules draws what happens to a program. Zero draws are the simplest.
func schedules(t *rapid.T) differ.Schedule {
	n := func(k int) int { return rapid.IntRange(0, k).Draw(t, "schedule") }
	s := differ.Schedule{Batch: n(4)}
	if n(3) > 0 {
		s.Seed = uint64(n(1 << 20))
	}
	if s.Seed != 0 && n(2) == 2 {
		s.Duplicates = n(30)
	}
	if s.Seed != 0 && n(7) == 7 {
		s.Losses = n(10)
	}
	if s.Seed != 0 && n(3) == 3 {
		s.Crashes = n(100)
	}
	return s
}

// mix counts how cases ended.
type mix map[string]int

func (m mix) add(r differ.Report) {
	switch {
	case r.Skipped:
		m["undecided"]++
	case r.Caught:
		m["completed after an error"]++
	default:
		m[string(r.Status)]++
	}
	m["calls"] += r.Calls
	if r.Outcomes > 1 {
		m["with several outcomes"]++
	}
}

func (m mix) String() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[key], key))
	}
	return strings.Join(parts, ", ")
}

// TestPrograms holds every backend against the reference, on generated programs.
func TestPrograms(t *testing.T) {
	if *caseFile != "" {
		t.Skip("one case is asked for")
	}
	for _, d := range designs() {
		if *backends != "" && !slices.Contains(strings.Split(*backends, ","), d.name) {
			continue
		}
		t.Run(d.name, func(t *testing.T) { generated(t, d) })
	}
}

func generated(t *testing.T, d design) {
	n := d.programs
	if *soak {
		n = d.soak
	}
	if *count > 0 {
		n = *count
	}
	checks(t, n)
	began := time.Now()
	store := d.open(t)
	all := programs.Generator(programs.Options{})
	seen := mix{}
	rapid.Check(t, func(t *rapid.T) {
		c := differ.Case{Backend: d.name, Program: all.Draw(t, "program"), Schedule: schedules(t)}
		report, err := differ.Run(context.Background(), c, store)
		if err != nil {
			t.Fatal(explain(c, err))
		}
		seen.add(report)
	})
	if ended := n - seen["undecided"]; 2*(seen["completed"]+seen["completed after an error"]) < ended || seen["undecided"]*20 > n {
		t.Errorf("the programs do not try what they should: %s", seen)
	}
	fmt.Printf("%s: %d programs in %.1f s: %s\n", d.name, n, time.Since(began).Seconds(), seen)
}

// explain saves a case that went wrong, and tells how to run it again.
func explain(c differ.Case, err error) string {
	c.Why = firstLine(err.Error())
	file := filepath.Join("testdata", "cases", "new-"+c.Backend+".json")
	saved := "the case is in chaos/check/differ/" + file
	if failed := c.Save(file); failed != nil {
		saved = "the case could not be saved: " + failed.Error()
	}
	schedule, _ := json.Marshal(c.Schedule) // it has numbers only
	return fmt.Sprintf("%s: %v\n%#v\nschedule %s\n%s; to repeat it:\n\n    go test ./chaos/check/differ -run '^TestCase$' -case %s\n",
		c.Backend, err, c.Program, schedule, saved, file)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// TestCase runs the case that is asked for.
func TestCase(t *testing.T) {
	if *caseFile == "" {
		t.Skip("no case is asked for; -case names one")
	}
	c, err := differ.Load(*caseFile)
	if err != nil {
		t.Fatal(err)
	}
	replay(t, c)
}

// TestCases runs the cases of all bugs that were found.
func TestCases(t *testing.T) {
	if *caseFile != "" {
		t.Skip("one case is asked for")
	}
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		c, err := differ.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) { replay(t, c) })
	}
}

// replay runs a case on the backend that it names, or on all.
func replay(t *testing.T, c differ.Case) {
	ran := false
	for _, d := range designs() {
		if c.Backend != "" && c.Backend != d.name {
			continue
		}
		ran = true
		t.Run(d.name, func(t *testing.T) {
			if _, err := differ.Run(t.Context(), c, d.open(t)); err != nil {
				t.Errorf("%v\n%#v", err, c.Program)
			}
		})
	}
	if !ran {
		t.Errorf("there is no backend %q", c.Backend)
	}
}
