package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pulley/bench/load"
	"pulley/cmd/pulley/console"
	"pulley/reports/record"
)

const memoryAdapter = "exec:python3 ../../bench/systems/testdata/memory.py"

// Two systems are compared, the second under a name of its own, and the record says with what they ran.
func TestCompareSystems(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	got := run(t, "compare", "chain=3", "--systems", memoryAdapter, "--systems", memoryAdapter, "--setting", "pause_ms=0", "--no-tune", "--workers", "50", "--runs", "1", "--min-nodes", "20", "--in-flight", "3", "--out", out)
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	wantParts(t, got.out, "All 2 rows are valid", "memory-2")
	m, err := record.ReadManifest(filepath.Join(out, record.ManifestFile))
	if err != nil || len(m.Systems) != 2 || m.Systems[1].Name != "memory-2" || m.Systems[0].Settings["pause_ms"] != "0" || m.Systems[0].Version != "1" || m.Samples[0].Workers != 50 {
		t.Errorf("%v: %+v", err, m)
	}
	reported(t, out, record.SummaryFile, record.ManifestFile, record.SamplesFile)
	if html, err := os.ReadFile(filepath.Join(out, record.ReportFile)); err != nil || !strings.Contains(string(html), "pause_ms=0,") || !strings.Contains(string(html), "nothing was searched") {
		t.Errorf("the report does not say with what the systems ran: %v", err)
	}
}

func TestCompareSystemsIsRefused(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"pulley: --systems exec:nosuchprogram: there is no program nosuchprogram; check the name, and PATH\n": {"--systems", "exec:nosuchprogram"},
		"pulley: --setting lease: none of the systems has such a setting\n":                                   {"--systems", memoryAdapter, "--setting", "lease=1"},
		"pulley: systems behind adapters have no --history, --profile; leave it out\n":                        {"--systems", memoryAdapter, "--profile", "--history", "x"},
		"pulley: --setting and --no-tune are for --systems; name some\n":                                      {"--no-tune"},
		"pulley: --setting: setting \"lease\": write it as NAME=VALUE\n":                                      {"--systems", memoryAdapter, "--setting", "lease"},
	} {
		got := call(t, nil, append([]string{"compare", "chain=3", "--quick", "--out", t.TempDir()}, args...)...)
		if got.code != console.ExitUsage || got.err != want || got.out != "" {
			t.Errorf("%q: %+v, want %s", args, got, want)
		}
	}
}

// A system behind an adapter has a knee and a load as ours do. Other tests use the machine too, so what they come to does not matter.
func TestLoadOnASystem(t *testing.T) {
	t.Parallel()
	system := []string{"chain=2", "--systems", memoryAdapter, "--setting", "pause_ms=0", "--no-tune", "--workers", "4", "--others", "100%"}
	out := t.TempDir()
	got := run(t, append([]string{"knee", "--objective", "p99 < 10s", "--max-duration", "10s", "--tolerance", "50%", "--out", out}, system...)...)
	if !slices.Contains([]int{0, console.ExitFailed, console.ExitInconclusive}, got.code) {
		t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	r, err := record.ReadKnees(filepath.Join(out, record.KneeFile))
	if err != nil || len(r.Knees) != 1 || len(r.Knees[0].Closed) == 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	if k := r.Knees[0]; k.Backend != "memory" || k.System == nil || k.System.Version != "1" || k.System.Settings["pause_ms"] != "0" || k.Workers != 4 {
		t.Errorf("%+v", k)
	}
	instances := 0
	for _, r := range r.Knees[0].Closed {
		if instances += r.Instances; slices.ContainsFunc(r.Findings, func(f record.LoadFinding) bool { return f.Kind == load.KindWrong }) {
			t.Errorf("%+v", r)
		}
	}
	if instances == 0 { // in some steps, there may be none
		t.Errorf("%+v", r.Knees[0].Closed)
	}
	l, _ := benched(t, run, append([]string{"--rate", "50", "--warm-up", "200ms", "--duration", "1s", "--drain", "5m", "--percentile", "p50"}, system...)...)
	if l.System == nil || l.System.Settings["pause_ms"] != "0" || l.Workers != 4 || l.Whole.Unfinished+l.Whole.Dropped > 0 {
		t.Errorf("%+v, %+v", l.System, l.Whole)
	}
}
