package main

import (
	"encoding/json"
	"strings"
	"testing"

	"pulley/bench/claim"
	"pulley/cmd/pulley/console"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

func TestClaimsRefuses(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`there is no experiment "none"`: {"claims", "--only", "none"},
		"--goals and --only":            {"claims", "--goals", "--only", "growth"},
		"--goals and --peers":           {"claims", "--peers", "--goals"},
		"--setting and --no-tune are":   {"claims", "--peers", "--no-tune"},
		"only where others' figures":    {"claims", "--systems", memoryAdapter},
		"-2 runs":                       {"claims", "--runs=-2"},
		"--format":                      {"claims", "--format", "xml"},
	} {
		got := call(t, nil, args...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: exit status %d, %q", args, got.code, got.out)
		}
		wantLine(t, got.err, want)
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	only := depth.Of([]string{"memory", "dispatch"}, []string{"growth", "memory", "dispatch"})
	out := t.TempDir()
	got := runForRaces(t, "claims", "--out", out, "--dsn", pgtest.DSN(t), "--only", strings.Join(only, ","), "--quick", "--runs", "1", "--format", "json")
	var report claim.Report
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != 0 {
		t.Fatalf("exit status %d, %v: %s", got.code, err, got.err)
	}
	if len(report.Claims) != len(only) || report.Postgres == nil || report.EndedAt.Before(report.StartedAt) {
		t.Fatalf("%+v", report)
	}
	wantRecord(t, out, "claims.json", got.out)
	for i, c := range report.Claims {
		if c.ID != only[i] || !c.Measured() || c.Verdict == claim.Unmeasured || len(c.Figures) != 3 {
			t.Errorf("%+v", c)
		}
	}
	wantParts(t, got.err, "] memory: ", "[1/1] memory: run 1 of 1: chain 1 on push: ", "] dispatch: ")
}
