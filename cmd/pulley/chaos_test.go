package main

import (
	"encoding/json"
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
	for _, name := range []string{"case.json", "result.json", "history.ndjson"} {
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
		{"--in-flight must be positive", []string{"--in-flight", "0"}},
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
