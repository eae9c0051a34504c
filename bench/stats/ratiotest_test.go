package stats_test

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pulley/bench/stats"
)

// exps makes figures whose log ratios are the differences of published examples.
func exps(values ...float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Exp(v)
	}
	return out
}

// Hamilton depression scores of Hollander and Wolfe, example 3.1: P = 0.039 two-sided, an estimate of −0.46, and −0.786 to
// −0.010 with 96.1 %.
func TestComparePairsTextbook(t *testing.T) {
	before := exps(1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30)
	after := exps(0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29)
	test, err := stats.ComparePairs(before, after)
	if err != nil {
		t.Fatal(err)
	}
	if !near(test.P(), 20.0/512, 1e-12) || !near(math.Log(test.Estimate()), -0.46, 1e-9) {
		t.Errorf("P %v, estimate %v", test.P(), math.Log(test.Estimate()))
	}
	got := test.Interval(0.96)
	if !near(math.Log(got.Lo), -0.786, 1e-9) || !near(math.Log(got.Hi), -0.010, 1e-9) || !near(got.Confidence, 1-20.0/512, 1e-12) {
		t.Errorf("%+v", got)
	}
}

// Permeability constants of Hollander and Wolfe, example 4.1: P = 0.2544 two-sided, an estimate of −0.305, and −0.76 to 0.15
// with 96 %.
func TestCompareGroupsTextbook(t *testing.T) {
	term := exps(0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46)
	early := exps(1.15, 0.88, 0.90, 0.74, 1.21)
	test, err := stats.CompareGroups(term, early)
	if err != nil {
		t.Fatal(err)
	}
	if !near(test.P(), 0.2544, 5e-5) || !near(math.Log(test.Estimate()), -0.305, 1e-9) {
		t.Errorf("P %v, estimate %v", test.P(), math.Log(test.Estimate()))
	}
	got := test.Interval(0.95)
	if !near(math.Log(got.Lo), -0.76, 1e-9) || !near(math.Log(got.Hi), 0.15, 1e-9) {
		t.Errorf("%+v", got)
	}
}

// allSigns is a slow model of ComparePairs' test: it enumerates all choices of signs.
func allSigns(d []float64) float64 {
	ranks := slices.SortedFunc(slices.Values(d), func(a, b float64) int {
		if math.Abs(a) < math.Abs(b) {
			return -1
		}
		return 1
	})
	sum := 0
	for i, v := range ranks {
		if v > 0 {
			sum += i + 1
		}
	}
	n := len(d)
	far := abs(4*sum - n*(n+1))
	extreme := 0
	for signs := range 1 << n {
		s := 0
		for i := range n {
			if signs>>i&1 == 1 {
				s += i + 1
			}
		}
		if abs(4*s-n*(n+1)) >= far {
			extreme++
		}
	}
	return float64(extreme) / float64(int(1)<<n)
}

func allChoices(a, b []float64) float64 {
	n, m := len(a)+len(b), len(b)
	pooled := slices.Concat(a, b)
	greater := func(chosen uint) int {
		u := 0
		for i := range n {
			for j := range n {
				if chosen>>i&1 == 1 && chosen>>j&1 == 0 && pooled[i] > pooled[j] {
					u++
				}
			}
		}
		return u
	}
	of := uint(1<<n-1) &^ (1<<len(a) - 1)
	far := abs(2*greater(of) - len(a)*m)
	extreme, all := 0, 0
	for chosen := range uint(1) << n {
		if bits.OnesCount(chosen) != m {
			continue
		}
		all++
		if abs(2*greater(chosen)-len(a)*m) >= far {
			extreme++
		}
	}
	return float64(extreme) / float64(all)
}

func abs(v int) int { return max(v, -v) }

func figures(least, most int) *rapid.Generator[[]float64] {
	return rapid.SliceOfN(rapid.Float64Range(0.1, 10), least, most)
}

func TestRankTestsCountEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := figures(1, 8).Draw(t, "baseline")
		b := figures(1, 8).Draw(t, "candidate")
		test, err := stats.CompareGroups(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := test.P(), allChoices(a, b); len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))) == len(a)+len(b) && !near(got, want, 1e-9) {
			t.Fatalf("groups: P is %v, not %v", got, want)
		}
		n := min(len(a), len(b))
		if test, err = stats.ComparePairs(a[:n], b[:n]); err != nil {
			t.Fatal(err)
		}
		d := make([]float64, n)
		for i := range d {
			d[i] = math.Log(b[i]) - math.Log(a[i])
			for _, other := range d[:i] {
				if math.Abs(other) == math.Abs(d[i]) {
					return // with ties the test is more conservative
				}
			}
			if d[i] == 0 {
				return
			}
		}
		if got, want := test.P(), allSigns(d); !near(got, want, 1e-9) {
			t.Fatalf("pairs: P is %v, not %v", got, want)
		}
	})
}

