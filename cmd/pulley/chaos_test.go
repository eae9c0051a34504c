package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestChaos runs a small case, reads what it prints and writes, and runs it again from its file.
func TestChaos(t *testing.T) {
	dir := t.TempDir()
	got := run(t, nil, "chaos", "fanout=5", "--faults", "wire.cut,process.kill", "--seed", "7", "--duration", "0s", "--lease", "1s",
		"--in-flight", "2", "--shrink", "0", "--format", "json", "--out", dir)
	var res struct {
		Verdict    string
		Faults     map[string]int
		Violations []any
		RecoveryMS struct{ First struct{ N int } } `json:"recovery_ms"`
		Seed       uint64
	}
	if err := json.Unmarshal([]byte(got.out), &res); err != nil {
		t.Fatalf("%v: %q: %s", err, got.out, got.err)
	}
	if got.code != 0 || res.Verdict != "pass" || res.Faults["wire.cut"] != 1 || res.Faults["process.kill"] != 1 || res.Seed != 7 ||
		res.Violations == nil || len(res.Violations) != 0 || res.RecoveryMS.First.N == 0 {
		t.Errorf("exit status %d: %s", got.code, got.out)
	}
	for _, name := range []string{"case.json", "result.json", "history.ndjson", "report.html"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := run(t, nil, "chaos", "--replay", filepath.Join(dir, "case.json"), "--shrink", "0", "--out", filepath.Join(dir, "again"))
	if again.code != 0 {
		t.Errorf("exit status %d: %s", again.code, again.err)
	}
	wantParts(t, again.out, "pass: push", "process.kill", "1", "wire.cut", "1")
}

// TestChaosRefuses has mistakes in the command line.
func TestChaosRefuses(t *testing.T) {
	for _, c := range []struct {
		says string
		args []string
	}{
		{"there is no fault \"wire.curt\"", []string{"--faults", "wire.curt"}},
		{"there is no scenario \"fanuot\"", []string{"fanuot"}},
		{"is no size", []string{"fanout=many"}},
		{"keeps nothing over a crash", []string{"--backend", "memory"}},
		{"without a program", []string{"diamond"}},
		{"engines is 65", []string{"--engines", "65"}},
		{"--in-flight, --every and --instances must not be negative", []string{"--in-flight=-1"}},
		{"write instances per second", []string{"--rate", "fast"}},
		{"more than the highest rate", []string{"--rate", "120%"}},
		{"no such file", []string{"--replay", "nowhere.json"}},
		{"is no case", []string{"--replay", file(t, "case.json", `{"scenario": "fanout"}`)}},
	} {
		got := run(t, nil, append([]string{"chaos", "--out", t.TempDir()}, c.args...)...)
		if got.code != exitUsage || got.out != "" {
			t.Errorf("%v: exit status %d, %q", c.args, got.code, got.out)
		}
		wantLine(t, got.err, c.says)
	}
}

// TestChaosNightly reaches small goals over one backend, with a run for each set of kinds, and refuses what it cannot run.
func TestChaosNightly(t *testing.T) {
	dir := t.TempDir()
	got := run(t, nil, "chaos-nightly", "--backends", "push", "--faults", "process.kill", "--length", "0s", "--cuts", "1", "--kills", "1", "--terminated", "1", "--crashes", "1", "--lost", "1", "--messages", "0s", "--out", dir)
	text, err := os.ReadFile(filepath.Join(dir, "totals.json"))
	if err != nil {
		t.Fatal(err)
	}
	var totals struct {
		Runs    int
		Reached map[string]int
	}
	if err := json.Unmarshal(text, &totals); err != nil || got.code != 0 || totals.Runs < 3 || totals.Reached["kills"] < 1 || totals.Reached["crashes"] < 2 {
		t.Errorf("exit status %d, %v: %s%s", got.code, err, got.out, got.err)
	}
	wantParts(t, got.out, fmt.Sprintf("%[1]d runs (%[1]d pass, 0 fail", totals.Runs), "0 deadlocks")
	for _, wrong := range []string{"memory", "pish"} {
		if got := run(t, nil, "chaos-nightly", "--backends", wrong, "--out", dir); got.code != exitUsage {
			t.Errorf("--backends %s: exit status %d", wrong, got.code)
		}
	}
}
