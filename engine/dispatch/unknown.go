package dispatch

import (
	"errors"
	"fmt"
	"time"

	"pulley/engine/backend"
)

// ErrActionElsewhere is why a task is returned: this engine does not have its action.
var ErrActionElsewhere = errors.New("this engine does not have the action")

// unknownAction is an action that this engine does not have, and some task needs.
type unknownAction struct {
	since, last, reported time.Time
}

// A task of an unknown action comes back after a quarter of the time for which such tasks have been coming, within these bounds: soon
// while engines of two versions are there, and seldom if none has the action.
const (
	unknownPart      = 4
	unknownPauseMin  = 250 * time.Millisecond
	unknownPauseMax  = 15 * time.Second
	unknownForgotten = time.Minute
	unknownReports   = time.Minute // between two reports of an action
	unknownKept      = 1000
)

// leave returns a task to the store for engines that have its action.
func (m *Machine) leave(now time.Time, s *shard, t *backend.Task) {
	u := m.unknown[t.Action]
	if u == nil || now.Sub(u.last) > unknownForgotten {
		if u == nil && len(m.unknown) >= unknownKept {
			clear(m.unknown)
		}
		u = &unknownAction{since: now}
		m.unknown[t.Action] = u
	}
	u.last = now
	pause := min(max(now.Sub(u.since)/unknownPart, unknownPauseMin), unknownPauseMax)
	s.returning = append(s.returning, returningLease{t.Lease, now.Add(pause)})
	if u.reported.IsZero() || now.Sub(u.reported) >= unknownReports {
		u.reported = now
		m.report(fmt.Errorf("%s: %w; it is left to engines that have it, and offered again in %v", describe(*t), ErrActionElsewhere, pause.Round(10*time.Millisecond)))
	}
}
