package usl

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"pulley/bench/stats"
)

// Point is the measurement of one run.
type Point struct {
	N    float64 // of workers, connections, …; at least 1
	PerS float64 // completions per second; at least 0
}

// Options of a fit. The zero Options are ready.
type Options struct {
	// of the intervals and bands; zero: stats.Confidence
	Confidence float64
	// number of bootstrap fits; zero: 1,000
	Resamples int
	// for the draws: the same data and seed give the same fit
	Seed uint64
}

// Fit is a fitted law with its uncertainty.
type Fit struct {
	Law
	// the fitted runs
	Points []Point
	// the standard error of the residuals, per second: √(Σr² / (n − 3))
	Error float64
	// Intervals of the parameters, of N* and of X(N*). Unbounded ends of the last two are +Inf.
	LambdaIn, SigmaIn, KappaIn, PeakIn, HighestIn stats.Interval
	// the runs show κ above 0, and so a peak
	Determined bool
	// limits of the fit, or reasons not to trust it
	Warnings []string

	confidence float64
	draws      []Law
}

// fewest is the number of values of N that the law's author requires. (Guerrilla Capacity Planning, section 5.4.)
const fewest = 6

// unfit is the probability below which deviations from the curve are not chance.
const unfit = 0.01

// leastFree bounds 1−h from below for a point that the curve always passes through.
const leastFree = 0.05

// FitLaw fits the law to runs, possibly several of one N.
//
// Intervals are those of a wild bootstrap: with the fitted X(N), the runs' residuals r and leverages h, the law is fitted
// repeatedly to X(N) ± r/(1−h), with independent signs, and the ends are quantiles of the results. Residuals stay at their N,
// so the variance may depend on N. (Wu, Annals of Statistics 14, 1986; Davidson and Flachaire, Journal of Econometrics 146,
// 2008.)
//
// It fails for fewer than four runs or three values of N, for an N below 1, and for a throughput that is negative or not
// finite.
func FitLaw(points []Point, o Options) (*Fit, error) {
	values, err := check(points)
	if err != nil {
		return nil, err
	}
	o.Confidence = cmp.Or(o.Confidence, stats.Confidence)
	o.Resamples = cmp.Or(o.Resamples, 1000)
	f := &Fit{Law: solve(points), Points: slices.Clone(points), confidence: o.Confidence}
	f.Error = math.Sqrt(squares(points, f.Law) / float64(len(points)-3))
	f.draw(o)
	f.LambdaIn = f.interval(f.Lambda, func(l Law) float64 { return l.Lambda })
	f.SigmaIn = f.interval(f.Sigma, func(l Law) float64 { return l.Sigma })
	f.KappaIn = f.interval(f.Kappa, func(l Law) float64 { return l.Kappa })
	f.PeakIn = f.interval(f.Peak(), Law.Peak)
	f.HighestIn = f.interval(f.Highest(), Law.Highest)
	f.Determined = f.KappaIn.Lo > 0
	f.warn(values)
	return f, nil
}

func check(points []Point) ([]float64, error) {
	var values []float64
	most := 0.0
	for _, p := range points {
		switch {
		case !(p.N >= 1) || math.IsInf(p.N, 0):
			return nil, fmt.Errorf("scaling: a run is of %v; the law is about 1 or more", p.N)
		case !(p.PerS >= 0) || math.IsInf(p.PerS, 0):
			return nil, fmt.Errorf("scaling: a run of %v completed %v a second", p.N, p.PerS)
		}
		most = max(most, p.PerS)
		values = append(values, p.N)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	switch {
	case len(values) < 3:
		return nil, fmt.Errorf("scaling: the law's three parameters need at least three different values, and there are %d", len(values))
	case len(points) < 4:
		return nil, errors.New("scaling: three runs leave nothing to tell the law's errors from; make more, or more values")
	case most == 0:
		return nil, errors.New("scaling: nothing was completed in any run")
	}
	return values, nil
}

func (f *Fit) draw(o Options) {
	random := rand.New(rand.NewPCG(o.Seed, 0x75736c))
	draws := leverages(f.Points, f.Law)
	data := slices.Clone(f.Points)
	for range o.Resamples {
		any := false
		for i, p := range f.Points {
			at := f.At(p.N)
			r := (p.PerS - at) / max(1-draws[i], leastFree)
			if random.Uint64()&1 == 0 {
				r = -r
			}
			data[i].PerS = max(at+r, 0)
			any = any || data[i].PerS > 0
		}
		if any {
			f.draws = append(f.draws, solve(data))
		}
	}
}

func (f *Fit) interval(estimate float64, of func(Law) float64) stats.Interval {
	values := make([]float64, len(f.draws))
	for i, l := range f.draws {
		values[i] = of(l)
	}
	slices.Sort(values)
	tail := (1 - f.confidence) / 2
	out := stats.Interval{Median: estimate, Lo: estimate, Hi: estimate, Confidence: f.confidence, N: len(f.Points)}
	if n := len(values); n > 0 {
		lo := min(int(tail*float64(n)), n-1)
		out.Lo, out.Hi = min(values[lo], estimate), max(values[n-1-lo], estimate)
	}
	return out
}

// Band is the throughput of n, per second, with its interval.
func (f *Fit) Band(n float64) stats.Interval {
	return f.interval(f.At(n), func(l Law) float64 { return l.At(n) })
}

func (f *Fit) warn(values []float64) {
	add := func(format string, args ...any) { f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...)) }
	most := values[len(values)-1]
	if len(values) < fewest {
		add("%d different values: the law's author asks for %d or more", len(values), fewest)
	}
	switch {
	case !f.Determined && math.IsInf(f.PeakIn.Hi, 1):
		add("the runs do not determine κ: from %.3g on, a peak may be anywhere or nowhere; measure more than %g", f.PeakIn.Lo, most)
	case !f.Determined:
		add("the runs do not determine κ; measure more than %g", most)
	case f.Peak() > most:
		add("the peak at %.3g lies beyond the largest value that was measured, %g: it is extrapolated", f.Peak(), most)
	}
	if f.Sigma >= 1 {
		add("σ is %.3g: with more than one the throughput only falls, which the law describes badly", f.Sigma)
	}
	if p, known := f.chance(values); known && p < unfit {
		add("the law does not describe these runs: those of one value agree far better with each other than with the curve (p = %.2g)", p)
	}
}

// chance is the probability that the means of runs of one N deviate so much from the curve if the law is right: the F-test for
// lack of fit, with m values of N and n runs,
//
//	F = ( (Σr² − Σe²) / (m − 3) ) / ( Σe² / (n − m) ),
//
// r the residuals and e those from the mean of their N. (Draper and Smith, Applied Regression Analysis, 3rd ed., section 2.1.)
// It is unknown with one run of each N, or three values.
func (f *Fit) chance(values []float64) (p float64, known bool) {
	n, m := len(f.Points), len(values)
	if n == m || m <= 3 {
		return 0, false
	}
	sums, counts := map[float64]float64{}, map[float64]float64{}
	for _, p := range f.Points {
		sums[p.N] += p.PerS
		counts[p.N]++
	}
	var pure float64
	for _, p := range f.Points {
		e := p.PerS - sums[p.N]/counts[p.N]
		pure += e * e
	}
	off := squares(f.Points, f.Law) - pure
	if pure <= 0 {
		return 0, false
	}
	ratio := off / float64(m-3) / (pure / float64(n-m))
	return distuv.F{D1: float64(m - 3), D2: float64(n - m)}.Survival(max(ratio, 0)), true
}
