package dist

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/internal/nearest"
)

// Law is a parsed distribution. It is immutable. The zero value is unusable; use Parse.
type Law struct {
	text string
	unit Unit
	shape
}

type shape struct {
	draw  draw
	mean  float64               // before rounding
	above func(float64) float64 // P(X > x), before rounding
}

// String returns the parsed text.
func (l *Law) String() string { return l.text }

// Draw draws from zero to Longest, in the law's unit.
func (l *Law) Draw(r *rand.Rand) int64 { return l.draw(r) }

// Times draws durations. The law's unit must be Durations.
func (l *Law) Times() Times { return times(l.draw) }

// Mean is the distribution's mean, in the law's unit.
func (l *Law) Mean() float64 { return l.mean }

// Above returns the probability of drawing more than x.
func (l *Law) Above(x int64) float64 {
	if l.unit == Durations {
		return l.above(float64(x))
	}
	return l.above(float64(x) + 0.5) // higher values are rounded to more than x
}

// Samples reads the numbers of a file, for samples:FILE.
type Samples func(file string) ([]int64, error)

// Help lists the forms of Parse.
const Help = "const:5ms or just 5ms, exp:MEAN, uniform:LO..HI, lognormal:MEDIAN,SIGMA, pareto:LO..HI,ALPHA, zipf:S,N (of numbers), " +
	"mix:70%=exp:1ms|30%=const:20ms or samples:FILE"

var (
	kinds    = []string{"const", "exp", "uniform", "lognormal", "pareto", "zipf", "mix", "samples"}
	examples = map[string]string{
		"const": "const:5ms", "exp": "exp:10ms", "uniform": "uniform:1ms..9ms", "lognormal": "lognormal:10ms,0.5", "pareto": "pareto:1ms..10s,1.5",
		"zipf": "zipf:1.1,100", "mix": "mix:70%=exp:1ms|30%=const:20ms", "samples": "samples:FILE",
	}
	synonyms = map[string]string{
		"fixed": "const", "constant": "const", "deterministic": "const", "exponential": "exp", "poisson": "exp", "range": "uniform",
		"normal": "lognormal", "gauss": "lognormal", "gaussian": "lognormal", "mixture": "mix", "empirical": "samples", "file": "samples",
	}
)

// Known reports whether a word begins a distribution.
func Known(kind string) bool { return slices.Contains(kinds, kind) }

// Parse parses a distribution of a unit. Numbers are written in the unit: durations as 10ms, bytes as 4kB, counts as 10.
//
//	const:5ms              always 5ms; also written 5ms
//	exp:10ms               exponential, with this mean
//	uniform:1ms..9ms       every number in the range equally likely
//	lognormal:10ms,0.5     e^N, N normal around ln(median) with standard deviation sigma; mean median · e^(sigma²/2)
//	pareto:1ms..10s,1.5    Pareto with exponent alpha, truncated at both ends: P(X > x) falls as x^-alpha between
//	zipf:1.1,100           k from 1 to 100 with a probability proportional to k^-1.1; counts only
//	mix:70%=L|30%=M        L in 70 of 100 cases, M in the others; shares add up to 100 %
//	samples:FILE           one of the file's numbers, each equally likely
//
// Draws are never negative and never over Longest. The error is one line that says what to write. A nil samples rejects files.
func Parse(text string, unit Unit, samples Samples) (*Law, error) {
	p := parser{unit: unit, samples: samples}
	s, err := p.law(text)
	if err != nil {
		return nil, err
	}
	return &Law{text: text, unit: unit, shape: s}, nil
}

type parser struct {
	unit    Unit
	samples Samples
}

func (p parser) law(text string) (shape, error) {
	kind, rest, named := strings.Cut(text, ":")
	read, known := p.readers()[kind]
	switch {
	case known:
	case !named:
		if v, err := p.unit.parse(text); err == nil {
			return constantShape(v), nil
		}
		fallthrough
	default:
		return shape{}, fmt.Errorf("%q is no distribution; %s", text, p.meant(kind))
	}
	s, err := read(rest)
	if err != nil {
		return shape{}, fmt.Errorf("%q: %w", text, err)
	}
	return s, nil
}

func (p parser) readers() map[string]func(string) (shape, error) {
	return map[string]func(string) (shape, error){
		"const": p.constant, "exp": p.exponential, "uniform": p.uniform, "lognormal": p.logNormal,
		"pareto": p.pareto, "zipf": p.zipf, "mix": p.mixture, "samples": p.empirical,
	}
}

