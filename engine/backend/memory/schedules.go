package memory

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/schedule"
)

// schedules are stored by id; due has those that are due at some time.
type schedules struct {
	byID   map[uuid.UUID]*storedSchedule
	byName map[string]*storedSchedule
	due    dueHeap
}

type storedSchedule struct {
	backend.StoredSchedule
	place int // in due; -1: in none
}

var _ backend.Scheduler = (*Backend)(nil)

// withSchedules calls body with the store locked. Calls of schedules pass no crash points: each is one change.
func (b *Backend) withSchedules(ctx context.Context, what string, body func(s *schedules, now time.Time) error) error {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	err := b.usable(ctx)
	if err == nil {
		err = body(&b.store.schedules, b.clock())
	}
	if err != nil {
		return fmt.Errorf("memory: %s: %w", what, err)
	}
	return nil
}

// AddSchedule implements backend.Scheduler.
func (b *Backend) AddSchedule(ctx context.Context, s backend.Schedule, paused bool) error {
	return b.withSchedules(ctx, "add a schedule", func(all *schedules, now time.Time) error {
		if other, ok := all.byName[s.Name]; ok {
			if other.ID == s.ID {
				return nil
			}
			return backend.ErrScheduleExists
		}
		if all.byID == nil {
			all.byID, all.byName = map[uuid.UUID]*storedSchedule{}, map[string]*storedSchedule{}
		}
		s.Input = bytes.Clone(s.Input)
		st := s.Times.Begin(now)
		if paused {
			st = s.Times.Pause(st)
		}
		one := &storedSchedule{StoredSchedule: backend.StoredSchedule{Schedule: s, State: st, Version: 1}, place: -1}
		all.byID[s.ID], all.byName[s.Name] = one, one
		all.wake(one, s.Times.Wake(s.ID, st, now))
		return nil
	})
}

// Schedules implements backend.Scheduler.
func (b *Backend) Schedules(ctx context.Context, names ...string) (found []backend.StoredSchedule, now time.Time, err error) {
	err = b.withSchedules(ctx, "read schedules", func(all *schedules, at time.Time) error {
		now = at
		for name, one := range all.byName {
			if len(names) == 0 || slices.Contains(names, name) {
				found = append(found, one.copied())
			}
		}
		slices.SortFunc(found, func(a, b backend.StoredSchedule) int { return cmp.Compare(a.Name, b.Name) })
		return nil
	})
	return found, now, err
}

// RemoveSchedule implements backend.Scheduler.
func (b *Backend) RemoveSchedule(ctx context.Context, name string) (removed bool, err error) {
	err = b.withSchedules(ctx, "remove a schedule", func(all *schedules, _ time.Time) error {
		one, ok := all.byName[name]
		if ok {
			all.wake(one, time.Time{})
			delete(all.byName, name)
			delete(all.byID, one.ID)
		}
		removed = ok
		return nil
	})
	return removed, err
}

// ClaimSchedules implements backend.Scheduler.
func (b *Backend) ClaimSchedules(ctx context.Context, most int, lease time.Duration) (out backend.ClaimedSchedules, err error) {
	err = b.withSchedules(ctx, "claim schedules", func(all *schedules, now time.Time) error {
		out.Now = now
		for len(out.Schedules) < most && len(all.due) > 0 && !all.due[0].Wake.After(now) {
			one := all.due[0]
			wake := one.Wake
			one.Version++
			all.wake(one, now.Add(lease))
			claimed := one.copied()
			claimed.Wake = wake
			out.Schedules = append(out.Schedules, claimed)
		}
		if len(all.due) > 0 {
			out.NextDue = all.due[0].Wake
		}
		return nil
	})
	return out, err
}

// SaveSchedules implements backend.Scheduler.
func (b *Backend) SaveSchedules(ctx context.Context, saves []backend.ScheduleSave) (saved []bool, err error) {
	err = b.withSchedules(ctx, "save schedules", func(all *schedules, _ time.Time) error {
		saved = make([]bool, len(saves))
		for i, save := range saves {
			one, ok := all.byID[save.ID]
			if !ok || one.Version != save.Version {
				continue
			}
			one.Version++
			one.State = cloneState(save.State)
			all.wake(one, save.Wake)
			saved[i] = true
		}
		return nil
	})
	return saved, err
}

func (o *storedSchedule) copied() backend.StoredSchedule {
	c := o.StoredSchedule
	c.Input, c.State = bytes.Clone(c.Input), cloneState(c.State)
	return c
}

func cloneState(st schedule.State) schedule.State {
	for _, list := range []*[]time.Time{&st.Start, &st.Cancel, &st.Running, &st.Waiting} {
		*list = slices.Clone(*list)
	}
	return st
}

// wake sets when a schedule is due.
func (s *schedules) wake(one *storedSchedule, at time.Time) {
	one.Wake = at
	switch {
	case at.IsZero() && one.place >= 0:
		heap.Remove(&s.due, one.place)
	case at.IsZero():
	case one.place >= 0:
		heap.Fix(&s.due, one.place)
	default:
		heap.Push(&s.due, one)
	}
}

// dueHeap is a container/heap of schedules by their wakes, then by their names, so that equal runs are equal.
type dueHeap []*storedSchedule

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	return cmp.Or(h[i].Wake.Compare(h[j].Wake), cmp.Compare(h[i].Name, h[j].Name)) < 0
}
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *dueHeap) Push(x any) {
	one := x.(*storedSchedule)
	one.place = len(*h)
	*h = append(*h, one)
}

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	one := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	one.place = -1
	return one
}
