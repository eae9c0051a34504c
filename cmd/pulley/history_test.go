package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulley/bench/history"
	"pulley/cmd/pulley/console"
)

func dayCommit(day int) string { return fmt.Sprintf("%04d%036d", 1000+day, day) }

// From day slow on the benchmark takes a fifth longer.
func benchFiles(t *testing.T, n, slow int) []string {
	t.Helper()
	var args []string
	dir := t.TempDir()
	for i := range n {
		ns := 1000 + 7*(i*i%5)
		if i >= slow {
			ns += 200
		}
		text := fmt.Sprintf("commit: %s\ngoos: linux\ngoarch: amd64\npkg: p\nBenchmarkRun-2 100 %d ns/op 3 rows/op\nUnit rows/op better=lower\n", dayCommit(i), ns)
		path := filepath.Join(dir, fmt.Sprintf("day%02d.txt", i))
		at := time.Date(2026, 1, 1+i, 3, 0, 0, 0, time.UTC)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--add", path)
	}
	return args
}

func TestHistoryNamesTheCommitsOfAChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := call(t, nil, append([]string{"history", dir}, benchFiles(t, 24, 16)...)...)
	if got.code != 0 || !strings.Contains(got.err, "24 runs added") {
		t.Fatalf("exit status %d: %s", got.code, got.err)
	}
	out := filepath.Join(dir, "out")
	if got := call(t, nil, "history", dir, "--series", "Run-2 sec/op", "--out", out); got.code != 0 || !strings.Contains(got.err, "report: "+filepath.Join(out, "report.html")) {
		t.Errorf("exit status %d: %s", got.code, got.err)
	}
	reported(t, out, history.ReportFile)
	between := fmt.Sprintf("git log %.12s..%.12s\n", dayCommit(15), dayCommit(16))
	for _, want := range []string{"p.Run-2 sec/op", "1, last worse", "worse, × 1.2", "16 runs, 2026-01-16", between, "rows/op  24    3.000"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("it does not say %q:\n%s", want, got.out)
		}
	}
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"--fail-on-change"}, console.ExitFailed},
		{[]string{"--fail-on-change", "--last", "7"}, 0},
		{[]string{"--fail-on-change", "--min-change", "0.5"}, 0},
		{[]string{"--fail-on-change", "--series", "rows/op"}, 0},
		{[]string{"--fail-on-change", "--since", "2026-01-20"}, console.ExitInconclusive},
		{[]string{"--since", "2026-01-20"}, 0},
		{[]string{"--series", "nothing"}, console.ExitUsage},
		{[]string{"--since", "lately"}, console.ExitUsage},
		{[]string{"--last", "0"}, console.ExitUsage},
		{[]string{"--min-change", "-1"}, console.ExitUsage},
		{[]string{"--plot", "x.pdf"}, console.ExitUsage},
		{[]string{"--plot", filepath.Join(dir, "x.svg")}, console.ExitUsage}, // of two series
		{[]string{"--revision", "abc"}, console.ExitUsage},
		{[]string{"--add", dir}, console.ExitUsage},
		{[]string{"--add", filepath.Join(dir, "missing")}, console.ExitUsage},
	} {
		got := call(t, nil, append([]string{"history", dir}, c.args...)...)
		if got.code != c.code || c.code == console.ExitUsage && (strings.Count(got.err, "\n") != 1 || !strings.HasPrefix(got.err, "pulley: ")) {
			t.Errorf("%v: exit status %d, want %d, and one line for a mistake: %s", c.args, got.code, c.code, got.err)
		}
	}
	if got := call(t, nil, "history", filepath.Join(t.TempDir(), "none")); got.code != console.ExitUsage || !strings.Contains(got.err, "--add") {
		t.Errorf("no history: exit status %d, %q: want 2, and how to begin one", got.code, got.err)
	}
	if got := call(t, nil, "history", file(t, "bench.txt", "BenchmarkX 1 5 ns/op\nBenchmarkX 1 5 ns/op\n")); got.code != console.ExitUsage || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, "--add") {
		t.Errorf("another file: exit status %d, %q: want 2, and one line that says how to add it", got.code, got.err)
	}
	torn := strings.Repeat("{\n", 30)
	whole, err := os.ReadFile(filepath.Join(dir, history.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, nil, "history", file(t, "torn.ndjson", torn+string(whole))); got.code != 0 || strings.Count(got.err, "skipped") != 11 || !strings.Contains(got.out, "24 runs") {
		t.Errorf("30 torn lines: exit status %d, %s%s: want ten of them told, and 24 runs", got.code, got.err, got.out)
	}
	plot := filepath.Join(dir, "run.svg")
	got = call(t, nil, "history", dir, "--series", "Run sec", "--plot", plot, "--format", "json")
	var report history.Report
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || len(report.Series) != 1 || len(report.Series[0].Changes) != 1 {
		t.Errorf("%v: the report as JSON has not one series with one change: %s%s", err, got.out, got.err)
	}
	if drawn, err := os.ReadFile(plot); err != nil || !strings.Contains(string(drawn), dayCommit(16)[:12]) {
		t.Errorf("%v: the drawing does not name the revision", err)
	}
}

func TestCompareAppendsToAHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, out := filepath.Join(dir, "h", "mine.ndjson"), filepath.Join(dir, "out")
	args := []string{"compare", "chain=3", "--backends", "memory", "--quick", "--load", "saturated", "--run-duration", "20ms", "--out", out, "--history", path, "--revision", "feed"}
	if got := run(t, args...); got.code != 0 || !strings.Contains(got.err, "1 run added") {
		t.Fatalf("exit status %d: %s", got.code, got.err)
	}
	runs, skipped, err := history.Read(path)
	if err != nil || len(runs) != 1 || len(skipped) > 0 || runs[0].Design != "memory" || runs[0].Repetitions != 5 || runs[0].Load == "" || runs[0].Revision == "" {
		t.Errorf("%+v, %v, %v: want one run of memory with its load and a revision", runs, skipped, err)
	}
	if got := call(t, nil, "history", path, "--add", out); got.code != 0 || !strings.Contains(got.err, "0 runs added") || !strings.Contains(got.out, "too few runs") {
		t.Errorf("the same record again: exit status %d, %s%s", got.code, got.err, got.out)
	}
	if got := call(t, nil, "compare", "chain=3", "--backends", "memory", "--quick", "--out", out, "--history", dir); got.code != console.ExitUsage {
		t.Errorf("a directory as history: exit status %d, %s", got.code, got.err)
	}
}
