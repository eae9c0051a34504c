package inspect

import (
	"fmt"
	"time"

	"pulley/engine/backend"
	"pulley/engine/schedule"
	"pulley/internal/plural"
)

// The reasons of a schedule. Of several, the first holds.
const (
	Unreadable Reason = "unreadable" // this process cannot use it
	Paused     Reason = "paused"     // it was paused, and was not resumed
	Overlap    Reason = "overlap"    // ticks wait for the end of an earlier one's instance
	Exhausted  Reason = "exhausted"  // it has no tick left
	Overdue    Reason = "overdue"    // no engine fires the schedules of the store
	Tick       Reason = "tick"       // its next tick is not due
)

// ScheduleExplanation says what a schedule waits for.
type ScheduleExplanation struct {
	Schedule string     `json:"schedule"`
	Reason   Reason     `json:"reason"`
	Sentence string     `json:"sentence"`
	Until    *time.Time `json:"until,omitempty"` // the next tick
	Detail   string     `json:"detail,omitempty"`
}

// OverdueAfter is how late a schedule is if nobody seems to fire it.
const OverdueAfter = 15 * time.Second

// fullOf returns the name of a full limit that bounds a schedule's instances; empty: there is none.
func fullOf(s backend.StoredSchedule, limits []backend.StoredLimit) string {
	for _, l := range limits {
		if s.Program != nil && l.Covers(s.Program.Workflow()) && IsFull(l) {
			return l.Name
		}
	}
	return ""
}

// ExplainSchedule finds what a schedule waits for at a time of the store, with the store's limits.
func ExplainSchedule(s backend.StoredSchedule, limits []backend.StoredLimit, now time.Time) ScheduleExplanation {
	e := ScheduleExplanation{Schedule: s.Name}
	say := func(reason Reason, format string, args ...any) ScheduleExplanation {
		e.Reason, e.Sentence = reason, "Schedule "+s.Name+" "+fmt.Sprintf(format, args...)+"."
		return e
	}
	st := s.State
	if !st.Next.IsZero() && !st.Paused {
		e.Until = &st.Next
	}
	switch {
	case s.Err != nil:
		e.Detail = s.Err.Error()
		return say(Unreadable, "cannot be used here: %v", s.Err)
	case st.Paused:
		return say(Paused, "is paused, and starts nothing until it is resumed: pulley schedule resume %s", s.Name)
	case !s.Wake.IsZero() && now.Sub(s.Wake) > OverdueAfter:
		return say(Overdue, "is overdue by %s: no engine fires the schedules of this schema; start pulley work", Pause(now.Sub(s.Wake)))
	case len(st.Waiting) > 0 && len(st.Running) > 0:
		id := schedule.FiringID(s.ID, st.Running[0])
		e.Detail = id.String()
		return say(Overlap, "waits for the end of instance %s, of its tick of %s, to fire %s", id, Moment(st.Running[0]), plural.Of(len(st.Waiting), "tick"))
	case len(st.Start) > 0 && fullOf(s, limits) != "":
		e.Detail = fullOf(s, limits)
		return say(Full, "waits for a place under limit %s, which is full, to start the instance of its tick of %s", e.Detail, Moment(st.Start[0]))
	case st.Next.IsZero():
		return say(Exhausted, "has no tick left, after %s that fired", plural.Of(int(st.Fired), "tick"))
	}
	text := fmt.Sprintf("waits for its tick of %s; %s fired", Moment(st.Next), plural.Of(int(st.Fired), "tick"))
	if st.Skipped > 0 {
		text += fmt.Sprintf(", %d did not, since the instance of an earlier one ran", st.Skipped)
	}
	if st.Refused > 0 {
		e.Detail = st.Problem
		text += fmt.Sprintf("; the store refused %d of them, the last with: %s", st.Refused, st.Problem)
	}
	return say(Tick, "%s", text)
}
