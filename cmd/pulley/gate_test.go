package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pulley/bench/gate"
	"pulley/cmd/pulley/benchmarks"
	"pulley/cmd/pulley/console"
	"pulley/internal/depth"
	"pulley/reports/record"
)

func goBench(t *testing.T, ns, allocs int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("goos: linux\ngoarch: amd64\npkg: example/a\ncpu: Some CPU\n")
	for i := range 6 {
		fmt.Fprintf(&b, "BenchmarkRun/n=10-8\t1000\t%d ns/op\t%d B/op\t%d allocs/op\n", ns+i, 64*allocs, allocs)
	}
	return file(t, "bench.txt", b.String())
}

func ptr[T any](v T) *T { return &v }

func gateRecord(t *testing.T, cpu string, nsPerNode, rowsPerNode int64) string {
	t.Helper()
	m := &record.Manifest{Host: record.Host{OS: "linux", Arch: "amd64", CPU: cpu, Cores: 2}}
	for i := range int64(6) {
		m.Samples = append(m.Samples, record.Sample{
			Scenario: "chain", Backend: "push", Size: 10, Mode: record.ModeSaturated, Run: int(i) + 1, ElapsedNS: 1000*nsPerNode + 1000*i, Instances: 100, Nodes: 10, Valid: true,
			CPU:      &record.CPU{ProcessNS: 1000*nsPerNode - 1000*i, ServerNS: ptr(int64(1000))},
			Counters: &record.Counters{RowsRead: ptr(1000*rowsPerNode + i)},
		})
	}
	dir := t.TempDir()
	if err := record.WriteManifest(filepath.Join(dir, "first"), m); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestGateJudgesFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"benchmarks alike":       {[]string{goBench(t, 1500, 2), goBench(t, 1502, 2)}, 0, []string{"No regression is shown: 3 figures of 1 row", "example/a.Run/n=10-8", "sec/op", "6+6", "same"}},
		"a slower benchmark":     {[]string{goBench(t, 1500, 2), goBench(t, 1700, 2)}, 1, []string{"Regression: example/a.Run/n=10-8: sec/op is 1.13 times", "worse"}},
		"one more allocation":    {[]string{goBench(t, 1500, 2), goBench(t, 1500, 3)}, 1, []string{"went from 128 B to 192 B", "exact", "exact"}},
		"slower within a margin": {[]string{goBench(t, 1500, 2), goBench(t, 1700, 2), "--margin", "20%"}, 0, []string{"none worse by more than 20 %"}},
		"one run each":           {[]string{file(t, "a", "BenchmarkX 1 5 B/op\n"), file(t, "b", "BenchmarkX 1 6 B/op\n")}, 3, []string{"Inconclusive", "make 4 of each"}},
		"records alike":          {[]string{gateRecord(t, "A", 1000, 2), gateRecord(t, "A", 1001, 2)}, 0, []string{"No regression", "chain 10, push, saturated", "time/node"}},
		"slower records":         {[]string{gateRecord(t, "A", 1000, 2), gateRecord(t, "A", 1200, 2)}, 1, []string{"Regression: chain 10, push, saturated"}},
		"one more row read":      {[]string{gateRecord(t, "A", 1000, 2), gateRecord(t, "A", 1000, 3)}, 1, []string{"rows read/node is 1.5 times"}},
		"one more, elsewhere":    {[]string{gateRecord(t, "A", 1000, 2), gateRecord(t, "B", 5000, 3)}, 1, []string{"rows read/node is 1.5 times", "not compared: other machine"}},
		"slower, elsewhere":      {[]string{gateRecord(t, "A", 1000, 2), gateRecord(t, "B", 5000, 2)}, 0, []string{"1 figure of 1 row", "2 figures are not compared: other machine"}},
		"nothing in common":      {[]string{goBench(t, 1500, 2), gateRecord(t, "A", 1000, 2)}, 3, []string{"no row in common", "Only in"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := call(t, nil, append([]string{"gate"}, c.args...)...)
			if got.code != c.code || got.err != "" {
				t.Errorf("exit status %d, want %d; %s", got.code, c.code, got.err)
			}
			wantParts(t, got.out, c.says...)
		})
	}
}

func TestGateWritesWhatItFound(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"gate", goBench(t, 1500, 2), goBench(t, 1700, 2), "--format", "json", "--out", out}
	got := call(t, nil, args...)
	var r gate.Report
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || r.Outcome != gate.Regression || got.code != 1 {
		t.Fatalf("exit status %d, %v: %s", got.code, err, got.out)
	}
	written, err := os.ReadFile(filepath.Join(out, benchmarks.GateJSON))
	if err != nil || string(written) != got.out {
		t.Errorf("%s is not what was printed: %v", benchmarks.GateJSON, err)
	}
	text, err := os.ReadFile(filepath.Join(out, benchmarks.GateText))
	if err != nil || !strings.HasPrefix(string(text), r.Sentence) {
		t.Errorf("%s: %v %s", benchmarks.GateText, err, text)
	}
	reported(t, out, benchmarks.GateJSON, benchmarks.GateText)
	if again := call(t, nil, args...); again.code != 1 {
		t.Errorf("its own files are not replaced: %s", again.err)
	}
}