func (p parser) meant(kind string) string {
	kind = strings.ToLower(kind)
	meant := synonyms[kind]
	if meant == "" {
		meant = nearest.Word(kind, kinds)
	}
	if meant == "" {
		return "give " + Help
	}
	return "did you mean " + meant + ", as in " + examples[meant] + "?"
}

func (p parser) whole() toWhole {
	if p.unit == Durations {
		return cut
	}
	return round
}

func (p parser) constant(rest string) (shape, error) {
	v, err := p.unit.parse(rest)
	return constantShape(v), err
}

func constantShape(v int64) shape {
	return shape{draw: constant(v), mean: float64(v), above: func(x float64) float64 {
		if x < float64(v) {
			return 1
		}
		return 0
	}}
}

func (p parser) exponential(rest string) (shape, error) {
	mean, err := p.unit.parse(rest)
	m := float64(mean)
	return shape{draw: exponential(m, p.whole()), mean: m, above: func(x float64) float64 {
		switch {
		case x < 0:
			return 1
		case mean == 0:
			return 0
		}
		return math.Exp(-x / m)
	}}, err
}

func (p parser) uniform(rest string) (shape, error) {
	lo, hi, err := p.ends(rest)
	l, h := float64(lo), float64(hi)
	if p.unit != Durations {
		l, h = l-0.5, h+0.5 // includes what is rounded to the ends, so that all numbers are equally likely
	}
	return shape{draw: uniform(lo, hi), mean: float64(lo) + float64(hi-lo)/2, above: func(x float64) float64 {
		switch {
		case x < l:
			return 1
		case x >= h:
			return 0
		}
		return (h - x) / (h - l)
	}}, err
}

func (p parser) logNormal(rest string) (shape, error) {
	before, sigma, err := parameter(rest, "SIGMA")
	if err != nil {
		return shape{}, err
	}
	median, err := p.unit.parse(before)
	m := float64(median)
	return shape{draw: logNormal(m, sigma, p.whole()), mean: min(m*math.Exp(sigma*sigma/2), Longest), above: func(x float64) float64 {
		switch {
		case x <= 0 && median > 0, x < 0:
			return 1
		case median == 0 || x >= Longest:
			return 0
		}
		return math.Erfc(math.Log(x/m)/sigma/math.Sqrt2) / 2
	}}, err
}

func (p parser) pareto(rest string) (shape, error) {
	before, alpha, err := parameter(rest, "ALPHA")
	if err != nil {
		return shape{}, err
	}
	lo, hi, err := p.ends(before)
	if err == nil && lo == 0 {
		err = errors.New("the lower end must not be zero")
	}
	if err != nil {
		return shape{}, err
	}
	l, h := float64(lo), float64(hi)
	q := math.Pow(l/h, alpha)
	return shape{draw: pareto(lo, hi, alpha, p.whole()), mean: paretoMean(l, h, alpha), above: func(x float64) float64 {
		switch {
		case x < l:
			return 1
		case x >= h:
			return 0
		}
		return (math.Pow(l/x, alpha) - q) / (1 - q)
	}}, nil
}

// paretoMean is the mean of Pareto: with l and h its ends and q = (l/h)^a, a/(a-1) · (l - h·q)/(1 - q), and for a = 1, l ·
// ln(h/l) / (1 - l/h).
func paretoMean(l, h, alpha float64) float64 {
	switch q := math.Pow(l/h, alpha); {
	case l == h:
		return l
	case alpha == 1:
		return min(l*math.Log(h/l)/(1-l/h), Longest)
	default:
		return min(alpha/(alpha-1)*(l-h*q)/(1-q), Longest)
	}
}

const zipfMax = 1_000_000

// zipf is Zipf's law: with H the sum of i^-s for i from 1 to n, P(X = k) = k^-s / H, and the mean is the sum of k^(1-s) / H.
func (p parser) zipf(rest string) (shape, error) {
	if p.unit != Counts {
		return shape{}, fmt.Errorf("zipf is of numbers; here is a distribution of %s to be written", p.unit)
	}
	exponent, count, ok := strings.Cut(rest, ",")
	s, err := strconv.ParseFloat(exponent, 64)
	n, errN := strconv.Atoi(strings.TrimSpace(count))
	switch {
	case !ok || err != nil || !(s >= 0) || s > 100:
		return shape{}, errors.New("S is missing or no number from 0 to 100; write S,N as in zipf:1.1,100")
	case errN != nil || n < 1 || n > zipfMax:
		return shape{}, fmt.Errorf("N is missing or no whole number from 1 to %d; write S,N as in zipf:1.1,100", zipfMax)
	}
	sums := zipfTable(s, n)
	all, mean := sums[n-1], 0.0
	for k := 1; k <= n; k++ {
		mean += math.Pow(float64(k), 1-s) / all
	}
	return shape{draw: zipf(sums), mean: mean, above: func(x float64) float64 {
		switch k := int(math.Floor(min(max(x, 0), zipfMax))); {
		case k < 1:
			return 1
		case k >= n:
			return 0
		default:
			return 1 - sums[k-1]/all
		}
	}}, nil
}

