package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pulley/engine/backend"
)

const (
	// triesMax bounds how often one call tries again what others were in the way of. A transaction of which each try learns one
	// more row that is to be locked first needs many.
	triesMax = 50
	// CommitsMax bounds how often one call commits again after it lost the connection at COMMIT.
	CommitsMax = 5
	// retryPause is the pause before the third try; it doubles from try to try, to retryPauseMax. The second try goes at once,
	// since it has learned from the first what to wait for.
	retryPause    = time.Millisecond
	retryPauseMax = 250 * time.Millisecond
)

// retryable is an error that another try may get over.
type retryable struct{ error }

func (e *retryable) Unwrap() error { return e.error }

// Retryable marks the error of a try as one that another try may get over; see Store.Retry.
func Retryable(err error) error { return &retryable{err} }

// Retry tries until a try gives no Retryable error, for triesMax times at most and as long as ctx lasts. It pauses between
// tries, longer from one to the next and at random, so that those who are in each other's way do not meet again. doing says
// what is tried and where, and remedy what a person can do when the tries are used up.
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

// LockTimeouts gives statements by which a transaction does not wait for a row for longer than most, and half as long again, from then on.
// They are several, so that two that wait for each other seldom give up together; and few, since each is prepared.
func LockTimeouts(most time.Duration) (all [4]string) {
	for i := range all {
		all[i] = fmt.Sprintf("SET LOCAL lock_timeout = %d", most.Milliseconds()*int64(5+i)/5)
	}
	return all
}

// AnyOf chooses one of several statements at random.
func (s *Store) AnyOf(statements [4]string) string {
	return statements[int(s.Jitter()*float64(len(statements)))]
}

// LockRemedy is what a person can do where others keep a call from rows.
const LockRemedy = "pg_locks and pg_stat_activity show which transactions hold rows of the schema"

// RetryContended is Retry for what the server gives up in favour of others; see Contended.
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

	// Run tries it. An outcome that is open is backend.ErrUnknown.
	Run func() error

	// ID gives the server's incarnation in which the last try ran, and its id in that.
	ID func() (life, xid string)

	// Release returns the leases of a transaction that was applied although its reply was lost: not all may have been heard.
	Release func()
}

// Commit tries a transaction until it is applied: again where the server gave it up in favour of others, and where the
// connection was lost at COMMIT and it did not are applied (D7).
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
