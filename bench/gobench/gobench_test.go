package gobench_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pulley/bench/gobench"
)

const twoPackages = `toolchain: go1.26
commit: 0123abc
goos: linux
goarch: amd64
pkg: example/a
cpu: Some CPU @ 2 GHz
BenchmarkRun/size=10-8   	 1000	  1500 ns/op	  64 B/op	  2 allocs/op
BenchmarkRun/size=10-8   	 1000	  1600 ns/op	  64 B/op	  2 allocs/op
BenchmarkSingle          	  500	 12.5 ns/op	 100 MB/s
PASS
ok  	example/a	3.2s
pkg: example/b
BenchmarkRun/size=10-8   	 1000	  10 ns/op	 7 rows/op
Unit rows/op better=lower assume=exact
Unit B/op assume=nothing
`

func read(t *testing.T, text string) *gobench.File {
	t.Helper()
	f, err := gobench.Read(strings.NewReader(text), "x.txt")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReadKeepsPackagesUnitsAndDirections(t *testing.T) {
	f := read(t, twoPackages)
	m := gobench.Machine{OS: "linux", Arch: "amd64", CPU: "Some CPU @ 2 GHz"}
	run := func(pkg, unit string) gobench.Key {
		return gobench.Key{Package: pkg, Name: "Run/size=10", Procs: 8, Unit: unit, Machine: m}
	}
	want := []gobench.Series{
		{Key: run("example/a", "sec/op"), Better: gobench.BetterLower, Exact: false, Values: []float64{1.5e-6, 1.6e-6}},
		{Key: run("example/a", "B/op"), Better: gobench.BetterLower, Exact: false, Values: []float64{64, 64}},
		{Key: run("example/a", "allocs/op"), Better: gobench.BetterLower, Exact: false, Values: []float64{2, 2}},
		{Key: gobench.Key{Package: "example/a", Name: "Single", Procs: 1, Unit: "sec/op", Machine: m}, Better: gobench.BetterLower, Exact: false, Values: []float64{1.25e-8}},
		{Key: gobench.Key{Package: "example/a", Name: "Single", Procs: 1, Unit: "B/s", Machine: m}, Better: gobench.BetterHigher, Exact: false, Values: []float64{100e6}},
		{Key: run("example/b", "sec/op"), Better: gobench.BetterLower, Exact: false, Values: []float64{1e-8}},
		{Key: run("example/b", "rows/op"), Better: gobench.BetterLower, Exact: true, Values: []float64{7}},
	}
	near := cmp.Comparer(func(a, b float64) bool { return a == b || (a-b)/b < 1e-12 && (b-a)/b < 1e-12 })
	if d := cmp.Diff(want, f.Series, near); d != "" {
		t.Error(d)
	}
	if f.Config["commit"] != "0123abc" || len(f.Warnings) != 0 || !slices.Equal(f.Mixed, []string{"pkg"}) {
		t.Errorf("config %v, warnings %v, mixed %v: want the commit, and two packages", f.Config, f.Warnings, f.Mixed)
	}
}

func TestReadKeepsMachinesApart(t *testing.T) {
	f := read(t, "cpu: A\nBenchmarkX 1 5 ns/op\ncpu: B\nBenchmarkX 1 9 ns/op\n")
	if len(f.Series) != 2 || f.Series[0].Machine.CPU != "A" || f.Series[1].Machine.CPU != "B" {
		t.Errorf("series %v: want one for each of two processors", f.Series)
	}
}

func TestReadReportsFaultyLinesAndContinues(t *testing.T) {
	f := read(t, "BenchmarkX 1 5 ns/op\nBenchmarkX 1 notanumber ns/op\nBenchmarkX 1 NaN ns/op\nBenchmarkX 1 7 ns/op\n")
	if len(f.Series) != 1 || len(f.Series[0].Values) != 2 {
		t.Errorf("series %v: want one with two values", f.Series)
	}
	if len(f.Warnings) != 2 || !strings.Contains(f.Warnings[0], "x.txt:2") || !strings.Contains(f.Warnings[1], "x.txt:3") {
		t.Errorf("warnings %q: want one for line 2 and one for line 3", f.Warnings)
	}
}

func TestReadRefusesWhatHoldsNoResult(t *testing.T) {
	for _, text := range []string{"", "PASS\nok x 1s\n", `{"schema": 5}`} {
		_, err := gobench.Read(strings.NewReader(text), "x.txt")
		if err == nil || !strings.Contains(err.Error(), "x.txt") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line that names the file", text, err)
		}
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.txt")
	if _, err := gobench.ReadFile(path); err == nil || strings.Count(err.Error(), path) != 1 {
		t.Errorf("missing file: error %v, want the path once", err)
	}
	if err := os.WriteFile(path, []byte(twoPackages), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := gobench.ReadFile(path)
	if err != nil || len(f.Series) != 7 {
		t.Errorf("%v, %v: want seven series", f, err)
	}
}

func TestKeyString(t *testing.T) {
	k := gobench.Key{Package: "p/q", Name: "Run/size=10", Procs: 8, Unit: "sec/op"}
	if got, want := k.String(), "p/q.Run/size=10-8 sec/op"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(twoPackages)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := gobench.Read(strings.NewReader(text), "x")
		if (err == nil) != (file != nil && len(file.Series) > 0) {
			t.Errorf("file %v with error %v", file, err)
		}
	})
}
