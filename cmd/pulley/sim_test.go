package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pulley/cmd/pulley/console"
	"pulley/internal/depth"
)

func TestSim(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	seeds := depth.Of(8, 32)
	got := runForRaces(t, "sim", "--seeds", fmt.Sprintf("0..%d", seeds-1), "--out", out) // with the race detector
	if got.code != 0 || !strings.Contains(got.out, fmt.Sprintf("%d seeds", seeds)) || strings.Count(got.out, "\n") > 50 {
		t.Errorf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	whole, err := os.ReadFile(filepath.Join(out, "coverage.txt"))
	if err != nil || !strings.Contains(string(whole), "faults, by what they met") || !strings.Contains(string(whole), " never\n") {
		t.Errorf("coverage.txt: %v\n%s", err, whole)
	}
	got = call(t, nil, "sim", "pipeline=4", "--seeds", fmt.Sprintf("16..%d", 15+seeds/2), "--out", out)
	if got.code != 0 || !strings.Contains(got.out, fmt.Sprintf("%d seeds", seeds/2)) {
		t.Errorf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	got = call(t, nil, "sim", "--bug", "token-ignored", "--seeds", "0..999", "--shrink", "1s", "--out", out)
	file := filepath.Join(out, "case.json")
	if got.code != console.ExitFailed || !strings.Contains(got.out, "pulley sim --replay "+file) {
		t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	reported(t, out, "sim.json", "case.json", "case.svg", "case.txt", "coverage.txt")
	got = call(t, nil, "sim", "--replay", file)
	if got.code != console.ExitFailed || !strings.Contains(got.out, "\nI3: ") {
		t.Errorf("exit status %d: %.300s%s", got.code, got.out, got.err)
	}
	if svg, err := os.ReadFile(filepath.Join(out, "case.svg")); err != nil || !strings.HasPrefix(string(svg), "<svg") {
		t.Errorf("there is no drawing: %v", err)
	}
	got = call(t, nil, "sim", "--bug", "token-ignored", "--runs", "3", "--seeds", "0..999", "--out", out)
	if got.code != 0 || !regexp.MustCompile(`(?m)^push +token-ignored +\d+ +\d+ +\d+ +I3\b.* a completion`).MatchString(got.out) {
		t.Errorf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	reported(t, out, "sim.json")
	got = call(t, nil, "sim", "--backends", "all", "--bug", "all", "--runs", "1", "--seeds", "0..0", "--format", "json", "--out", out)
	var rows []struct {
		Backend, Bug string
		Searches     int
		Took         []uint64
		Wrong        string
	}
	if err := json.Unmarshal([]byte(got.out), &rows); err != nil || got.code != console.ExitFailed || len(rows) < 30 || rows[0].Searches != 1 {
		t.Errorf("exit status %d, %v: %d rows: %s%s", got.code, err, len(rows), got.out, got.err)
	}
	got = call(t, nil, "sim", "--runs", "2", "--seeds", fmt.Sprintf("0..%d", seeds/2-1), "--out", out)
	if got.code != 0 || !regexp.MustCompile(`(?m)^push +none +– +– +– `).MatchString(got.out) {
		t.Errorf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	for _, args := range [][]string{
		{"--seeds", "9..1"}, {"--seeds", "x"}, {"--backends", "nobody"}, {"--bug", "none"}, {"--backends", "push,push"}, {"--runs", "-1"}, {"--runs", "2", "--twice"},
		{"--format", "yaml"}, {"diamond"}, {"nothing"}, {"fanout=0"}, {"chain", "--set", "x=1"}, {"--replay", "missing.json"},
	} {
		if got := call(t, nil, append([]string{"sim", "--out", out}, args...)...); got.code != console.ExitUsage || got.err == "" {
			t.Errorf("%v: exit status %d: %s", args, got.code, got.err)
		}
	}
}
