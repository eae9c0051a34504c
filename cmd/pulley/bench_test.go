package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pulley/bench"
	"pulley/bench/load"
	"pulley/cmd/pulley/console"
	"pulley/reports/record"
)

// The exit status depends on the machine.
func benched(t *testing.T, run func(*testing.T, ...string) result, args ...string) (*record.Load, result) {
	t.Helper()
	out := t.TempDir()
	got := run(t, append([]string{"bench", "--out", out}, args...)...)
	l, err := record.ReadLoad(filepath.Join(out, record.LoadFile))
	if err != nil {
		t.Fatalf("%v; exit status %d: %s%s", err, got.code, got.out, got.err)
	}
	if want := map[bool]int{true: 0, false: console.ExitInconclusive}[l.Valid]; got.code != want {
		t.Errorf("exit status %d, want %d: %s", got.code, want, got.err)
	}
	for _, file := range bench.LoadFiles() {
		if _, err := os.Stat(filepath.Join(out, file)); err != nil {
			t.Error(err)
		}
	}
	reported(t, out, record.LoadFile)
	if l.Whole.Ended == 0 || slices.ContainsFunc(l.Findings, func(f record.LoadFinding) bool { return f.Kind == load.KindWrong }) {
		t.Errorf("%+v %+v", l.Whole, l.Findings)
	}
	return l, got
}

func TestOwnScenarioUnderLoad(t *testing.T) {
	t.Parallel()
	file := ownScenario(t)
	short := []string{"--set", "lines=2", "--duration", "1s", "--warm-up", "200ms", "--drain", "5m", "--percentile", "p50", "--others", "100%"}
	l, got := benched(t, runForRaces, append([]string{file + "=2", "--backend", "push:connections=2", "--workers", "8"}, short...)...)
	if l.Scenario != "orders" || l.Size != 2 || l.Arrivals != "poisson:200/s" || l.Workers != 8 || l.Phases.WarmUpNS != int64(200*time.Millisecond) || l.Phases.Detected {
		t.Errorf("%+v", l)
	}
	if l.Whole.Intended < 150 || l.Whole.Intended > 330 { // 240 expected
		t.Errorf("%+v", l.Whole)
	}
	wantParts(t, got.out, "orders 2 on push:connections=2", "service time", "committed", "backlog")
	l, _ = benched(t, run, append([]string{file, "--backend", "memory", "--rate", "3000/m", "--objective", "p50 < 5m", "--format", "json"}, short...)...)
	if l.Arrivals != "poisson:50/s" || len(l.Objectives) != 1 || !l.Objectives[0].Held {
		t.Errorf("%s, %+v", l.Arrivals, l.Objectives)
	}
	l, _ = benched(t, run, append([]string{file, "--backend", "memory", "--arrivals", "closed:3", "--engines", "2"}, short...)...)
	if l.Arrivals != "closed:3" || l.Engines != 2 || l.Whole.Unfinished+l.Whole.Dropped > 0 {
		t.Errorf("%s, %+v", l.Arrivals, l.Whole)
	}
}

func TestBenchRefused(t *testing.T) {
	t.Parallel()
	taken := t.TempDir()
	if err := os.WriteFile(filepath.Join(taken, "load.json"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"it is not said how instances arrive; add --rate":         {"chain"},
		`--rate soon: write a number above 0`:                     {"chain", "--rate", "soon"},
		`--rate -3: write a number above 0`:                       {"chain", "--rate=-3"},
		"write both as one, as in --arrivals constant:30/s":       {"chain", "--rate", "30", "--arrivals", "constant"},
		`there is no process "poison"; did you mean poisson?`:     {"chain", "--arrivals", "poison:3/s"},
		"the arrivals are closed:3, which has no rate":            {"chain", "--rate", "30", "--arrivals", "closed:3"},
		"are 2 runs, and this is one; choose, as in --arrivals":   {"chain", "--arrivals", "closed:3,9"},
		`--percentile: "p30" is no percentile; write one from p5`: {"chain", "--rate", "30", "--percentile", "p30"},
		"--warm-up soon: write auto, auto:20s":                    {"chain", "--rate", "30", "--warm-up", "soon"},
		"--others 0: choose a share":                              {"chain", "--rate", "30", "--others", "0"},
		`objective "p99": write one like p99 < 50ms`:              {"chain", "--rate", "30", "--objective", "p99"},
		"no backend \"pish\", did you mean":                       {"chain", "--rate", "30", "--backend", "pish"},
		"there is no scenario \"chian\", did you mean \"chain\"?": {"chian", "--rate", "30"},
		"a run has 2000000 at most: choose a lower rate":          {"chain", "--rate", "1000000", "--backend", "memory"},
		"20000 workers; choose from 1 to 10000":                   {"chain", "--rate", "30", "--backend", "memory", "--workers", "20000"},
		"there is a load.json that no run of pulley wrote":        {"chain", "--rate", "30", "--out", taken},
		"choose up to a week":                                     {"chain", "--rate", "0.001", "--backend", "memory", "--duration", "900h"},
		"bring nothing within 1s to 2s, so that they cannot have": {"chain", "--rate", "3", "--arrivals", "steps:10/s*1s,0/s", "--warm-up", "1s", "--duration", "1s"},
	} {
		if !slices.Contains(args, "--out") {
			args = append(args, "--out", t.TempDir())
		}
		got := call(t, nil, append([]string{"bench"}, args...)...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: exit status %d: %s", args, got.code, got.out)
		}
		wantParts(t, got.err, want)
	}
}
