package arrivals_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pulley/scenarios/arrivals"
)

func traces(file string) ([]time.Duration, error) {
	if file != "a.txt" {
		return nil, errors.New(file + ": no such file")
	}
	return []time.Duration{3 * time.Second, time.Second, time.Second}, nil
}

func mustParse(t testing.TB, text string) arrivals.Arrivals {
	t.Helper()
	a, err := arrivals.Parse(text, traces)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func times(a arrivals.Arrivals, seed uint64, end time.Duration) []time.Duration {
	var out []time.Duration
	s := a.Start(rand.New(rand.NewPCG(seed, 1)))
	for at, ok := s.Next(); ok && at < end; at, ok = s.Next() {
		out = append(out, at)
	}
	return out
}

func TestParseGivesItsCanonicalText(t *testing.T) {
	for text, want := range map[string]string{
		"closed:16":                               "closed:16",
		"closed:1, 16 ,256":                       "closed:1,16,256",
		" constant:12000/m ":                      "constant:200/s",
		"constant:0.2/ms":                         "constant:200/s",
		"poisson:7200/h":                          "poisson:2/s",
		"ramp:0/s..500/s,1m":                      "ramp:0/s..500/s,1m",
		"ramp:500/s..0/s,1h,poisson":              "ramp:500/s..0/s,1h,poisson",
		"steps:100/s*10s,300/s*1500ms":            "steps:100/s*10s,300/s*1.5s",
		"steps:0/s*10s,300/s,poisson":             "steps:0/s*10s,300/s,poisson",
		"sine:100/s..300/s,60s":                   "sine:100/s..300/s,1m",
		"burst:1000,5s":                           "burst:1000,5s",
		"burst:1000,5s,50/s,poisson":              "burst:1000,5s,50/s,poisson",
		"burst:1000,5s,0/s":                       "burst:1000,5s",
		"trace:a.txt":                             "trace:a.txt",
		"trace:a.txt,x2.50":                       "trace:a.txt,x2.5",
		"ramp:1/s..2/s,1h0m0s":                    "ramp:1/s..2/s,1h",
		"sine:0.000000001/ms..0.00000001/ms,1h1s": "sine:0.000001/s..0.00001/s,1h0m1s",
	} {
		a := mustParse(t, text)
		if got := a.String(); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if again := mustParse(t, a.String()); again.String() != want {
			t.Errorf("%q is read as %q", want, again)
		}
	}
}

func TestParseRefusesInOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                      `there is no process ""; there are burst, closed, constant, poisson, ramp, sine, steps, trace`,
		"200/s":                 "write constant:200/s or poisson:200/s",
		"posson:200/s":          "did you mean poisson?",
		"Constant:200/s":        "did you mean constant?",
		"constant:200":          `"200" is no rate; write one like 200/s`,
		"constant:200/y":        `"200/y" is no rate`,
		"constant:NaN/s":        `"NaN/s" is no rate`,
		"constant:Inf/s":        `"Inf/s" is no rate`,
		"constant:-1/s":         "not between 0 and",
		"constant:20000/ms":     "not between 0 and",
		"constant:0/s":          "brings nothing",
		"constant:5/s,poisson":  "write poisson:5/s",
		"closed:0":              "no number of instances in flight",
		"closed:":               "no number of instances in flight",
		"closed:4,4":            "4 is there twice",
		"closed:1000001":        "from 1 to 1000000",
		"ramp:1/s..2/s":         "time that the ramp takes is missing",
		"ramp:1/s,3s":           "has no two ends",
		"ramp:0/s..0/s,3s":      "bring nothing",
		"ramp:1/s..2/s,0s":      "is no duration",
		"ramp:1/s..2/s,900000h": "at most ten years",
		"sine:3/s..2/s,1s":      "write the lower one first",
		"sine:3/s..4/s":         "the period is missing",
		"steps:1/s,2/s*1s":      `the step "1/s" has no time`,
		"steps:0/s*1s,0/s":      "brings nothing",
		"burst:5":               "how many come and how often",
		"burst:0,5s":            "no size of a burst",
		"burst:5,1s,poisson":    "nothing that could be random",
		"burst:5,1s,1/s,2/s":    "is no burst",
		"trace:":                "the file is missing",
		"trace:b.txt":           "b.txt: no such file",
		"trace:a.txt,x0":        `"x0" is no factor`,
	} {
		_, err := arrivals.Parse(text, traces)
		switch {
		case err == nil:
			t.Errorf("%q is taken", text)
		case !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), fmt.Sprintf("arrivals %q: ", text)):
			t.Errorf("%q is refused with %q, which should have %q", text, err, want)
		}
	}
	if _, err := arrivals.Parse("trace:a.txt", nil); err == nil {
		t.Error("a trace is taken where there are no files")
	}
	if _, err := arrivals.Parse("trace:a.txt", func(string) ([]time.Duration, error) { return []time.Duration{-1}, nil }); err == nil {
		t.Error("a trace with a negative time is taken")
	}
}

