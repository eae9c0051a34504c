package stats_test

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pulley/bench/stats"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

func firstN(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64((i*7)%n) + 1 // out of order, to test the sorting
	}
	return out
}

// Printed tables of the sign test have these ranks and coverages.
func TestMedianIntervalTable(t *testing.T) {
	for _, c := range []struct {
		n        int
		rank     int
		coverage float64
		warns    bool
	}{
		{1, 1, 0, true},
		{2, 1, 0.5, true},
		{5, 1, 0.9375, true},
		{6, 1, 0.96875, false},
		{8, 1, 0.9921875, false},
		{9, 2, 0.9609375, false},
		{10, 2, 0.978515625, false},
		{12, 3, 0.961425781, false},
		{15, 4, 0.964843750, false},
		{20, 6, 0.958610535, false},
		{25, 8, 0.956714749, false},
	} {
		t.Run(fmt.Sprint(c.n), func(t *testing.T) {
			sorted := slices.Sorted(slices.Values(firstN(c.n)))
			got := stats.MedianInterval(firstN(c.n), 0.95)
			if got.Lo != sorted[c.rank-1] || got.Hi != sorted[c.n-c.rank] || got.N != c.n {
				t.Errorf("got %+v, want rank %d", got, c.rank)
			}
			if !near(got.Confidence, c.coverage, 1e-9) {
				t.Errorf("coverage %.10f, want %.10f", got.Confidence, c.coverage)
			}
			if (got.Warning != "") != c.warns {
				t.Errorf("warning %q", got.Warning)
			}
		})
	}
}

func TestMedianIntervalOfNothing(t *testing.T) {
	got := stats.MedianInterval(nil, 0.95)
	if !math.IsNaN(got.Median) || got.N != 0 || got.Warning == "" {
		t.Errorf("got %+v", got)
	}
}

func TestMedianIntervalOfFiveWarning(t *testing.T) {
	want := "5 runs: the interval is their range, which holds the median with 93.75 % instead of 95 %"
	if got := stats.MedianInterval(firstN(5), 0.95).Warning; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// There are 2^n ways in which n values fall below or above the median.
func TestCoverageIsWhatItSays(t *testing.T) {
	for n := 1; n <= 16; n++ {
		for _, confidence := range []float64{0.5, 0.9, 0.95, 0.99} {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(i)
			}
			got := stats.MedianInterval(values, confidence)
			lo, hi := int(got.Lo), int(got.Hi)
			covered := 0
			for pattern := range 1 << n {
				below := bits.OnesCount(uint(pattern)) // so many order statistics lie below the true median
				if below > lo && below <= hi {
					covered++
				}
			}
			if want := float64(covered) / float64(int(1)<<n); !near(got.Confidence, want, 1e-9) {
				t.Errorf("n=%d confidence=%v: says %v, covers %v", n, confidence, got.Confidence, want)
			}
			if got.Confidence < confidence && got.Warning == "" {
				t.Errorf("n=%d confidence=%v: falls short in silence", n, confidence)
			}
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}, {[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64}} {
		before := slices.Clone(c.in)
		if got := stats.Median(c.in); got != c.want || !slices.Equal(before, c.in) {
			t.Errorf("%v: got %v, want %v, left %v", before, got, c.want, c.in)
		}
	}
	if got := stats.Median(nil); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
}

func TestPairedRatio(t *testing.T) {
	a := []float64{20, 33, 8, 50, 12, 70}
	b := []float64{10, 11, 8, 10, 3, 10}
	got, err := stats.PairedRatio(a, b, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	// The ratios are 2, 3, 1, 5, 4, 7: between the middle ones, 3 and 4, the median of logarithms is √12.
	if !near(got.Median, math.Sqrt(12), 1e-12) || !near(got.Lo, 1, 1e-12) || !near(got.Hi, 7, 1e-12) || got.Confidence != 0.96875 {
		t.Errorf("got %+v", got)
	}
	inverse, err := stats.PairedRatio(b, a, 0.95)
	if err != nil || !near(inverse.Median*got.Median, 1, 1e-12) || !near(inverse.Lo*got.Hi, 1, 1e-12) {
		t.Errorf("inverse %+v, %v", inverse, err)
	}
}

// The machine slows down tenfold over the runs. Neighbouring runs are slowed alike.
func TestPairedRatioSurvivesDrift(t *testing.T) {
	var a, b []float64
	for i := range 8 {
		drift := 1 + float64(i)
		a, b = append(a, 30*drift), append(b, 10*drift)
	}
	got, err := stats.PairedRatio(a, b, 0.95)
	if err != nil || !near(got.Lo, 3, 1e-9) || !near(got.Hi, 3, 1e-9) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestPairedRatioRefuses(t *testing.T) {
	for want, lists := range map[string][2][]float64{
		"2 runs against 1":    {{1, 2}, {1}},
		"pair 2 is 0":         {{1, 0}, {1, 1}},
		"pair 1 is 1":         {{1}, {-1}},
		"pair 1 is NaN":       {{math.NaN()}, {1}},
		"pair 1 is 2 against": {{2}, {math.Inf(1)}},
	} {
		if _, err := stats.PairedRatio(lists[0], lists[1], 0.95); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestLogLogSlope(t *testing.T) {
	e := math.E
	// X = 0, 1, 2 and Y = 0, 1, 1: slopes 1, 1/2, 0; RSS = 1/6, Sxx = 2, n − 2 = 1.
	got, err := stats.LogLogSlope([]float64{1, e, e * e}, []float64{1, e, e})
	if err != nil {
		t.Fatal(err)
	}
	if !near(got.TheilSen, 0.5, 1e-12) || !near(got.LeastSquares, 0.5, 1e-12) || !near(got.StdErr, math.Sqrt(1.0/12), 1e-12) {
		t.Errorf("got %+v", got)
	}
	quadratic, err := stats.LogLogSlope([]float64{10, 50, 100, 500}, []float64{300, 7500, 30000, 750000})
	if err != nil || !near(quadratic.TheilSen, 2, 1e-12) || !near(quadratic.LeastSquares, 2, 1e-12) || !near(quadratic.StdErr, 0, 1e-7) {
		t.Errorf("quadratic: %+v, %v", quadratic, err)
	}
}

func TestTheilSenIgnoresOneWildPoint(t *testing.T) {
	x := []float64{1, 2, 4, 8, 16, 32, 64, 128}
	y := slices.Clone(x)
	y[7] = 1e6
	got, err := stats.LogLogSlope(x, y)
	if err != nil || !near(got.TheilSen, 1, 1e-9) || got.LeastSquares < 1.5 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestLogLogSlopeEdges(t *testing.T) {
	two, err := stats.LogLogSlope([]float64{1, 10}, []float64{5, 5})
	if err != nil || two.LeastSquares != 0 || !math.IsNaN(two.StdErr) || two.Warning == "" {
		t.Errorf("two points: %+v, %v", two, err)
	}
	for name, xy := range map[string][2][]float64{
		"nothing": {}, "one size": {{3, 3}, {1, 2}}, "zero": {{0, 1}, {1, 1}}, "negative": {{1, 2}, {1, -1}},
		"lengths": {{1}, {1, 2}}, "infinite": {{1, 2}, {1, math.Inf(1)}},
	} {
		if got, err := stats.LogLogSlope(xy[0], xy[1]); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}
