package load

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"pulley/reports/record"
)

// Analyze computes a run's record and its validity, except for the description of the run: scenario, backend, size, nodes,
// arrivals, seed, workers, engines and bounds.
func Analyze(r Run) *record.Load {
	r.Limits = r.Limits.withDefaults()
	a := &analysis{Run: r, out: &record.Load{
		Findings: []record.LoadFinding{}, Notes: []string{}, Stages: []record.LoadStage{}, Objectives: slices.Clone(r.Objectives), CPU: r.CPU,
	}}
	a.phases()
	a.counts()
	a.latencies()
	a.intervals()
	a.pace()
	a.judge()
	return a.out
}

type analysis struct {
	Run
	from     time.Duration
	measured []Request
	latency  []time.Duration
	lag      spread // generator's, over the sent measured requests
	out      *record.Load
}

func (a *analysis) phases() {
	p := &a.out.Phases
	a.from, p.Settled = a.WarmUp, true
	if a.Auto {
		a.from, p.Settled = a.steadyPart()
		p.Detected = true
	}
	p.WarmUpNS, p.MeasureNS, p.DrainNS = int64(a.from), int64(a.End), int64(a.Drained)
	p.LongestNS, p.SpanNS = int64(a.WarmUp), int64(cmp.Or(a.Span, Span(a.End-a.WarmUp, a.End)))
	first := sort.Search(len(a.Requests), func(i int) bool { return a.Requests[i].Intended >= a.from })
	a.measured = a.Requests[first:]
}

// Without an end, the warm-up is the longest.
func (a *analysis) steadyPart() (from time.Duration, ok bool) {
	var latencies, intended []time.Duration
	for i := range a.Requests {
		if r := &a.Requests[i]; r.Ended > 0 {
			latencies, intended = append(latencies, r.latency()), append(intended, r.Intended)
		}
	}
	first, ok := WarmUpEnd(latencies)
	if len(intended) == 0 || !ok || intended[first] > a.WarmUp {
		return a.WarmUp, false
	}
	if first == 0 {
		return 0, true
	}
	return intended[first], true
}

func (a *analysis) counts() {
	count := func(requests []Request) (c record.LoadCounts) {
		for i := range requests {
			r := &requests[i]
			c.Intended++
			switch {
			case r.Sent == 0:
				c.Dropped++
				continue
			case r.Ended == 0:
				c.Unfinished++
			default:
				c.Ended++
			}
			c.Sent++
			if r.Sent-r.Intended > LateAfter {
				c.Late++
			}
		}
		return c
	}
	o := a.out
	o.Whole, o.Measured = count(a.Requests), count(a.measured)
	seconds := (a.End - a.from).Seconds()
	offered, achieved := 0, 0
	for i := range a.Requests {
		r := &a.Requests[i]
		if r.Sent >= a.from && r.Sent < a.End && r.Sent > 0 {
			offered++
		}
		if r.Ended >= a.from && r.Ended < a.End && r.Ended > 0 {
			achieved++
		}
	}
	o.AskedPerS, o.OfferedPerS, o.AchievedPerS = float64(o.Measured.Intended)/seconds, float64(offered)/seconds, float64(achieved)/seconds
}

func (a *analysis) latencies() {
	var service, lag []time.Duration
	ended := 0
	for i := range a.measured {
		r := &a.measured[i]
		a.latency = append(a.latency, r.latency())
		if r.Ended > 0 {
			ended++
			service = append(service, r.Ended-r.Sent)
		}
		if r.Sent > 0 {
			lag = append(lag, r.Sent-r.Intended)
		}
	}
	o := a.out
	known := slices.DeleteFunc(slices.Clone(a.latency), func(t time.Duration) bool { return t == never })
	all := newSpread(known, len(a.latency)-ended)
	o.LatencyNS = all.times()
	o.Latencies = record.NewDistribution(record.FineBits, nanoseconds(known), int64(len(a.latency)-ended))
	o.ServiceNS = newSpread(service, o.Measured.Unfinished).times()
	a.lag = newSpread(lag, 0)
	o.LagNS = a.lag.times()
	o.Asked = percentileOf(a.latency, a.Percentile)
	for i := range o.Objectives {
		b := &o.Objectives[i]
		b.ValueNS = all.at(b.Percentile / 100)
		b.Held = b.ValueNS != nil && *b.ValueNS <= b.MostNS
		b.Windows = a.windows(time.Duration(b.MostNS))
	}
}

func nanoseconds(list []time.Duration) []int64 {
	out := make([]int64, len(list))
	for i, t := range list {
		out[i] = int64(t)
	}
	return out
}

const windowsOfObjective = 10

func (a *analysis) windows(most time.Duration) []record.LoadWindow {
	out := make([]record.LoadWindow, windowsOfObjective)
	for i := range a.measured {
		at := int(windowsOfObjective * float64(a.measured[i].Intended-a.from) / float64(a.End-a.from))
		w := &out[min(max(at, 0), windowsOfObjective-1)]
		w.Count++
		if a.latency[i] > most {
			w.Above++
		}
	}
	return out
}

func (a *analysis) intervals() {
	span := time.Duration(a.out.Phases.SpanNS)
	n := int((a.End + span - 1) / span)
	list := make([]record.LoadInterval, n)
	latencies := make([][]time.Duration, n)
	unknown := make([]int, n)
	of := func(t time.Duration) *record.LoadInterval {
		if i := int(t / span); i < n {
			return &list[i]
		}
		return &record.LoadInterval{}
	}
	for i := range a.Requests {
		r := &a.Requests[i]
		if at := int(r.Intended / span); at < n {
			if r.Ended > 0 {
				latencies[at] = append(latencies[at], r.latency())
			} else {
				unknown[at]++
			}
		}
		of(r.Intended).Intended++
		switch {
		case r.Sent == 0:
			of(r.Intended).Dropped++
			continue
		case r.Ended > 0:
			of(r.Ended).Achieved++
		}
		of(r.Sent).Offered++
	}
	backlog := 0
	for i := range list {
		v := &list[i]
		from := time.Duration(i) * span
		v.FromNS, v.ToNS, v.Measured = int64(from), int64(min(from+span, a.End)), from >= a.from
		backlog += v.Intended - v.Dropped - v.Achieved
		v.Backlog = backlog
		s := newSpread(latencies[i], unknown[i])
		if s.count > 0 {
			v.P50NS, v.P99NS = s.at(.5), s.at(.99)
		}
		v.Latencies = record.NewDistribution(record.CoarseBits, nanoseconds(latencies[i]), int64(unknown[i]))
	}
	a.out.Intervals = list
	a.fillStages()
	a.fillWaits()
}

// lastPart is the final fraction of requests that shows the generator's lag at the end.
const lastPart = 20

func (a *analysis) pace() {
	p := &a.out.Pace
	if a.Pace.Whole > 0 {
		p.BusyShare = float64(a.Pace.Busy) / float64(a.Pace.Whole)
	}
	if a.Closed || len(a.Requests) == 0 {
		return
	}
	last := a.Requests[len(a.Requests)-max(len(a.Requests)/lastPart, 1):]
	lags := make([]time.Duration, 0, len(last))
	for i := range last {
		lags = append(lags, max(last[i].Sent-last[i].Intended, 0)) // a dropped one has none
	}
	slices.Sort(lags)
	if whole := last[len(last)-1].Intended; whole > 0 {
		p.RateError = float64(lags[len(lags)/2]) / float64(whole)
	}
}
