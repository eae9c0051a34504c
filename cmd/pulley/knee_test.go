package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pulley/bench/knee"
	"pulley/bench/load"
	"pulley/cmd/pulley/console"
	"pulley/reports"
	"pulley/reports/record"
)

// Other tests use the machine too, so the test checks what is written, not the knee. A few workers are saturated at a rate that
// leaves the machine to others.
func TestKneeOfAScenario(t *testing.T) {
	t.Parallel()
	file, out := ownScenario(t), t.TempDir()
	got := run(t, "knee", file+"=1", "--backends", "memory", "--objective", "p99 < 1s", "--objective", "max < 1m", "--max-duration", "10s", "--tolerance", "50%",
		"--workers", "4", "--others", "100%", "--out", out)
	if !slices.Contains([]int{0, console.ExitFailed, console.ExitInconclusive}, got.code) {
		t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	wantParts(t, got.out, "orders 1 on memory: ", "Closed loops", "alone")
	r, err := record.ReadKnees(filepath.Join(out, record.KneeFile))
	if err != nil {
		t.Fatal(err)
	}
	k := r.Knees[0]
	if len(r.Knees) != 1 || k.Scenario != "orders" || k.Arrivals != "poisson" || len(k.Objectives) != 2 || k.Workers != 4 || k.Engines != 1 || len(k.Closed) < 2 || r.Interrupted {
		t.Errorf("%+v", k)
	}
	if want := (map[string]int{"found": 0, "always": 0, "never": console.ExitFailed, "undecided": console.ExitInconclusive})[k.Kind]; got.code != want {
		t.Errorf("%s ends with exit status %d", k.Kind, got.code)
	}
	if k.Kind != string(knee.Undecided) { // else the time may be over before the scheduler is saturated
		wantParts(t, got.out, "saturated")
	}
	for _, r := range k.Closed {
		if slices.ContainsFunc(r.Findings, func(f record.LoadFinding) bool { return f.Kind == load.KindWrong }) {
			t.Errorf("%+v", r)
		}
	}
	reported(t, out, record.KneeFile)
	_, err = os.Stat(filepath.Join(out, "knee-orders-1-memory.svg"))
	if drawn := reports.KneeChart(&k) != nil; drawn != (err == nil) {
		t.Errorf("there is something to draw: %v, and the file: %v", drawn, err)
	}
	if got := run(t, "knee", file+"=1", "--backends", "memory", "--scale", "workers=1,2,4", "--runs", "1", "--others", "100%", "--out", out, "--format", "json"); got.code != 0 && got.code != console.ExitInconclusive {
		t.Errorf("exit status %d: %s", got.code, got.err)
	} else if s := decodeKnees(t, got.out).Scalings; len(s) != 1 || len(s[0].Runs) != 3 || s[0].What != "workers" {
		t.Errorf("%+v", s)
	}
}

func decodeKnees(t *testing.T, text string) (r record.KneeReport) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnInterruptedKneeIsWritten(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	interruptWhenTold(t, "(alone)", "knee", "chain=2", "--backends", "memory,memory:shards=1", "--max-duration", "20s", "--others", "100%", "--out", out)
	r, err := record.ReadKnees(filepath.Join(out, record.KneeFile))
	if err != nil || !r.Interrupted || len(r.Knees) != 1 || r.Knees[0].Kind != string(knee.Undecided) {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestKneeRefuses(t *testing.T) {
	t.Parallel()
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, record.KneeFile), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		`"50" is no time`:                   {"--objective", "p99 < 50"},
		"is no percentile":                  {"--objective", "mean < 5ms"},
		"for a search; choose from 10s":     {"--max-duration", "1s"},
		"--tolerance 7: choose a share":     {"--tolerance", "7"},
		"a tolerance of 0.0001":             {"--tolerance", "0.01%"},
		"write workers=1,2,4,8,16":          {"--scale", "threads=1,2,4"},
		"is named twice":                    {"--backends", "push,push"},
		"no backend \"psuh\"":               {"--backends", "psuh"},
		"its connections are said already":  {"--backends", "push:connections=4", "--scale", "connections=2,4,8"},
		"no option \"connections=2\"":       {"--backends", "memory", "--scale", "connections=2,4,8"},
		"choose another directory, or move": {"--out", foreign},
		"--runs 0: choose from 1 to 100":    {"--runs", "0"},
		"--others 0%: choose a share above": {"--others", "0%"},
		"must be one of \"\",\"poisson\",":  {"--arrivals", "burst"},
	} {
		all := append([]string{"knee", "chain=2"}, args...)
		for flag, value := range map[string]string{"--backends": "memory", "--out": t.TempDir()} {
			if !slices.Contains(args, flag) {
				all = append(all, flag, value)
			}
		}
		got := call(t, nil, all...)
		if got.code != console.ExitUsage || got.out != "" || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%q: exit status %d, %q; want %q", args, got.code, got.err, want)
		}
	}
}
