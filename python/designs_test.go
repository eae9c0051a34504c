package python_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend/designs"
	"pulley/engine/ir/programs"
	"pulley/engine/reference"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestOnEveryDesign(t *testing.T) {
	t.Parallel()
	find(t)
	first, count := seeds(t, depth.Of(12, 200))
	cases := workflows(t, first, count)
	for _, design := range designs.All() {
		if !design.NeedsPostgres() {
			continue
		}
		t.Run(design.String(), func(t *testing.T) {
			t.Parallel()
			runAll(t, openOn(t, design), cases)
			depth.Done(t, "workflows=%d", len(cases))
		})
	}
}

// workflows returns count workflows, a third of each kind, and each hand-written one at most once.
func workflows(t *testing.T, first, count int) []ran {
	t.Helper()
	written := byPython(t)
	written = slices.CompactFunc(written, func(a, b ran) bool { return a.file() == b.file() })
	third := min(len(written), max(1, count/3))
	var cases []ran
	for i := range third { // from the whole alphabet, others for other seeds
		cases = append(cases, written[(first+i*len(written)/third)%len(written)])
	}
	cases = append(cases, printPrograms(t, "printed", programs.Options{Python: true}, first, third).run(t)...)
	for from := first; len(cases) < count && from < first+4*count; from += count { // some of these are refused
		random := byPython(t, "--random", strconv.Itoa(from), strconv.Itoa(count))
		cases = append(cases, random[:min(len(random), count-len(cases))]...)
	}
	if len(cases) < count {
		t.Fatalf("there are %d workflows, not %d", len(cases), count)
	}
	return cases
}

func openOn(t *testing.T, design designs.Spec) *runner {
	t.Helper()
	dsn, schema := pgtest.SharedSchema(t, design.String())
	store, err := design.Open(t.Context(), designs.OpenOptions{DSN: dsn, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return newRunnerOn(t, store)
}

// If several branches fail, each of their errors is right.
func runAll(t *testing.T, r *runner, cases []ran) {
	ids := make([]uuid.UUID, len(cases))
	for i, c := range cases {
		ids[i] = r.submit(t, c)
	}
	for i, c := range cases {
		got, want := r.wait(t, c, ids[i]), c.wanted(t)
		if got.same(t, want) {
			continue
		}
		outcomes, _ := r.interpreter(t, c.Program).Possible(c.Input, r.act(t), reference.Options{}, outcomesMax)
		ends := c.ends(t, outcomes)
		got.Line, want.Line = 0, 0
		if !slices.ContainsFunc(ends, func(e ended) bool { return e.same(t, got) }) || !slices.ContainsFunc(ends, func(e ended) bool { return e.same(t, want) }) {
			t.Errorf("%s\nCPython: %v\nthe design: %v\n%s", c.Name, want, got, c.Program)
		}
	}
}
