package load

import (
	"cmp"
	"time"

	"pulley/bench/stages"
	"pulley/reports/record"
)

// Request is the course of a request. Times are since the beginning of the run; zero: it did not happen.
type Request struct {
	Intended time.Duration
	Sent     time.Duration // to the system; zero: dropped
	Stored   time.Duration
	Ended    time.Duration
}

// latency counts from the intended time; never if the request did not end.
func (r *Request) latency() time.Duration {
	if r.Ended == 0 {
		return never
	}
	return r.Ended - r.Intended
}

// Run is a run's configuration and results.
type Run struct {
	Requests []Request // by intended time

	Closed  bool // requests arrive when others end, and so never too fast
	Steady  bool
	WarmUp  time.Duration // longest warm-up; exact without Auto
	Auto    bool          // the data determine the end of the warm-up
	End     time.Duration // of the arrivals and of the measured phase; more than WarmUp
	Drained time.Duration
	Span    time.Duration // of its intervals. Zero: by function Span

	// Asked is the intended end of the arrivals of an interrupted run; End is the actual one. Zero: not interrupted.
	Asked time.Duration

	Percentile float64                // judges the run; from 50 to 100
	Objectives []record.LoadObjective // without their values

	Pace  Pace
	Cores int
	CPU   *record.CPU // from the beginning to End; nil: unknown

	Stages *stages.Recorder // nil: not taken
	Waits  *Waits           // nil: not taken
	Wrong  []string         // wrong results and the like; each makes the run invalid

	Limits Limits
}

// Limits must be kept by a valid run. Shares are fractions of 1. Zero fields have the named defaults.
type Limits struct {
	RateError   float64       // of the offered rate. Zero: 0.005
	LagShare    float64       // generator lag relative to latency, both at the run's percentile. Zero: 0.1
	LagLeast    time.Duration // shorter lags are acceptable. Zero: 1 ms
	BusyShare   float64       // busy time of the generator's loop. Zero: 0.5
	OthersShare float64       // of the processors, used by other programs. Zero: 0.1
	DriftShare  float64       // drift of the median latency over the measured phase. Zero: 0.1
	GrowthShare float64       // growth of the backlog, relative to the measured arrivals. Zero: 0.05
	P           float64       // significance of a trend. Zero: 0.01
}

// LateAfter is the delay after which a request counts as sent late.
const LateAfter = time.Millisecond

func (l Limits) withDefaults() Limits {
	l.RateError = cmp.Or(l.RateError, 0.005)
	l.LagShare = cmp.Or(l.LagShare, 0.1)
	l.BusyShare = cmp.Or(l.BusyShare, 0.5)
	l.OthersShare = cmp.Or(l.OthersShare, 0.1)
	l.DriftShare = cmp.Or(l.DriftShare, 0.1)
	l.GrowthShare = cmp.Or(l.GrowthShare, 0.05)
	l.P = cmp.Or(l.P, 0.01)
	l.LagLeast = cmp.Or(l.LagLeast, time.Millisecond)
	return l
}

var spans = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second,
}

const (
	intervalsLeast = 10 // in the measured phase, down to intervals of a millisecond
	intervalsMax   = 600
)

// Span is the length of a run's intervals: a second, less if the measured phase would have fewer than ten, more if the run
// would have over 600.
func Span(measure, end time.Duration) time.Duration {
	if least := end / intervalsMax; least > time.Second {
		return least.Truncate(time.Second) + time.Second
	}
	span := spans[0]
	for _, s := range spans {
		if s <= measure/intervalsLeast {
			span = s
		}
	}
	return span
}
