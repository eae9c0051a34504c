package postgres

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// refusing fails every statement, and notes in what context it was to be made.
type refusing struct {
	Pool
	bounded, ended bool
}

func (r *refusing) Exec(ctx context.Context, _ string, _ ...any) (pgconn.CommandTag, error) {
	_, r.bounded = ctx.Deadline()
	r.ended = ctx.Err() != nil
	return pgconn.CommandTag{}, errors.New("no route")
}

// TestProblemsAreTold returns leases in the context of a call that has ended, which fails, and does other things that fail or
// do not. The observer hears of what failed and of what was not done in time, and not of what was only canceled.
func TestProblemsAreReported(t *testing.T) {
	var told []string
	queue := NewQueue(Table{Name: "waiting"}, nothing, nil)
	pool := &refusing{}
	s := On(Host{Pool: pool, Clock: Machine{}, Problem: func(err error) { told = append(told, err.Error()) }})
	ended, end := context.WithCancel(t.Context())
	end()
	s.Release(ended, queue, 0, nil, "7")
	s.Problem(t.Context(), "listening", nil)
	s.Problem(ended, "listening", errors.New("ended"))
	s.Problem(t.Context(), "listening", errors.New("password=hunter2 is wrong"))
	late, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	s.Problem(late, "giving a shard back", errors.New("no answer"))
	want := []string{"giving leases back: postgres: no route", "listening: postgres: password=*** is wrong", "giving a shard back: postgres: no answer"}
	if !slices.Equal(told, want) {
		t.Errorf("%q were told, want %q", told, want)
	}
	if !pool.bounded || pool.ended {
		t.Errorf("leases are given back in a context with an end: %v, that has ended: %v; want one that has an end to come", pool.bounded, pool.ended)
	}
	On(Host{Pool: pool, Clock: Machine{}}).Release(ended, queue, 0, nil, "7") // nobody wants to know
}
