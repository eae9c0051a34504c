package main

import (
	"context"
	"fmt"
	"time"

	"pulley/adapter/protocol"
)

// expect lets watch look for the end of an instance. If no other is expected, watch looks soon, and then less and less often, as
// go-workflows' own client does; if others are, the end is found with theirs.
func (s *system) expect(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		select {
		case s.first <- struct{}{}:
		default:
		}
	}
	s.open[id] = true
}

// watch reports the ends of instances until the process closes, and once more then.
func (s *system) watch(ctx context.Context) {
	began := time.Now()
	told := false // what a dead process may have left untold
	wait := endsEvery
	for last := false; !last; {
		select {
		case <-s.quit:
			last = true
		case <-ctx.Done():
			return
		case <-s.first:
			wait = endsSoon
			continue
		case <-time.After(wait):
		}
		wait = min(wait*3/2, endsEvery)
		err := s.reportExpected(ctx)
		if err == nil && !told {
			err = s.report(ctx, func(ctx context.Context) ([]protocol.State, error) {
				return endedSince(ctx, s.pool, began.Add(-recent))
			})
			told = err == nil
		}
		if err != nil {
			s.env.Problem(fmt.Errorf("looking for ends: %w", err))
			wait = pauseMost
		}
	}
}

func (s *system) reportExpected(ctx context.Context) error {
	s.mu.Lock()
	ids := make([]string, 0, len(s.open))
	for id := range s.open {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	return s.report(ctx, func(ctx context.Context) ([]protocol.State, error) { return ended(ctx, s.pool, ids) })
}

// report reports the ends that find finds.
func (s *system) report(ctx context.Context, find func(context.Context) ([]protocol.State, error)) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	states, err := find(ctx)
	if err != nil {
		return err
	}
	for _, e := range states {
		s.env.Ended(e.ID, e.Status, e.Value+e.Message) // one of the two is empty
		s.mu.Lock()
		delete(s.open, e.ID)
		s.mu.Unlock()
	}
	return nil
}
