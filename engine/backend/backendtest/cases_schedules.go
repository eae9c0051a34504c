package backendtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/schedule"
)

var scheduleCases = []testCase{
	{name: "schedules are kept", run: schedulesAreKept},
	{name: "schedules are claimed once", run: schedulesAreClaimedOnce},
}

func (r *rig) schedules(b backend.Backend) backend.Scheduler {
	r.Helper()
	s, ok := b.(backend.Scheduler)
	if !ok {
		r.Fatal("the backend has no schedules")
	}
	return s
}

func (r *rig) newSchedule(name string, spec schedule.Spec) backend.Schedule {
	r.Helper()
	times, err := schedule.Compile(spec)
	if err != nil {
		r.Fatal(err)
	}
	w := Workflows()[0]
	return backend.Schedule{ID: uuid.New(), Name: name, Program: w.Program(r.T), Input: json.RawMessage(w.Input), Times: times}
}

// must fails the case on an error.
func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) wantSchedules(b backend.Scheduler, want ...string) []backend.StoredSchedule {
	r.Helper()
	all, now, err := b.Schedules(r.ctx)
	r.must(err)
	var got []string
	for _, s := range all {
		r.must(s.Err)
		got = append(got, s.Name)
	}
	if !slices.Equal(got, want) || now.IsZero() {
		r.Fatalf("at %v there are schedules %v, want %v", now, got, want)
	}
	return all
}

func schedulesAreKept(r *rig) {
	b := r.schedules(r.b)
	r.wantSchedules(b)
	daily := r.newSchedule("daily", schedule.Spec{Cron: "30 2 * * *", Zone: "Europe/Berlin", Jitter: time.Minute, Overlap: schedule.Cancel, CatchUp: schedule.All, CatchUpMax: 7})
	often := r.newSchedule("often", schedule.Spec{Every: 100 * time.Hour})
	r.must(b.AddSchedule(r.ctx, often, false))
	r.must(b.AddSchedule(r.ctx, daily, true))
	r.must(b.AddSchedule(r.ctx, daily, true)) // a repetition
	if err := b.AddSchedule(r.ctx, r.newSchedule("daily", schedule.Spec{Every: time.Hour}), false); !errors.Is(err, backend.ErrScheduleExists) {
		r.Errorf("a second schedule of the same name: %v", err)
	}
	again := r.schedules(r.reopen())
	all := r.wantSchedules(again, "daily", "often")
	got := all[0]
	if got.ID != daily.ID || got.Program.Hash() != daily.Program.Hash() || string(got.Input) != string(daily.Input) || got.Times.Spec() != daily.Times.Spec() || !got.State.Paused || !got.Wake.IsZero() {
		r.Errorf("daily was stored as %+v", got)
	}
	if all[1].State.Paused || !all[1].Wake.Equal(all[1].State.Next) {
		r.Errorf("often is due at %v, and its state is %+v", all[1].Wake, all[1].State)
	}
	tick := time.Date(2026, 3, 29, 1, 30, 0, 123_456_789, time.UTC)
	state := schedule.State{Next: tick, Start: []time.Time{tick, tick.Add(1)}, Running: []time.Time{tick}, Waiting: []time.Time{tick.Add(2)}, Cancel: []time.Time{tick}, Fired: 3, Skipped: 2, Problem: "none"}
	saves := []backend.ScheduleSave{
		{ID: got.ID, Version: got.Version, State: state, Wake: tick}, {ID: uuid.New(), Version: 1}, {ID: all[1].ID, Version: all[1].Version + 1, State: state},
	}
	saved, err := b.SaveSchedules(r.ctx, saves)
	r.must(err)
	if !slices.Equal(saved, []bool{true, false, false}) {
		r.Errorf("a current version, an unknown schedule and a wrong version: saved are %v", saved)
	}
	after, _, err := again.Schedules(r.ctx, "daily", "unknown")
	r.must(err)
	if len(after) != 1 || after[0].Version != got.Version+1 || fmt.Sprintf("%+v", after[0].State) != fmt.Sprintf("%+v", state) || after[0].Wake.Sub(tick).Abs() > time.Microsecond || after[0].Wake.Before(tick) {
		r.Errorf("the state\n%+v was read as\n%+v", state, after)
	}
	for i, want := range []bool{true, false} {
		if removed, err := b.RemoveSchedule(r.ctx, "daily"); err != nil || removed != want {
			r.Errorf("removal %d: %t, %v", i, removed, err)
		}
	}
	r.wantSchedules(b, "often")
}

