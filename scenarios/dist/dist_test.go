package dist_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/internal/depth"
	"pulley/scenarios/dist"
)

func samples(file string) ([]int64, error) {
	switch file {
	case "three":
		return []int64{6e9, 1e9, 2e9}, nil
	case "negative":
		return []int64{1, -1}, nil
	case "empty":
		return nil, nil
	}
	return nil, errors.New("no such file")
}

const ms = 1e6

// laws are one of each kind in each unit, with the mean and the bounds of what may be drawn.
var laws = []struct {
	text   string
	unit   dist.Unit
	mean   float64
	lo, hi int64
}{
	{"const:5ms", dist.Durations, 5 * ms, 5 * ms, 5 * ms},
	{"5ms", dist.Durations, 5 * ms, 5 * ms, 5 * ms},
	{"const:0s", dist.Durations, 0, 0, 0},
	{"exp:10ms", dist.Durations, 10 * ms, 0, 1000 * ms},
	{"uniform:1ms..9ms", dist.Durations, 5 * ms, 1 * ms, 9 * ms},
	{"lognormal:10ms,0.5", dist.Durations, 11331484, 0, 10_000 * ms},
	{"pareto:1ms..10s,1.5", dist.Durations, 2970003, 1 * ms, 10_000 * ms},
	{"pareto:1ms..1s,1", dist.Durations, 6914670, 1 * ms, 1000 * ms},
	{"pareto:2ms..2ms,3", dist.Durations, 2 * ms, 2 * ms, 2 * ms},
	{"mix:70%=exp:1ms|30%=const:20ms", dist.Durations, 6.7 * ms, 0, 1000 * ms},
	{"mix:50%=uniform:1ms..2ms | 50%=uniform:8ms..9ms", dist.Durations, 5 * ms, 1 * ms, 9 * ms},
	{"samples:three", dist.Durations, 3e9, 1e9, 6e9},
	{"const:1.5KiB", dist.Bytes, 1536, 1536, 1536},
	{"100", dist.Bytes, 100, 100, 100},
	{"uniform:1kB..4kB", dist.Bytes, 2500, 1000, 4000},
	{"lognormal:4kB,1", dist.Bytes, 4000 * math.Exp(0.5), 0, 10_000_000},
	{"const:12", dist.Counts, 12, 12, 12},
	{"uniform:1..6", dist.Counts, 3.5, 1, 6},
	{"exp:40", dist.Counts, 40, 0, 2000},
	{"pareto:1..1_000,0.8", dist.Counts, 0, 1, 1000},
	{"zipf:1.1,100", dist.Counts, 0, 1, 100},
	{"zipf:0,9", dist.Counts, 5, 1, 9},
	{"zipf:2,1000000", dist.Counts, 0, 1, 1_000_000},
	{"mix:90%=const:1|10%=uniform:100..200", dist.Counts, 15.9, 1, 200},
}

// Bounds, mean and distribution of draws must be what the law states. Distributions are compared by the greatest distance of
// their functions (Kolmogorov–Smirnov).
func TestLawsDrawWhatTheySay(t *testing.T) {
	n := depth.Of(40_000, 1_000_000)
	for _, c := range laws {
		l, err := dist.Parse(c.text, c.unit, samples)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if c.mean > 0 && math.Abs(l.Mean()-c.mean) > 2e-6*c.mean || l.String() != c.text {
			t.Errorf("%s: the mean is %v, want %v", c.text, l.Mean(), c.mean)
		}
		r := rand.New(rand.NewPCG(1, 2))
		drawn := make([]int64, n)
		mean, square := 0.0, 0.0
		for i := range drawn {
			d := l.Draw(r)
			if d < c.lo || d > c.hi {
				t.Fatalf("%s: drew %d", c.text, d)
			}
			drawn[i] = d
			mean += float64(d) / float64(n)
			square += float64(d) * float64(d) / float64(n)
		}
		rounding := 1.0 // of durations
		if c.unit != dist.Durations {
			rounding = 0.02
		}
		if off, sigma := math.Abs(mean-l.Mean()), math.Sqrt(max(0, square-mean*mean)/float64(n)); off > 4*sigma+rounding && !strings.HasPrefix(c.text, "pareto:1..1_000") {
			t.Errorf("%s: the mean of many is %v, want %v", c.text, mean, l.Mean())
		}
		slices.Sort(drawn)
		farthest := 0.0
		for i := 0; i < n; {
			next := i
			for next < n && drawn[next] == drawn[i] {
				next++
			}
			farthest = max(farthest, math.Abs(float64(n-next)/float64(n)-l.Above(drawn[i])))
			i = next
		}
		if bound := 1.95 / math.Sqrt(float64(n)); farthest > bound { // exceeded once in a thousand times
			t.Errorf("%s: the distribution of what was drawn is up to %.4f from what it should be, which is over %.4f", c.text, farthest, bound)
		}
		if l.Above(-1) != 1 || l.Above(c.hi) > 1e-4 {
			t.Errorf("%s: above -1: %v, above %d: %v", c.text, l.Above(-1), c.hi, l.Above(c.hi))
		}
	}
}

