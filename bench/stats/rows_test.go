package stats_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pulley/bench/stats"
	"pulley/reports/record"
)

func ptr[T any](v T) *T { return &v }

func sample(scenario, backend string, size, nodes, run int, rate float64, rowsRead int64) record.Sample {
	return record.Sample{
		Scenario: scenario, Backend: backend, Size: size, Run: run, Instances: 1, Nodes: nodes, NodesPerS: rate, Valid: true,
		Counters: &record.Counters{
			RowsRead: &rowsRead, Statements: ptr(int64(nodes)), Commits: ptr(int64(2 * nodes)), WALBytes: ptr(int64(100 * nodes)),
		},
	}
}

func TestRow(t *testing.T) {
	var samples []record.Sample
	for run := 1; run <= 6; run++ {
		samples = append(samples, sample("fanout", "push", 10, 12, run, float64(1000*run), int64(12*run)))
	}
	// Shares are over all runs together.
	samples[0].Counters.RowsUpdated, samples[0].Counters.RowsHOTUpdated = ptr(int64(30)), ptr(int64(30))
	samples[1].Counters.RowsUpdated, samples[1].Counters.RowsHOTUpdated = ptr(int64(90)), ptr(int64(0))
	samples[0].Waits, samples[1].Waits = &record.Waits{Looks: 2, Busy: 10, ForRows: 5}, &record.Waits{Looks: 9, Busy: 30}
	hop := &record.Percentiles{P50: 1, P99: 2, P999: 3, Max: 4}
	instance := &record.InstancePercentiles{P50: 1, P99: 2, Max: 3}
	got := stats.Row(samples, stats.Latencies{Hop: hop, Instance: instance})
	want := record.Row{
		Scenario: "fanout", Backend: "push", Size: 10, Nodes: 12, Runs: 6,
		NodesPerS: &record.Spread{Median: 3500, Lo: 1000, Hi: 6000}, HopNS: hop, InstanceNS: instance,
		RowsReadPerNode: ptr(3.5), StatementsPerNode: ptr(1.0), CommitsPerNode: ptr(2.0), WALBytesPerNode: ptr(100.0),
		HOTShare: ptr(0.25), LockWaitShare: ptr(0.125),
		Valid: true, Warnings: []string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every reason for a missing figure must pass the schema's check, which demands a warning for a null.
func TestRowSaysWhatIsMissing(t *testing.T) {
	invalid := sample("fanout", "push", 10, 12, 2, 9e9, 9e9)
	invalid.Valid, invalid.Warnings = false, []string{"run 2: the result was wrong"}
	uncounted := sample("fanout", "push", 10, 12, 3, 2000, 0)
	uncounted.Counters = nil
	good := sample("fanout", "push", 10, 12, 1, 1000, 12)
	nothingRan := sample("fanout", "push", 10, 12, 1, 0, 12)
	nothingRan.Instances = 0

	for name, c := range map[string]struct {
		samples []record.Sample
		valid   bool
		runs    int
		want    []string
	}{
		"one invalid":  {[]record.Sample{good, invalid}, false, 1, []string{"run 2: the result was wrong", "1 of 2 runs were invalid"}},
		"all invalid":  {[]record.Sample{invalid}, false, 0, []string{"1 of 1 runs", "rows read were not counted"}},
		"half counted": {[]record.Sample{good, uncounted}, true, 2, []string{"rows read were counted in 1 of 2 runs"}},
		"nothing ran":  {[]record.Sample{nothingRan}, true, 1, []string{"WAL bytes were not counted"}},
		"no latencies": {[]record.Sample{good}, true, 1, []string{"hop latency was not measured", "instance latency was not"}},
	} {
		t.Run(name, func(t *testing.T) {
			row := stats.Row(c.samples, stats.Latencies{})
			if row.Valid != c.valid || row.Runs != c.runs {
				t.Errorf("valid %v, runs %d", row.Valid, row.Runs)
			}
			all := strings.Join(row.Warnings, "\n")
			for _, want := range c.want {
				if strings.Count(all, want) != 1 {
					t.Errorf("want %q once in:\n%s", want, all)
				}
			}
			if row.NodesPerS != nil && row.NodesPerS.Hi > 2000 {
				t.Errorf("an invalid run decided something: %+v", row.NodesPerS)
			}
			if err := (&record.Summary{Schema: 1, Rows: []record.Row{row}}).Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRowsKeepsTheOrderOfGroups(t *testing.T) {
	rows := stats.Rows([]record.Sample{
		sample("b", "push", 1, 1, 1, 1, 1), sample("a", "push", 1, 1, 1, 1, 1),
		sample("b", "pull", 1, 1, 1, 1, 1), sample("b", "push", 1, 1, 2, 1, 1),
	}, func(k record.Key) stats.Latencies {
		return stats.Latencies{Hop: &record.Percentiles{Max: int64(len(k.Backend))}}
	})
	var got []string
	for _, r := range rows {
		got = append(got, r.Key().String())
	}
	if diff := cmp.Diff([]string{"b/push/1", "a/push/1", "b/pull/1"}, got); diff != "" {
		t.Error(diff)
	}
	if rows[0].Runs != 2 || rows[0].HopNS.Max != 4 {
		t.Errorf("got %+v", rows[0])
	}
	if got := stats.Rows(nil, nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

var comparison = stats.Comparison{
	Push: "push", Pulls: []string{"pull:scan=app", "pull:scan=sql"}, Fanout: "fanout", Loop: "loop", LoopSize: 32,
}

// push reads 3 rows per node at every size. pull reads half a row per existing node, at half the speed.
func scenarioSamples() []record.Sample {
	var out []record.Sample
	for run := 1; run <= 6; run++ {
		for _, size := range []int{10, 50, 100} {
			nodes := size + 2
			out = append(out,
				sample("fanout", "push", size, nodes, run, 1000, int64(3*nodes)),
				sample("fanout", "pull:scan=app", size, nodes, run, 500, int64(nodes*nodes/2)))
		}
		out = append(out, sample("loop", "push", 32, 98, run, 1000, 300))
	}
	return out
}

func TestClaims(t *testing.T) {
	claims := stats.Claims(scenarioSamples(), comparison)
	byName := make(map[string]record.Claim)
	for _, c := range claims {
		byName[c.Name] = c
	}
	for name, want := range map[string]struct{ claimed, measured float64 }{
		"fanout, pull:scan=app / push: rows read per node, size 10":      {10, 2},
		"fanout, pull:scan=app / push: rows read per node, size 100":     {100, 17},
		"fanout, pull:scan=app / push: time per node, size 50":           {50, 2},
		"fanout, push: growth of rows read per node with nodes":          {0, 0},
		"fanout, pull:scan=app: growth of rows read per node with nodes": {1, 1},
		"loop of 32 × 3, push: rows read for one instance":               {96, 300},
		"loop of 32 × 3, push: statements for one instance":              {96, 98},
	} {
		c, ok := byName[name]
		if !ok || c.Measured == nil || !near(*c.Measured, want.measured, 1e-9) || c.Claimed != want.claimed {
			t.Errorf("%s: got %+v, want %+v", name, c, want)
		}
	}
	missing := byName["fanout, pull:scan=app / push: time per node, size 500"]
	if missing.Measured != nil || missing.Method != "not measured: no valid run at size 500 with this figure" {
		t.Errorf("size 500: %+v", missing)
	}
	for _, c := range claims {
		if strings.Contains(c.Name, "scan=sql") || (strings.Contains(c.Name, "loop") && strings.Contains(c.Name, "pull")) {
			t.Errorf("says something of what was not run: %s", c.Name)
		}
	}
	if err := (&record.Summary{Schema: 1, Claims: claims}).Validate(); err != nil {
		t.Error(err)
	}
	if method := byName["fanout, pull:scan=app / push: rows read per node, size 10"].Method; method !=
		"median over 6 runs of (rows read per node, pull:scan=app) / (rows read per node, push) in pairs of neighbouring runs; interval: order statistics, 96.88 %" {
		t.Errorf("method: %s", method)
	}
}

// Runs of either side are missing; the others must still be compared with their neighbours.
func TestClaimsPairByRepetition(t *testing.T) {
	var samples []record.Sample
	for run := 1; run <= 4; run++ {
		drift := math.Pow(10, float64(run))
		pull, push := sample("fanout", "pull:scan=app", 10, 12, run, drift, 12), sample("fanout", "push", 10, 12, run, 4*drift, 12)
		pull.Valid, push.Valid = run != 2, run != 3
		samples = append(samples, push, pull)
	}
	for _, c := range stats.Claims(samples, comparison) {
		if strings.Contains(c.Name, "time per node, size 10") {
			if c.Measured == nil || !near(*c.Measured, 4, 1e-9) || !near(*c.Lo, 4, 1e-9) || !near(*c.Hi, 4, 1e-9) {
				t.Errorf("got %+v", c)
			}
			return
		}
	}
	t.Error("no such claim")
}

func TestClaimsOfNothing(t *testing.T) {
	if got := stats.Claims(nil, comparison); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	zero := []record.Sample{sample("fanout", "push", 10, 12, 1, 1000, 0), sample("fanout", "pull:scan=app", 10, 12, 1, 1000, 9)}
	for _, c := range stats.Claims(zero, comparison) {
		if c.Size == 10 && strings.Contains(c.Series, "rows") && (c.Measured != nil || !strings.Contains(c.Method, "above zero")) {
			t.Errorf("a ratio to zero: %+v", c)
		}
	}
}
