package bench_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"

	"pulley/bench"
)

// benchstat's own reader reads what the benchmarks print. Every figure has a unit with a better direction; scenario, backend
// and size are keys for rows and columns.
func TestBenchmarksAreBenchstats(t *testing.T) {
	result := testing.Benchmark(func(b *testing.B) {
		measureRuns(b, "chain", "memory", 10, bench.CompareConfig{InFlight: 1, MinNodes: 300})
	})
	var text strings.Builder
	for _, u := range betterUnits {
		text.WriteString("Unit " + u + "\n")
	}
	text.WriteString("BenchmarkLatency/scenario=chain/backend=memory/size=10-2\t" + result.String() + "\n")
	reader := benchfmt.NewReader(strings.NewReader(text.String()), "out.txt")
	var units []string
	results := 0
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(r)
		case *benchfmt.Result:
			results++
			for _, v := range r.Values {
				units = append(units, v.Unit)
				if v.Value <= 0 {
					t.Errorf("%s is %v", v.Unit, v.Value)
				}
			}
			var parser benchproc.ProjectionParser
			for key, want := range map[string]string{"/scenario": "chain", "/backend": "memory", "/size": "10"} {
				by, err := parser.Parse(key, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := by.Project(r).StringValues(); got != want {
					t.Errorf("%s is %q, not %q", key, got, want)
				}
			}
		}
	}
	if err := reader.Err(); err != nil || results != 1 {
		t.Fatalf("%d results: %v\n%s", results, err, text.String())
	}
	for _, want := range []string{"sec/op", "nodes/s", "p50-sec/hop", "p99-sec/hop", "p50-sec/instance", "p99-sec/instance"} {
		if !slices.Contains(units, want) {
			t.Errorf("there is no %s among %q", want, units)
		}
	}
	known := reader.Units()
	for _, unit := range units {
		if unit != "sec/op" && known.GetBetter(unit) == 0 {
			t.Errorf("nobody says which way of %s is better", unit)
		}
	}
}
