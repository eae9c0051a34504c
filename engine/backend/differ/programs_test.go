package differ_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pulley/engine/backend/differ"
	"pulley/engine/ir/programs"
	"pulley/engine/reference"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

var (
	caseFile = flag.String("case", "", "run this one case, on the backend that it names, instead of all tests")
	casesDir = flag.String("cases", "testdata/cases", "where cases are read, and those that go wrong are saved")
	backends = flag.String("backends", "", "backends to run generated programs on, by commas; empty: all")
	count    = flag.Int("programs", programsMemory, "generated programs in memory; a server gets a tenth of them")
)

// programsMemory is the default number of programs of a test run.
var programsMemory = depth.Of(250, 6_000)

func TestMain(m *testing.M) {
	flag.Parse()
	set := func(name, value string) {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	set("rapid.nofailfile", "true") // a case file has all that rapid's own would have, and outlives the generator
	if flag.Lookup("rapid.seed").Value.String() == "0" {
		seed := 1 + uint64(rand.Uint32())
		if text := os.Getenv(depth.SeedVariable); text != "" {
			var err error
			if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
				panic(err)
			}
		}
		set("rapid.seed", fmt.Sprint(seed))
	}
	debug.SetGCPercent(400) // each case is small and short-lived
	pgtest.Main(m)
}

func checks(t *testing.T, n int) {
	t.Helper()
	if err := flag.Set("rapid.checks", fmt.Sprint(n)); err != nil {
		t.Fatal(err)
	}
}

// schedules draws a schedule. Each choice begins with the simplest: no fault, and then a fault that always occurs, since it then
// does in smaller programs, too.
func schedules(t *rapid.T) differ.Schedule {
	one := func(of ...int) int { return rapid.SampledFrom(of).Draw(t, "schedule") }
	s := differ.Schedule{Batch: one(1, 2, 3, 8)}
	if one(0, 1, 1, 1) == 0 {
		return s
	}
	s.Seed = uint64(1 + rapid.IntRange(0, 1<<20).Draw(t, "seed"))
	s.Duplicates = one(0, 100, 0, 30, 10)
	s.Losses = one(0, 40, 0, 0, 0, 0, 0, 5)
	s.Crashes = one(0, 100, 0, 0, 20, 3)
	return s
}

type mix map[string]int

const (
	all       = "programs"
	completed = "completed"
	caught    = "completed after an error"
	failed    = "failed"
	several   = "with several right outcomes"
	undecided = "undecided"
	calls     = "calls of actions"
)

func (m mix) add(r differ.Report) {
	m[all]++
	m[calls] += r.Calls
	switch {
	case r.Skipped:
		m[undecided]++
	case r.Caught:
		m[caught]++
	case r.Status == reference.Completed:
		m[completed]++
	default:
		m[failed]++
	}
	if r.Outcomes > 1 {
		m[several]++
	}
}

func (m mix) String() string {
	var parts []string
	for _, what := range []string{all, calls, completed, caught, failed, several, undecided} {
		parts = append(parts, fmt.Sprintf("%d %s", m[what], what))
	}
	return strings.Join(parts, ", ")
}

// TestPrograms compares every backend with the reference, on generated programs.
func TestPrograms(t *testing.T) {
	if *caseFile != "" {
		t.Skip("one case is asked for")
	}
	run := genuine()
	if *backends != "" {
		run = nil
		for name := range strings.SplitSeq(*backends, ",") {
			run = append(run, named(t, name))
		}
	}
	var told lines
	began := time.Now()
	t.Cleanup(func() {
		fmt.Printf("generated programs, seed %s: %s; %.0f s in all\n", flag.Lookup("rapid.seed").Value, told.String(), time.Since(began).Seconds())
	})
	checks(t, *count)
	for _, d := range run {
		t.Run(d.name, func(t *testing.T) {
			if d.waiting {
				t.Parallel()
			}
			generated(t, d, &told)
		})
	}
	checks(t, max(*count/10, 1)) // parallel tests start now
}

type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text)
}

func (l *lines) String() string {
	slices.Sort(l.text)
	return strings.Join(l.text, "; ")
}

