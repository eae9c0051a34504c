package search

import (
	"cmp"
	"context"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/internal/depth"
	"pulley/sim/cases"
	"pulley/sim/explore"
	"pulley/sim/world"
)

var (
	seeds     = flag.Uint64("seeds", 0, "how many seeds are played for each design; 0: by the depth of the run")
	seedsFrom = flag.Int64("seeds-from", -1, "the first of them; -1: new ones each time, or by PULLEY_SEED")
	searches  = flag.Int("searches", 1, "how many searches look for each planted bug, each in 32,768 seeds of its own; their median is told")
)

// seedsMax bounds the seed with which a run begins.
const seedsMax = 1 << 40

// TestSeeds checks that new seeds violate no invariant, and that a repeated seed has the same trace (I13): for some seeds, and
// for all at night. With many seeds, every kind of step and fault must occur. A world has one goroutine and only the end of a
// search can race, so few seeds suffice with the race detector.
func TestSeeds(t *testing.T) {
	count := cmp.Or(*seeds, seedsPlayed)
	from := uint64(max(*seedsFrom, 0))
	if *seedsFrom < 0 {
		from = depth.Seed(t) % seedsMax / cases.SeedsPerProgram * cases.SeedsPerProgram
	}
	for _, backend := range explore.Backends() {
		t.Run(backend, func(t *testing.T) {
			began := time.Now()
			again := "pulley sim --backends " + backend + " --seeds "
			twice := depth.Of(min(count, cases.SeedsPerProgram), count)
			search := Search{Backend: backend, From: from, To: from + twice - 1, Twice: true}
			f, err := search.Do(depth.Interrupted())
			if err == nil && f.Bad == nil && count > twice {
				first := f.Counts
				search.From, search.To, search.Twice = from+twice, from+count-1, false
				if f, err = search.Do(depth.Interrupted()); f != nil {
					f.Counts.Add(&first)
				}
			}
			if f == nil {
				t.Fatal(err)
			}
			depth.Done(t, "worlds=%d from=%d steps=%d faults=%d seconds=%.0f", f.Counts.Seeds, from, f.Counts.Steps, faultsOf(&f.Counts), time.Since(began).Seconds())
			if err != nil {
				t.Fatalf("%v; continue with: %s%d..%d", err, again, from, from+count-1)
			}
			if f.Bad != nil {
				t.Fatalf("seed %d: %s\nsee it with: %s%d..%d --twice", f.Bad.Seed, strings.Join(f.Why, "\n"), again, f.Bad.Seed, f.Bad.Seed)
			}
			if never := f.Never(); len(never) > 0 && count >= 20_000 {
				t.Errorf("in %d seeds there was never: %s", f.Counts.Seeds, strings.Join(never, "; "))
			}
			if f.Counts.Seeds != int(count) {
				t.Errorf("%d seeds were played; want %d", f.Counts.Seeds, count)
			}
		})
	}
}

// farBugs are bugs that a search from seed 0 finds after a minute or more. A single search begins with the seeds of the program
// that shows the bug.
var farBugs = map[string]uint64{
	"push/renewal-in-words-only": 2496, "push/map-order": 2704, "eager/called-off-unlocked": 2240, "journal/withdrawn-request-applied": 1952,
	"pull/ended-without-its-locks": 7328, "pull/renewal-waits-with-rows-in-hand": 5696, "pull:scan=sql/renewal-waits-with-rows-in-hand": 5280,
	"pull/crash-forgotten-when-a-commit-is-resolved": 2336, "pull:scan=sql/crash-forgotten-when-a-commit-is-resolved": 1984,
}

// nearBugs are bugs that a search from seed 0 finds in moments; they are searched before each change, the others at night.
var nearBugs = []string{
	"push/acknowledged-before-commit", "push/unknown-commit-is-a-failure", "push/never-reclaimed", "eager/acknowledged-before-commit", "eager/unknown-commit-is-a-success",
	"journal/epoch-not-raised", "journal/handed-over-leases-forgotten", "pull/cycle-left-to-another", "pull/unknown-commit-is-a-success",
	"pull:scan=sql/cycle-left-to-another", "pull:scan=sql/lease-not-fenced",
}

