package sim_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pulley/sim"
)

func samples(file string) ([]time.Duration, error) {
	if file != "three" {
		return nil, errors.New("no such file")
	}
	return []time.Duration{time.Second, 2 * time.Second, 6 * time.Second}, nil
}

// TestLaws draws from every distribution, and wants the mean that is said of it, and the bounds.
func TestLaws(t *testing.T) {
	for _, c := range []struct {
		text   string
		mean   time.Duration
		lo, hi time.Duration // of what may be drawn
	}{
		{"const:5ms", 5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond},
		{"const:0s", 0, 0, 0},
		{"exp:10ms", 10 * time.Millisecond, 0, time.Second},
		{"uniform:1ms..9ms", 5 * time.Millisecond, time.Millisecond, 9 * time.Millisecond},
		{"lognormal:10ms,0.5", 11331484 * time.Nanosecond, 0, 10 * time.Second},
		{"pareto:1ms..10s,1.5", 2970003 * time.Nanosecond, time.Millisecond, 10 * time.Second},
		{"pareto:1ms..1s,1", 6914670 * time.Nanosecond, time.Millisecond, time.Second},
		{"pareto:2ms..2ms,3", 2 * time.Millisecond, 2 * time.Millisecond, 2 * time.Millisecond},
		{"samples:three", 3 * time.Second, time.Second, 6 * time.Second},
	} {
		l, err := sim.ParseLaw(c.text, samples)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if l.Text != c.text || math.Abs(float64(l.Mean-c.mean)) > 2e-6*float64(c.mean) {
			t.Errorf("%s: the mean is %v, want %v", c.text, l.Mean, c.mean)
		}
		const n = 200_000
		r, mean, square := rand.New(rand.NewPCG(1, 2)), 0.0, 0.0
		for range n {
			d := l.Draw(r)
			if d < c.lo || d > c.hi {
				t.Fatalf("%s: drew %v", c.text, d)
			}
			mean += float64(d) / n
			square += float64(d) * float64(d) / n
		}
		if off, sigma := math.Abs(mean-float64(c.mean)), math.Sqrt(max(0, square-mean*mean)/n); off > 4*sigma+1 {
			t.Errorf("%s: the mean of many is %v, want %v", c.text, time.Duration(mean), c.mean)
		}
	}
}

// TestLawMistakes wants one line for each mistake, which says what was to be written.
func TestLawMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "is no distribution; give const:5ms",
		"exp":                   `"" is no duration`,
		"exp:10":                `"10" is no duration`,
		"exp:-1ms":              "not negative",
		"const:2000000h":        "at most a hundred years",
		"gauss:1ms":             "is no distribution",
		"uniform:5ms":           "has no two ends",
		"uniform:9ms..1ms":      "the greater one last",
		"lognormal:5ms":         "SIGMA is missing",
		"lognormal:5ms,-1":      "SIGMA is missing or no number between 0 and 100",
		"lognormal:5ms,NaN":     "SIGMA",
		"pareto:1ms..2ms":       "ALPHA is missing",
		"pareto:0s..2ms,1":      "must not be zero",
		"pareto:1ms..2ms,1e300": "between 0 and 100",
		"samples:":              "name a file",
		"samples:none":          "no such file",
	} {
		_, err := sim.ParseLaw(text, samples)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the error is %v; want %q", text, err, want)
		}
	}
	if _, err := sim.ParseLaw("samples:three", nil); err == nil {
		t.Error("a file was read by nobody")
	}
	if _, err := sim.Empirical([]time.Duration{-1}); err == nil {
		t.Error("a negative duration was taken")
	}
	if _, err := sim.Empirical(nil); err == nil {
		t.Error("nothing was taken to draw from")
	}
}