func named(t *testing.T, name string) design {
	t.Helper()
	list := slices.Concat(genuine(), planted())
	i := slices.IndexFunc(list, func(d design) bool { return d.name == name })
	if i < 0 {
		t.Fatalf("there is no backend %q", name)
	}
	return list[i]
}

// many programs show what the generator tries; with few, chance decides.
const many = 1_000

func generated(t *testing.T, d design, told *lines) {
	began := time.Now()
	store := d.open(t)
	generator := programs.Generator(programs.Options{})
	seen, outer := mix{}, t
	var first error
	defer func() {
		if first != nil {
			outer.Logf("the first of the errors: %v", first) // it may not come again
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		if depth.Interrupted().Err() != nil {
			return
		}
		if n := seen[all]; !d.waiting && n > 0 && n%1000 == 0 {
			store = d.open(outer) // memory keeps every instance
		}
		c := differ.Case{Backend: d.name, Program: generator.Draw(t, "program"), Schedule: schedules(t)}
		report, err := differ.Run(context.Background(), c, store)
		if err != nil {
			first = cmp.Or(first, err)
			t.Log(err) // tokens and ids differ between runs; shrinking compares the words
			t.Fatal(explain(c, err))
		}
		seen.add(report)
	})
	depth.Done(t, "programs=%d seed=%s completed=%d caught=%d failed=%d undecided=%d", seen[all], flag.Lookup("rapid.seed").Value, seen[completed],
		seen[caught], seen[failed], seen[undecided])
	if err := depth.Interrupted().Err(); err != nil {
		t.Fatal(err)
	}
	told.add(fmt.Sprintf("%s: %s, %.0f s", d.name, seen, time.Since(began).Seconds()))
	if seen[all] >= many && (2*(seen[completed]+seen[caught]) < seen[all] || 20*seen[undecided] > seen[all] || seen[caught]*seen[failed] == 0) {
		t.Errorf("the programs do not try what they should: %s", seen)
	}
}

func explain(c differ.Case, err error) string {
	c.Why = firstLine(err.Error())
	file := filepath.Join(*casesDir, "new-"+c.Backend+".json")
	saved := "the case is in " + file
	if failed := c.Save(file); failed != nil {
		saved = "the case could not be saved: " + failed.Error()
	}
	schedule, _ := json.Marshal(c.Schedule) // only numbers
	return fmt.Sprintf("%s is not the reference's model on %#v\nschedule %s\n%s; to repeat it:\n\n    go test ./engine/backend/differ -run '^TestCase$' -case %s\n",
		c.Backend, c.Program, schedule, saved, file)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func TestCase(t *testing.T) {
	if *caseFile == "" {
		return
	}
	c, err := differ.Load(*caseFile)
	if err != nil {
		t.Fatal(err)
	}
	on := genuine()
	if c.Backend != "" {
		on = []design{named(t, c.Backend)}
	}
	for _, d := range on {
		t.Run(d.name, func(t *testing.T) { repeat(t, c, d.open(t)) })
	}
}

// TestCases runs the cases of all found bugs, each on the backend that it names, or on all.
func TestCases(t *testing.T) {
	if *caseFile != "" {
		t.Skip("one case is asked for")
	}
	files, err := filepath.Glob(filepath.Join(*casesDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]differ.Case{}
	for _, file := range files {
		if cases[file], err = differ.Load(file); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range slices.Concat(genuine(), planted()) {
		t.Run(d.name, func(t *testing.T) {
			var store differ.Store
			for _, file := range slices.Sorted(maps.Keys(cases)) {
				c := cases[file]
				if c.Backend != d.name && (c.Backend != "" || d.planted) {
					continue
				}
				if store.Backend == nil {
					store = d.open(t)
				}
				t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) { repeat(t, c, store) })
			}
		})
	}
}

func repeat(t *testing.T, c differ.Case, store differ.Store) {
	t.Helper()
	if _, err := differ.Run(t.Context(), c, store); err != nil {
		t.Errorf("%v\n%#v", err, c.Program)
	}
}
