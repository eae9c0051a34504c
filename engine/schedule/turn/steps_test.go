package turn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/schedule"
	"pulley/engine/schedule/turn"
)

// stubborn answers every start with an error, and every cancel.
type stubborn struct {
	*world
	err error
}

func (s stubborn) Start(_ context.Context, firings []turn.Firing) []error {
	errs := make([]error, len(firings))
	for i := range errs {
		errs[i] = s.err
	}
	return errs
}

func (s stubborn) Cancel(context.Context, []uuid.UUID) error { return s.err }

func take(t *testing.T, cfg turn.Config) (*turn.Turn, error) {
	t.Helper()
	one := turn.New(cfg)
	var errs []error
	for over := false; !over; {
		var err error
		over, err = one.Step(t.Context())
		errs = append(errs, err)
	}
	return one, errors.Join(errs...)
}

// A firing that the store refuses is counted and dropped; one that fails stays, and is tried again after a pause.
func TestRefusedAndFailedStarts(t *testing.T) {
	begin := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	w := newWorld(t, 1, begin)
	s := w.add("often", schedule.Spec{Every: time.Minute, Overlap: schedule.Cancel})
	cfg := func(instances turn.Instances) turn.Config {
		return turn.Config{Store: w.store, Instances: instances, Schedules: 10, Ticks: 10, Lease: lease, RetryPause: time.Second}
	}
	w.now = begin.Add(time.Minute)
	if _, err := take(t, cfg(stubborn{w, turn.Refuse(errors.New("its input is no object"))})); err == nil || !strings.Contains(err.Error(), "schedule often, tick 2026-05-01T00:01:00Z: its input is no object") {
		t.Errorf("a refusal was reported as %v", err)
	}
	st := w.states()[s.ID]
	if st.Refused != 1 || len(st.Start) != 0 || !strings.Contains(st.Problem, "no object") {
		t.Errorf("after a refusal the state is %+v", st)
	}

	w.now = begin.Add(2 * time.Minute)
	failed := errors.New("the server is away")
	one, err := take(t, cfg(stubborn{w, failed}))
	if !errors.Is(err, failed) || one.Pause(time.Hour) != time.Second {
		t.Errorf("a failed start was reported as %v, and is tried again after %v", err, one.Pause(time.Hour))
	}
	if st = w.states()[s.ID]; len(st.Start) != 1 || len(w.instances) != 0 {
		t.Fatalf("after a failed start the state is %+v", st)
	}
	w.now = w.now.Add(time.Second)
	if _, err := take(t, cfg(w)); err != nil {
		t.Error(err)
	}
	if st = w.states()[s.ID]; len(st.Start) != 0 || len(w.instances) != 1 || st.Fired != 2 {
		t.Errorf("after the second try there are %d instances, and the state is %+v", len(w.instances), st)
	}

	// An instance whose predecessor cannot be canceled does not start.
	w.lasts = func(turn.Firing) time.Duration { return time.Hour }
	for _, minute := range []time.Duration{3, 4} {
		w.now = begin.Add(minute * time.Minute)
		instances := turn.Instances(w)
		if minute == 4 {
			instances = stubborn{w, failed}
		}
		_, err = take(t, cfg(instances))
	}
	if st = w.states()[s.ID]; !errors.Is(err, failed) || len(st.Cancel) != 1 || len(st.Start) != 1 || len(w.instances) != 2 {
		t.Errorf("after a failed cancel (%v) there are %d instances, and the state is %+v", err, len(w.instances), st)
	}
}

// strange is a store with a schedule that this process cannot read.
type strange struct{ backend.Scheduler }

func (s strange) ClaimSchedules(ctx context.Context, most int, lease time.Duration) (backend.ClaimedSchedules, error) {
	out, err := s.Scheduler.ClaimSchedules(ctx, most, lease)
	for i := range out.Schedules {
		if out.Schedules[i].Name == "strange" {
			out.Schedules[i].Err, out.Schedules[i].Times = errors.New("schedule strange: a later version"), nil
		}
	}
	return out, err
}

func TestUnreadableSchedulesAreLeft(t *testing.T) {
	begin := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	w := newWorld(t, 1, begin)
	w.add("strange", schedule.Spec{Every: time.Minute})
	w.add("plain", schedule.Spec{Every: time.Minute})
	w.now = begin.Add(time.Minute)
	cfg := turn.Config{Store: strange{w.store}, Instances: w, Schedules: 10, Ticks: 10, Lease: lease, RetryPause: time.Second}
	one, err := take(t, cfg)
	if err == nil || err.Error() != "schedule strange: a later version" || len(w.instances) != 1 {
		t.Errorf("%v, and %d instances; want 1", err, len(w.instances))
	}
	if pause := one.Pause(time.Hour); pause != lease {
		t.Errorf("the next turn begins after %v, want the lease", pause)
	}
}
