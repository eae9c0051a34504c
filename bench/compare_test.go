package bench_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulley/bench"
	"pulley/engine/backend/designs"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
	"pulley/reports/record"
	"pulley/scenarios"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func specs(t *testing.T, names ...string) []designs.Spec {
	t.Helper()
	out, err := designs.ParseAll(names)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func cases(t *testing.T, o bench.CaseOptions) []bench.Case {
	t.Helper()
	out, err := bench.Cases(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func compare(t *testing.T, cfg bench.CompareConfig) *bench.Comparison {
	t.Helper()
	cfg.DSN, cfg.Way = pgtest.DSN(t), pgtest.Server(t).Describe()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	out, err := bench.Compare(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range out.Manifest.Samples {
		if !s.Valid {
			t.Errorf("%s, run %d is invalid: %q", s.Key(), s.Run, s.Warnings)
		}
	}
	return out
}

func traces(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("PULLEY_WFINSTANCES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "wfinstances")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Every scenario must give its expected result on every backend, with each node run applied once. Without a database it has
// several sizes and every trace at hand. With one it has a size with each part more than once; at night, all sizes.
func TestEveryScenarioOnEveryBackend(t *testing.T) {
	postgres := specs(t, few("push", "push:batch=1", "eager", "eager:batch=1", "pull:scan=app", "pull:scan=sql", "journal")...)
	var whole, small []bench.Case
	for _, s := range scenarios.All() {
		if s.Name == "trace" {
			small = append(small, builtCases(t, s, 20)...)
			continue
		}
		small = append(small, builtCases(t, s, 4)...)
		whole = append(whole, builtCases(t, s, s.SizeMin, s.Sizes(scenarios.Options{})[0]+3)...)
	}
	whole = append(whole, cases(t, bench.CaseOptions{Scenarios: []string{"trace"}, Traces: traces(t)})...)
	for _, c := range []struct {
		list     []bench.Case
		backends []designs.Spec
	}{{whole, specs(t, "memory")}, {depth.Of(small, whole), postgres}} {
		found := compare(t, bench.CompareConfig{Cases: c.list, Backends: c.backends, Runs: 1, MinNodes: 1})
		if got, want := len(found.Summary.Rows), len(c.list)*len(c.backends); got != want {
			t.Errorf("%d rows; want %d", got, want)
		}
	}
}

// few gives the backends few connections: every run makes its own, and each costs the server a process.
func few(backends ...string) []string {
	var out []string
	for _, b := range backends {
		out = append(out, b+":connections=2")
	}
	return out
}

func builtCases(t *testing.T, s scenarios.Scenario, sizes ...int) []bench.Case {
	t.Helper()
	var list []bench.Case
	for _, size := range sizes {
		w, err := s.Build(size, scenarios.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, bench.Case{Workload: w})
	}
	return list
}

// A node must cost push the same however large its workflow is, and the rescanning pull more the larger it is.
func TestRowsReadPerNode(t *testing.T) {
	sizes := depth.Of([]int{10, 40, 160}, []int{10, 50, 100, 500, 2000})
	pulled := sizes[:min(len(sizes), 4)] // the largest takes a minute with the race detector; the others show the slope
	run := func(sizes []int, backend string) *bench.Comparison {
		return compare(t, bench.CompareConfig{
			Cases:    cases(t, bench.CaseOptions{Scenarios: []string{"fanout"}, Sizes: []string{strings.Trim(strings.ReplaceAll(fmt.Sprint(sizes), " ", ","), "[]")}}),
			Backends: specs(t, backend), Runs: 1, MinNodes: depth.Of(40, 500),
		})
	}
	name := map[string]string{"push": few("push")[0], "pull": few("pull")[0]}
	found := map[string]*bench.Comparison{"push": run(sizes, name["push"]), "pull": run(pulled, name["pull"])}
	rows := func(backend string, size int) float64 {
		row := found[backend].Summary.Find(record.Key{Scenario: "fanout", Backend: name[backend], Size: size, Mode: record.ModeAlone})
		if row == nil || row.RowsReadPerNode == nil {
			t.Fatalf("fanout %d on %s has no figure", size, backend)
		}
		t.Logf("%5d nodes: %s reads %.2f rows per node", size, backend, *row.RowsReadPerNode)
		return *row.RowsReadPerNode
	}
	before := rows("push", sizes[0])
	for _, size := range sizes[1:] {
		// More nodes share what an instance costs by itself.
		n := rows("push", size)
		if n > 1.10*before || n < 0.5 {
			t.Errorf("push reads %.2f rows per node at a smaller size and %.2f at %d nodes; it should not grow, and read something", before, n, size)
		}
		before = n
	}
	before = rows("pull", sizes[0])
	for i, size := range pulled[1:] {
		n := rows("pull", size)
		if grown, nodes := n/before, float64(size)/float64(sizes[i]); grown < 0.7*nodes {
			t.Errorf("pull reads %.2f rows per node at %d nodes and %.2f at %d; it should grow as the workflow does", before, sizes[i], n, size)
		}
		before = n
	}
}

// An interrupted comparison returns what it has, and leaves nothing behind.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	found, err := bench.Compare(ctx, bench.CompareConfig{
		Cases:    cases(t, bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"10,20"}}),
		Backends: specs(t, "push", "memory"), Runs: 3, MinNodes: 10, DSN: pgtest.DSN(t),
		Progress: func(p bench.Progress) {
			if p.Done == 3 && p.Sample == nil {
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !found.Manifest.Interrupted || len(found.Manifest.Samples) != 3 {
		t.Errorf("interrupted is %t, with %d samples; want the three that were made", found.Manifest.Interrupted, len(found.Manifest.Samples))
	}
	dir := t.TempDir()
	if err := found.Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := record.ReadSummary(filepath.Join(dir, record.SummaryFile)); err != nil {
		t.Error(err)
	}
	if m, err := record.ReadManifest(filepath.Join(dir, record.ManifestFile)); err != nil || !m.Interrupted {
		t.Errorf("manifest: %v, interrupted %t", err, m != nil && m.Interrupted)
	}
}

func TestWrongResultIsInvalid(t *testing.T) {
	list := cases(t, bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"5"}})
	list[0].Workload.Expected = []byte(`"something else"`)
	found, err := bench.Compare(context.Background(), bench.CompareConfig{Cases: list, Backends: specs(t, "memory"), Runs: 1, MinNodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if found.Valid() || found.Summary.Rows[0].Valid {
		t.Error("a run with a wrong result counts as valid")
	}
	list = cases(t, bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"5"}})
	list[0].Workload.Nodes++
	found, err = bench.Compare(context.Background(), bench.CompareConfig{Cases: list, Backends: specs(t, "memory"), Runs: 1, MinNodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if found.Valid() {
		t.Error("a run that lacks a node run counts as valid")
	}
}
