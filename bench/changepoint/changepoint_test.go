package changepoint_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pulley/bench/changepoint"
	"pulley/internal/depth"
)

func slowSplit(values []float64) (index int, best float64) {
	within := func(v []float64) (sum float64) {
		for i := range v {
			for _, y := range v[:i] {
				sum += math.Abs(v[i] - y)
			}
		}
		if n := float64(len(v)); n > 1 {
			return sum / (n * (n - 1) / 2)
		}
		return 0
	}
	best = math.Inf(-1)
	for tau := 1; tau < len(values); tau++ {
		for kappa := tau + 1; kappa <= len(values); kappa++ {
			x, y := values[:tau], values[tau:kappa]
			n, m, cross := float64(len(x)), float64(len(y)), 0.0
			for _, a := range x {
				for _, b := range y {
					cross += math.Abs(a - b)
				}
			}
			if q := n * m / (n + m) * (2/(n*m)*cross - within(x) - within(y)); q > best+1e-9 {
				index, best = tau, q
			}
		}
	}
	return index, best
}

func TestSplitIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-100, 100), 2, 25).Draw(t, "values")
		_, got := changepoint.Split(values)
		if _, want := slowSplit(values); math.Abs(got-want) > 1e-6 {
			t.Fatalf("Q is %v, by its definition %v", got, want)
		}
	})
	if at, _ := changepoint.Split(steps); at != 5 {
		t.Errorf("steps: candidate at %d, want 5", at)
	}
}

func noise(random *rand.Rand, n int, level, sd float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = level + sd*random.NormFloat64()
	}
	return out
}

func find(t *testing.T, values []float64, o changepoint.FindOptions) []changepoint.Point {
	t.Helper()
	points, err := changepoint.Find(values, o)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func TestNoChangeInConstantSeries(t *testing.T) {
	for _, n := range []int{0, 1, 2, 9, 50, 51, 400} {
		values := slices.Repeat([]float64{0.1 + 0.2}, n)
		if got := find(t, values, changepoint.FindOptions{}); len(got) > 0 {
			t.Errorf("%d equal values: changes at %v", n, indexes(got))
		}
		if got := hunt(t, values, changepoint.Options{}); len(got) > 0 {
			t.Errorf("%d equal values: hunted changes at %v", n, got)
		}
		if got, err := changepoint.Permute(values, changepoint.PermuteOptions{}); err != nil || len(got) > 0 {
			t.Errorf("%d equal values: permuted changes at %v, %v", n, indexes(got), err)
		}
	}
}

func TestShiftAndScaleChangeNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		values := slices.Concat(noise(random, 25, 100, 2), noise(random, 30, 110, 2), noise(random, 20, 104, 2))
		for i := range values {
			values[i] = math.Round(values[i]*64) / 64 // so that what follows is without rounding
		}
		want := indexes(find(t, values, changepoint.FindOptions{}))
		if len(want) == 0 {
			t.Error("no change was found in a series with two: nothing is compared")
		}
		moved := make([]float64, len(values))
		for i, v := range values {
			moved[i] = 8*v - 512
		}
		if got := indexes(find(t, moved, changepoint.FindOptions{})); !slices.Equal(got, want) {
			t.Errorf("shifted and scaled: changes at %v, want %v", got, want)
		}
	}
}

func TestFindFindsPlantedShifts(t *testing.T) {
	const n = 40
	tries := depth.Of(40, 1000)
	random := rand.New(rand.NewPCG(3, 4))
	found, near := 0, 0
	for range tries {
		at := 10 + random.IntN(n-20)
		values := slices.Concat(noise(random, at, 100, 3), noise(random, n-at, 110, 3)) // by 3.3 deviations
		points := find(t, values, changepoint.FindOptions{Confirm: changepoint.PermuteOptions{Permutations: 199}})
		if len(points) == 1 {
			found++
			if d := points[0].Index - at; -1 <= d && d <= 1 {
				near++
			}
			if p := points[0]; p.Before.From != 0 || p.Before.To != p.Index || p.After.From != p.Index || p.After.To != n || p.After.Mean < p.Before.Mean {
				t.Errorf("segments %+v and %+v of a rise at %d", p.Before, p.After, p.Index)
			}
		}
	}
	t.Logf("of %d shifts by 3.3 deviations %d were found alone, %d of them within one place", tries, found, near)
	if found < tries*19/20 || near < tries*9/10 {
		t.Errorf("of %d shifts %d were found alone, %d of them within one place; want 95 and 90 %%", tries, found, near)
	}
}

// The search finds too much; the permutation test drops some.
func TestFindMeasuresEachChangeUpToItsNeighbours(t *testing.T) {
	random, dropped := rand.New(rand.NewPCG(11, 12)), 0
	for range 20 {
		values := slices.Concat(noise(random, 30, 100, 3), noise(random, 40, 107, 3), noise(random, 30, 100, 3))
		o := changepoint.FindOptions{Search: changepoint.Options{MaxP: 0.2}, Confirm: changepoint.PermuteOptions{Permutations: 199}}
		points := find(t, values, o)
		dropped += len(hunt(t, values, o.Search)) - len(points)
		from := 0
		for i, p := range points {
			to := len(values)
			if i+1 < len(points) {
				to = points[i+1].Index
			}
			if p.Before.From != from || p.Before.To != p.Index || p.After.From != p.Index || p.After.To != to {
				t.Errorf("changes at %v: that at %d has segments %+v and %+v", indexes(points), p.Index, p.Before, p.After)
			}
			from = p.Index
		}
	}
	if dropped < 20 {
		t.Errorf("%d changes were dropped: too few to show anything", dropped)
	}
}

