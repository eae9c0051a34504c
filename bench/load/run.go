package load

import (
	"cmp"
	"time"

	"pulley/bench/stages"
	"pulley/reports/record"
)

// Request is what became of a request. Times are since the beginning of the run; zero says that it did not happen.
type Request struct {
	Intended time.Duration
	Sent     time.Duration // when it was handed to the system; zero: it was dropped
	Stored   time.Duration // when the system had taken it
	Ended    time.Duration // when its result was there
}

// latency counts from the intended time; it is never where the request did not end.
func (r *Request) latency() time.Duration {
	if r.Ended == 0 {
		return never
	}
	return r.Ended - r.Intended
}

// Run is what a run was asked to do, and what it did.
type Run struct {
	Requests []Request // in the order of their intended times

	Closed  bool          // requests come when others end, so that they cannot come too fast
	Steady  bool          // the arrivals' rate does not change
	WarmUp  time.Duration // its longest time, or its time
	Auto    bool          // it ends when the run shows that it has
	End     time.Duration // of the arrivals and of the measured phase; more than WarmUp
	Drained time.Duration // the end of the run
	Span    time.Duration // of its intervals. Zero: what Span says of its phases

	// Asked is where the arrivals should have ended, if the run was interrupted before it was over; End is where they did. Zero: it was not.
	Asked time.Duration

	Percentile float64                // by which the run is judged, from 50 to 100
	Objectives []record.LoadObjective // without their values

	Pace  Pace
	Cores int         // of the machine, as far as the program may use them
	CPU   *record.CPU // from the beginning to End; nil: not known

	Stages *stages.Recorder // nil: not taken
	Wrong  []string         // results that are wrong, and the like; each makes the run invalid

	Limits Limits
}

// Limits are what a run must keep in order to be valid. Shares are parts of 1. Zero fields have the defaults that are named.
type Limits struct {
	RateError   float64       // of the offered rate. Zero: 0.005
	LagShare    float64       // of the latency at the run's percentile, that the generator's lag may be at the same percentile. Zero: 0.1
	LagLeast    time.Duration // a shorter lag is never too long. Zero: 1 ms
	BusyShare   float64       // of the time, that the generator's loop may be busy. Zero: 0.5
	OthersShare float64       // of the machine's processors, that other programs may use. Zero: 0.1
	DriftShare  float64       // by which the median latency may drift from one end of the measured phase to the other. Zero: 0.1
	GrowthShare float64       // of the arrivals in the measured phase, by which the backlog may grow. Zero: 0.05
	P           float64       // the probability at which a trend is taken for one. Zero: 0.01
}

// LateAfter is how long after its intended time a request is sent late.
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

// spans are the lengths that intervals have.
var spans = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second,
}

// What bounds the intervals of a run.
const (
	intervalsLeast = 10 // in the measured phase, where a millisecond is short enough for that
	intervalsMax   = 600
)

// Span is the length of the intervals of a run: a second, less where the measured phase would have fewer than ten, and more
// where the run would have more than 600.
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
