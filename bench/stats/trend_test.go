package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pulley/internal/depth"
)

// Pairs were counted by hand for the formulas.
func TestTrendOfValuesThatWereCountedByHand(t *testing.T) {
	// 28 pairs: (3,2) and (6,5) fall, none is tied. S = 26 − 2.
	got, err := TrendOf([]float64{1, 3, 2, 4, 6, 5, 7, 8}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	sigma := math.Sqrt(8 * 7 * 21 / 18.0)
	if want := math.Erfc(23 / sigma / math.Sqrt2); got.S != 24 || math.Abs(got.P-want) > 1e-12 || got.Slope != 1 {
		t.Errorf("S %d, P %v, slope %v; want 24, %v, 1", got.S, got.P, got.Slope, want)
	}
	if !(got.Lo <= 1 && got.Hi >= 1 && got.Lo > 0) {
		t.Errorf("the interval is %v … %v", got.Lo, got.Hi)
	}
	// Two groups of ties: 8 values, S = 4·4.
	got, err = TrendOf([]float64{1, 1, 1, 1, 2, 2, 2, 2}, 0.95)
	sigma = math.Sqrt((8*7*21 - 2*4*3*13) / 18.0)
	if want := math.Erfc(15 / sigma / math.Sqrt2); err != nil || got.S != 16 || math.Abs(got.P-want) > 1e-12 {
		t.Errorf("ties: S %d, P %v, %v; want 16, %v", got.S, got.P, err, want)
	}
	if got, err := TrendOf(make([]float64, 9), 0.95); err != nil || got.P != 1 || got.Slope != 0 || got.Lo != 0 || got.Hi != 0 {
		t.Errorf("values all alike: %+v, %v", got, err)
	}
	for _, bad := range [][]float64{nil, {1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, 7, math.NaN()}, {1, 2, 3, 4, 5, 6, 7, math.Inf(1)}} {
		if _, err := TrendOf(bad, 0.95); err == nil || !strings.HasPrefix(err.Error(), "trend: ") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// Noise must be called a trend, and the interval contain the slope, about as often as promised.
func TestTrendHoldsItsLevel(t *testing.T) {
	tries := depth.Of(2000, 20_000)
	r := rand.New(rand.NewPCG(4, 4))
	for _, n := range []int{8, 20} {
		alarms, held := 0, 0
		for range tries {
			values := make([]float64, n)
			for i := range values {
				values[i] = 0.3*float64(i) + math.Exp(r.NormFloat64())
			}
			got, err := TrendOf(values, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if got.Lo <= 0.3 && 0.3 <= got.Hi {
				held++
			}
			for i := range values {
				values[i] -= 0.3 * float64(i)
			}
			if got, err = TrendOf(values, 0.95); err != nil {
				t.Fatal(err)
			}
			if got.P < 0.05 {
				alarms++
			}
		}
		// The standard error of a share of 5 % of 2,000 is half a per cent.
		if share := float64(alarms) / float64(tries); share > 0.065 {
			t.Errorf("%d values: noise is called a trend in %.1f %% of the tries", n, 100*share)
		}
		if share := float64(held) / float64(tries); share < 0.935 {
			t.Errorf("%d values: the interval holds the slope in %.1f %% of the tries", n, 100*share)
		}
	}
}

func TestQuantileNeeds(t *testing.T) {
	for _, c := range []struct {
		q    float64
		want int
	}{{0.5, 6}, {0.9, 36}, {0.99, 368}, {0.999, 3688}, {0.01, 368}} {
		if got := QuantileNeeds(c.q, 0.95); got != c.want {
			t.Errorf("q %v: %d, want %d", c.q, got, c.want)
		}
		if _, _, ok := QuantileRanks(c.want-1, c.q, 0.95); ok {
			t.Errorf("q %v: %d values are enough", c.q, c.want-1)
		}
		if lo, hi, ok := QuantileRanks(c.want, c.q, 0.95); !ok || lo < 1 || hi > c.want || lo >= hi {
			t.Errorf("q %v: ranks %d … %d of %d, %v", c.q, lo, hi, c.want, ok)
		}
	}
}

func TestQuantileRanksOfTheMedian(t *testing.T) {
	for _, n := range []int{6, 7, 20, 101, 1000} {
		lo, hi, ok := QuantileRanks(n, 0.5, 0.95)
		if k, _ := orderRank(n, 0.95); !ok || lo != k || hi != n+1-k {
			t.Errorf("of %d: %d … %d, want %d … %d", n, lo, hi, k, n+1-k)
		}
	}
}

func TestQuantileRanksHoldTheQuantile(t *testing.T) {
	tries := depth.Of(2000, 20_000)
	r := rand.New(rand.NewPCG(9, 9))
	for _, c := range []struct {
		n int
		q float64
	}{{400, 0.99}, {1000, 0.95}} {
		lo, hi, _ := QuantileRanks(c.n, c.q, 0.95)
		held := 0
		for range tries {
			values := make([]float64, c.n)
			for i := range values {
				values[i] = r.Float64()
			}
			slices.Sort(values)
			if values[lo-1] <= c.q && c.q <= values[hi-1] {
				held++
			}
		}
		if share := float64(held) / float64(tries); share < 0.94 {
			t.Errorf("n %d, q %v: ranks %d … %d hold it in %.1f %% of the tries", c.n, c.q, lo, hi, 100*share)
		}
	}
}
