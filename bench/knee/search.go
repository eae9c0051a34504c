package knee

import (
	"cmp"
	"math"
	"slices"

	"pulley/scenarios"
)

// Config configures a search.
type Config struct {
	// at least one; all must hold
	Objectives []scenarios.Objective
	// the first rate, above 0: a guess at the knee
	Start float64
	// Least and Most bound the rates, 0 < Least ≤ Start ≤ Most. Zero: a thousandth of Start, and a thousand times it.
	Least, Most float64
	// of breaks/holds − 1; zero: 0.05
	Tolerance float64
	// Runs bounds the runs of a rate, including invalid ones, after which it stays unclear. Zero: 5.
	Runs int
	// bounds all runs; zero: 60
	Total int
}

func (c Config) withDefaults() Config {
	c.Least = cmp.Or(c.Least, c.Start/1000)
	c.Most = cmp.Or(c.Most, c.Start*1000)
	c.Tolerance = cmp.Or(c.Tolerance, 0.05)
	c.Runs = cmp.Or(c.Runs, 5)
	c.Total = cmp.Or(c.Total, 60)
	return c
}

// Verdict is what is known of a rate.
type Verdict string

// The verdicts.
const (
	Holds   Verdict = "holds"
	Breaks  Verdict = "breaks"
	Unclear Verdict = "unclear" // the allowed runs do not decide
	Open    Verdict = "open"
)

// Point is a rate with its runs' votes.
type Point struct {
	Rate    float64
	Votes   []Vote // in order of its runs; 0 of an invalid one
	Verdict Verdict
}

// Search finds the knee. The caller alternates Next, and Add with the run at Next's rate. Once Next requests none, runs at
// other rates may be added to check the answer; if they overrule it, Next requests more.
type Search struct {
	cfg    Config
	points []*Point
	total  int
	steps  int
}

// NewSearch begins a search.
func NewSearch(cfg Config) *Search { return &Search{cfg: cfg.withDefaults()} }

// outward is the first step's factor while the knee is not enclosed. Every further step squares it.
const outward = 1.25

// Next returns the rate of the next run; more is false when the search is over.
func (s *Search) Next() (rate float64, more bool) {
	if s.total >= s.cfg.Total {
		return 0, false
	}
	for _, p := range s.points {
		if p.Verdict == Open {
			return p.Rate, true
		}
	}
	if len(s.points) == 0 {
		return s.cfg.Start, true
	}
	low, high := s.enclosed()
	switch {
	case low == 0:
		return s.step(s.points[0].Rate, -1)
	case math.IsInf(high, 1):
		return s.step(s.points[len(s.points)-1].Rate, 1)
	default:
		return s.between(low, high)
	}
}

func (s *Search) step(from, sign float64) (rate float64, more bool) {
	rate = from * math.Pow(outward, sign*math.Exp2(float64(s.steps)))
	rate = min(max(rate, s.cfg.Least), s.cfg.Most)
	return rate, rate != from
}

// between halves the widest gap that is too wide, by ratios. Unclear rates divide the enclosing interval into gaps; the middle
// gap cannot become narrower.
func (s *Search) between(low, high float64) (rate float64, more bool) {
	first, last := high, low // unclear ones
	for _, p := range s.points {
		if p.Verdict == Unclear && p.Rate > low && p.Rate < high {
			first, last = min(first, p.Rate), max(last, p.Rate)
		}
	}
	below, above := first/low, high/last
	if max(below, above) <= 1+s.cfg.Tolerance {
		return 0, false
	}
	if below >= above {
		return math.Sqrt(low * first), true
	}
	return math.Sqrt(last * high), true
}

// enclosed returns the highest rate that holds and the lowest above it that breaks; 0 and +Inf if there is none. A rate that
// breaks below one that holds is overruled: disturbances make a run slower and never faster.
func (s *Search) enclosed() (low, high float64) {
	high = math.Inf(1)
	for _, p := range s.points {
		if p.Verdict == Holds {
			low = max(low, p.Rate)
		}
	}
	for _, p := range s.points {
		if p.Verdict == Breaks && p.Rate > low {
			high = min(high, p.Rate)
		}
	}
	return low, high
}

// Add adds a run, at the rate of Next, or at any other rate to check the answer.
func (s *Search) Add(r Run) {
	s.total++
	i, found := slices.BinarySearchFunc(s.points, r.Rate, func(p *Point, rate float64) int {
		switch {
		case p.Rate < rate:
			return -1
		case p.Rate > rate:
			return 1
		}
		return 0
	})
	if !found {
		outermost := len(s.points) > 0 && (i == 0 || i == len(s.points))
		if outermost {
			s.steps++
		}
		s.points = slices.Insert(s.points, i, &Point{Rate: r.Rate})
	}
	p := s.points[i]
	_, high := s.enclosed()
	p.Votes = append(p.Votes, Judge(s.cfg.Objectives, r))
	p.Verdict = verdict(p.Votes, s.cfg.Runs)
	if p.Verdict == Holds && p.Rate > high {
		s.steps = 0 // the way up restarts here
	}
}

func verdict(votes []Vote, most int) Verdict {
	var sum Vote
	for _, v := range votes {
		sum += v
	}
	switch {
	case sum >= enough:
		return Holds
	case sum <= -enough:
		return Breaks
	case len(votes) >= most:
		return Unclear
	default:
		return Open
	}
}

// Points returns the tried rates, in order.
func (s *Search) Points() []Point {
	out := make([]Point, len(s.points))
	for i, p := range s.points {
		out[i] = Point{p.Rate, slices.Clone(p.Votes), p.Verdict}
	}
	return out
}

// Answer is what is known of the knee.
type Answer struct {
	// the highest rate seen to hold, in instances per second; 0 if none
	Holds float64
	// the lowest rate seen to break; +Inf if none
	Breaks float64
	// Breaks/Holds − 1; NaN if either is missing
	Tolerance float64
	Kind      AnswerKind
}

// AnswerKind is what is known of the knee.
type AnswerKind string

// The kinds of answers.
const (
	Found     AnswerKind = "found" // Holds and Breaks enclose it
	Never     AnswerKind = "never"
	Always    AnswerKind = "always"
	Undecided AnswerKind = "undecided" // the runs do not enclose it
)

// Answer returns what is known so far.
func (s *Search) Answer() Answer {
	a := Answer{Tolerance: math.NaN(), Kind: Undecided}
	a.Holds, a.Breaks = s.enclosed()
	switch {
	case a.Holds > 0 && !math.IsInf(a.Breaks, 1):
		a.Kind, a.Tolerance = Found, a.Breaks/a.Holds-1
	case a.Holds == 0 && a.Breaks <= s.cfg.Least:
		a.Kind = Never
	case a.Holds >= s.cfg.Most:
		a.Kind = Always
	}
	return a
}
