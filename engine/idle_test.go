package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/internal/pause"
)

// tardy answers claims and completions late, and applies them before or after it waits. Its completions lease nothing, and every second one
// fails.
type tardy struct {
	*memory.Backend
	before, after time.Duration
	completions   *atomic.Int64
}

func (b tardy) late(ctx context.Context, call func() (backend.Committed, error)) (backend.Committed, error) {
	if err := pause.For(ctx, b.before); err != nil {
		return backend.Committed{}, err
	}
	done, err := call()
	if err != nil {
		return done, err
	}
	return done, pause.For(ctx, b.after)
}

func (b tardy) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	return b.late(ctx, func() (backend.Committed, error) { return b.Backend.Claim(ctx, shard, grant) })
}

func (b tardy) Complete(ctx context.Context, shard int, done []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	if b.completions.Add(1)%2 == 1 {
		return backend.Committed{}, errors.New("no")
	}
	grant.Max = 0
	return b.late(ctx, func() (backend.Committed, error) { return b.Backend.Complete(ctx, shard, done, grant) })
}

// An engine is not idle before a store, however slow, has said that there is nothing, nor while the store has work.
func TestIdle(t *testing.T) {
	const look = 10 * time.Millisecond
	for _, shards := range []int{1, 5} {
		for _, times := range [][2]time.Duration{{0, 0}, {3 * time.Second, 0}, {0, 3 * time.Second}} {
			synctest.Test(t, func(t *testing.T) {
				store := tardy{memoryBackend(t, shards), times[0], times[1], &atomic.Int64{}}
				id := uuid.New()
				subs := []backend.Submission{{ID: id, Program: chain(t, 4), Input: []byte(`{"x": 1}`)}}
				if _, err := store.Submit(t.Context(), subs, backend.Grant{Owner: "other"}); err != nil {
					t.Fatal(err)
				}
				e := start(t, Config{Backend: store, Slots: 100, RetryMin: 5 * time.Second, RetryMax: 10 * time.Second})
				ended := func() bool {
					found, err := store.Lookup(t.Context(), []uuid.UUID{id})
					if err != nil {
						t.Fatal(err)
					}
					return found[0].Status == backend.Completed
				}
				for !ended() {
					if e.Idle() && !ended() {
						t.Fatalf("%v: it is idle while there is work", times)
					}
					if err := pause.For(t.Context(), look); err != nil {
						t.Fatal(err)
					}
				}
				for begun := time.Now(); !e.Idle(); {
					if time.Since(begun) > time.Minute {
						t.Fatalf("%v: it is not idle a minute after the end of work", times)
					}
					if err := pause.For(t.Context(), look); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

// unscheduled does not say which schedules are due before proceed is closed.
type unscheduled struct {
	*memory.Backend
	proceed chan struct{}
}

func (b unscheduled) ClaimSchedules(ctx context.Context, most int, lease time.Duration) (backend.ClaimedSchedules, error) {
	select {
	case <-b.proceed:
		return b.Backend.ClaimSchedules(ctx, most, lease)
	case <-ctx.Done():
		return backend.ClaimedSchedules{}, context.Cause(ctx)
	}
}

// An engine is not idle before it knows which schedules are due.
func TestIdleAfterSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := unscheduled{memoryBackend(t, 1), make(chan struct{})}
		e := start(t, Config{Backend: store, Schedules: true})
		<-time.After(time.Minute)
		if e.Idle() {
			t.Error("it is idle before it has looked at schedules")
		}
		close(store.proceed)
		<-time.After(time.Minute)
		if !e.Idle() {
			t.Error("it is not idle afterwards")
		}
	})
}
