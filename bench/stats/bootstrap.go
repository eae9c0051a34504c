package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"pulley/internal/plural"
)

// Bootstrap estimates intervals of quantiles by resampling runs. The same data and seed give the same interval. The zero
// Bootstrap is ready.
type Bootstrap struct {
	// number of draws; zero: 2,000
	Resamples int
	// for the draws
	Seed uint64
}

// Below fewRuns, a bootstrap's intervals are known to be too narrow.
const fewRuns = 8

// Quantile returns the q-quantile of all values of all runs, with its interval. A run is a list of values, such as the
// latencies of its instances.
//
// Whole runs are drawn with replacement, because values within a run correlate: the run is what was repeated. (Davison and
// Hinkley, Bootstrap Methods and their Application, section 3.8.) The q-quantile is the smallest value that is at least as
// large as the share q of all. The interval is BCa: with B draws θ*, the estimate θ, and θ(i) the estimate without run i,
//
//	z₀ = Φ⁻¹( share of θ* below θ, those equal counted half )
//	a  = Σ (θ̄ − θ(i))³ / ( 6 · ( Σ (θ̄ − θ(i))² )^{3/2} ),  θ̄ the mean of the θ(i)
//
// its ends are the quantiles of the θ* at Φ( z₀ + (z₀ ± z) / (1 − a(z₀ ± z)) ), z = Φ⁻¹((1 + confidence)/2). (Efron, JASA 82,
// 1987.)
//
// It fails if q is not between 0 and 1, if there is no value, or if one is not a number.
func (b Bootstrap) Quantile(runs [][]float64, q, confidence float64) (Interval, error) {
	side, err := newPool(runs, q)
	if err != nil {
		return Interval{}, err
	}
	return b.interval([]*pool{side}, false, confidence, func(v []float64) float64 { return v[0] }), nil
}

// QuantileRatio returns the candidate's q-quantile divided by the baseline's, with an interval as in Quantile. Paired runs are
// drawn as pairs; otherwise the sides are drawn separately, and the θ(i) omit each run of either side. It also fails if a
// side's quantile is not above zero, or if pairs lack a partner.
func (b Bootstrap) QuantileRatio(baseline, candidate [][]float64, paired bool, q, confidence float64) (Interval, error) {
	if paired && len(baseline) != len(candidate) {
		return Interval{}, fmt.Errorf("%d runs against %d: leave out runs that have no partner", len(baseline), len(candidate))
	}
	var sides []*pool
	for _, runs := range [][][]float64{baseline, candidate} {
		side, err := newPool(runs, q)
		if err != nil {
			return Interval{}, err
		}
		if len(side.values) > 0 && side.values[0].value <= 0 {
			return Interval{}, fmt.Errorf("a value is %v: a ratio needs values above 0", side.values[0].value)
		}
		sides = append(sides, side)
	}
	return b.interval(sides, paired, confidence, func(v []float64) float64 { return v[1] / v[0] }), nil
}

// QuantileShift returns the candidate's q-quantile less the baseline's, with an interval as in Quantile; pairing and errors are as in
// QuantileRatio, but values may be of any sign. Over q, it is the shift function. (Doksum, Annals of Statistics 2, 1974; Wilcox,
// Computational Statistics & Data Analysis 22, 1996.)
func (b Bootstrap) QuantileShift(baseline, candidate [][]float64, paired bool, q, confidence float64) (Interval, error) {
	if paired && len(baseline) != len(candidate) {
		return Interval{}, fmt.Errorf("%d runs against %d: leave out runs that have no partner", len(baseline), len(candidate))
	}
	var sides []*pool
	for _, runs := range [][][]float64{baseline, candidate} {
		side, err := newPool(runs, q)
		if err != nil {
			return Interval{}, err
		}
		sides = append(sides, side)
	}
	return b.interval(sides, paired, confidence, func(v []float64) float64 { return v[1] - v[0] }), nil
}

type pool struct {
	values []pooled
	sizes  []int
	q      float64
}

type pooled struct {
	value float64
	run   int
}

func newPool(runs [][]float64, q float64) (*pool, error) {
	if !(q > 0 && q < 1) {
		return nil, fmt.Errorf("quantile %v: it lies between 0 and 1", q)
	}
	p := &pool{q: q}
	for run, values := range runs {
		p.sizes = append(p.sizes, len(values))
		for _, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("run %d has a value of %v", run+1, v)
			}
			p.values = append(p.values, pooled{v, run})
		}
	}
	if len(p.values) == 0 {
		return nil, errors.New("there are no values")
	}
	slices.SortFunc(p.values, func(a, b pooled) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	return p, nil
}

