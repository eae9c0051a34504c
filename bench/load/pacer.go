package load

import "time"

// Pacer decides which requests are due. It reads no clock, and is not safe for concurrent use.
type Pacer struct {
	times    []time.Duration // intended; nil: a closed process
	inFlight int             // at most in an open process; exactly in a closed one
	end      time.Duration   // end of a closed process' arrivals
	most     int             // requests of a closed process
	next     int             // the first request neither sent nor dropped
}

// Batch is what is due at one moment.
type Batch struct {
	First   int
	Count   int // requests to send: First, First+1 …
	Dropped int // further due requests, beyond the bound in flight
	Now     time.Duration
}

// NewPacer paces requests at non-decreasing times, with at most inFlight, and at least 1, in flight.
func NewPacer(times []time.Duration, inFlight int) *Pacer {
	return &Pacer{times: times, inFlight: max(inFlight, 1)}
}

// NewClosedPacer keeps inFlight requests in flight until the end, or until most have been sent. A request's intended time is
// when it is due.
func NewClosedPacer(inFlight int, end time.Duration, most int) *Pacer {
	return &Pacer{inFlight: max(inFlight, 1), end: end, most: most}
}

// Due returns the requests due now, given the number in flight, and the latest time to ask again. A closed process is also
// asked whenever a request has ended. more is false when no request will follow.
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

// Handled is the number of sent or dropped requests.
func (p *Pacer) Handled() int { return p.next }

// Closed reports whether a request arrives when another ends.
func (p *Pacer) Closed() bool { return p.times == nil }
