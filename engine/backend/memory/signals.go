package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
)

var _ backend.Signaler = (*Backend)(nil)

// signals are those of a store. Of one name, they are in the order in which they were sent.
type signals struct {
	sent  map[addressee][]*signal
	ids   map[uuid.UUID]*signal
	waits map[backend.Key]*signalWait
}

func newSignals() signals {
	return signals{map[addressee][]*signal{}, map[uuid.UUID]*signal{}, map[backend.Key]*signalWait{}}
}

// addressee is what a signal is for.
type addressee struct {
	instance uuid.UUID
	name     string
}

type signal struct {
	backend.StoredSignal
	taken  bool
	isNew  bool      // no claim has looked which waits are for it
	looked time.Time // when a claim has named its instance, or it was sent
}

// signalsLooked is how long signals lie before their instance is looked at, and between two looks.
const signalsLooked = 6 * time.Hour

type signalWait struct {
	backend.SignalWait
	taken *signal
	due   time.Time
}

// wait returns a stored wait with the lease; nil: there is none.
func (s *signals) wait(w backend.SignalWait) *signalWait {
	if one := s.waits[w.Lease.Key]; one != nil && one.Lease.Token == w.Lease.Token {
		return one
	}
	return nil
}

// free returns the oldest signal that is for a wait; nil: there is none.
func (s *signals) free(w *signalWait) *signal {
	for _, one := range s.sent[addressee{w.Lease.Key.Instance, w.Name}] {
		if !one.taken {
			return one
		}
	}
	return nil
}

// of returns the signals of an instance that no wait has taken, oldest first.
func (s *signals) of(instance uuid.UUID) (found []backend.StoredSignal) {
	for to, all := range s.sent {
		for _, one := range all {
			if to.instance == instance && !one.taken {
				found = append(found, one.StoredSignal)
			}
		}
	}
	slices.SortStableFunc(found, func(x, y backend.StoredSignal) int { return x.Sent.Compare(y.Sent) })
	return found
}

// withSignals calls body with the store locked. Calls of signals pass no crash points: each is one change.
func (b *Backend) withSignals(ctx context.Context, what string, body func(s *signals, now time.Time) error) error {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	err := b.usable(ctx)
	if err == nil {
		err = body(&b.store.signals, b.clock())
	}
	if err != nil {
		return fmt.Errorf("memory: %s: %w", what, err)
	}
	return nil
}

// SendSignal implements backend.Signaler.
func (b *Backend) SendSignal(ctx context.Context, sent backend.Signal) (created bool, err error) {
	err = b.withSignals(ctx, "send a signal", func(s *signals, now time.Time) error {
		if s.ids[sent.ID] != nil {
			return nil
		}
		if len(s.of(sent.Instance)) >= backend.SignalsMax {
			return backend.ErrSignalsFull
		}
		sent.Value = slices.Clone(sent.Value)
		one := &signal{StoredSignal: backend.StoredSignal{Signal: sent, Sent: now}, isNew: true, looked: now}
		to := addressee{sent.Instance, sent.Name}
		s.ids[sent.ID], s.sent[to], created = one, append(s.sent[to], one), true
		return nil
	})
	return created, err
}

// StoreWait implements backend.Signaler.
func (b *Backend) StoreWait(ctx context.Context, w backend.SignalWait, timeout, hold time.Duration) error {
	return b.withSignals(ctx, "store a wait", func(s *signals, now time.Time) error {
		one := s.waits[w.Lease.Key]
		switch {
		case one != nil && one.Lease.Token >= w.Lease.Token:
			return nil
		case one == nil:
			one = &signalWait{SignalWait: backend.SignalWait{Attempt: -1}}
			s.waits[w.Lease.Key] = one
		}
		if one.Attempt != w.Attempt {
			w.Since, w.State = now, backend.Waiting
			if timeout > 0 {
				w.Deadline = now.Add(timeout)
			}
			if one.taken != nil {
				w.State = backend.Received
			}
			one.SignalWait = w
		}
		one.Lease, one.due = w.Lease, now.Add(hold)
		return nil
	})
}

// TakeSignal implements backend.Signaler.
func (b *Backend) TakeSignal(ctx context.Context, w backend.SignalWait, hold time.Duration) (after backend.SignalWait, at time.Time, stored bool, err error) {
	err = b.withSignals(ctx, "take a signal", func(s *signals, now time.Time) error {
		one := s.wait(w)
		at = now
		if stored = one != nil; !stored {
			return nil
		}
		if one.State == backend.Waiting {
			switch found := s.free(one); {
			case found != nil:
				found.taken, one.taken, one.State = true, found, backend.Received
			case !one.Deadline.IsZero() && !now.Before(one.Deadline):
				one.State = backend.TimedOut
			}
		}
		one.due, after = now.Add(hold), one.SignalWait
		if one.taken != nil {
			after.Value = one.taken.Value
		}
		return nil
	})
	return after, at, stored, err
}

