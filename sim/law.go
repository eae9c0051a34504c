package sim

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/engine/backend"
)

// Law is a distribution that can be written as text.
type Law struct {
	Text string
	Draw Distribution
	Mean time.Duration // of what is drawn
}

// LawHelp lists the texts that ParseLaw takes.
const LawHelp = "const:5ms, exp:MEAN, uniform:LO..HI, lognormal:MEDIAN,SIGMA, pareto:LO..HI,ALPHA or samples:FILE"

// ParseLaw reads a distribution of durations.
//
//	const:5ms              always the same
//	exp:10ms               exponential, with this mean
//	uniform:1ms..9ms       every duration between the two is as likely
//	lognormal:10ms,0.5     e^N, N normal around ln(median) with standard deviation sigma; mean median · e^(sigma²/2)
//	pareto:1ms..10s,1.5    Pareto with exponent alpha, cut off below and above: P(X > x) falls as x^-alpha between
//	samples:FILE           one of the durations that samples gives for the file, each as likely
//
// The error is one line that says what was to be written. A nil samples refuses files.
func ParseLaw(text string, samples func(file string) ([]time.Duration, error)) (Law, error) {
	kind, rest, _ := strings.Cut(text, ":")
	law, err := Law{}, error(nil)
	switch kind {
	case "const":
		law, err = constLaw(rest)
	case "exp":
		law, err = expLaw(rest)
	case "uniform":
		law, err = uniformLaw(rest)
	case "lognormal":
		law, err = lognormalLaw(rest)
	case "pareto":
		law, err = paretoLaw(rest)
	case "samples":
		if samples == nil || rest == "" {
			return Law{}, fmt.Errorf("%q: name a file, as in samples:FILE", text)
		}
		var list []time.Duration
		if list, err = samples(rest); err == nil {
			law, err = Empirical(list)
		}
	default:
		return Law{}, fmt.Errorf("%q is no distribution; give %s", text, LawHelp)
	}
	if err != nil {
		return Law{}, fmt.Errorf("%q: %w", text, err)
	}
	law.Text = text
	return law, nil
}

// span reads a duration that is not negative and that a world can wait for.
func span(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longest {
		return 0, fmt.Errorf("%q is no duration; write one like 10ms or 1.5s, not negative, at most a hundred years", text)
	}
	return d, nil
}

// spans reads LO..HI.
func spans(text string) (lo, hi time.Duration, err error) {
	a, b, ok := strings.Cut(text, "..")
	if !ok {
		return 0, 0, fmt.Errorf("%q has no two ends; write LO..HI, as in 1ms..9ms", text)
	}
	if lo, err = span(a); err != nil {
		return 0, 0, err
	}
	if hi, err = span(b); err == nil && hi < lo {
		err = fmt.Errorf("%v is less than %v; write the greater one last", hi, lo)
	}
	return lo, hi, err
}

// shape reads the number behind a comma.
func shape(text, name string) (before string, value float64, err error) {
	before, number, ok := strings.Cut(text, ",")
	value, err = strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(value > 0) || value > 100 {
		return "", 0, fmt.Errorf("%s is missing or no number between 0 and 100; write it behind a comma", name)
	}
	return before, value, nil
}

func constLaw(rest string) (Law, error) {
	d, err := span(rest)
	return Law{Draw: Constant(d), Mean: d}, err
}

func expLaw(rest string) (Law, error) {
	d, err := span(rest)
	return Law{Draw: Exponential(d), Mean: d}, err
}

func uniformLaw(rest string) (Law, error) {
	lo, hi, err := spans(rest)
	return Law{Draw: Uniform(lo, hi), Mean: lo + (hi-lo)/2}, err
}

func lognormalLaw(rest string) (Law, error) {
	before, sigma, err := shape(rest, "SIGMA")
	if err != nil {
		return Law{}, err
	}
	median, err := span(before)
	return Law{Draw: LogNormal(median, sigma), Mean: bounded(float64(median) * math.Exp(sigma*sigma/2))}, err
}

