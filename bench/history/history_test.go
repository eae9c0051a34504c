package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pulley/bench/gobench"
	"pulley/bench/history"
	"pulley/internal/depth"
	"pulley/reports/record"
)

var day = time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)

var hostA = record.Host{OS: "linux", Arch: "amd64", CPU: "Some CPU", Cores: 2, MemoryBytes: 8 << 30}

func aRun(i int, host record.Host, value float64) history.Run {
	return history.Run{
		Time: day.AddDate(0, 0, i), Revision: fmt.Sprintf("%040x", i), Host: host, Scenario: "fanout", Design: "push", Size: 100,
		Mode: "saturated", Repetitions: 6, Figures: []history.Figure{{Name: "nodes_per_s", Value: value, Better: "higher"}},
	}
}

func mustAppend(t *testing.T, path string, want int, runs ...history.Run) {
	t.Helper()
	if added, err := history.Append(path, runs); err != nil || added != want {
		t.Fatalf("added %d, %v: want %d", added, err, want)
	}
}

func TestAppendedRunsAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "down", history.FileName)
	mustAppend(t, path, 2, aRun(1, hostA, 10), aRun(2, hostA, 0.1+0.2))
	mustAppend(t, path, 1, aRun(2, hostA, 0.1+0.2), aRun(3, hostA, 12)) // the first is already stored
	for _, from := range []string{path, filepath.Dir(path)} {
		runs, skipped, err := history.Read(from)
		if err != nil || len(skipped) > 0 || len(runs) != 3 {
			t.Fatalf("%d runs, skipped %v, %v: want 3", len(runs), skipped, err)
		}
		want := aRun(2, hostA, 0.1+0.2)
		want.Schema, want.ID = history.Schema, runs[1].ID
		if d := cmp.Diff(want, runs[1]); d != "" {
			t.Error(d)
		}
	}
}

func TestTornAndForeignLinesAreReportedAndSkipped(t *testing.T) {
	path := filepath.Join(t.TempDir(), history.FileName)
	mustAppend(t, path, 2, aRun(1, hostA, 10), aRun(2, hostA, 11))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for cut := 1; cut < len(lines[1])-1; cut += 7 {
		torn := slices.Concat(lines[0], lines[1][:cut])
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, path, 1, aRun(3, hostA, 12))
		runs, skipped, err := history.Read(path)
		if err != nil || len(runs) != 2 || len(skipped) != 1 || skipped[0].Line != 2 || !strings.Contains(skipped[0].Why, "torn") {
			t.Fatalf("torn after %d bytes: %d runs, skipped %v, %v: want two runs, and line 2 told as torn", cut, len(runs), skipped, err)
		}
	}
	changed := bytes.Replace(whole, []byte(`"value":10`), []byte(`"value":99`), 1)
	foreign := "{\"a\": 1}\n\nnull\n" + `{"schema":2}` + "\n\x00\xff\n"
	if err := os.WriteFile(path, slices.Concat([]byte(foreign), changed), 0o600); err != nil {
		t.Fatal(err)
	}
	runs, skipped, err := history.Read(path)
	if err != nil || len(runs) != 1 || runs[0].Figures[0].Value != 11 || len(skipped) != 5 {
		t.Errorf("%d runs, skipped %v, %v: want the second run, and five lines skipped", len(runs), skipped, err)
	}
}

const writerEnv = "HISTORY_TEST_WRITER"