func TestZipfRanks(t *testing.T) {
	l, err := dist.Parse("zipf:1.5,50", dist.Counts, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for k := 1; k <= 50; k++ {
		sum += math.Pow(float64(k), -1.5)
	}
	for k := int64(1); k <= 50; k++ {
		if got, want := l.Above(k-1)-l.Above(k), math.Pow(float64(k), -1.5)/sum; math.Abs(got-want) > 1e-12 {
			t.Errorf("P(X = %d) is %v, want %v", k, got, want)
		}
	}
}

// Each mistake is one line that states what to write.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		text string
		unit dist.Unit
		want string
	}{
		{"", dist.Durations, "is no distribution; give const:5ms"},
		{"fast", dist.Durations, `"fast" is no distribution; give`},
		{"expo:1ms", dist.Durations, "did you mean exp, as in exp:"},
		{"fixed:1ms", dist.Durations, "did you mean const, as in const:"},
		{"Exponential:1ms", dist.Durations, "did you mean exp, as in exp:"},
		{"logn0rmal:1ms,1", dist.Durations, "did you mean lognormal, as in lognormal:"},
		{"exp", dist.Durations, `"" is no duration`},
		{"exp:10", dist.Durations, `"10" is no duration`},
		{"10", dist.Durations, `"10" is no distribution`},
		{"exp:-1ms", dist.Durations, "not negative"},
		{"const:2000000h", dist.Durations, "at most a hundred years"},
		{"gauss:1ms", dist.Durations, "did you mean lognormal, as in lognormal:"},
		{"uniform:5ms", dist.Durations, "has no two ends"},
		{"uniform:9ms..1ms", dist.Durations, "1ms is less than 9ms; write the greater one last"},
		{"lognormal:5ms", dist.Durations, "SIGMA is missing"},
		{"lognormal:5ms,-1", dist.Durations, "SIGMA is missing or no number between 0 and 100"},
		{"lognormal:5ms,NaN", dist.Durations, "SIGMA"},
		{"pareto:1ms..2ms", dist.Durations, "ALPHA is missing"},
		{"pareto:0s..2ms,1", dist.Durations, "must not be zero"},
		{"pareto:1ms..2ms,1e300", dist.Durations, "between 0 and 100"},
		{"samples:", dist.Durations, "name a file"},
		{"samples:none", dist.Durations, "no such file"},
		{"samples:negative", dist.Durations, "numbers from -1ns to 1ns; give some that are not negative"},
		{"samples:empty", dist.Durations, "there is nothing to draw from"},
		{"zipf:1.1,10", dist.Durations, "zipf is of numbers"},
		{"zipf:1.1", dist.Counts, "write S,N as in zipf:1.1,100"},
		{"zipf:-1,10", dist.Counts, "S is missing or no number from 0 to 100"},
		{"zipf:1,0", dist.Counts, "N is missing or no whole number from 1 to 1000000"},
		{"zipf:1,10000000000", dist.Counts, "N is missing"},
		{"mix:", dist.Counts, "no part of a mixture"},
		{"mix:50%=const:1", dist.Counts, "the shares add up to 50 %, and must to 100 %"},
		{"mix:50=const:1|50%=const:2", dist.Counts, `"50=const:1" is no part of a mixture`},
		{"mix:100%=mix:100%=const:1", dist.Counts, "cannot be a mixture"},
		{"mix:50%=const:1|50%=konst:2", dist.Counts, "did you mean const, as in const:"},
		{"uniform:1kB..x", dist.Bytes, `"x" is no size`},
		{"const:1TB", dist.Bytes, `"1TB" is no size`},
		{"const:-1", dist.Bytes, "not negative"},
		{"const:NaN", dist.Bytes, "is no size"},
		{"const:1e300GB", dist.Bytes, "is no size"},
		{"const:1.5", dist.Counts, `"1.5" is no number`},
		{"const:99999999999999999999", dist.Counts, "is no number"},
	} {
		_, err := dist.Parse(c.text, c.unit, samples)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the error is %v; want %q", c.text, err, c.want)
		}
	}
	if _, err := dist.Parse("samples:three", dist.Durations, nil); err == nil {
		t.Error("a file was read by nobody")
	}
	if _, err := dist.Empirical([]time.Duration{-1}); err == nil {
		t.Error("a negative duration was taken")
	}
	if _, err := dist.Empirical(nil); err == nil {
		t.Error("nothing was taken to draw from")
	}
}

