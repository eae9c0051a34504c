package push

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/internal/pgstore"
)

// cancelLockPasses bounds the passes that lock what a transaction cancels.
const cancelLockPasses = 5

var errCancelLocks = errors.New("runs to be cancelled appear without end")

// columns returns sorted spans as parameters: ord, instance, node or variable, low, high.
func columns(all []span) []any {
	n := len(all)
	ords, ids, lows, highs := make([]int32, n), make([]int32, n), make([]string, n), make([]string, n)
	instances := make([][16]byte, n)
	for i, s := range all {
		ords[i], instances[i], ids[i], lows[i], highs[i] = s.ord, s.instance, s.id, s.low, s.high
	}
	return []any{ords, instances, ids, lows, highs}
}

// queueDeletes queues the deletion of what some events unset and others clear. Unless sure is set, an event may prove stale, and
// the statements check the commit slot.
func (c *commit) queueDeletes(batch *pgx.Batch, unset, clear []*commitEvent, sure bool) {
	d := dropsOf(unset, clear)
	guarded := func(parameters ...any) []any {
		return append([]any{c.shard, c.b.slots.backend, c.slot.index, c.slot.number, sure}, parameters...)
	}
	for _, table := range []struct {
		sql   string
		spans []span
	}{{deleteRunsSQL, d.runs}, {deleteCountersSQL, d.counters}, {deleteElementsSQL, d.elements}} {
		if len(table.spans) > 0 {
			batch.Queue(table.sql, guarded(columns(table.spans)...)...)
		}
	}
	if len(d.values) > 0 {
		parameters := columns(d.values)
		first := make([]int32, len(d.values))
		for i, s := range d.values {
			first[i] = s.first
		}
		batch.Queue(deleteValuesSQL, guarded(append(parameters, first)...)...)
	}
	if len(d.ended) > 0 {
		ords, instances, shared := make([]int32, len(d.ended)), make([][16]byte, len(d.ended)), make([]bool, len(d.ended))
		for i, e := range d.ended {
			ords[i], instances[i], shared[i] = e.ord, e.instance, !isAlone(e)
		}
		batch.Queue(endSQL, guarded(ords, instances, shared)...).Query(c.readShared)
	}
}

func (c *commit) readShared(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		c.shared = append(c.shared, c.events[pgstore.Int4(rows.RawValues()[0])])
	}
	return rows.Err()
}

// lockCancelled begins a transaction with its first locks, if it has any: on the node runs that its events cancel, those of the
// lock set, and the events' own, in key order; then on counters. It waits for transactions that complete them.
func (c *commit) lockCancelled(ctx context.Context, conn pgstore.Conn, events []*commitEvent) (begun bool, err error) {
	all := append(atWork(events), c.locks.runs...)
	if len(all)+len(c.locks.counters) == 0 {
		return false, nil
	}
	for _, e := range events {
		if e.completion != nil {
			all = append(all, spanOfRun(e))
		}
	}
	sortSpans(all)
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	batch.Queue(lockCancelledSQL, append([]any{c.shard}, columns(all)[1:]...)...)
	if err := c.lockAllSeen(ctx, conn, all, batch); err != nil {
		return true, err
	}
	return true, c.lockCounters(ctx, conn)
}

// lockCounters locks the lock set's counters, and sets the lock timeout.
func (c *commit) lockCounters(ctx context.Context, conn pgstore.Conn) error {
	if len(c.locks.counters) == 0 {
		return nil
	}
	c.locks.sort()
	of := columns(c.locks.counters)
	batch := &pgx.Batch{}
	batch.Queue(lockCountersSQL, c.shard, of[1], of[2], of[3])
	batch.Queue(c.setLockTimeout())
	return conn.SendBatch(ctx, batch).Close()
}

var lockTimeoutSQL = pgstore.LockTimeouts(lockTimeout)

func (c *commit) setLockTimeout() string {
	c.locksTimeOut = true
	return c.b.store.AnyOf(lockTimeoutSQL)
}

func (c *commit) beforeNext(events []*commitEvent) string {
	if c.locksTimeOut || !mayWait(events) {
		return ""
	}
	return c.setLockTimeout()
}

func (c *commit) nextLocks() lockSet {
	for _, e := range c.events {
		if e != nil {
			c.locks.addBarriers(e)
		}
	}
	return c.locks
}

// lockCancelledNext locks what continuations cancel. That is out of key order, so it does not wait: if a row is locked, the
// transaction is retried with these locks first.
func (c *commit) lockCancelledNext(ctx context.Context, conn pgstore.Conn, events []*commitEvent) error {
	all := atWork(events)
	if len(all) == 0 {
		return nil
	}
	sortSpans(all)
	c.locks.runs = append(c.locks.runs, all...)
	return c.lockAllSeen(ctx, conn, all, &pgx.Batch{})
}

// lockAllSeen repeats a lock statement until it has locked all that it saw. Adding to these regions takes a lock on one of their
// rows, so then nobody can.
func (c *commit) lockAllSeen(ctx context.Context, conn pgstore.Conn, all []span, batch *pgx.Batch) error {
	parameters := append([]any{c.shard}, columns(all)[1:]...)
	for range cancelLockPasses {
		var held bool
		batch.Queue(lockCancelledMoreSQL, parameters...).QueryRow(func(row pgx.Row) error { return row.Scan(&held) })
		if err := conn.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		if held {
			return nil
		}
		batch = &pgx.Batch{}
	}
	return fmt.Errorf("instance %s: %w", all[0].instance, errCancelLocks)
}

func (c *commit) dropCancelledTasks() {
	c.result.Tasks = slices.DeleteFunc(c.result.Tasks, func(t backend.Task) bool {
		return slices.ContainsFunc(c.clearing, func(e *commitEvent) bool { return cancelsRun(e, t.Lease.Key) })
	})
}
