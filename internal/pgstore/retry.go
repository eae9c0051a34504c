package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pulley/engine/backend"
)

const (
	// triesMax bounds the tries of one call. Many are needed if each finds only one more row to lock first.
	triesMax = 50
	// CommitsMax bounds the commits of one call that lose the connection at COMMIT.
	CommitsMax = 5
	// retryPause precedes the third try, and doubles up to retryPauseMax. The second try starts at once, with what the first
	// learned.
	retryPause    = time.Millisecond
	retryPauseMax = 250 * time.Millisecond
)

type retryable struct{ error }

func (e *retryable) Unwrap() error { return e.error }

// Retryable marks an error after which Store.Retry retries.
func Retryable(err error) error { return &retryable{err} }

// Retry calls try until it returns no Retryable error, at most triesMax times and until ctx ends. Pauses grow and are random, so
// that conflicting calls do not meet again. doing says what is tried and where; remedy, what a person can do.
func (s *Store) Retry(ctx context.Context, doing, remedy string, try func() error) error {
	pause := time.Duration(0)
	for tries := 1; ; tries++ {
		err := try()
		again, ok := errors.AsType[*retryable](err)
		if !ok {
			return err
		}
		if tries == triesMax {
			return fmt.Errorf("%s: given up after %d tries: %w; %s", doing, tries, again.error, remedy)
		}
		if pause > 0 {
			s.Clock.Wait(ctx, time.Duration((0.5+s.Jitter())*float64(pause)))
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: stopped after %d tries: %w", doing, tries, errors.Join(again.error, ctx.Err()))
		}
		pause = min(max(2*pause, retryPause), retryPauseMax)
	}
}

// LockTimeouts returns statements that limit each lock wait in a transaction to most, up to 1.6 times that. They differ, so that
// two transactions that wait for each other seldom time out together; they are few, since each is prepared.
func LockTimeouts(most time.Duration) (all [4]string) {
	for i := range all {
		all[i] = fmt.Sprintf("SET LOCAL lock_timeout = %d", most.Milliseconds()*int64(5+i)/5)
	}
	return all
}

// AnyOf chooses a statement at random.
func (s *Store) AnyOf(statements [4]string) string {
	return statements[int(s.Jitter()*float64(len(statements)))]
}

// LockRemedy says what a person can do if rows stay locked.
const LockRemedy = "pg_locks and pg_stat_activity show which transactions hold rows of the schema"

// RetryContended is Retry for Contended errors.
func (s *Store) RetryContended(ctx context.Context, doing string, try func() error) error {
	return s.Retry(ctx, doing, LockRemedy, func() error {
		err := try()
		if Contended(err) {
			return Retryable(err)
		}
		return err
	})
}

// Transaction is a transaction whose COMMIT may be lost.
type Transaction struct {
	// Purpose says what it does and where.
	Purpose string

	// Run tries it. An open outcome is backend.ErrUnknown.
	Run func() error

	// ID returns the server's incarnation and the transaction id of the last try.
	ID func() (life, xid string)

	// Release returns the leases of a committed transaction whose reply was lost.
	Release func()
}

// Commit retries a transaction until it is committed: after contention, and after a COMMIT that was lost and not applied (D7).
func (s *Store) Commit(ctx context.Context, t Transaction) error {
	lost := 0
	return s.RetryContended(ctx, t.Purpose, func() error {
		err := t.Run()
		if !backend.IsUnknown(err) {
			return err
		}
		life, xid := t.ID()
		took, unresolved := s.WasCommitted(ctx, life, xid)
		switch {
		case unresolved != nil:
			return errors.Join(err, unresolved)
		case took:
			t.Release()
			return nil
		}
		if lost++; lost == CommitsMax {
			return fmt.Errorf("%s: the connection was lost at each of %d commits, and none was applied; check the network, and the server's log", t.Purpose, lost)
		}
		return Retryable(err)
	})
}