func TestGateRefuses(t *testing.T) {
	t.Parallel()
	good, foreign := goBench(t, 1500, 2), filepath.Dir(file(t, "mine", "x"))
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"one side":               {[]string{good}, "name a baseline and a candidate"},
		"a file that is missing": {[]string{good, "none"}, "read none: no such file"},
		"a file of another kind": {[]string{good, file(t, "x", "hello\n")}, "no result in Go's benchmark format"},
		"an empty directory":     {[]string{good, t.TempDir()}, "no manifest.json"},
		"a margin of 5":          {[]string{good, good, "--margin", "5"}, "--margin 5: choose a share"},
		"no margin":              {[]string{good, good, "--margin", "much"}, "choose a share"},
		"no alpha":               {[]string{good, good, "--alpha", "0"}, "--alpha 0"},
		"runs of files":          {[]string{good, good, "--runs", "3"}, "--runs is for"},
		"tries of files":         {[]string{good, good, "--tries", "3"}, "for --self-test"},
		"both":                   {[]string{"--self-test", "--revisions"}, "choose one"},
		"an unknown plant":       {[]string{"--self-test", "--only", "50%"}, "nothing of that name"},
		"no revisions":           {[]string{"--revisions", "HEAD"}, "name two revisions"},
		"a bad revision":         {[]string{"--revisions", "HEAD", "no-such-revision"}, `"no-such-revision" is not a revision`},
		"an option as revision":  {[]string{"--revisions", "HEAD", "--", "--all"}, `"--all" is not a revision`},
		"a foreign directory":    {[]string{good, good, "--out", foreign}, "that no pulley gate wrote"},
		"where turns go":         {[]string{"--self-test", "--", "fanout=10", "--out", "x"}, "give it before --"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := call(t, nil, append([]string{"gate"}, c.args...)...)
			if got.code != console.ExitUsage || got.out != "" {
				t.Errorf("exit status %d, output %q", got.code, got.out)
			}
			wantLine(t, got.err, c.says)
		})
	}
}

// The second revision does ten times as much as the first. It is seen at night: to build Go's own packages under other paths takes a
// minute on a machine that has none.
func TestGateBuildsRevisions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
		return string(out)
	}
	write := func(rounds int) {
		t.Helper()
		text := fmt.Sprintf("package m\n\nimport \"testing\"\n\nvar sink []byte\n\nfunc BenchmarkWork(b *testing.B) {\n\tfor range b.N {\n\t\tfor range %d {\n\t\t\tsink = make([]byte, 1000)\n\t\t}\n\t}\n}\n", rounds)
		for name, content := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "m_test.go": text} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git("add", ".")
		git("commit", "-q", "-m", "rounds")
	}
	git("init", "-q")
	write(10)
	write(100)
	gate := func(args ...string) (int, string, string) {
		t.Helper()
		var out, stderr strings.Builder
		cmd := command(t, append([]string{"gate", "--revisions"}, args...)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &stderr
		return exitStatus(t, cmd.Run()), out.String(), stderr.String()
	}
	if code, _, stderr := gate("HEAD~1", "HEAD", "--runs", "2"); code != console.ExitUsage || !strings.Contains(stderr, "has no cmd/pulley") {
		t.Errorf("exit status %d: %s", code, stderr)
	}
	if depth.Night() {
		code, out, stderr := gate("HEAD~1", "HEAD", "--bench", "Work", "--benchtime", "100x", "--runs", "6")
		if code != 1 {
			t.Errorf("exit status %d: %s", code, stderr)
		}
		wantParts(t, out, "Regression: m.Work", "allocs/op", "10", "100", "exact", "worse")
		if code, _, stderr := gate("HEAD", "HEAD", "--bench", "Play", "--runs", "2"); code != console.ExitUsage || !strings.Contains(stderr, "no benchmark of either revision matches --bench Play") {
			t.Errorf("exit status %d: %s", code, stderr)
		}
	}
	if list := git("worktree", "list"); strings.Count(list, "\n") != 1 {
		t.Errorf("worktrees are left: %s", list)
	}
	if status := git("status", "--short"); status != "" {
		t.Errorf("the user's tree has changed: %s", status)
	}
}

// The slowdown is so large that no machine is too busy for it. It is a share of the process's processor time, which no other
// test should use.
func TestGateFindsWhatIsPlanted(t *testing.T) {
	t.Parallel()
	flags := []string{"compare", "fanout=10", "--backends", "memory", "--load", "saturated", "--min-nodes", "500", "--runs", "6", "--no-ceiling"}
	dirs := []string{t.TempDir(), t.TempDir()}
	for i, plant := range []string{"0", "10"} {
		if got := run(t, append(flags, "--plant-slowdown", plant, "--out", dirs[i])...); got.code != 0 {
			t.Fatal(got.err)
		}
	}
	got := call(t, nil, "gate", dirs[0], dirs[1])
	if got.code != 1 {
		t.Errorf("exit status %d: %s", got.code, got.out)
	}
	wantParts(t, got.out, "CPU/node", "worse")
}

func TestAnInterruptedSelfTestTellsItsTries(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	interruptWhenTold(t, "try 1 of 500", "gate", "--self-test", "--only", "none", "--tries", "100", "--runs", "2", "--out", out,
		"--", "chain=2", "--backends", "memory", "--load", "saturated", "--min-nodes", "100")
	var report struct {
		Interrupted bool
		OK          bool
		Results     []struct{ Planned, Tries int }
	}
	data, err := os.ReadFile(filepath.Join(out, benchmarks.GateJSON))
	if err == nil {
		err = json.Unmarshal(data, &report)
	}
	if err != nil || !report.Interrupted || report.OK || len(report.Results) != 1 || report.Results[0].Planned != 500 || report.Results[0].Tries < 1 || report.Results[0].Tries == 500 {
		t.Errorf("%v: %s", err, data)
	}
	text, err := os.ReadFile(filepath.Join(out, benchmarks.GateText))
	if err != nil {
		t.Fatal(err)
	}
	wantParts(t, string(text), "Interrupted before all tries were made", "False alarms")
	wantRecord(t, out, benchmarks.GateJSON, string(data))
}
