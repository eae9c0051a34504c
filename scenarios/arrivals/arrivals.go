package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/internal/nearest"
)

// Help lists the texts that Parse accepts, one per line.
const Help = `closed:16                    so many in flight: one arrives when another has ended; several runs: closed:1,16,256
constant:200/s               evenly, at one rate
poisson:200/s                at random, at one mean rate
ramp:10/s..500/s,30s         from one rate to another within that time, which then stays
steps:100/s*10s,300/s        a rate for a time, then the next; the last one stays
sine:100/s..300/s,60s        between two rates and back within that time, again and again, from the lower one on
burst:1000,5s                so many at once, at the start and then every so often
burst:1000,5s,50/s           the same over a rate between the bursts
trace:FILE                   at recorded times; trace:FILE,x2 twice as fast
ramp, steps, sine and burst bring evenly what a rate gives; with ,poisson behind them, at random.
Rates: 200/s, 12000/m, 0.2/ms or 5/h.
`

// Arrivals is how instances arrive. It is immutable. The zero Arrivals is not usable: use [Parse], [Constant], [Poisson] or
// [Closed].
type Arrivals struct {
	text   string
	closed []int
	open   process
}

type process interface {
	// before t, in seconds since the start
	expected(t float64) float64
	// start begins a sequence of non-decreasing times in seconds, followed by +Inf.
	start(r *rand.Rand) (next func() float64)
	scaled(factor float64) process
	// the inverse of parsing
	String() string
}

const (
	maxInFlight = 1_000_000
	maxRate     = 10_000_000 // per second
	maxSpan     = 10 * 365 * 24 * time.Hour
	maxBurst    = 10_000_000
	maxSteps    = 10_000
)

var parsers = []struct {
	name  string
	parse func(rest string) (process, error)
}{
	{"constant", parseConstant},
	{"poisson", parsePoisson},
	{"ramp", parseRamp},
	{"steps", parseSteps},
	{"sine", parseSine},
	{"burst", parseBurst},
}

// Parse parses an arrival process in one of the forms of [Help]. trace reads a trace's file, as [ReadTraceFile] does; nil
// rejects traces. The error is one line that says what to write.
func Parse(text string, trace func(file string) ([]time.Duration, error)) (Arrivals, error) {
	a, err := parse(strings.TrimSpace(text), trace)
	if err != nil {
		return Arrivals{}, fmt.Errorf("arrivals %q: %w", text, err)
	}
	return a, nil
}

func parse(text string, trace func(string) ([]time.Duration, error)) (Arrivals, error) {
	name, rest, ok := strings.Cut(text, ":")
	if !ok {
		if _, err := parseRate(text); err == nil {
			return Arrivals{}, fmt.Errorf("a rate alone does not say how instances arrive; write constant:%s or poisson:%s", text, text)
		}
	}
	switch name {
	case "closed":
		list, err := parseClosed(rest)
		if err != nil {
			return Arrivals{}, err
		}
		return closedOf(list), nil
	case "trace":
		t, err := parseTrace(rest, trace)
		if err != nil {
			return Arrivals{}, err
		}
		return openOf(t), nil
	}
	names := []string{"closed", "trace"}
	for _, p := range parsers {
		if p.name == name {
			open, err := p.parse(rest)
			if err != nil {
				return Arrivals{}, err
			}
			return openOf(open), nil
		}
		names = append(names, p.name)
	}
	slices.Sort(names)
	if meant := nearest.Word(strings.ToLower(name), names); meant != "" {
		return Arrivals{}, fmt.Errorf("there is no process %q; did you mean %s?", name, meant)
	}
	return Arrivals{}, fmt.Errorf("there is no process %q; there are %s", name, strings.Join(names, ", "))
}

func closedOf(list []int) Arrivals {
	var texts []string
	for _, n := range list {
		texts = append(texts, strconv.Itoa(n))
	}
	return Arrivals{text: "closed:" + strings.Join(texts, ","), closed: list}
}

func openOf(p process) Arrivals { return Arrivals{text: p.String(), open: p} }

// Closed keeps inFlight instances in flight, at least 1.
func Closed(inFlight int) Arrivals { return closedOf([]int{max(inFlight, 1)}) }

// Constant brings instances evenly, perS per second, above 0 and finite.
func Constant(perS float64) Arrivals { return openOf(even{flat(perS)}) }

// Poisson brings instances at random, perS per second on average, above 0 and finite.
func Poisson(perS float64) Arrivals { return openOf(random{flat(perS)}) }

// String returns the canonical text, which Parse accepts.
func (a Arrivals) String() string { return a.text }

// InFlight returns a closed process's numbers in flight, one per intended run; nil for an open process. The caller must not
// change it.
func (a Arrivals) InFlight() []int { return a.closed }

// Open reports whether the process has its own times.
func (a Arrivals) Open() bool { return a.open != nil }

// Expected is the expected number of arrivals within a time from the start; zero for a closed process. It is exact for traces
// and bursts, and the integral of the rate for all others.
func (a Arrivals) Expected(within time.Duration) float64 {
	if a.open == nil || within <= 0 {
		return 0
	}
	return a.open.expected(within.Seconds())
}

// MeanRate is the mean rate per second between two times since the start; zero for a closed process.
func (a Arrivals) MeanRate(from, to time.Duration) float64 {
	if to <= from {
		return 0
	}
	return (a.Expected(to) - a.Expected(from)) / (to - from).Seconds()
}

// Scaled multiplies every rate by a factor above 0: a ramp keeps its duration; bursts keep their size and come sooner, as do
// the times of a trace. A closed process stays unchanged.
func (a Arrivals) Scaled(factor float64) Arrivals {
	if a.open == nil || factor == 1 {
		return a
	}
	return openOf(a.open.scaled(factor))
}

// Start begins the times of an open process. Evenly spaced processes do not use r, which may then be nil. A closed process has
// no times.
func (a Arrivals) Start(r *rand.Rand) *Sequence {
	if a.open == nil {
		return &Sequence{next: func() float64 { return math.Inf(1) }}
	}
	return &Sequence{next: a.open.start(r)}
}

// Sequence returns successive intended times. It is not safe for concurrent use.
type Sequence struct {
	next func() float64
	over bool
}

// Next returns the next intended time since the start. Times never decrease and may repeat. ok is false at the end.
func (s *Sequence) Next() (at time.Duration, ok bool) {
	if s.over {
		return 0, false
	}
	t := s.next() * float64(time.Second)
	if !(t <= float64(maxSpan)) {
		s.over = true
		return 0, false
	}
	return time.Duration(t), true
}
