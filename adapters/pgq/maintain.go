package main

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// The advisory locks of what only one process does at a time. A transaction of one statement holds them, so that a process that is
// paused or cut off holds none.
const (
	lockTicker = iota + 1
	lockRetry
	lockMaintenance
)

// tick lets PgQ make a tick if one is due, unless another process is doing that: parallel calls of pgq.ticker are dangerous (see
// functions/pgq.force_tick.sql). The lock is taken before the call, whose statements take their snapshots later.
func (s store) tick(ctx context.Context) error {
	_, err := value[int64](ctx, s, `SELECT CASE WHEN pg_try_advisory_xact_lock($1) THEN pgq.ticker() END`, lockTicker)
	return err
}

// retryEvents moves the events that are due from the retry queue to the main one, a few with each call.
func (s store) retryEvents(ctx context.Context) error {
	for {
		moved, err := value[int](ctx, s, `SELECT CASE WHEN pg_try_advisory_xact_lock($1) THEN pgq.maint_retry_events() END`, lockRetry)
		if err != nil || moved == nil || *moved == 0 {
			return err
		}
	}
}

// operation is something to be done for maintenance: a function of PgQ, or vacuum of a table.
type operation struct {
	Name     string
	Argument *string
}

// maintain does what PgQ says that is to be done. Some operations are repeated as long as they return 1.
func (s store) maintain(ctx context.Context) error {
	operations, err := list(ctx, s, pgx.RowToStructByPos[operation], `SELECT func_name, func_arg FROM pgq.maint_operations()`)
	for _, o := range operations {
		again := 1
		for again == 1 && err == nil {
			again, err = s.operate(ctx, o)
		}
	}
	return err
}

func (s store) operate(ctx context.Context, o operation) (again int, err error) {
	if o.Name == "vacuum" {
		return 0, s.execute(ctx, "VACUUM "+*o.Argument)
	}
	argument := ""
	args := []any{lockMaintenance}
	if o.Argument != nil {
		argument, args = "$2", append(args, *o.Argument)
	}
	result, err := value[int](ctx, s, `SELECT CASE WHEN pg_try_advisory_xact_lock($1) THEN `+o.Name+`(`+argument+`) END`, args...)
	if result == nil {
		return 0, err
	}
	return *result, err
}
