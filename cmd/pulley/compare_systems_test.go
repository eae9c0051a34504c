package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