func TestTimesOfEachProcess(t *testing.T) {
	ms := func(list ...float64) (out []time.Duration) {
		for _, v := range list {
			out = append(out, time.Duration(v*float64(time.Millisecond)))
		}
		return out
	}
	for text, want := range map[string][]time.Duration{
		"constant:4/s":                  ms(125, 375, 625, 875),
		"steps:0/s*500ms,4/s":           ms(625, 875),
		"steps:2/s*500ms,0/s*250ms,8/s": ms(250, 812.5, 937.5),
		"steps:4/s*500ms,0/s":           ms(125, 375),
		"ramp:0/s..8/s,1s":              ms(353.553390, 612.372435, 790.569415, 935.414346), // √((n+½)/4)
		"ramp:8/s..0/s,1s":              ms(64.585653, 209.430584, 387.627564, 646.446609),  // mirrored
		"burst:2,400ms":                 ms(0, 0, 400, 400, 800, 800),
		"burst:1,500ms,4/s":             ms(0, 125, 375, 500, 625, 875),
		"trace:a.txt,x4":                ms(250, 250, 750),
		"closed:5":                      nil,
	} {
		got := times(mustParse(t, text), 1, time.Second)
		ok := len(got) == len(want)
		for i := 0; ok && i < len(got); i++ {
			ok = (got[i] - want[i]).Abs() <= 2*time.Nanosecond
		}
		if !ok {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// In the halves of a period, a quarter of the swing, 2a/ω, lies between half and mean.
func TestASineIsWhereItsRateSaysItIs(t *testing.T) {
	a := mustParse(t, "sine:100/s..300/s,10s")
	count := func(from, to time.Duration) int {
		n := 0
		for _, at := range times(a, 1, 100*time.Second) {
			if at >= from && at < to {
				n++
			}
		}
		return n
	}
	swing := 100 * 10 / (2 * math.Pi) // a/ω
	for _, c := range []struct {
		from, to time.Duration
		want     float64
	}{
		{0, 2500 * time.Millisecond, 500 - swing},
		{2500 * time.Millisecond, 7500 * time.Millisecond, 1000 + 2*swing},
		{90 * time.Second, 92500 * time.Millisecond, 500 - swing},
		{0, 100 * time.Second, 20_000},
	} {
		if got := count(c.from, c.to); math.Abs(float64(got)-c.want) > 1 {
			t.Errorf("%v … %v: %d arrivals, want %.1f", c.from, c.to, got, c.want)
		}
	}
}

// The number of even arrivals by any time is the integral of the rate.
func TestEvenArrivalsAreWhatIsExpected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, err := arrivals.Parse(anyProcess().Draw(t, "process"), traces)
		if err != nil {
			t.Fatal(err)
		}
		factor := rapid.SampledFrom([]float64{0.5, 1, 3}).Draw(t, "factor")
		a = a.Scaled(factor)
		end := time.Duration(rapid.Int64Range(1, int64(20*time.Second)).Draw(t, "end"))
		got := times(a, 1, end)
		if !slices.IsSorted(got) {
			t.Fatalf("%s: the times decrease", a)
		}
		if want := a.Expected(end); math.Abs(float64(len(got))-want) > 1 {
			t.Fatalf("%s: %d arrivals before %v, where %.3f are expected", a, len(got), end, want)
		}
	})
}

func anyProcess() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		rate := func(name string) string { return fmt.Sprintf("%d/s", rapid.IntRange(0, 200).Draw(t, name)) }
		span := func() string { return fmt.Sprintf("%dms", rapid.IntRange(1, 15_000).Draw(t, "span")) }
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return fmt.Sprintf("constant:%d/m", rapid.IntRange(1, 10_000).Draw(t, "rate"))
		case 1:
			return "ramp:" + rate("from") + "..1/s," + span()
		case 2:
			low := rapid.IntRange(0, 100).Draw(t, "low")
			return fmt.Sprintf("sine:%d/s..%d/s,%s", low, low+rapid.IntRange(1, 100).Draw(t, "swing"), span())
		case 3:
			return "steps:" + rate("first") + "*" + span() + "," + rate("second") + "*" + span() + ",7/s"
		default:
			return fmt.Sprintf("burst:%d,%s,%s", rapid.IntRange(1, 50).Draw(t, "size"), span(), rate("base"))
		}
	})
}