// Goroutines and other processes append concurrently. Each appends its own runs, and all append the same ones, which must be
// stored once.
func TestWritersDoNotMix(t *testing.T) {
	const each, goroutines = 8, 3
	processes := 2
	if depth.Alone() {
		processes = 0
	}
	write := func(path string, writer int) error {
		for i := range each {
			own, shared := aRun(i, hostA, float64(writer)), aRun(each+i, hostA, 0)
			own.Load = strings.Repeat("long ", 2000) // longer than a pipe or a block holds
			if added, err := history.Append(path, []history.Run{own, shared}); err != nil || added < 1 {
				return errors.Join(err, fmt.Errorf("added %d", added))
			}
		}
		return nil
	}
	if path := os.Getenv(writerEnv); path != "" {
		if err := write(path, os.Getpid()+1000); err != nil {
			t.Fatal(err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), history.FileName)
	var all sync.WaitGroup
	failed := make(chan error, processes+goroutines)
	for range processes {
		all.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWritersDoNotMix$")
			cmd.Env = append(os.Environ(), writerEnv+"="+path)
			if out, err := cmd.CombinedOutput(); err != nil {
				failed <- fmt.Errorf("%w: %s", err, out)
			}
		})
	}
	for w := range goroutines {
		all.Go(func() {
			if err := write(path, w); err != nil {
				failed <- err
			}
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	runs, skipped, err := history.Read(path)
	want := each * (processes + goroutines + 1)
	if err != nil || len(skipped) > 0 || len(runs) != want {
		t.Errorf("%d runs, skipped %v, %v: want %d and no line lost", len(runs), skipped, err, want)
	}
	raw, err := os.ReadFile(path)
	if n := bytes.Count(raw, []byte("\n")); err != nil || n != want {
		t.Errorf("%d lines, %v: want %d, so that no run stands there twice", n, err, want)
	}
}

func TestAppendRefusesWhatCannotBeARun(t *testing.T) {
	path := filepath.Join(t.TempDir(), history.FileName)
	for name, corrupt := range map[string]func(*history.Run){
		"no scenario": func(r *history.Run) { r.Scenario = "" },
		"no time":     func(r *history.Run) { r.Time = time.Time{} },
		"no machine":  func(r *history.Run) { r.Host = record.Host{} },
		"no figure":   func(r *history.Run) { r.Figures = nil },
		"NaN":         func(r *history.Run) { r.Figures[0].Value = math.NaN() },
		"twice":       func(r *history.Run) { r.Figures = append(r.Figures, r.Figures[0]) },
		"direction":   func(r *history.Run) { r.Figures[0].Better = "more" },
	} {
		r := aRun(1, hostA, 1)
		corrupt(&r)
		if _, err := history.Append(path, []history.Run{aRun(0, hostA, 1), r}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want one that names the file", name, err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("something was written")
	}
	if _, _, err := history.Read(path); err == nil || strings.Count(err.Error(), path) != 1 {
		t.Errorf("a missing file: %v, want the path once", err)
	}
}

func TestSeriesKeepMachinesLoadsAndServersApart(t *testing.T) {
	b := hostA
	b.CPU = "Another CPU"
	var runs []history.Run
	for i := range 20 {
		fast, slow := aRun(i, hostA, 200), aRun(i, b, 100)
		few := aRun(i, hostA, 50)
		few.Load = "1 in flight"
		unsafe := aRun(i, hostA, 300)
		unsafe.Server = "Postgres 15, fsync=off"
		runs = append(runs, fast, slow, few, unsafe)
	}
	kernel := aRun(20, hostA, 200)
	kernel.Host.MemoryBytes -= 5 << 20 // a newer kernel reserves this
	series := history.Group(append(runs, kernel))
	if len(series) != 4 {
		t.Fatalf("%d series, want one for each machine, load and server", len(series))
	}
	for _, s := range series {
		f, err := history.Analyze(s, history.Options{})
		if err != nil || len(f.Changes) > 0 || len(f.Values) < 20 {
			t.Errorf("%s on %s: %d values, changes %v, %v: want no change", s.Name(), s.Conditions(), len(f.Values), f.Changes, err)
		}
	}
}

func planted(at, n int) []history.Run {
	random := rand.New(rand.NewPCG(1, 2))
	var runs []history.Run
	for i := range n {
		level := 1000.0
		if i >= at {
			level = 900
		}
		runs = append(runs, aRun(i, hostA, level*(1+0.01*random.NormFloat64())))
	}
	random.Shuffle(n, func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	return runs
}

func TestAnalyzeNamesTheRevisionsOfAChange(t *testing.T) {
	s := history.Group(planted(30, 45))
	f, err := history.Analyze(s[0], history.Options{Recent: 15})
	if err != nil || len(s) != 1 || len(f.Changes) != 1 {
		t.Fatalf("%d series, %+v, %v: want one with one change", len(s), f.Changes, err)
	}
	c := f.Changes[0]
	if c.Before.Revision != fmt.Sprintf("%040x", 29) || c.After.Revision != fmt.Sprintf("%040x", 30) {
		t.Errorf("the change lies between %q and %q, want the revisions of days 29 and 30", c.Before.Revision, c.After.Revision)
	}
	if c.RunsBefore != 30 || c.RunsAfter != 15 || c.Direction != history.Worse || !c.Recent || !(c.P <= 0.01) {
		t.Errorf("%+v: want 30 and 15 runs, worse, recent, sure", c)
	}
	if c.Ratio == nil || !(c.Ratio.Lo < 0.9 && 0.9 < c.Ratio.Hi && c.Ratio.Hi-c.Ratio.Lo < 0.03) || c.Confidence < 0.95 {
		t.Errorf("ratio %+v: want an interval around 0.9", c.Ratio)
	}
	if math.Abs(f.Level-900) > 10 {
		t.Errorf("the level since the change is %v, want about 900", f.Level)
	}
	if f, _ = history.Analyze(s[0], history.Options{Recent: 14}); f.Changes[0].Recent {
		t.Error("a change 15 runs ago counts as one of the last 14")
	}
	s[0].Better = "lower"
	if f, _ = history.Analyze(s[0], history.Options{}); f.Changes[0].Direction != history.Better {
		t.Error("fewer of what is better lower is not said to be better")
	}
	if f, _ = history.Analyze(s[0], history.Options{MinChange: 0.2}); len(f.Changes) > 0 {
		t.Error("a change by a tenth is shown where only changes by a fifth are wanted")
	}
	s[0].Values = append(s[0].Values[:6:6], s[0].Values[30:33]...)
	if f, _ = history.Analyze(s[0], history.Options{}); f.Enough || len(f.Changes) > 0 {
		t.Errorf("of nine runs it is said: %+v", f.Changes)
	}
}

func TestFromRecord(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	sum := &record.Summary{Rows: []record.Row{
		{Scenario: "fanout", Backend: "push", Size: 10, Mode: record.ModeSaturated, Runs: 6, Valid: true,
			NodesPerS: &record.Spread{Median: 5000, Lo: 4900, Hi: 5100}, HopNS: &record.Percentiles{P50: 10, P99: 20, P999: 30, Max: 40},
			InstanceNS: &record.InstancePercentiles{P50: 100, P99: 200, Max: 300}, CommitsPerNode: number(0.5), RowsReadPerNode: number(2)},
		{Scenario: "fanout", Backend: "memory", Size: 10, Mode: record.ModeAlone, Runs: 6, Valid: true, NodesPerS: &record.Spread{Median: 9}},
		{Scenario: "fanout", Backend: "pull", Size: 10, Mode: record.ModeSaturated, Runs: 6, NodesPerS: &record.Spread{Median: 9}},
	}}
	m := &record.Manifest{
		StartedAt: day, Tool: record.Tool{Revision: "abc", Modified: true}, Host: record.Host{OS: "linux", Arch: "arm64", Cores: 4},
		Postgres: &record.Postgres{VersionNum: 150018, Settings: []record.Setting{{Name: "fsync", Value: "off"}, {Name: "synchronous_commit", Value: "on"}}},
		Samples:  []record.Sample{{Scenario: "fanout", Backend: "push", Size: 10, Mode: record.ModeSaturated, InFlight: 500, Workers: 2000, Engines: 2}},
	}
	runs, left := history.FromRecord(sum, m)
	if len(runs) != 2 || len(left) != 1 || !strings.Contains(left[0], "pull") {
		t.Fatalf("%d runs, left out %q: want two, and pull left out", len(runs), left)
	}
	want := history.Run{
		Time: day, Revision: "abc", Modified: true, Host: record.Host{OS: "linux", Arch: "arm64", Cores: 4}, Server: "Postgres 15, fsync=off",
		Scenario: "fanout", Design: "push", Size: 10, Mode: "saturated", Load: "500 in flight, 2000 workers, 2 engines", Repetitions: 6,
		Figures: []history.Figure{{"nodes_per_s", 5000, "higher"}, {"hop_p50_ns", 10, "lower"}, {"hop_p99_ns", 20, "lower"}, {"instance_p50_ns", 100, "lower"},
			{"instance_p99_ns", 200, "lower"}, {"rows_read_per_node", 2, "lower"}, {"commits_per_node", 0.5, "lower"}},
	}
	if d := cmp.Diff(want, runs[0]); d != "" {
		t.Error(d)
	}
	if runs[1].Server != "" {
		t.Errorf("a design without a server has %q", runs[1].Server)
	}
	mustAppend(t, filepath.Join(t.TempDir(), "h"), 2, runs...)
}

func TestFromGoBench(t *testing.T) {
	const text = "commit: feed\ngoos: linux\ngoarch: amd64\ncpu: X\npkg: p\nBenchmarkA-4 1 10 ns/op 3 rows/op\nBenchmarkA-4 1 30 ns/op 3 rows/op\nBenchmarkA-4 1 20 ns/op 3 rows/op\nBenchmarkB-4 1 1 ns/op\n"
	f, err := gobench.Read(strings.NewReader(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := history.FromGoBench(f, history.BenchOrigin{Time: day, Revision: "beef"})
	if err != nil || len(runs) != 2 || runs[0].Revision != "feed" || runs[0].Scenario != "p.A-4" || runs[0].Repetitions != 3 || runs[0].Host.Fingerprint() != "linux/amd64, X" {
		t.Fatalf("%+v: want p.A-4 of three lines, and p.B-4", runs)
	}
	got := runs[0].Figures
	if len(got) != 2 || math.Abs(got[0].Value-20e-9) > 1e-15 || got[0].Better != "lower" || got[1] != (history.Figure{"rows/op", 3, ""}) {
		t.Errorf("figures %+v: want the median of 20 ns, and rows/op of which nobody says what is better", got)
	}
	mustAppend(t, filepath.Join(t.TempDir(), "h"), 2, runs...)
	joined, err := gobench.Read(strings.NewReader(text+strings.ReplaceAll(text, "feed", "cafe")), "x")
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := history.FromGoBench(joined, history.BenchOrigin{Time: day}); err == nil {
		t.Errorf("of a file of two commits came %+v", runs)
	}
}

func TestThousandsOfRunsAreAnalyzed(t *testing.T) {
	s := history.Group(planted(1500, 3000))
	f, err := history.Analyze(s[0], history.Options{})
	if err != nil || len(f.Changes) != 1 || f.Changes[0].Index != 1500 {
		t.Errorf("changes %+v, %v: want one at 1500", f.Changes, err)
	}
	if _, err := json.Marshal(f); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	r := aRun(1, hostA, 10)
	raw, _ := json.Marshal(r)
	f.Add(raw)
	f.Add([]byte("{\n}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, _ := history.Parse(data)
		for _, r := range runs {
			if err := r.Validate(); err != nil {
				t.Error(err)
			}
		}
		for _, s := range history.Group(runs) {
			if _, err := history.Analyze(s, history.Options{}); err != nil {
				t.Error(err)
			}
		}
	})
}