// Find promises, in noise of several kinds, false alarms in at most 1 % of the series, plus four standard deviations of chance.
func TestFindSeldomFindsChangesInNoise(t *testing.T) {
	series := depth.Of(150, 5000)
	most := 0.01*float64(series) + 4*math.Sqrt(float64(series)*0.01*0.99)
	for name, draw := range map[string]func(*rand.Rand) float64{
		"normal":    func(r *rand.Rand) float64 { return r.NormFloat64() },
		"heavy":     func(r *rand.Rand) float64 { return math.Exp(1.5 * r.NormFloat64()) },
		"two modes": func(r *rand.Rand) float64 { return float64(r.IntN(2)) + 0.05*r.NormFloat64() },
	} {
		random := rand.New(rand.NewPCG(5, 6))
		alarms, hunted := 0, 0
		for range series {
			values := make([]float64, 60)
			for i := range values {
				values[i] = draw(random)
			}
			if len(find(t, values, changepoint.FindOptions{Confirm: changepoint.PermuteOptions{Permutations: 199}})) > 0 {
				alarms++
			}
			if len(hunt(t, values, changepoint.Options{})) > 0 {
				hunted++
			}
		}
		t.Logf("%s: of %d series of noise %d have a change for Find, %d for Hunt", name, series, alarms, hunted)
		if float64(alarms) > most {
			t.Errorf("%s: changes in %d of %d series of noise, want %.0f at most", name, alarms, series, most)
		}
	}
}

func TestFindClaimsNothingOfFewValues(t *testing.T) {
	for n := range changepoint.LeastValues {
		for at := range n {
			values := slices.Concat(slices.Repeat([]float64{1}, at), slices.Repeat([]float64{2}, n-at))
			if got := find(t, values, changepoint.FindOptions{}); len(got) > 0 {
				t.Errorf("%d and then %d values: a change is claimed, p = %v", at, n-at, got[0].P)
			}
		}
	}
	half := changepoint.LeastValues / 2
	values := slices.Concat(slices.Repeat([]float64{1}, half), slices.Repeat([]float64{2}, half))
	if got := indexes(find(t, values, changepoint.FindOptions{})); !slices.Equal(got, []int{half}) {
		t.Errorf("%d and %d values: changes at %v, want %d", half, half, got, half)
	}
	outlier := slices.Repeat([]float64{1}, 40)
	outlier[38] = 5
	if got := find(t, outlier, changepoint.FindOptions{}); len(got) > 0 {
		t.Errorf("one value that is off: changes at %v", indexes(got))
	}
}

func TestMinMagnitude(t *testing.T) {
	values := slices.Concat(slices.Repeat([]float64{100}, 20), slices.Repeat([]float64{104}, 20))
	for least, want := range map[float64]int{0: 1, 0.03: 1, 0.05: 0} {
		if got := find(t, values, changepoint.FindOptions{Search: changepoint.Options{MinMagnitude: least}}); len(got) != want {
			t.Errorf("a rise by 4 %% with at least %v: %d changes, want %d", least, len(got), want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	values := []float64{1, 2, 3}
	for _, o := range []changepoint.FindOptions{
		{Search: changepoint.Options{Window: 1}}, {Search: changepoint.Options{MaxP: -1}}, {Search: changepoint.Options{MaxP: 2}},
		{Search: changepoint.Options{MinMagnitude: math.NaN()}}, {LeastSide: -1}, {Confirm: changepoint.PermuteOptions{Permutations: -1}},
		{Confirm: changepoint.PermuteOptions{Permutations: 9, MaxP: 0.01}}, {Confirm: changepoint.PermuteOptions{MaxP: 3}},
	} {
		if _, err := changepoint.Find(values, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := changepoint.Search([]float64{1, bad}, changepoint.Options{}); err == nil {
			t.Errorf("a value of %v: no error", bad)
		}
		if _, err := changepoint.Permute([]float64{1, bad}, changepoint.PermuteOptions{}); err == nil {
			t.Errorf("a value of %v: no error", bad)
		}
	}
}

func TestSameSeriesSameAnswer(t *testing.T) {
	values := slices.Concat(noise(rand.New(rand.NewPCG(7, 8)), 30, 10, 1), noise(rand.New(rand.NewPCG(9, 8)), 30, 11, 1))
	first := find(t, values, changepoint.FindOptions{})
	if again := find(t, values, changepoint.FindOptions{}); !slices.Equal(first, again) {
		t.Errorf("%v, and then %v", first, again)
	}
}

func BenchmarkFind5000(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	var values []float64
	for i := range 50 {
		values = append(values, noise(random, 100, 100+float64(i%3)*10, 3)...)
	}
	for b.Loop() {
		points, err := changepoint.Find(values, changepoint.FindOptions{})
		if err != nil || len(points) < 20 {
			b.Fatal(len(points), err)
		}
	}
}

func BenchmarkSplit5000(b *testing.B) {
	values := noise(rand.New(rand.NewPCG(1, 1)), 5000, 100, 3)
	for b.Loop() {
		changepoint.Split(values)
	}
}