func paretoLaw(rest string) (Law, error) {
	before, alpha, err := shape(rest, "ALPHA")
	if err != nil {
		return Law{}, err
	}
	lo, hi, err := spans(before)
	if err == nil && lo == 0 {
		err = errors.New("the lower end must not be zero")
	}
	return Law{Draw: Pareto(lo, hi, alpha), Mean: paretoMean(lo, hi, alpha)}, err
}

// LogNormal is median · e^(sigma·N), N standard normal.
func LogNormal(median time.Duration, sigma float64) Distribution {
	return func(r *rand.Rand) time.Duration { return bounded(float64(median) * math.Exp(sigma*r.NormFloat64())) }
}

// Pareto is cut off at both ends, lo > 0: with u uniform in [0,1) and q = (lo/hi)^alpha, it is
// lo · (1 - u·(1 - q))^(-1/alpha).
func Pareto(lo, hi time.Duration, alpha float64) Distribution {
	q := math.Pow(float64(lo)/float64(hi), alpha)
	return func(r *rand.Rand) time.Duration {
		x := bounded(float64(lo) * math.Pow(1-r.Float64()*(1-q), -1/alpha))
		return min(max(x, lo), hi)
	}
}

// paretoMean is the mean of Pareto: with l and h its ends and q = (l/h)^a,
// a/(a-1) · (l - h·q)/(1 - q), and for a = 1, l · ln(h/l) / (1 - l/h).
func paretoMean(lo, hi time.Duration, alpha float64) time.Duration {
	l, h := float64(lo), float64(hi)
	switch q := math.Pow(l/h, alpha); {
	case lo == hi:
		return lo
	case alpha == 1:
		return bounded(l * math.Log(h/l) / (1 - l/h))
	default:
		return bounded(alpha / (alpha - 1) * (l - h*q) / (1 - q))
	}
}

// Empirical draws one of the durations, each as likely. There must be one, and none may be negative.
func Empirical(list []time.Duration) (Law, error) {
	if len(list) == 0 {
		return Law{}, errors.New("there is no duration to draw from")
	}
	if least, most := slices.Min(list), slices.Max(list); least < 0 || most > longest {
		return Law{}, fmt.Errorf("durations from %v to %v; give some from zero to a hundred years", least, most)
	}
	list = slices.Clone(list)
	mean := 0.0
	for _, d := range list {
		mean += float64(d) / float64(len(list))
	}
	return Law{Draw: func(r *rand.Rand) time.Duration { return list[r.IntN(len(list))] }, Mean: time.Duration(mean)}, nil
}

// bounded makes a duration of nanoseconds, not longer than a world can wait.
func bounded(ns float64) time.Duration { return time.Duration(min(ns, float64(longest))) }

// Keyed draws a time for each attempt that depends only on the seed, the instance, the node run and the attempt, and
// not on when it starts: so the same work is done whatever the number of workers, and runs that differ in
// it can be compared. The distribution is chosen by action.
func Keyed(seed uint64, of func(action string) Distribution) Service {
	source := rand.NewPCG(0, 0)
	r := rand.New(source)
	return func(_ *rand.Rand, task backend.Task) (time.Duration, error) {
		d := of(task.Action)
		if d == nil {
			return 0, fmt.Errorf("there is no service time for action %s", task.Action)
		}
		source.Seed(seed, keyOf(task))
		return d(r), nil
	}
}

// keyOf hashes what names an attempt: FNV-1a, and then the finalizer of splitmix64, since FNV's high bits hardly change
// with the last bytes.
func keyOf(task backend.Task) uint64 {
	h := uint64(0xcbf29ce484222325)
	mix := func(b byte) { h = (h ^ uint64(b)) * 0x100000001b3 }
	key := task.Lease.Key
	for _, b := range key.Instance {
		mix(b)
	}
	for i := range 4 {
		mix(byte(key.Run.Node >> (8 * i)))
		mix(byte(task.Attempt >> (8 * i)))
	}
	for i := range len(key.Run.Path) {
		mix(key.Run.Path[i])
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