// ReturnSignal implements backend.Signaler.
func (b *Backend) ReturnSignal(ctx context.Context, w backend.SignalWait) error {
	return b.withSignals(ctx, "return a signal", func(s *signals, _ time.Time) error {
		one := s.wait(w)
		if one == nil {
			return nil
		}
		delete(s.waits, w.Lease.Key)
		if one.taken != nil {
			one.taken.taken, one.taken.isNew = false, true
		}
		return nil
	})
}

// RestWait implements backend.Signaler.
func (b *Backend) RestWait(ctx context.Context, w backend.SignalWait, rest time.Duration) (due bool, err error) {
	err = b.withSignals(ctx, "rest a wait", func(s *signals, now time.Time) error {
		one := s.wait(w)
		if one == nil {
			return nil
		}
		if due = !one.due.After(now) || s.free(one) != nil; due {
			one.due = now
		} else {
			one.due = now.Add(rest)
		}
		return nil
	})
	return due, err
}

// ClaimWaits implements backend.Signaler.
func (b *Backend) ClaimWaits(ctx context.Context, most int, hold time.Duration) (out backend.ClaimedWaits, err error) {
	err = b.withSignals(ctx, "claim waits", func(s *signals, now time.Time) error {
		var due []*signalWait
		for _, one := range s.waits {
			isFor := s.sent[addressee{one.Lease.Key.Instance, one.Name}]
			if !one.due.After(now) || one.State == backend.Waiting && slices.ContainsFunc(isFor, func(sent *signal) bool { return sent.isNew }) {
				due = append(due, one)
			}
		}
		for _, one := range s.ids {
			if one.isNew = false; now.Sub(one.looked) >= signalsLooked {
				one.looked = now
				if !slices.Contains(out.Instances, one.Instance) {
					out.Instances = append(out.Instances, one.Instance)
				}
			}
		}
		slices.SortFunc(due, func(x, y *signalWait) int {
			return cmp.Or(x.due.Compare(y.due), x.Lease.Key.Compare(y.Lease.Key))
		})
		out.More = len(due) > most
		for i, one := range due {
			if one.due = now; i < most {
				one.due = now.Add(hold)
				out.Waits = append(out.Waits, one.SignalWait)
			}
		}
		return nil
	})
	return out, err
}

// MakeDue implements backend.Signaler.
func (b *Backend) MakeDue(ctx context.Context, shard int, keys []backend.Key) ([]bool, error) {
	if err := b.check(shard, backend.Grant{}); err != nil {
		return nil, fmt.Errorf("memory: make due: %w", err)
	}
	open := make([]bool, len(keys))
	_, err := b.run(ctx, opRenew, func(t *tx) (backend.Committed, error) {
		for i, key := range keys {
			inst := t.s.instances[key.Instance]
			if inst == nil || inst.shard != t.s.shards[shard] {
				continue
			}
			r, ok := inst.Runs.Get(state.OfRun(key.Run))
			if open[i] = ok && r.Place != state.NoQueue; ok && r.Place == state.Waiting && r.Due > t.Now {
				next := r.RunState
				next.Due = t.Now
				t.Set(r, next)
			}
		}
		return backend.Committed{}, nil
	})
	if err != nil {
		return nil, err
	}
	return open, nil
}

// RemoveWaits implements backend.Signaler.
func (b *Backend) RemoveWaits(ctx context.Context, waits []backend.SignalWait) error {
	return b.withSignals(ctx, "remove waits", func(s *signals, _ time.Time) error {
		for _, w := range waits {
			one := s.wait(w)
			if one == nil {
				continue
			}
			delete(s.waits, w.Lease.Key)
			taken := one.taken
			if taken == nil {
				continue
			}
			to := addressee{taken.Instance, taken.Name}
			s.sent[to] = slices.DeleteFunc(s.sent[to], func(other *signal) bool { return other == taken })
			if taken.Value = nil; !taken.Keyed {
				delete(s.ids, taken.ID)
			}
		}
		return nil
	})
}

// RemoveSignals implements backend.Signaler.
func (b *Backend) RemoveSignals(ctx context.Context, instances []uuid.UUID) error {
	return b.withSignals(ctx, "remove signals", func(s *signals, _ time.Time) error {
		for key := range s.waits {
			if slices.Contains(instances, key.Instance) {
				delete(s.waits, key)
			}
		}
		for id, one := range s.ids {
			if slices.Contains(instances, one.Instance) {
				delete(s.ids, id)
				delete(s.sent, addressee{one.Instance, one.Name})
			}
		}
		return nil
	})
}

// Signals implements backend.Signaler.
func (b *Backend) Signals(ctx context.Context, instance uuid.UUID, most int) (waits []backend.SignalWait, sent []backend.StoredSignal, err error) {
	err = b.withSignals(ctx, "read signals", func(s *signals, _ time.Time) error {
		for key, one := range s.waits {
			if key.Instance == instance {
				waits = append(waits, one.SignalWait)
			}
		}
		slices.SortFunc(waits, func(x, y backend.SignalWait) int {
			return cmp.Or(x.Since.Compare(y.Since), x.Lease.Key.Compare(y.Lease.Key))
		})
		sent = s.of(instance)
		return nil
	})
	return waits[:min(len(waits), most)], sent[:min(len(sent), most)], err
}
