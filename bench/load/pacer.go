package load

import "time"

// Pacer decides which requests of a run are due. It never looks at a clock, and is not safe for concurrent use.
type Pacer struct {
	times    []time.Duration // intended; nil: the process is closed
	inFlight int             // at most, of an open process; exactly, of a closed one
	end      time.Duration   // of a closed process: nothing comes from here on
	most     int             // of a closed process: requests
	next     int             // the first request that was neither sent nor dropped
}

// Batch is what is due at one moment.
type Batch struct {
	First   int           // the number of its first request
	Count   int           // requests to send: First, First+1 …
	Dropped int           // further requests that are due and must not be sent, since too many are in flight
	Now     time.Duration // the moment
}

// NewPacer paces requests at times that do not decrease, with at most so many in flight, which is at least 1.
func NewPacer(times []time.Duration, inFlight int) *Pacer {
	return &Pacer{times: times, inFlight: max(inFlight, 1)}
}

// NewClosedPacer keeps so many requests in flight until the end, or until most of them have been sent. A request's intended
// time is the moment at which it is due.
func NewClosedPacer(inFlight int, end time.Duration, most int) *Pacer {
	return &Pacer{inFlight: max(inFlight, 1), end: end, most: most}
}

// Due gives the requests that are due now, while so many are in flight, and when to ask again at the latest. A closed
// process is also asked again whenever a request has ended. more is false when none will ever follow.
func (p *Pacer) Due(now time.Duration, inFlight int) (b Batch, again time.Duration, more bool) {
	b = Batch{First: p.next, Now: now}
	room := max(p.inFlight-inFlight, 0)
	if p.times == nil {
		if now >= p.end || p.next == p.most {
			return b, 0, false
		}
		b.Count = min(room, p.most-p.next)
		p.next += b.Count
		return b, p.end, true
	}
	for p.next < len(p.times) && p.times[p.next] <= now {
		if b.Count < room {
			b.Count++
		} else {
			b.Dropped++
		}
		p.next++
	}
	if p.next == len(p.times) {
		return b, 0, false
	}
	return b, p.times[p.next], true
}

// Handled is how many requests were sent or dropped.
func (p *Pacer) Handled() int { return p.next }

// Closed says that a request comes when another has ended.
func (p *Pacer) Closed() bool { return p.times == nil }