// In windows of equal expectation, the counts must have the Poisson distribution: mean and variance are equal, and separate
// windows are independent.
func TestPoissonArrivals(t *testing.T) {
	const windows, each = 4000, 5.0
	for _, c := range []struct {
		text   string
		window func(i int) time.Duration
	}{
		{"poisson:50/s", func(i int) time.Duration { return time.Duration(i) * 100 * time.Millisecond }},
		{"ramp:0/s..200/s,200s,poisson", func(i int) time.Duration { // Λ = t²/2
			return time.Duration(math.Sqrt(2*each*float64(i)) * float64(time.Second))
		}},
		{"steps:10/s*1000s,50/s,poisson", func(i int) time.Duration {
			return time.Duration((min(float64(i), 2000)*0.5 + max(float64(i)-2000, 0)*0.1) * float64(time.Second))
		}},
		{"sine:0/s..100/s,100ms,poisson", func(i int) time.Duration { return time.Duration(i) * 100 * time.Millisecond }},
	} {
		counts := make([]float64, windows)
		i := 0
		for _, at := range times(mustParse(t, c.text), 7, c.window(windows)) {
			for at >= c.window(i+1) {
				i++
			}
			counts[i]++
		}
		var mean, variance, next float64
		for _, n := range counts {
			mean += n / windows
		}
		for i, n := range counts {
			variance += (n - mean) * (n - mean) / windows
			if i > 0 {
				next += (n - mean) * (counts[i-1] - mean) / windows
			}
		}
		// Standard errors: of the mean √(5/4000) = 0.035, of the variance about 5·√(2/4000) = 0.11, of the correlation 1/√4000
		// = 0.016. The seed is fixed; the bounds are four of them.
		if math.Abs(mean-each) > 0.15 || math.Abs(variance-each) > 0.45 || math.Abs(next/variance) > 0.065 {
			t.Errorf("%s: mean %.3f, variance %.3f, correlation of neighbours %.3f; want 5, 5, 0", c.text, mean, variance, next/variance)
		}
	}
}

func TestRandomArrivalsDependOnTheSeedAlone(t *testing.T) {
	a := mustParse(t, "burst:3,1s,20/s,poisson")
	if !slices.Equal(times(a, 5, time.Minute), times(a, 5, time.Minute)) {
		t.Error("the same seed gives other times")
	}
	if slices.Equal(times(a, 5, time.Minute), times(a, 6, time.Minute)) {
		t.Error("another seed gives the same times")
	}
}

func TestMeanRate(t *testing.T) {
	for text, want := range map[string]float64{
		"constant:200/s": 200, "ramp:100/s..300/s,10s": 200, "sine:0/s..10/s,1s": 5, "burst:100,5s,3/s": 23, "closed:4": 0, "trace:a.txt": 0.3,
	} {
		if got := mustParse(t, text).MeanRate(0, 10*time.Second); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v a second, want %v", text, got, want)
		}
	}
	if got := mustParse(t, "steps:1/s*5s,3/s").MeanRate(4*time.Second, 6*time.Second); math.Abs(got-2) > 1e-9 {
		t.Errorf("steps: %v a second around the step, want 2", got)
	}
	for text, want := range map[string]string{
		"constant:200/s": "constant:100/s", "ramp:100/s..300/s,10s,poisson": "ramp:50/s..150/s,10s,poisson", "burst:100,5s,3/s": "burst:100,10s,1.5/s",
		"trace:a.txt": "trace:a.txt,x0.5", "closed:4": "closed:4", "steps:4/s*1s,2/s": "steps:2/s*1s,1/s", "sine:2/s..4/s,1s": "sine:1/s..2/s,1s",
	} {
		if got := mustParse(t, text).Scaled(0.5).String(); got != want {
			t.Errorf("half of %s is %s, want %s", text, got, want)
		}
	}
}

// An accepted text must be read again from its canonical form, and an error must be one line.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"closed:1,2", "constant:1/s", "ramp:1/s..2/s,3s,poisson", "steps:1/s*1s,2/m", "burst:1,1ns,1/h", "trace:a.txt,x2", "sine:0/s..1/ms,1h", "burst:9,9s,9/s,poisson"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := arrivals.Parse(text, traces)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("the error has several lines: %q", err)
			}
			return
		}
		again, err := arrivals.Parse(a.String(), traces)
		if err != nil || again.String() != a.String() {
			t.Fatalf("%q is %q, which is read as %q (%v)", text, a, again, err)
		}
		s, last := a.Start(rand.New(rand.NewPCG(1, 2))), time.Duration(0)
		for range 100 {
			at, ok := s.Next()
			if !ok {
				break
			}
			if at < last {
				t.Fatalf("%q: %v after %v", text, at, last)
			}
			last = at
		}
	})
}
