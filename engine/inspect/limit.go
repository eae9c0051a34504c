package inspect

import (
	"fmt"
	"time"

	"pulley/engine/backend"
	"pulley/internal/plural"
)

// The reasons of a limit.
const (
	Full Reason = "full" // of a limit, or of a schedule: a limit of instances has no place
	Free Reason = "free" // a limit has room
)

// LimitExplanation says what waits for a limit.
type LimitExplanation struct {
	Limit    string `json:"limit"`
	Reason   Reason `json:"reason"`
	Sentence string `json:"sentence"`
}

// ExplainLimit says how much of a limit is used at a time of the store. Of the instances that it has, some may have ended, which is
// noticed when places are short.
func ExplainLimit(l backend.StoredLimit, now time.Time) LimitExplanation {
	e := LimitExplanation{Limit: l.Name, Reason: Free}
	if l.BoundsInstances() {
		e.Sentence = fmt.Sprintf("Limit %s has %d of %s.", l.Name, l.State.Admitted, plural.Of(l.Instances, "instance"))
		if IsFull(l) {
			e.Reason = Full
			e.Sentence = fmt.Sprintf("Limit %s has given all of its %s away: what is submitted waits or is refused, unless an instance with a place has ended by then.", l.Name, plural.Of(l.Instances, "place"))
		}
		return e
	}
	shares := l.State.Current(now)
	permits, waiting := 0, 0
	for _, s := range shares {
		permits, waiting = permits+s.Permits, waiting+s.Waiting
	}
	if waiting > 0 {
		e.Reason = Full
	}
	e.Sentence = fmt.Sprintf("Limit %s is used by %s, with %s ready that may not start yet", l.Name, plural.Of(len(shares), "engine"), plural.Of(waiting, "task"))
	if l.Concurrency > 0 {
		e.Sentence += fmt.Sprintf(", and %d of %s", permits, plural.Of(l.Concurrency, "permit"))
	}
	e.Sentence += "."
	return e
}

// IsFull reports whether a limit of instances has no place, as far as was noticed.
func IsFull(l backend.StoredLimit) bool {
	return l.BoundsInstances() && l.State.Admitted >= l.Instances
}
