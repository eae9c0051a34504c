package inspect_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/inspect"
	"pulley/engine/schedule"
)

func TestExplainSchedule(t *testing.T) {
	t.Parallel()
	stored := func(wake time.Time, st schedule.State) backend.StoredSchedule {
		return backend.StoredSchedule{Schedule: backend.Schedule{ID: uuid.MustParse("0b9e3a52-0d5b-7c64-9d5e-3f2f2f1f0a01"), Name: "nightly"}, State: st, Wake: wake}
	}
	broken := stored(soon, schedule.State{Next: soon})
	broken.Err = errors.New("its time zone is not known here")
	for _, c := range []struct {
		s      backend.StoredSchedule
		reason inspect.Reason
		want   string
	}{
		{stored(soon, schedule.State{Next: soon, Fired: 3}), inspect.Tick, "Schedule nightly waits for its tick of 2026-11-27 12:00:30 UTC; 3 ticks fired."},
		{stored(soon, schedule.State{Next: soon, Fired: 1, Skipped: 2, Refused: 1, Problem: "no object"}), inspect.Tick,
			"Schedule nightly waits for its tick of 2026-11-27 12:00:30 UTC; 1 tick fired, 2 did not, since the instance of an earlier one ran; the store refused 1 of them, the last with: no object."},
		{stored(time.Time{}, schedule.State{Next: soon, Paused: true}), inspect.Paused, "Schedule nightly is paused, and starts nothing until it is resumed: pulley schedule resume nightly."},
		{stored(then, schedule.State{Next: then}), inspect.Overdue, "Schedule nightly is overdue by 1m30s: no engine fires the schedules of this schema; start pulley work."},
		{stored(soon, schedule.State{Next: soon, Running: []time.Time{then}, Waiting: []time.Time{now, now}}), inspect.Overlap,
			"Schedule nightly waits for the end of instance " + schedule.FiringID(uuid.MustParse("0b9e3a52-0d5b-7c64-9d5e-3f2f2f1f0a01"), then).String() + ", of its tick of 2026-11-27 11:58:30 UTC, to fire 2 ticks."},
		{stored(time.Time{}, schedule.State{Fired: 12}), inspect.Exhausted, "Schedule nightly has no tick left, after 12 ticks that fired."},
		{broken, inspect.Unreadable, "Schedule nightly cannot be used here: its time zone is not known here."},
	} {
		got := inspect.ExplainSchedule(c.s, now)
		if got.Reason != c.reason || got.Sentence != c.want || got.Schedule != "nightly" || (got.Until != nil) != (!c.s.State.Next.IsZero() && !c.s.State.Paused) {
			t.Errorf("%+v, want %s: %s", got, c.reason, c.want)
		}
	}
}
