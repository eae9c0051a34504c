package journal

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres/journal/internal/forward"
	"pulley/internal/pgstore"
)

// patient is a clock whose pauses never end: only a signal ends a wait.
type patient struct{ pgstore.Machine }

func (p patient) Wait(ctx context.Context, _ time.Duration, from ...<-chan struct{}) int {
	return p.Machine.Wait(ctx, -1, from...)
}

// listener is a clock whose pauses end at once: no signal ends a wait.
type listener struct{ pgstore.Machine }

func (listener) Wait(ctx context.Context, _ time.Duration, _ ...<-chan struct{}) int {
	if ctx.Err() != nil {
		return pgstore.Ended
	}
	return pgstore.TimedOut
}

type lookCounter struct {
	forward.Pool
	sql   string
	looks atomic.Int64
}

func (c *lookCounter) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if sql == c.sql {
		c.looks.Add(1)
	}
	return c.Pool.QueryRow(ctx, sql, args...)
}

// newAskers opens the owner of a shard, which answers by itself, and another backend that calls it on a clock.
func newAskers(t *testing.T, clock pgstore.Clock) (p *post, looks *lookCounter) {
	t.Helper()
	p = newPost(t)
	sql, err := forward.SQL("fetch_answer")
	if err != nil {
		t.Fatal(err)
	}
	looks = &lookCounter{Pool: p.asker.desk.Pool, sql: sql}
	p.asker.desk.Pool, p.asker.desk.Clock = looks, clock
	if _, err := p.owner.Claim(p.ctx, 0, granted(0)); err != nil {
		t.Fatal(err)
	}
	return p, looks
}

// TestAnswerIsNotified checks that the notification alone leads to an answer, which is read once.
func TestAnswerIsNotified(t *testing.T) {
	p, looks := newAskers(t, patient{})
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Minute)
	defer cancel()
	if _, err := p.asker.Claim(ctx, 0, granted(0)); err != nil { // starts listening
		t.Fatalf("the answer to a claim is not heard of: %v", err)
	}
	for range 3 {
		before := looks.looks.Load()
		out, err := p.asker.Complete(ctx, 0, p.two(), granted(0))
		p.applied(asked{out, err}, 2, 1)
		if n := looks.looks.Load() - before; n != 1 {
			t.Errorf("%d looks for an answer; want one, when it is told", n)
		}
	}
}

func TestAnswerIsNotTold(t *testing.T) {
	p, looks := newAskers(t, listener{})
	out, err := p.asker.Complete(p.ctx, 0, p.two(), granted(0))
	p.applied(asked{out, err}, 2, 1)
	t.Logf("%d looks", looks.looks.Load())
}
