package inspect_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/inspect"
	"pulley/engine/ir"
	"pulley/engine/limit"
	"pulley/engine/plan"
	"pulley/engine/schedule"
)

func TestExplainSchedule(t *testing.T) {
	t.Parallel()
	stored := func(wake time.Time, st schedule.State) backend.StoredSchedule {
		return backend.StoredSchedule{Schedule: backend.Schedule{ID: uuid.MustParse("0b9e3a52-0d5b-7c64-9d5e-3f2f2f1f0a01"), Name: "nightly"}, State: st, Wake: wake}
	}
	broken := stored(soon, schedule.State{Next: soon})
	broken.Err = errors.New("its time zone is not known here")
	program, err := plan.CompileText("flows/nightly.ir", []byte("fn main(input: [], output: [x]):\n    x = 1\n"), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	held, free := stored(soon, schedule.State{Next: soon, Start: []time.Time{then}}), stored(soon, schedule.State{Next: soon, Fired: 2, Start: []time.Time{then}})
	held.Program = program
	limits := []backend.StoredLimit{
		{Limit: limit.Limit{Name: "other", Instances: 1, Workflows: []string{"other.ir"}}, State: limit.State{Admitted: 1}},
		{Limit: limit.Limit{Name: "roomy", Instances: 3}, State: limit.State{Admitted: 2}},
		{Limit: limit.Limit{Name: "backlog", Instances: 2, Workflows: []string{"nightly.ir"}}, State: limit.State{Admitted: 2}},
	}
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
		{held, inspect.Full, "Schedule nightly waits for a place under limit backlog, which is full, to start the instance of its tick of 2026-11-27 11:58:30 UTC."},
		{free, inspect.Tick, "Schedule nightly waits for its tick of 2026-11-27 12:00:30 UTC; 2 ticks fired."},
		{broken, inspect.Unreadable, "Schedule nightly cannot be used here: its time zone is not known here."},
	} {
		got := inspect.ExplainSchedule(c.s, limits, now)
		if got.Reason != c.reason || got.Sentence != c.want || got.Schedule != "nightly" || (got.Until != nil) != (!c.s.State.Next.IsZero() && !c.s.State.Paused) {
			t.Errorf("%+v, want %s: %s", got, c.reason, c.want)
		}
	}
}

func TestExplainLimit(t *testing.T) {
	t.Parallel()
	shares := []limit.Share{{Engine: "a", Permits: 2, Waiting: 3, Until: soon}, {Engine: "b", Permits: 1, Until: soon}, {Engine: "killed", Permits: 9, Waiting: 9, Until: then}}
	for _, c := range []struct {
		l      limit.Limit
		st     limit.State
		reason inspect.Reason
		want   string
	}{
		{limit.Limit{Name: "backlog", Instances: 1000}, limit.State{Admitted: 412}, inspect.Free, "Limit backlog has 412 of 1000 instances."},
		{limit.Limit{Name: "backlog", Instances: 1000}, limit.State{Admitted: 1000}, inspect.Full, "Limit backlog has given all of its 1000 places away: what is submitted waits or is refused, unless an instance with a place has ended by then."},
		{limit.Limit{Name: "charge", Concurrency: 7}, limit.State{Engines: shares}, inspect.Full, "Limit charge is used by 2 engines, with 3 tasks ready that may not start yet, and 3 of 7 permits."},
		{limit.Limit{Name: "sends", Rate: limit.Rate{Starts: 1, Per: time.Second}}, limit.State{}, inspect.Free, "Limit sends is used by 0 engines, with 0 tasks ready that may not start yet."},
	} {
		if got := inspect.ExplainLimit(backend.StoredLimit{Limit: c.l, State: c.st}, now); got.Reason != c.reason || got.Sentence != c.want || got.Limit != c.l.Name {
			t.Errorf("%+v, want %s: %s", got, c.reason, c.want)
		}
	}
}
