package gate_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pulley/bench/gate"
	"pulley/reports/record"
)

func ptr[T any](v T) *T { return &v }

func sample(mode string, run int, perNode time.Duration, rows int64) record.Sample {
	s := record.Sample{
		Scenario: "chain", Backend: "push", Size: 10, Mode: mode, Run: run, ElapsedNS: 1000 * int64(perNode), Instances: 100, Nodes: 10, Valid: true,
		CPU:      &record.CPU{ProcessNS: 800 * int64(perNode), ServerNS: ptr(200 * int64(perNode))},
		Counters: &record.Counters{RowsRead: ptr(rows), Statements: ptr(int64(100)), Commits: ptr(int64(50)), WALBytes: ptr(int64(400_000 + 7*run))},
	}
	return s
}

func manifest(cpu string, samples ...record.Sample) *record.Manifest {
	return &record.Manifest{Host: record.Host{OS: "linux", Arch: "amd64", CPU: cpu, Cores: 2}, Samples: samples}
}

func runsOf(m ...*record.Manifest) (runs []gate.Run) {
	for _, one := range m {
		runs = append(runs, gate.Run{Dir: "d", Manifest: one})
	}
	return runs
}

func samples(mode string, n int, perNode time.Duration, rows int64) (out []record.Sample) {
	for i := range n {
		out = append(out, sample(mode, i+1, perNode+time.Duration(i)*perNode/1000, rows))
	}
	return out
}

func TestRecordsOfOtherMachinesGateOnCounts(t *testing.T) {
	old := gate.FromRuns("old", runsOf(manifest("A", samples(record.ModeAlone, 6, 100*time.Microsecond, 2000)...)))
	for _, c := range []struct {
		name, cpu string
		perNode   time.Duration
		rows      int64
		want      gate.Outcome
	}{
		{"the same", "A", 100 * time.Microsecond, 2000, gate.Passed},
		{"slower", "A", 115 * time.Microsecond, 2000, gate.Regression},
		{"slower machine", "B", 300 * time.Microsecond, 2000, gate.Passed},
		{"one more row a node, other machine", "B", 300 * time.Microsecond, 3000, gate.Regression},
	} {
		r := judge(t, old, gate.FromRuns("new", runsOf(manifest(c.cpu, samples(record.ModeAlone, 6, c.perNode, c.rows)...))), gate.Options{})
		if r.Outcome != c.want {
			t.Errorf("%s: %s: %s", c.name, r.Outcome, r.Sentence)
		}
	}
}

func TestRecordsHaveAllFigures(t *testing.T) {
	s := gate.FromRuns("x", runsOf(manifest("A", samples(record.ModeAlone, 2, time.Microsecond, 2000)...), manifest("A", samples(record.ModeAlone, 1, time.Microsecond, 2000)...)))
	var got []string
	for _, x := range s.Series {
		got = append(got, x.Figure)
		if len(x.Values) != 3 || x.Row != "chain 10, push, alone" {
			t.Errorf("%s: %v: want three runs", x.Key, x.Values)
		}
	}
	if want := "time/node|CPU/node|rows read/node|statements/node|commits/node|WAL/node"; strings.Join(got, "|") != want {
		t.Errorf("figures %q", got)
	}
}

func TestRecordsWithUnlikeMachinesHaveNone(t *testing.T) {
	s := gate.FromRuns("x", runsOf(manifest("A", samples(record.ModeAlone, 1, 1, 1)...), manifest("B", samples(record.ModeAlone, 1, 1, 1)...), manifest("B", samples(record.ModeAlone, 1, 1, 1)...)))
	if s.Series[0].Machine != "" {
		t.Errorf("machine %q", s.Series[0].Machine)
	}
}

