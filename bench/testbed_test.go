package bench_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/bench"
	"pulley/bench/load"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
	"pulley/reports/record"
	"pulley/scenarios/arrivals"
)

// drainPatience is several times the lease: on a slow machine a call may time out, and what it was to lease is leased again
// only when its lease has expired.
const drainPatience = 10 * time.Minute

// anyMachine are limits without a demand on the machine, which is busy with other tests.
var anyMachine = load.Limits{RateError: 1e9, LagLeast: time.Hour, BusyShare: 1e9, OthersShare: 1e9, DriftShare: 1e9, GrowthShare: 1e9}

func testbed(t *testing.T, spec bench.TestbedSpec) *bench.Testbed {
	t.Helper()
	bed, err := bench.OpenTestbed(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		if err := bed.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return bed
}

// put runs load on it. How many instances a closed load makes is the machine's: where they are too few for the percentile, it runs
// for longer, as the finding advises.
func put(t *testing.T, bed *bench.Testbed, text string, o bench.OpenRun) *bench.OpenResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	var err error
	if o.Arrivals, err = arrivals.Parse(text, nil); err != nil {
		t.Fatal(err)
	}
	if o.Limits == (load.Limits{}) {
		o.Limits = anyMachine
	}
	for {
		found, err := bed.Observe(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		few := slices.ContainsFunc(found.Findings, func(f record.LoadFinding) bool { return f.Kind == load.KindTooFew })
		if !few || !strings.HasPrefix(text, "closed:") || o.Measure > time.Minute {
			return found
		}
		o.Measure *= 4
	}
}

// One testbed has several loads of a person's own scenario, whose actions take time and fail. All that was intended must be
// sent and end correctly.
func TestOpenRuns(t *testing.T) {
	file := own(t, "orders.yaml", orders)
	for _, name := range depth.Of([]string{"memory", "push:connections=2"}, few("push", "journal", "pull", "eager")) {
		for _, scenario := range []string{file, filepath.Join(filepath.Dir(file), "mixed.yaml=3")} {
			t.Run(name+" "+filepath.Base(scenario), func(t *testing.T) {
				t.Parallel()
				k := cases(t, bench.CaseOptions{Scenarios: []string{scenario}})[0]
				bed := testbed(t, bench.TestbedSpec{Case: k, Backend: specs(t, name)[0], DSN: dsn(t, name), Engines: 2, Workers: 50})
				for _, text := range []string{"poisson:100/s", "constant:50/s", "closed:4", "burst:25,500ms"} {
					found := put(t, bed, text, bench.OpenRun{WarmUp: 200 * time.Millisecond, WarmUpFixed: true, Measure: 800 * time.Millisecond, Drain: drainPatience, Percentile: 50, Seed: 1})
					w := found.Whole
					if w.Ended != w.Intended || w.Sent != w.Ended || w.Dropped+w.Unfinished > 0 || w.Ended < 8 {
						t.Errorf("%s: %+v", text, w)
					}
					if !found.Valid {
						t.Errorf("%s: %+v", text, found.Findings)
					}
					if found.Asked.ValueNS == nil || *found.LatencyNS.Max < *found.ServiceNS.Max {
						t.Errorf("%s: %+v %+v", text, found.LatencyNS, found.ServiceNS)
					}
				}
			})
		}
	}
}

func dsn(t *testing.T, name string) string {
	t.Helper()
	if !specs(t, name)[0].NeedsPostgres() {
		return ""
	}
	return pgtest.DSN(t)
}