// Runs are few and many, with ties and zeros.
func TestTestAndIntervalAgree(t *testing.T) {
	values := rapid.OneOf(rapid.SampledFrom([]float64{0, 0, 1, 2, 3, 5}), rapid.Float64Range(1e-100, 3)) // ratios that a float64 can hold
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 12), rapid.IntRange(95, 110), rapid.IntRange(198, 203)).Draw(t, "n")
		a := rapid.SliceOfN(values, n, n).Draw(t, "baseline")
		b := rapid.SliceOfN(values, n, n).Draw(t, "candidate")
		confidence := rapid.Float64Range(0.5, 0.999).Draw(t, "confidence")
		for name, compare := range map[string]func(_, _ []float64) (*stats.RatioTest, error){"pairs": stats.ComparePairs, "groups": stats.CompareGroups} {
			test, err := compare(a, b)
			if err != nil {
				t.Fatal(err)
			}
			there, err := compare(b, a)
			if err != nil {
				t.Fatal(err)
			}
			got, back := test.Interval(confidence), there.Interval(confidence)
			if math.IsNaN(got.Median) || !(got.Lo <= got.Median && got.Median <= got.Hi) {
				t.Fatalf("%s: %+v is out of order", name, got)
			}
			if out, refused := got.Lo > 1 || got.Hi < 1, test.P() <= 1-confidence; out != refused && got.Warning == "" {
				t.Fatalf("%s: P is %v, the interval %+v", name, test.P(), got)
			}
			if !near(test.P(), there.P(), 1e-12) || !same(got.Lo, 1/back.Hi) || !same(got.Hi, 1/back.Lo) || !same(got.Median, 1/back.Median) {
				t.Fatalf("%s: %+v is not the inverse of %+v", name, got, back)
			}
			wider := test.Interval(confidence + (1-confidence)/2)
			if wider.Lo > got.Lo || wider.Hi < got.Hi {
				t.Fatalf("%s: more confidence made %+v narrower: %+v", name, got, wider)
			}
		}
	})
}

func same(a, b float64) bool { return a == b || near(a/b, 1, 1e-9) }

// Ranks keep one wild run from moving the estimate.
func TestEstimateIgnoresOneWildRun(t *testing.T) {
	var a, b []float64
	for i := range 12 {
		a, b = append(a, 100+float64(i)), append(b, 1.1*(100+float64(i)))
	}
	b[3] *= 1000
	test, err := stats.ComparePairs(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if !near(test.Estimate(), 1.1, 1e-9) || test.P() > 0.001 {
		t.Errorf("estimate %v, P %v", test.Estimate(), test.P())
	}
}

func TestRatioTestsRefuse(t *testing.T) {
	many := make([]float64, 2001)
	for name, c := range map[string]struct {
		a, b []float64
		want string
	}{
		"no baseline":  {nil, []float64{1}, "the baseline has no runs"},
		"no candidate": {[]float64{1}, nil, "the candidate has no runs"},
		"negative":     {[]float64{1, -2}, []float64{1, 2}, "run 2 of the baseline is -2: a ratio needs finite figures of at least 0"},
		"NaN":          {[]float64{1}, []float64{math.NaN()}, "run 1 of the candidate is NaN"},
		"infinite":     {[]float64{1}, []float64{math.Inf(1)}, "run 1 of the candidate is +Inf"},
		"many":         {many, many, "the baseline has 2001 runs: at most 2000"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := stats.CompareGroups(c.a, c.b); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := stats.ComparePairs([]float64{1, 2}, []float64{1}); err == nil || !strings.Contains(err.Error(), "2 runs against 1") {
		t.Errorf("got %v", err)
	}
}

func TestZerosAreFactors(t *testing.T) {
	for name, c := range map[string]struct {
		a, b []float64
		want float64
	}{
		"none on either side": {[]float64{0, 0, 0, 0, 0, 0}, []float64{0, 0, 0, 0, 0, 0}, 1},
		"from none to some":   {[]float64{0, 0, 0, 0, 0, 0}, []float64{1, 2, 3, 4, 5, 6}, math.Inf(1)},
		"from some to none":   {[]float64{1, 2, 3, 4, 5, 6}, []float64{0, 0, 0, 0, 0, 0}, 0},
		"back and forth":      {[]float64{0, 1, 0, 1, 0, 1}, []float64{1, 0, 1, 0, 1, 0}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			test, err := stats.ComparePairs(c.a, c.b)
			if err != nil {
				t.Fatal(err)
			}
			if test.Estimate() != c.want || (test.P() < 0.05) != (c.want != 1) {
				t.Errorf("estimate %v, P %v", test.Estimate(), test.P())
			}
		})
	}
}
