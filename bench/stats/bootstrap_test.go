package stats_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pulley/bench/stats"
	"pulley/internal/depth"
)

func latencies(random *rand.Rand, runs, values int, level, between float64) [][]float64 {
	out := make([][]float64, runs)
	for i := range out {
		own := level * math.Exp(between*random.NormFloat64())
		for range values {
			out[i] = append(out[i], own*random.ExpFloat64())
		}
	}
	return out
}

// Values within a run are correlated: an interval that resampled values, not runs, would contain the true value a third of the
// time.
func TestBootstrapCovers(t *testing.T) {
	const between, q = 0.3, 0.9
	random := rand.New(rand.NewPCG(1, 2))
	truth := poolQuantile(latencies(random, 20_000, 50, 1, between), q)
	tries := depth.Of(300, 3000)
	held := map[string]int{}
	for try := range tries {
		b := stats.Bootstrap{Resamples: 400, Seed: uint64(try)}
		one := latencies(random, 20, 50, 1, between)
		two := latencies(random, 20, 50, 1.2, between)
		got, err := b.Quantile(one, q, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if got.Lo <= truth && truth <= got.Hi {
			held["quantile"]++
		}
		for name, paired := range map[string]bool{"ratio": false, "paired ratio": true} {
			if got, err = b.QuantileRatio(one, two, paired, q, 0.95); err != nil {
				t.Fatal(err)
			}
			if got.Lo <= 1.2 && 1.2 <= got.Hi {
				held[name]++
			}
		}
	}
	for name, n := range held {
		share := float64(n) / float64(tries)
		t.Logf("%s: held in %.1f %% of %d tries", name, 100*share, tries)
		if share < 0.90 || share > 0.99 {
			t.Errorf("%s: the interval at 95 %% held the truth in %.1f %%", name, 100*share)
		}
	}
}

func poolQuantile(runs [][]float64, q float64) float64 {
	var all []float64
	for _, r := range runs {
		all = append(all, r...)
	}
	return quantile(all, q)
}

func TestBootstrapIsRepeatable(t *testing.T) {
	runs := latencies(rand.New(rand.NewPCG(3, 4)), 12, 30, 1, 0.2)
	first, err := stats.Bootstrap{Seed: 7}.Quantile(runs, 0.5, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	again, err := stats.Bootstrap{Seed: 7}.Quantile(runs, 0.5, 0.95)
	if err != nil || first != again {
		t.Errorf("%+v, then %+v (%v)", first, again, err)
	}
	if !(first.Lo < first.Median && first.Median < first.Hi) || first.N != 12 || first.Warning != "" {
		t.Errorf("%+v", first)
	}
	if first.Median != poolQuantile(runs, 0.5) {
		t.Errorf("the estimate is %v, not the quantile %v", first.Median, poolQuantile(runs, 0.5))
	}
	scaled := make([][]float64, len(runs))
	for i, r := range runs {
		for _, v := range r {
			scaled[i] = append(scaled[i], 4*v)
		}
	}
	ratio, err := stats.Bootstrap{}.QuantileRatio(runs, scaled, true, 0.5, 0.95)
	if err != nil || ratio.Lo != 4 || ratio.Median != 4 || ratio.Hi != 4 {
		t.Errorf("pairs of a fixed ratio: %+v, %v", ratio, err)
	}
}

func TestBootstrapOfLittle(t *testing.T) {
	one, err := stats.Bootstrap{}.Quantile([][]float64{{5}}, 0.99, 0.95)
	if err != nil || one.Lo != 5 || one.Hi != 5 || !strings.Contains(one.Warning, "1 run: a bootstrap over fewer than 8") {
		t.Errorf("%+v, %v", one, err)
	}
	empty, err := stats.Bootstrap{}.Quantile([][]float64{{}, {1, 2, 3}, {}}, 0.5, 0.95)
	if err != nil || empty.Median != 2 {
		t.Errorf("%+v, %v", empty, err)
	}
	for name, c := range map[string]struct {
		runs [][]float64
		q    float64
		want string
	}{
		"nothing":       {nil, 0.5, "there are no values"},
		"no values":     {[][]float64{{}, {}}, 0.5, "there are no values"},
		"not a number":  {[][]float64{{1}, {math.NaN()}}, 0.5, "run 2 has a value of NaN"},
		"infinite":      {[][]float64{{math.Inf(1)}}, 0.5, "run 1 has a value of +Inf"},
		"no quantile":   {[][]float64{{1}}, 1, "quantile 1"},
		"less than one": {[][]float64{{1}}, math.NaN(), "quantile NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := (stats.Bootstrap{}).Quantile(c.runs, c.q, 0.95); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := (stats.Bootstrap{}).QuantileRatio([][]float64{{0, 1}}, [][]float64{{1}}, false, 0.5, 0.95); err == nil {
		t.Error("a ratio to zero")
	}
	if _, err := (stats.Bootstrap{}).QuantileRatio([][]float64{{1}, {2}}, [][]float64{{1}}, true, 0.5, 0.95); err == nil {
		t.Error("a pair without a partner")
	}
}