// No text may make the parser panic, and accepted laws must draw numbers within bounds.
func FuzzParse(f *testing.F) {
	for _, c := range laws {
		f.Add(c.text, int(c.unit))
	}
	f.Fuzz(func(t *testing.T, text string, unit int) {
		l, err := dist.Parse(text, dist.Unit(uint(unit)%3), samples)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
			return
		}
		r := rand.New(rand.NewPCG(1, 1))
		for range 10 {
			if d := l.Draw(r); d < 0 || d > dist.Longest {
				t.Errorf("%q draws %d", text, d)
			}
		}
		if m := l.Mean(); math.IsNaN(m) || m < 0 {
			t.Errorf("%q has the mean %v", text, m)
		}
	})
}

// Generators must differ with each part of the key, and be equal for equal keys.
func TestKeys(t *testing.T) {
	keys := []dist.Key{
		dist.NewKey(), dist.NewKey().Text(""), dist.NewKey().Text("a"), dist.NewKey().Text("a").Text(""), dist.NewKey().Text("").Text("a"),
		dist.NewKey().Number(0), dist.NewKey().Number(1), dist.NewKey().Number(-1), dist.NewKey().Number(1 << 40), dist.NewKey().Bytes([]byte("a")),
	}
	seen := map[uint64]int{}
	for i, k := range keys {
		v := k.Rand(7).Uint64()
		if v != k.Rand(7).Uint64() || v == k.Rand(8).Uint64() {
			t.Errorf("key %d: the seed does not decide", i)
		}
		if j, twice := seen[v]; twice {
			t.Errorf("keys %d and %d are the same", i, j)
		}
		seen[v] = i
	}
}

// Programs create these distributions without a text.
func TestDurationsInGo(t *testing.T) {
	three, err := dist.Empirical([]time.Duration{3, 3})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		draw   dist.Times
		lo, hi time.Duration
	}{
		"constant": {dist.Constant(5), 5, 5}, "uniform": {dist.Uniform(2, 4), 2, 4}, "uniform of one": {dist.Uniform(4, 2), 4, 4},
		"exponential": {dist.Exponential(1 << 62), 0, dist.Longest}, "lognormal": {dist.LogNormal(1<<62, 99), 0, dist.Longest},
		"pareto": {dist.Pareto(1, 9, 0.1), 1, 9}, "empirical": {three, 3, 3},
	} {
		for range 1000 {
			if d := c.draw(r); d < c.lo || d > c.hi {
				t.Fatalf("%s: drew %v", name, d)
			}
		}
	}
}
