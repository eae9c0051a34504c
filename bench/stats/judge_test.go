package stats_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pulley/bench/stats"
	"pulley/reports/record"
)

func shifted(n int, factor, spread float64) *stats.RatioTest {
	var a, b []float64
	for i := range n {
		v := 100 + float64(i)
		a = append(a, v)
		b = append(b, v*factor*math.Exp(spread*(2*float64(i)/float64(n-1)-1)))
	}
	test, err := stats.ComparePairs(a, b)
	if err != nil {
		panic(err)
	}
	return test
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		q            stats.Question
		want         record.Decision
		noRegression bool
	}{
		"a clear slowdown":                {stats.Question{Test: shifted(20, 1.1, 0.02), Margin: 0.03}, record.Worse, false},
		"the same of a throughput":        {stats.Question{Test: shifted(20, 1.1, 0.02), Margin: 0.03, MoreIsBetter: true}, record.Better, true},
		"a throughput that fell":          {stats.Question{Test: shifted(20, 0.9, 0.02), Margin: 0.03, MoreIsBetter: true}, record.Worse, false},
		"a clear gain":                    {stats.Question{Test: shifted(20, 0.9, 0.02), Margin: 0.03}, record.Better, true},
		"nothing":                         {stats.Question{Test: shifted(20, 1, 0.02), Margin: 0.03}, record.Same, true},
		"real, but too small to matter":   {stats.Question{Test: shifted(20, 1.02, 0.005), Margin: 0.03}, record.Same, true},
		"real, perhaps too small":         {stats.Question{Test: shifted(20, 1.025, 0.02), Margin: 0.03}, record.Unclear, false},
		"too noisy":                       {stats.Question{Test: shifted(20, 1.05, 0.5), Margin: 0.03}, record.Unclear, false},
		"no margin, and nothing":          {stats.Question{Test: shifted(20, 1, 0.02)}, record.Unclear, false},
		"no margin, and a little":         {stats.Question{Test: shifted(20, 1.01, 0.005)}, record.Worse, false},
		"perhaps better, surely no worse": {stats.Question{Test: shifted(20, 0.985, 0.1), Margin: 0.03}, record.Unclear, true},
		"three runs":                      {stats.Question{Test: shifted(3, 1, 0), Margin: 0.03}, record.Unclear, false},
		"three runs of what is counted":   {stats.Question{Test: constant(3, 4, 4), Margin: 0.03, Counted: true}, record.Same, true},
		"three runs that count one more":  {stats.Question{Test: constant(3, 4, 5), Margin: 0.03, Counted: true}, record.Worse, false},
		"one run that counts one more":    {stats.Question{Test: constant(1, 4, 5), Margin: 0.03, Counted: true}, record.Unclear, false},
		"from nothing to something":       {stats.Question{Test: constant(2, 0, 1), Margin: 0.03, Counted: true}, record.Worse, false},
		"from something to nothing":       {stats.Question{Test: constant(2, 1, 0), Margin: 0.03, Counted: true}, record.Better, true},
		"nothing on either side":          {stats.Question{Test: constant(2, 0, 0), Margin: 0.03, Counted: true}, record.Same, true},
		"three runs of a time that stays": {stats.Question{Test: constant(3, 4, 5), Margin: 0.03}, record.Unclear, false},
		"not measured":                    {stats.Question{Margin: 0.03}, record.Unclear, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := stats.Judge([]stats.Question{c.q}, 0.05)[0]
			if got.Decision != c.want || got.NoRegression != c.noRegression {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func constant(n int, a, b float64) *stats.RatioTest {
	baseline, candidate := make([]float64, n), make([]float64, n)
	for i := range n {
		baseline[i], candidate[i] = a, b
	}
	test, err := stats.ComparePairs(baseline, candidate)
	if err != nil {
		panic(err)
	}
	return test
}

// The table was computed by hand.
func TestHolm(t *testing.T) {
	got := stats.Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if !near(got[i], want, 1e-12) {
			t.Errorf("adjusted %v, want %v", got[i], want)
		}
	}
	if got := stats.Holm([]float64{0.6, 0.9}); got[0] != 1 || got[1] != 1 {
		t.Errorf("got %v", got)
	}
	if got := stats.Holm(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// For any number of rows, an interval must exclude 1 exactly if its corrected p is at most alpha.
func TestShownIntervalAgreesWithTheCorrectedTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var questions []stats.Question
		for range rapid.IntRange(1, 12).Draw(t, "rows") {
			n := rapid.IntRange(1, 15).Draw(t, "runs")
			test, err := stats.ComparePairs(
				rapid.SliceOfN(rapid.Float64Range(1, 1.1), n, n).Draw(t, "baseline"),
				rapid.SliceOfN(rapid.Float64Range(1.02, 1.15), n, n).Draw(t, "candidate"))
			if err != nil {
				t.Fatal(err)
			}
			questions = append(questions, stats.Question{Test: test, Margin: rapid.Float64Range(0, 0.1).Draw(t, "margin")})
		}
		for _, j := range stats.Judge(questions, 0.05) {
			if out := j.Ratio.Lo > 1 || j.Ratio.Hi < 1; out != (j.Adjusted <= 0.05) && j.Ratio.Warning == "" {
				t.Fatalf("%+v", j)
			}
			if j.Adjusted < j.P {
				t.Fatalf("the correction helped: %+v", j)
			}
			if j.Decision == record.Worse && j.NoRegression || j.Decision == record.Same && !j.NoRegression {
				t.Fatalf("contradicts itself: %+v", j)
			}
		}
	})
}

// Each row alone would be rejected at 5 %, but neither after the correction. Then no shown interval may exclude 1.
func TestRowsAfterTheFirstThatIsNotRefused(t *testing.T) {
	baseline, candidate := make([]float64, 8), exps(1, 2, -3, 4, 5, 6, 7, 8) // P is 2 · 5/2⁸
	for i := range baseline {
		baseline[i] = 1
	}
	test, err := stats.ComparePairs(baseline, candidate)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range stats.Judge([]stats.Question{{Test: test}, {Test: test}}, 0.05) {
		if !near(j.P, 10.0/256, 1e-12) || !near(j.Adjusted, 20.0/256, 1e-12) || j.Ratio.Lo > 1 || j.Decision != record.Unclear {
			t.Errorf("row %d: %+v", i, j)
		}
	}
}

func TestFewestRuns(t *testing.T) {
	for _, c := range []struct {
		rows   int
		paired bool
		want   int
	}{{1, true, 6}, {10, true, 9}, {1, false, 4}, {10, false, 6}, {0, true, 6}} {
		if got := stats.FewestRuns(c.rows, 0.05, c.paired); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}