// Several backends claim due schedules concurrently; each is claimed once, and claimed again when its lease ends.
func schedulesAreClaimedOnce(r *rig) {
	b := r.schedules(r.b)
	const n = 30
	for i := range n {
		r.must(b.AddSchedule(r.ctx, r.newSchedule(fmt.Sprintf("s%02d", i), schedule.Spec{Every: schedule.EveryMin}), false))
	}
	r.waitUntilDue(b, n)
	claims := make([]map[uuid.UUID]int64, 3)
	var group sync.WaitGroup
	for i := range claims {
		other := r.schedules(r.reopen())
		claims[i] = map[uuid.UUID]int64{}
		group.Go(func() {
			for range n {
				got, err := other.ClaimSchedules(r.ctx, 4, longLease)
				if err != nil {
					r.Error(err)
					return
				}
				if len(got.Schedules) > 4 {
					r.Errorf("%d schedules were claimed, at most 4 may", len(got.Schedules))
				}
				for _, s := range got.Schedules {
					if s.Wake.After(got.Now) {
						r.Errorf("a schedule that is due at %v was claimed at %v", s.Wake, got.Now)
					}
					claims[i][s.ID] = s.Version
				}
			}
		})
	}
	group.Wait()
	total := map[uuid.UUID]int64{}
	for _, mine := range claims {
		for id, version := range mine {
			if _, twice := total[id]; twice {
				r.Errorf("schedule %s was claimed twice", id)
			}
			total[id] = version
		}
	}
	if len(total) != n {
		r.Fatalf("%d of %d due schedules were claimed", len(total), n)
	}
	r.fenced(b, total)
}

// fenced saves a claimed schedule as due, claims it again, and shows that the first claim can save no more.
func (r *rig) fenced(b backend.Scheduler, claimed map[uuid.UUID]int64) {
	for id, version := range claimed {
		_, now, err := b.Schedules(r.ctx)
		r.must(err)
		first := backend.ScheduleSave{ID: id, Version: version, Wake: now.Add(-time.Second)}
		saved, err := b.SaveSchedules(r.ctx, []backend.ScheduleSave{first})
		if err != nil || !saved[0] {
			r.Fatalf("a claimed schedule cannot be saved: %v, %v", saved, err)
		}
		got, err := b.ClaimSchedules(r.ctx, len(claimed), longLease)
		if err != nil || len(got.Schedules) != 1 || got.Schedules[0].ID != id || got.Schedules[0].Version != version+2 {
			r.Fatalf("a schedule that became due again: %+v, %v", got.Schedules, err)
		}
		if !got.NextDue.After(got.Now) {
			r.Errorf("all are claimed, and the next is due at %v, before %v", got.NextDue, got.Now)
		}
		first.Version++
		if saved, err := b.SaveSchedules(r.ctx, []backend.ScheduleSave{first}); err != nil || saved[0] {
			r.Errorf("a claim that was overtaken saved: %v, %v", saved, err)
		}
		return
	}
}

func (r *rig) waitUntilDue(b backend.Scheduler, n int) {
	r.Helper()
	for ; r.ctx.Err() == nil; pause(r.ctx, 10*time.Millisecond, r.Advance) {
		all, now, err := b.Schedules(r.ctx)
		r.must(err)
		due := 0
		for _, s := range all {
			if !s.Wake.After(now) {
				due++
			}
		}
		if due == n {
			return
		}
	}
	r.Fatal("schedules do not become due")
}
