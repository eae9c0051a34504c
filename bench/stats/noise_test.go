package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pulley/bench/stats"
	"pulley/internal/depth"
	"pulley/reports/record"
)

// quantile is the smallest value that is at least as large as the share q of all.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(math.Ceil(q*float64(len(sorted))))-1, len(sorted)-1)]
}

// A noise makes the logarithms of a machine's disturbance of n successive runs.
type noise struct {
	name string
	// runs are independent, as CompareGroups assumes
	independent bool
	make        func(r *rand.Rand, n int) []float64
}

var noises = []noise{
	{"lognormal", true, func(r *rand.Rand, n int) []float64 {
		return generate(n, func(int) float64 { return 0.08 * r.NormFloat64() })
	}},
	{"bimodal: a third of the runs disturbed", true, func(r *rand.Rand, n int) []float64 {
		return generate(n, func(int) float64 {
			v := 0.03 * r.NormFloat64()
			if r.IntN(3) == 0 {
				v += 0.6 + 0.2*r.NormFloat64()
			}
			return v
		})
	}},
	{"Cauchy: now and then a run takes for ever", true, func(r *rand.Rand, n int) []float64 {
		return generate(n, func(int) float64 { return min(max(0.03*math.Tan(math.Pi*(r.Float64()-0.5)), -9), 9) })
	}},
	{"autocorrelated", false, func(r *rand.Rand, n int) []float64 { return autocorrelated(r, n, 0.5) }},
	{"autocorrelated, slow", false, func(r *rand.Rand, n int) []float64 { return autocorrelated(r, n, 0.95) }},
	{"drift: each run a little slower, and noise", false, func(r *rand.Rand, n int) []float64 {
		return generate(n, func(i int) float64 { return 0.02*float64(i) + 0.05*r.NormFloat64() })
	}},
	{"other work that comes and goes", false, func(r *rand.Rand, n int) []float64 {
		busy := false
		return generate(n, func(int) float64 {
			if r.IntN(6) == 0 {
				busy = !busy
			}
			if busy {
				return 0.7 + 0.15*r.NormFloat64()
			}
			return 0.04 * r.NormFloat64()
		})
	}},
}

func generate(n int, value func(int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = value(i)
	}
	return out
}

func autocorrelated(r *rand.Rand, n int, phi float64) []float64 {
	at := r.NormFloat64()
	return generate(n, func(int) float64 {
		at = phi*at + math.Sqrt(1-phi*phi)*r.NormFloat64()
		return 0.1 * at
	})
}

// pairs makes n pairs of runs in random order; the candidate takes factor times as long.
func (k noise) pairs(r *rand.Rand, n int, factor float64) (baseline, candidate []float64) {
	logs := k.make(r, 2*n)
	for i := range n {
		first, second := math.Exp(logs[2*i]), math.Exp(logs[2*i+1])
		if r.IntN(2) == 0 {
			first, second = second, first
		}
		baseline, candidate = append(baseline, first), append(candidate, second*factor)
	}
	return baseline, candidate
}

func (k noise) groups(r *rand.Rand, n int, factor float64) (baseline, candidate []float64) {
	for i, v := range k.make(r, 2*n) {
		if i < n {
			baseline = append(baseline, math.Exp(v))
		} else {
			candidate = append(candidate, math.Exp(v)*factor)
		}
	}
	return baseline, candidate
}

type compareFunc func(_, _ []float64) (*stats.RatioTest, error)

func tally(t *testing.T, tries int, margin float64, make func(*rand.Rand) (_, _ []float64), compare compareFunc) (decisions map[record.Decision]int, refused int) {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 12))
	decisions = map[record.Decision]int{}
	for range tries {
		a, b := make(r)
		test, err := compare(a, b)
		if err != nil {
			t.Fatal(err)
		}
		j := stats.Judge([]stats.Question{{Test: test, Margin: margin}}, 0.05)[0]
		decisions[j.Decision]++
		if j.P <= 0.05 {
			refused++
		}
	}
	return decisions, refused
}

// most is how many of n tries may fail if each fails with probability p: three standard deviations above the mean.
func most(n int, p float64) int {
	return int(float64(n)*p + 3*math.Sqrt(float64(n)*p*(1-p)))
}

func TestNothingIsFoundWhereNothingIs(t *testing.T) {
	tries := depth.Of(1000, 20_000)
	for _, k := range noises {
		for _, n := range []int{6, 12, 20} {
			_, refused := tally(t, tries, 0, func(r *rand.Rand) (_, _ []float64) { return k.pairs(r, n, 1) }, stats.ComparePairs)
			if refused > most(tries, 0.05) {
				t.Errorf("%s, %d pairs: a difference in %d of %d tries", k.name, n, refused, tries)
			}
			if !k.independent {
				continue
			}
			_, refused = tally(t, tries, 0, func(r *rand.Rand) (_, _ []float64) { return k.groups(r, n, 1) }, stats.CompareGroups)
			if refused > most(tries, 0.05) {
				t.Errorf("%s, groups of %d: a difference in %d of %d tries", k.name, n, refused, tries)
			}
		}
	}
}

