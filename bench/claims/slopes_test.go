package claims

import (
	"math"
	"strings"
	"testing"

	"pulley/bench"
	"pulley/bench/claim"
	"pulley/reports/record"
)

// One repetition lacks a size.
func TestSlope(t *testing.T) {
	found := &bench.Comparison{Manifest: &record.Manifest{}}
	add := func(run, size int, cost int64, valid bool) {
		found.Manifest.Samples = append(found.Manifest.Samples, record.Sample{
			Scenario: "s", Backend: "b", Size: size, Nodes: size, Run: run, Instances: 1, ElapsedNS: cost, Valid: valid,
		})
	}
	sizes := []int{10, 100, 1000}
	for _, size := range sizes {
		add(1, size, int64(size*size), true)
		add(2, size, int64(size), size != 100)
	}
	f := slope(found, "b", sizes, "time", timePerInstance, claim.About, 2, 0.01)
	if f.Verdict != claim.Holds || f.Runs != 1 || math.Abs(*f.Median-2) > 1e-9 {
		t.Errorf("%+v", f)
	}
	if f := slope(found, "other", sizes, "time", timePerInstance, claim.About, 2, 0.01); f.Verdict != claim.Unmeasured || !strings.Contains(f.Note, "INVALID") {
		t.Errorf("%+v", f)
	}
}

// A fixed cost per instance hides the growth of the added cost in the plain exponent.
func TestAddedExponent(t *testing.T) {
	for name, c := range map[string]struct {
		cost  func(nodes float64) float64
		plain [2]float64
		added float64
	}{
		"linear":            {func(n float64) float64 { return 3 * n }, [2]float64{1, 1}, 1},
		"linear and fixed":  {func(n float64) float64 { return 500 + 3*n }, [2]float64{0.5, 0.9}, 1},
		"square":            {func(n float64) float64 { return n * n }, [2]float64{2, 2}, 2},
		"square, but fixed": {func(n float64) float64 { return 1e5 + n*n }, [2]float64{0.5, 1.5}, 2},
	} {
		var list []point
		for _, n := range []float64{10, 100, 1000, 10_000} {
			list = append(list, point{n, c.cost(n)})
		}
		plain, ok := exponent(list)
		if !ok || plain < c.plain[0]-1e-9 || plain > c.plain[1]+1e-9 {
			t.Errorf("%s: plain %v", name, plain)
		}
		if added, ok := addedExponent(list); !ok || math.Abs(added-c.added) > 0.01 {
			t.Errorf("%s: added %v, not %v", name, added, c.added)
		}
	}
	if v, ok := addedExponent([]point{{1, 10}, {2, 5}, {3, 7}}); ok {
		t.Errorf("a cost that falls has an exponent of %v", v)
	}
}

// Clients' waits differ by chance alone: the fewer waits, the more their means differ.
func TestDealt(t *testing.T) {
	var waits []int64
	for i := range 10_000 {
		waits = append(waits, int64(100+i%100))
	}
	few, ok := dealt(waits[:200], 100)
	many, okMany := dealt(waits, 100)
	if !ok || !okMany || few < 1.3 || many > 1.2 || many < 1 {
		t.Errorf("%v with 2 for each, %v with 100", few, many)
	}
	if v, ok := dealt(waits[:5], 10); ok {
		t.Errorf("%v with fewer waits than clients", v)
	}
}

func TestP99(t *testing.T) {
	var s record.Sample
	for i := range 200 {
		s.InstanceNS = append(s.InstanceNS, int64(200-i)*1e6)
	}
	if got, ok := p99(&s); !ok || got != 198 {
		t.Errorf("%v, %v; want 198", got, ok)
	}
	if _, ok := p99(&record.Sample{}); ok {
		t.Error("no instance has a p99")
	}
}
