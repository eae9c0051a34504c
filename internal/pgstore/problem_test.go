package pgstore

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

type refusing struct {
	Pool
	bounded, ended bool
}

func (r *refusing) Exec(ctx context.Context, _ string, _ ...any) (pgconn.CommandTag, error) {
	_, r.bounded = ctx.Deadline()
	r.ended = ctx.Err() != nil
	return pgconn.CommandTag{}, errors.New("no route")
}

// TestProblemsAreReported checks that the observer receives what failed and what timed out, but not what was cancelled. Leases are
// returned even if the call's context has ended.
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
	On(Host{Pool: pool, Clock: Machine{}}).Release(ended, queue, 0, nil, "7") // without an observer
}
