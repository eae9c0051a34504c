package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Problem tells Config.Problem what went wrong beside the calls of a backend, or behind their answers: nobody else is told.
// doing says at what. That ctx was canceled is no problem; that its time ran out is one, since then something was not done in time.
func (s *Store) Problem(ctx context.Context, doing string, err error) {
	if err != nil && s.problem != nil && !errors.Is(ctx.Err(), context.Canceled) {
		s.problem(fmt.Errorf("%s: %w", doing, Explain(err)))
	}
}

// releaseTimeout bounds giving leases back, whatever became of the call that took them.
const releaseTimeout = 10 * time.Second

// Release makes a statement that gives leases back of which not all may have been heard: those of a transaction that took
// place although the reply to its COMMIT was lost. The call's context may have ended by then. If it fails, the leases come
// back when they are over.
func (s *Store) Release(ctx context.Context, sql string, args ...any) {
	ctx, cancel := s.Clock.Within(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_, err := s.Pool.Exec(ctx, sql, args...)
	s.Problem(ctx, "giving leases back", err)
}