// Drift is why times are compared in pairs.
func TestGroupsMistakeDriftForAChange(t *testing.T) {
	drift := noises[5]
	_, refused := tally(t, 200, 0, func(r *rand.Rand) (_, _ []float64) { return drift.groups(r, 12, 1) }, stats.CompareGroups)
	if refused < 180 {
		t.Errorf("a drift was only taken for a change in %d of 200 tries: %s is not drift", refused, drift.name)
	}
}

// The order is a fixed ABBA.
func TestFixedOrderIsWorse(t *testing.T) {
	tries := depth.Of(3000, 30_000)
	_, refused := tally(t, tries, 0, func(r *rand.Rand) (_, _ []float64) {
		logs := autocorrelated(r, 60, 0.5)
		var a, b []float64
		for i := 0; i < len(logs); i += 4 {
			a = append(a, math.Exp(logs[i]), math.Exp(logs[i+3]))
			b = append(b, math.Exp(logs[i+1]), math.Exp(logs[i+2]))
		}
		return a, b
	}, stats.ComparePairs)
	t.Logf("ABBA: a difference in %.1f %% of %d tries", 100*float64(refused)/float64(tries), tries)
	if share := float64(refused) / float64(tries); share > 0.08 {
		t.Errorf("a difference in %.1f %% of the tries: more than the documentation says", 100*share)
	}
}

func TestManyRowsFindNothingByChance(t *testing.T) {
	tries := depth.Of(1000, 10_000)
	r := rand.New(rand.NewPCG(13, 14))
	wrong, uncorrected := 0, 0
	for range tries {
		var questions []stats.Question
		for row := range 20 {
			a, b := noises[row%len(noises)].pairs(r, 20, 1)
			test, err := stats.ComparePairs(a, b)
			if err != nil {
				t.Fatal(err)
			}
			questions = append(questions, stats.Question{Test: test})
		}
		found, foundAlone := false, false
		for _, j := range stats.Judge(questions, 0.05) {
			found = found || j.Decision != record.Unclear
			foundAlone = foundAlone || j.P <= 0.05
		}
		if found {
			wrong++
		}
		if foundAlone {
			uncorrected++
		}
	}
	if wrong > most(tries, 0.05) {
		t.Errorf("some row differs in %d of %d comparisons of a program with itself", wrong, tries)
	}
	if uncorrected < tries/2 {
		t.Errorf("without a correction only %d of %d comparisons find something: this shows nothing", uncorrected, tries)
	}
}

// The level of Same is hardest to keep here.
func TestAChangeAsLargeAsTheMarginIsNotCalledTheSame(t *testing.T) {
	tries := depth.Of(1500, 20_000)
	for _, k := range noises {
		for _, factor := range []float64{1.05, 1 / 1.05} {
			got, _ := tally(t, tries, 0.05, func(r *rand.Rand) (_, _ []float64) { return k.pairs(r, 30, factor) }, stats.ComparePairs)
			if got[record.Same] > most(tries, 0.05) {
				t.Errorf("%s: a factor of %.3g is called the same in %d of %d tries", k.name, factor, got[record.Same], tries)
			}
		}
	}
}

// In 19 of 20 tries, so many pairs must show that a program takes 10 % longer, with a margin of 3 % and ten rows in the
// comparison.
func TestPower(t *testing.T) {
	tries := depth.Of(150, 3000)
	for _, c := range []struct {
		noise string
		pairs int
	}{
		{"lognormal", 40}, {"autocorrelated, slow", 20}, {"drift: each run a little slower, and noise", 30},
		{"other work that comes and goes", 160}, {"bimodal: a third of the runs disturbed", 320},
	} {
		k := noises[slices.IndexFunc(noises, func(k noise) bool { return k.name == c.noise })]
		needed := 0
		for _, n := range []int{10, 15, 20, 30, 40, 60, 80, 120, 160, 320} {
			if n <= c.pairs && needed == 0 && tenRows(t, k, n, tries) >= tries*19/20 {
				needed = n
			}
		}
		t.Logf("%s: %d pairs", k.name, needed)
		if needed == 0 {
			t.Errorf("%s: %d pairs do not find a slowdown of 10 %%", k.name, c.pairs)
		}
	}
}

// tenRows counts how often one row of ten is found to be 10 % slower. The other nine only matter for the correction, so they
// are the same row.
func tenRows(t *testing.T, k noise, pairs, tries int) (found int) {
	r := rand.New(rand.NewPCG(15, 16))
	for range tries {
		a, b := k.pairs(r, pairs, 1.1)
		test, err := stats.ComparePairs(a, b)
		if err != nil {
			t.Fatal(err)
		}
		nothing, err := stats.ComparePairs([]float64{1}, []float64{1})
		if err != nil {
			t.Fatal(err)
		}
		questions := []stats.Question{{Test: test, Margin: 0.03}}
		for range 9 {
			questions = append(questions, stats.Question{Test: nothing, Margin: 0.03})
		}
		if stats.Judge(questions, 0.05)[0].Decision == record.Worse {
			found++
		}
	}
	return found
}