const mixMax = 100

func (p parser) mixture(rest string) (shape, error) {
	var bounds []float64
	var parts []shape
	sum := 0.0
	for part := range strings.SplitSeq(rest, "|") {
		text, law, ok := strings.Cut(strings.TrimSpace(part), "=")
		number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
		share, err := strconv.ParseFloat(number, 64)
		switch {
		case !ok || !percent || err != nil || !(share > 0) || share > 100:
			return shape{}, fmt.Errorf("%q is no part of a mixture; write SHARE%%=DISTRIBUTION, as in 70%%=exp:1ms, with | between parts", part)
		case strings.HasPrefix(law, "mix:"):
			return shape{}, errors.New("a part of a mixture cannot be a mixture; write all parts in one")
		case len(parts) == mixMax:
			return shape{}, fmt.Errorf("more than %d parts", mixMax)
		}
		s, err := p.law(law)
		if err != nil {
			return shape{}, err
		}
		sum += share
		bounds, parts = append(bounds, sum/100), append(parts, s)
	}
	if math.Abs(sum-100) > 1e-6 {
		return shape{}, fmt.Errorf("the shares add up to %.6g %%, and must to 100 %%", sum)
	}
	var draws []draw
	mean, before := 0.0, 0.0
	for i, s := range parts {
		draws = append(draws, s.draw)
		mean += (bounds[i] - before) * s.mean
		before = bounds[i]
	}
	return shape{draw: mixture(bounds, draws), mean: mean, above: func(x float64) float64 {
		above, before := 0.0, 0.0
		for i, s := range parts {
			above += (bounds[i] - before) * s.above(x)
			before = bounds[i]
		}
		return above
	}}, nil
}

func (p parser) empirical(rest string) (shape, error) {
	if p.samples == nil || rest == "" {
		return shape{}, errors.New("name a file, as in samples:FILE")
	}
	list, err := p.samples(rest)
	if err != nil {
		return shape{}, err
	}
	return empirical(list, p.unit)
}

func empirical(list []int64, unit Unit) (shape, error) {
	if len(list) == 0 {
		return shape{}, errors.New("there is nothing to draw from")
	}
	sorted := slices.Sorted(slices.Values(list))
	n := float64(len(list))
	if least, most := sorted[0], sorted[len(list)-1]; least < 0 || most > Longest {
		return shape{}, fmt.Errorf("numbers from %s to %s; give some that are not negative, at most %s", unit.format(least), unit.format(most), unit.format(Longest))
	}
	mean := 0.0
	for _, d := range list {
		mean += float64(d) / n
	}
	return shape{draw: oneOf(slices.Clone(list)), mean: mean, above: func(x float64) float64 {
		at, _ := slices.BinarySearchFunc(sorted, x, func(e int64, x float64) int {
			if float64(e) > x {
				return 1
			}
			return -1
		})
		return float64(len(sorted)-at) / n
	}}, nil
}

// Empirical draws one of one or more non-negative durations, each equally likely.
func Empirical(list []time.Duration) (Times, error) {
	numbers := make([]int64, len(list))
	for i, d := range list {
		numbers[i] = int64(d)
	}
	s, err := empirical(numbers, Durations)
	return times(s.draw), err
}

func (p parser) ends(text string) (lo, hi int64, err error) {
	a, b, ok := strings.Cut(text, "..")
	if !ok {
		return 0, 0, fmt.Errorf("%q has no two ends; write LO..HI, as in %s", text, p.unit.span())
	}
	if lo, err = p.unit.parse(a); err != nil {
		return 0, 0, err
	}
	if hi, err = p.unit.parse(b); err == nil && hi < lo {
		err = fmt.Errorf("%s is less than %s; write the greater one last", p.unit.format(hi), p.unit.format(lo))
	}
	return lo, hi, err
}

func parameter(text, name string) (before string, value float64, err error) {
	before, number, ok := strings.Cut(text, ",")
	value, err = strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(value > 0) || value > 100 {
		return "", 0, fmt.Errorf("%s is missing or no number between 0 and 100; write it behind a comma", name)
	}
	return before, value, nil
}