func TestPairsLeaveOutInvalidRuns(t *testing.T) {
	var before, after []gate.Run
	for i := range 9 {
		a, b := sample(record.ModeSaturated, 1, time.Millisecond, 2000), sample(record.ModeSaturated, 1, time.Millisecond*(1000+time.Duration(i))/1000, 2000)
		if i == 8 {
			b.Valid, b.Warnings = false, []string{"the result is 1, not 2"}
		}
		before, after = append(before, runsOf(manifest("A", a))...), append(after, runsOf(manifest("A", b))...)
	}
	x, y := gate.FromPairs("old", "new", before, after)
	r := judge(t, x, y, gate.Options{Paired: true})
	if r.Outcome != gate.Inconclusive || !strings.Contains(r.Sentence, "the result is 1, not 2") || r.Lines[0].BaselineRuns != 8 {
		t.Errorf("%s: %s %+v", r.Outcome, r.Sentence, r.Lines[0])
	}
}

func TestReadRuns(t *testing.T) {
	dir := t.TempDir()
	if _, err := gate.ReadRuns(dir); !errors.Is(err, gate.ErrNothing) || !strings.Contains(err.Error(), dir) {
		t.Errorf("empty directory: %v", err)
	}
	if _, err := gate.ReadRuns(filepath.Join(dir, "none")); err == nil || strings.Count(err.Error(), "none") != 1 {
		t.Errorf("no directory: %v", err)
	}
	for _, sub := range []string{"1", "2/deep"} {
		if err := record.WriteManifest(filepath.Join(dir, sub), manifest("A", samples(record.ModeAlone, 3, time.Millisecond, 1)...)); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := gate.ReadRuns(dir)
	if err != nil || len(runs) != 2 {
		t.Fatalf("%v, %v: want two records", runs, err)
	}
}

// Some figures depend on how many completions share a commit.
func TestFiguresOfRecords(t *testing.T) {
	for _, mode := range []string{record.ModeAlone, record.ModeSaturated} {
		one := sample(mode, 1, time.Millisecond, 2000)
		for i := range 400 {
			one.InstanceNS = append(one.InstanceNS, int64(i+1)*1e6)
		}
		saturated := mode == record.ModeSaturated
		batched := gate.Counted
		if saturated {
			batched = gate.Batched
		}
		var got []gate.Series
		for _, x := range gate.FromRuns("x", runsOf(manifest("A", one))).Series {
			got = append(got, gate.Series{Key: x.Key, Kind: x.Kind, Tail: x.Tail, Jitters: x.Jitters, Values: x.Values})
		}
		of := func(figure string, kind gate.Kind, jitters bool, value float64) gate.Series {
			return gate.Series{Key: gate.Key{Row: "chain 10, push, " + mode, Figure: figure}, Kind: kind, Jitters: jitters, Values: []float64{value}}
		}
		want := []gate.Series{
			of(gate.FigureTime, gate.Timed, false, 0.001),
			of(gate.FigureCPU, gate.Timed, false, 0.001), // 0.8 of the engines and 0.2 of the server
			tail(of(gate.FigureP99, gate.Timed, false, 0.396)),
			of(gate.FigureRows, gate.Counted, saturated, 2),
			of(gate.FigureStmts, batched, saturated, 0.1),
			of(gate.FigureCommits, batched, saturated, 0.05),
			of(gate.FigureWAL, gate.Counted, true, 400.007),
		}
		if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); d != "" {
			t.Errorf("%s: %s", mode, d)
		}
	}
}

func TestTurnsOfSeveralRuns(t *testing.T) {
	turn := manifest("A", sample(record.ModeAlone, 1, 3*time.Millisecond, 1000), sample(record.ModeAlone, 2, time.Millisecond, 3000), sample(record.ModeAlone, 3, 2*time.Millisecond, 2000))
	a, _ := gate.FromPairs("a", "b", runsOf(turn, turn), runsOf(turn, turn))
	for _, x := range a.Series {
		want, ok := map[string]float64{gate.FigureTime: 0.001, gate.FigureRows: 2}[x.Figure]
		if ok && !cmp.Equal(x.Values, []float64{want, want}, cmpopts.EquateApprox(1e-12, 0)) {
			t.Errorf("%s: %v, want the least time and the median count of each of two turns", x.Figure, x.Values)
		}
	}
}