// TestBugs checks that each planted bug is found by one of its invariants.
func TestBugs(t *testing.T) {
	for _, bug := range cases.Bugs("") {
		if !depth.Night() && *searches == 1 && !slices.Contains(nearBugs, bug.Backend+"/"+bug.Name) {
			continue
		}
		t.Run(bug.Backend+"/"+bug.Name, func(t *testing.T) {
			search := Search{Backend: bug.Backend, Bug: bug.Name, To: 32767}
			if near, ok := farBugs[bug.Backend+"/"+bug.Name]; ok && *searches == 1 {
				search.From = near
			}
			found, err := search.Times(depth.Interrupted(), *searches)
			if err != nil {
				t.Fatal(err)
			}
			if wrong := found.Wrong(); wrong != "" {
				t.Error(wrong)
			}
			if len(found.Took) > 0 {
				depth.Done(t, "searches=%d found=%d median=%d", *searches, len(found.Took), found.Median())
				t.Logf("found after %d seeds in the median of %d searches, from %d to %d: %.150s", found.Median(), *searches,
					found.Took[0], found.Took[len(found.Took)-1], found.Why[0])
			}
		})
	}
}

// TestSearches checks repeated searches, each with its own seeds, for a bug and for none.
func TestSearches(t *testing.T) {
	s := Search{Backend: "push", Bug: "token-ignored", From: 100, To: 1123}
	all, err := s.Times(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	var took []uint64
	for i := range uint64(3) {
		one, err := Search{Backend: "push", Bug: "token-ignored", From: 100 + 1024*i, To: 1123 + 1024*i}.Do(t.Context())
		if err != nil || one.Bad == nil {
			t.Fatalf("search %d finds nothing: %v", i, err)
		}
		took = append(took, one.Bad.Seed-(100+1024*i)+1)
	}
	slices.Sort(took)
	if !slices.Equal(all.Took, took) || all.Median() != took[1] || all.Wrong() != "" || all.First == nil {
		t.Errorf("it took %v seeds, %d in the median, %q; want %v", all.Took, all.Median(), all.Wrong(), took)
	}
	none, err := Search{Backend: "push", To: 15}.Times(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(none.Took) > 0 || none.Median() != 0 || none.Wrong() != "2 of 2 searches found nothing" {
		t.Errorf("without a bug: %v, %q", none.Took, none.Wrong())
	}
	other := Searches{Bug: cases.Bug{Invariants: "I3 I8"}, Searches: 4, Took: []uint64{1, 2, 5, 9}, By: map[string]int{"I3": 3, "I11": 1}}
	if other.Median() != 4 || other.Wrong() != `1 found I11 violated, which is not one of "I3 I8"` {
		t.Errorf("%d, %q", other.Median(), other.Wrong())
	}
	var table strings.Builder
	if err := WriteSearches(&table, []*Searches{all, none, &other}); err != nil || strings.Count(table.String(), "\n") != 4 || !strings.Contains(table.String(), "I11 1×, I3 3×") {
		t.Errorf("%v\n%s", err, table.String())
	}
}

// TestShrink checks that the shrunk case of a planted bug still shows it after being written and read.
func TestShrink(t *testing.T) {
	f, err := Search{Backend: "push", Bug: "token-ignored", To: 1023}.Do(context.Background())
	if err != nil || f.Bad == nil {
		t.Fatalf("the bug was not found: %v", err)
	}
	small, why := Shrink(*f.Bad, f.Why, 5*time.Minute)
	if len(small.Faults) >= len(f.Bad.Faults) || len(small.Source) > len(f.Bad.Source) || len(small.Arrivals) > len(f.Bad.Arrivals) {
		t.Errorf("%d faults, %d instances and %d bytes of program became %d, %d and %d", len(f.Bad.Faults), len(f.Bad.Arrivals),
			len(f.Bad.Source), len(small.Faults), len(small.Arrivals), len(small.Source))
	}
	file := t.TempDir() + "/case.json"
	if err := small.Save(file); err != nil {
		t.Fatal(err)
	}
	again, err := cases.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	r, trace, err := explore.Replay(again)
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

// BenchmarkSeeds plays worlds, including the preparation of programs, on one processor.
func BenchmarkSeeds(b *testing.B) {
	for _, backend := range explore.Backends() {
		b.Run(backend, func(b *testing.B) {
			h := &running{Search: Search{Backend: backend, To: 1 << 40}, found: &Found{}}
			d := explore.Drawing{Backend: backend}
			defer d.Close()
			var counts world.Counts
			var number uint64
			for b.Loop() {
				if number%cases.SeedsPerProgram == 0 {
					if bad, why, err := h.program(&d, number/cases.SeedsPerProgram, &counts); bad != nil || err != nil {
						b.Fatal(why, err)
					}
				}
				number++
			}
			b.ReportMetric(float64(counts.Steps)/float64(counts.Seeds), "steps/seed")
			b.ReportMetric(float64(counts.Seeds)/b.Elapsed().Seconds(), "seeds/s")
			b.ReportMetric(float64(counts.Virtual)/float64(b.Elapsed()), "virtual/real")
		})
	}
}

func faultsOf(c *world.Counts) (n int) {
	for _, times := range c.Faults {
		n += times
	}
	return n
}
