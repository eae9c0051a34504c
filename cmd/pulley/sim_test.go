package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSim searches: without a violation, with a planted one whose case is played again, and with mistakes.
func TestSim(t *testing.T) {
	out := t.TempDir()
	got := run(t, nil, "sim", "--seeds", "0..31", "--out", out)
	if got.code != 0 || !strings.Contains(got.out, "32 seeds") || !strings.Contains(got.out, "faults, by what they met") {
		t.Errorf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	got = run(t, nil, "sim", "pipeline=4", "--seeds", "16..31", "--out", out)
	if got.code != 0 || !strings.Contains(got.out, "16 seeds") {
		t.Errorf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	got = run(t, nil, "sim", "--bug", "token-ignored", "--seeds", "0..999", "--shrink", "1s", "--out", out)
	file := filepath.Join(out, "case.json")
	if got.code != exitFailed || !strings.Contains(got.out, "pulley sim --replay "+file) {
		t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	got = run(t, nil, "sim", "--replay", file)
	if got.code != exitFailed || !strings.Contains(got.out, "\nI3: ") {
		t.Errorf("exit status %d: %.300s%s", got.code, got.out, got.err)
	}
	if svg, err := os.ReadFile(filepath.Join(out, "case.svg")); err != nil || !strings.HasPrefix(string(svg), "<svg") {
		t.Errorf("there is no drawing: %v", err)
	}
	for _, args := range [][]string{
		{"--seeds", "9..1"}, {"--seeds", "x"}, {"--backend", "nobody"}, {"--bug", "none"}, {"fanout"}, {"nothing"}, {"--replay", "missing.json"},
	} {
		if got := run(t, nil, append([]string{"sim", "--out", out}, args...)...); got.code != exitUsage || got.err == "" {
			t.Errorf("%v: exit status %d: %s", args, got.code, got.err)
		}
	}
}