// quantile takes run i times[i] times; NaN if that leaves no value.
func (p *pool) quantile(times []int) float64 {
	total := 0
	for run, n := range times {
		total += n * p.sizes[run]
	}
	want, seen := p.q*float64(total), 0
	for _, v := range p.values {
		if seen += times[v.run]; float64(seen) >= want && times[v.run] > 0 {
			return v.value
		}
	}
	return math.NaN()
}

// interval computes the BCa interval of a statistic of the sides' quantiles. Paired sides share their draws.
func (b Bootstrap) interval(sides []*pool, paired bool, confidence float64, of func([]float64) float64) Interval {
	if b.Resamples == 0 {
		b.Resamples = 2000
	}
	draw := newDraw(sides, paired, of)
	draw.fill(1)
	estimate := draw.compute()
	var left []float64
	for _, times := range draw.lists {
		for i := range times {
			times[i] = 0
			left = appendNumber(left, draw.compute())
			times[i] = 1
		}
	}
	random := rand.New(rand.NewPCG(b.Seed, 0x9e3779b97f4a7c15))
	var drawn []float64
	for range b.Resamples {
		draw.fill(0)
		for _, times := range draw.lists {
			for range times {
				times[random.IntN(len(times))]++
			}
		}
		drawn = appendNumber(drawn, draw.compute())
	}
	runs := math.MaxInt
	for _, times := range draw.lists {
		runs = min(runs, len(times))
	}
	out := Interval{Median: estimate, Confidence: confidence, N: runs}
	out.Lo, out.Hi = bca(estimate, drawn, left, confidence)
	if runs < fewRuns {
		out.Warning = fmt.Sprintf("%s: a bootstrap over fewer than %d is narrower than it says", plural.Of(runs, "run"), fewRuns)
	}
	return out
}

type draw struct {
	sides []*pool
	times [][]int // by side; paired sides have the same list
	lists [][]int
	of    func([]float64) float64
}

func newDraw(sides []*pool, paired bool, of func([]float64) float64) *draw {
	d := &draw{sides: sides, of: of}
	for s, side := range sides {
		if paired && s > 0 {
			d.times = append(d.times, d.times[0])
			continue
		}
		list := make([]int, len(side.sizes))
		d.times, d.lists = append(d.times, list), append(d.lists, list)
	}
	return d
}

func (d *draw) fill(n int) {
	for _, times := range d.lists {
		for i := range times {
			times[i] = n
		}
	}
}

func (d *draw) compute() float64 {
	quantiles := make([]float64, len(d.sides))
	for s, side := range d.sides {
		quantiles[s] = side.quantile(d.times[s])
	}
	return d.of(quantiles)
}

// appendNumber omits a draw without a value, which occurs only with empty runs.
func appendNumber(list []float64, v float64) []float64 {
	if math.IsNaN(v) {
		return list
	}
	return append(list, v)
}

func bca(estimate float64, drawn, left []float64, confidence float64) (lo, hi float64) {
	if len(drawn) == 0 {
		return estimate, estimate
	}
	slices.Sort(drawn)
	below := 0.0
	for _, v := range drawn {
		switch {
		case v < estimate:
			below++
		case v == estimate:
			below += 0.5
		}
	}
	n := float64(len(drawn))
	z0 := normalQuantile(min(max(below/n, 0.5/n), 1-0.5/n))
	a := acceleration(left)
	at := func(z float64) float64 {
		share := normalShare(z0 + (z0+z)/(1-a*(z0+z)))
		i := min(int(share*n), len(drawn)-1)
		return drawn[i]
	}
	z := normalQuantile((1 + confidence) / 2)
	lo, hi = at(-z), at(z)
	return min(lo, estimate), max(hi, estimate)
}

func acceleration(left []float64) float64 {
	mean := 0.0
	for _, v := range left {
		mean += v / float64(len(left))
	}
	var squares, cubes float64
	for _, v := range left {
		d := mean - v
		squares, cubes = squares+d*d, cubes+d*d*d
	}
	if squares == 0 {
		return 0
	}
	// With few runs a quantile jumps, and the correction with it.
	return min(max(cubes/(6*math.Pow(squares, 1.5)), -0.2), 0.2)
}

func normalQuantile(share float64) float64 { return math.Sqrt2 * math.Erfinv(2*share-1) }
func normalShare(z float64) float64        { return math.Erfc(-z/math.Sqrt2) / 2 }
