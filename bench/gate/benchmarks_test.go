package gate_test

import (
	"strings"
	"testing"

	"pulley/bench/gate"
	"pulley/bench/gobench"
)

func benchFile(t *testing.T, text string) *gobench.File {
	t.Helper()
	f, err := gobench.Read(strings.NewReader("goos: linux\ncpu: A\n"+text), "x")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDirectionsOfUnits(t *testing.T) {
	s := gate.FromBenchmarks("x", benchFile(t, "BenchmarkX 1 5 ns/op 3 MB/s 7 B/op 2 allocs/op 9 nodes/s 4 rows/op 8 p99-ns 1 fish\n"))
	want := map[string]bool{"sec/op": false, "B/s": true, "B/op": false, "allocs/op": false, "nodes/s": true, "rows/op": false, "p99-sec": false}
	for _, x := range s.Series {
		more, ok := want[x.Figure]
		if !ok || more != x.MoreIsBetter {
			t.Errorf("%s: more is better: %v", x.Figure, x.MoreIsBetter)
		}
		delete(want, x.Figure)
	}
	if len(want) > 0 || len(s.Strange) != 1 || !strings.Contains(s.Strange[0], "fish") {
		t.Errorf("missing %v, strange %q", want, s.Strange)
	}
	known := gate.FromBenchmarks("x", benchFile(t, "Unit fish better=higher assume=exact\nBenchmarkX 1 1 fish\n"))
	if len(known.Series) != 1 || !known.Series[0].MoreIsBetter || known.Series[0].Lenient {
		t.Errorf("%+v: want an exact unit of which more is better", known.Series)
	}
}

func TestThroughputThatFalls(t *testing.T) {
	lines := func(rate string) string {
		return strings.Repeat("BenchmarkX 1 "+rate+"1 MB/s\nBenchmarkX 1 "+rate+"2 MB/s\n", 4)
	}
	r := judge(t, gate.FromBenchmarks("a", benchFile(t, lines("50"))), gate.FromBenchmarks("b", benchFile(t, lines("40"))), gate.Options{})
	if r.Outcome != gate.Regression {
		t.Errorf("%s: %s", r.Outcome, r.Sentence)
	}
}

func TestPairsOfFilesKeepTheirPlaces(t *testing.T) {
	one, other := benchFile(t, "BenchmarkX 1 5 ns/op\nBenchmarkX 1 4 ns/op\n"), benchFile(t, "BenchmarkY 1 5 ns/op\n")
	a, b := gate.FromBenchmarkPairs("a", "b", []*gobench.File{one, other, one}, []*gobench.File{one, one, one})
	r := judge(t, a, b, gate.Options{Paired: true})
	if len(r.Lines) != 1 || r.Lines[0].BaselineRuns != 2 || *r.Lines[0].Baseline > 4.1e-9 {
		t.Errorf("%+v: want two pairs, and the best of each", r.Lines)
	}
}

func TestPairsOfFilesFromSeveralMachinesKeepTheirPlaces(t *testing.T) {
	two := benchFile(t, "BenchmarkX 1 5 ns/op\ncpu: B\nBenchmarkX 1 4 ns/op\n")
	a, b := gate.FromBenchmarkPairs("a", "b", []*gobench.File{two, two}, []*gobench.File{two, two})
	if n := len(a.Series[0].Values); n != 2 || a.Series[0].Machine != "" {
		t.Errorf("%d values of %q, want one for each of two pairs, of no one machine", n, a.Series[0].Machine)
	}
	judge(t, a, b, gate.Options{Paired: true})
}
