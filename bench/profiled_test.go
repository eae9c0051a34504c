package bench_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"

	"pulley/bench"
	"pulley/reports/record"
)

// The stages of each run must add up to its processor time, the rows must show them, and go tool pprof must read each row's
// file. A later comparison without a profile in the same directory leaves no file.
func TestProfiled(t *testing.T) {
	cfg := bench.CompareConfig{
		Cases: cases(t, bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"10"}}), Backends: specs(t, "memory", "push"), Runs: 2,
		MinNodes: 5000, InFlight: 100, Workers: 100, Profile: true,
	}
	found := compare(t, cfg)
	for _, s := range found.Manifest.Samples {
		if s.CPU == nil || len(s.CPU.Stages) == 0 {
			t.Fatalf("%s, run %d: no stages", s.Key(), s.Run)
		}
		var sum int64
		for _, stage := range s.CPU.Stages {
			sum += stage.NS
		}
		if math.Abs(float64(sum-s.CPU.ProcessNS)) > 1e-3*float64(s.CPU.ProcessNS) {
			t.Errorf("%s, run %d: the stages add up to %d ns of %d", s.Key(), s.Run, sum, s.CPU.ProcessNS)
		}
	}
	for _, r := range found.Summary.Rows {
		cost := map[string]float64{}
		for _, s := range r.Stages {
			cost[s.Stage] = s.USPerNode.Median
		}
		if cost["store"]+cost["planning"]+cost["dispatch"]+cost["expressions"] <= 0 || cost["in all"] <= 0 || r.Backend == "push" && cost["Postgres"] <= 0 {
			t.Errorf("%s: %v", r.Key(), r.Stages)
		}
	}
	dir := t.TempDir()
	if err := found.Write(dir); err != nil {
		t.Fatal(err)
	}
	files := profiles(t, dir)
	if len(files) != 2 {
		t.Fatalf("the profiles are %q", files)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(file)
		if _ = file.Close(); err != nil || len(p.Sample) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (&bench.Comparison{Manifest: &record.Manifest{}, Summary: &record.Summary{}}).Write(dir); err != nil {
		t.Fatal(err)
	}
	if left := profiles(t, dir); len(left) > 0 {
		t.Errorf("left of the comparison before are %q", left)
	}
}

func profiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "cpu-*.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}
