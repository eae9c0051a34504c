package arrivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
)

// profile is a rate over time. Times are in seconds since the start.
type profile interface {
	// integral of the rate from 0 to t
	expected(t float64) float64
	// earliest time by which n are expected; +Inf: never
	inverse(n float64) float64
	scale(factor float64) profile
	parts() (name, rest string)
}

type even struct{ profile }

func (e even) start(*rand.Rand) func() float64 {
	n := -0.5
	return func() float64 {
		n++
		return e.inverse(n)
	}
}

func (e even) scaled(factor float64) process { return even{e.scale(factor)} }

func (e even) String() string {
	name, rest := e.parts()
	return name + ":" + rest
}

// random is a Poisson process with that rate.
type random struct{ profile }

func (p random) start(r *rand.Rand) func() float64 {
	sum := 0.0
	return func() float64 {
		sum += r.ExpFloat64()
		return p.inverse(sum)
	}
}

func (p random) scaled(factor float64) process { return random{p.scale(factor)} }

func (p random) String() string {
	name, rest := p.parts()
	if name == "constant" {
		return "poisson:" + rest
	}
	return name + ":" + rest + ",poisson"
}

// flat is one rate: Λ(t) = λ·t.
type flat float64

func (f flat) expected(t float64) float64   { return float64(f) * t }
func (f flat) inverse(n float64) float64    { return n / float64(f) }
func (f flat) scale(factor float64) profile { return flat(float64(f) * factor) }
func (f flat) parts() (string, string)      { return "constant", rateText(float64(f)) }

// ramp is linear from one rate to another, which then stays. With k = (to − from) / over, Λ(t) = from·t + k·t²/2 up to t =
// over.
type ramp struct{ from, to, over float64 }

func (p ramp) expected(t float64) float64 {
	in := min(t, p.over)
	return p.from*in + (p.to-p.from)/p.over*in*in/2 + p.to*(t-in)
}

func (p ramp) inverse(n float64) float64 {
	whole := (p.from + p.to) / 2 * p.over
	if n > whole {
		return p.over + (n-whole)/p.to // +Inf if the rate fell to zero
	}
	// The root of k·t²/2 + from·t − n = 0, in a form that is exact for small k.
	k := (p.to - p.from) / p.over
	root := p.from + math.Sqrt(max(p.from*p.from+2*k*n, 0))
	if root == 0 {
		return 0
	}
	return min(2*n/root, p.over)
}

func (p ramp) scale(factor float64) profile { return ramp{p.from * factor, p.to * factor, p.over} }

func (p ramp) parts() (string, string) {
	return "ramp", rateText(p.from) + ".." + rateText(p.to) + "," + spanText(p.over)
}

// sine alternates between lo and hi: λ(t) = m − a·cos(ωt), m = (lo + hi)/2, a = (hi − lo)/2, ω = 2π/period; so Λ(t) = m·t − a/ω
// · sin(ωt), and each period brings m·period.
type sine struct{ lo, hi, period float64 }

func (p sine) mean() float64 { return (p.lo + p.hi) / 2 }

func (p sine) expected(t float64) float64 {
	omega := 2 * math.Pi / p.period
	return p.mean()*t - (p.hi-p.lo)/2/omega*math.Sin(math.Mod(t, p.period)*omega)
}

// inverse bisects within the period that reaches the count: Λ never decreases.
func (p sine) inverse(n float64) float64 {
	each := p.mean() * p.period
	periods := math.Floor(n / each)
	rest := n - periods*each
	lo, hi := 0.0, p.period
	const halvings = 60 // more than a float64 has digits
	for range halvings {
		if mid := (lo + hi) / 2; p.expected(mid) < rest {
			lo = mid
		} else {
			hi = mid
		}
	}
	return periods*p.period + hi
}

func (p sine) scale(factor float64) profile { return sine{p.lo * factor, p.hi * factor, p.period} }

func (p sine) parts() (string, string) {
	return "sine", rateText(p.lo) + ".." + rateText(p.hi) + "," + spanText(p.period)
}

// steps are successive rates. The last one stays.
type steps []step

type step struct{ rate, lasts float64 }

func (p steps) expected(t float64) float64 {
	sum := 0.0
	for i, s := range p {
		in := min(t, s.lasts)
		if i == len(p)-1 {
			in = t
		}
		sum += s.rate * in
		if t -= in; t <= 0 {
			break
		}
	}
	return sum
}

func (p steps) inverse(n float64) float64 {
	at := 0.0
	for i, s := range p {
		if n <= 0 {
			return at
		}
		if brings := s.rate * s.lasts; i < len(p)-1 && (s.rate == 0 || n > brings) {
			at, n = at+s.lasts, n-brings
			continue
		}
		return at + n/s.rate // +Inf if the last rate is zero
	}
	return at
}

func (p steps) scale(factor float64) profile {
	out := slices.Clone(p)
	for i := range out {
		out[i].rate *= factor
	}
	return out
}

func (p steps) parts() (string, string) {
	var rest []byte
	for i, s := range p {
		if i > 0 {
			rest = append(rest, ',')
		}
		rest = append(rest, rateText(s.rate)...)
		if !math.IsInf(s.lasts, 1) {
			rest = append(rest, "*"+spanText(s.lasts)...)
		}
	}
	return "steps", string(rest)
}

// burst brings a number at once, at the start and periodically, on top of a rate that may be zero.
type burst struct {
	size    int
	every   float64
	base    float64
	poisson bool // the rate's arrivals are random
}

func (b burst) expected(t float64) float64 {
	return float64(b.size)*math.Ceil(t/b.every) + b.base*t
}

func (b burst) start(r *rand.Rand) func() float64 {
	between := func() float64 { return math.Inf(1) }
	if b.base > 0 {
		between = spaced(flat(b.base), b.poisson).start(r)
	}
	next, count := between(), 0
	return func() float64 {
		at := float64(count/b.size) * b.every
		if at <= next {
			count++
			return at
		}
		at, next = next, between()
		return at
	}
}

func (b burst) scaled(factor float64) process {
	b.every, b.base = b.every/factor, b.base*factor
	return b
}

func (b burst) String() string {
	text := "burst:" + strconv.Itoa(b.size) + "," + spanText(b.every)
	if b.base > 0 {
		text += "," + rateText(b.base)
	}
	if b.poisson {
		text += ",poisson"
	}
	return text
}

type trace struct {
	file   string
	times  []float64
	factor float64
}

func (t trace) expected(until float64) float64 {
	return float64(sort.SearchFloat64s(t.times, until*t.factor))
}

func (t trace) start(*rand.Rand) func() float64 {
	i := 0
	return func() float64 {
		if i == len(t.times) {
			return math.Inf(1)
		}
		i++
		return t.times[i-1] / t.factor
	}
}

func (t trace) scaled(factor float64) process {
	t.factor *= factor
	return t
}

func (t trace) String() string {
	text := "trace:" + t.file
	if t.factor != 1 {
		text += ",x" + strconv.FormatFloat(t.factor, 'f', -1, 64)
	}
	return text
}
