package push

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

// callOffPasses bounds how often one transaction looks for runs that are to be called off.
const callOffPasses = 5

// errCallOff is in the error of a transaction that could not get hold of all that it calls off.
var errCallOff = errors.New("runs that are to be called off go on and on")

// columns gives spans, which are in the order of keys, as parameters: ord, instance, node or variable, low, high.
func columns(all []span) []any {
	n := len(all)
	ords, ids, lows, highs := make([]int32, n), make([]int32, n), make([]string, n), make([]string, n)
	instances := make([][16]byte, n)
	for i, s := range all {
		ords[i], instances[i], ids[i], lows[i], highs[i] = s.ord, s.instance, s.id, s.low, s.high
	}
	return []any{ords, instances, ids, lows, highs}
}

// drop adds the statements that take away what events unset, and others clear. Before their own statement has
// been answered it is not sure that they took place; these statements find that out.
func (c *commit) drop(batch *pgx.Batch, unset, clear []*event, sure bool) {
	d := dropsOf(unset, clear)
	guarded := func(parameters ...any) []any {
		return append([]any{c.shard, c.b.marks.backend, c.mark.slot, c.mark.number, sure}, parameters...)
	}
	for _, table := range []struct {
		sql   string
		spans []span
	}{{dropRunsSQL, d.runs}, {dropCountersSQL, d.counters}, {dropElementsSQL, d.elements}} {
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
		batch.Queue(dropValuesSQL, guarded(append(parameters, first)...)...)
	}
	if len(d.ended) > 0 {
		ords, instances, shared := make([]int32, len(d.ended)), make([][16]byte, len(d.ended)), make([]bool, len(d.ended))
		for i, e := range d.ended {
			ords[i], instances[i], shared[i] = e.ord, e.instance, !isAlone(e)
		}
		batch.Queue(endSQL, guarded(ords, instances, shared)...).Query(c.readShared)
	}
}

// readShared reads which instances have ended while others were at work on them.
func (c *commit) readShared(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		c.shared = append(c.shared, c.events[postgres.Int4(rows.RawValues()[0])])
	}
	return rows.Err()
}

// callOff begins a transaction whose events call runs off, or which has been given up because what
// follows them does, or met others: it locks those runs, and with them the events' own, in key order like any completion, and then
// the counters. Whatever completes one of them meanwhile is waited for. It does nothing where nothing is to be locked first.
func (c *commit) callOff(ctx context.Context, conn postgres.Conn, events []*event) (begun bool, err error) {
	all := append(atWork(events), c.locks.runs...)
	if len(all)+len(c.locks.counters) == 0 {
		return false, nil
	}
	for _, e := range events {
		if e.completion != nil {
			all = append(all, ownRun(e))
		}
	}
	sortSpans(all)
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	batch.Queue(callOffSQL, append([]any{c.shard}, columns(all)[1:]...)...)
	if err := c.hold(ctx, conn, all, batch); err != nil {
		return true, err
	}
	return true, c.holdCounters(ctx, conn)
}

// holdCounters locks the counters that an earlier try of the transaction met, before any other, and waits but shortly from then on.
func (c *commit) holdCounters(ctx context.Context, conn postgres.Conn) error {
	if len(c.locks.counters) == 0 {
		return nil
	}
	c.locks.sort()
	of := columns(c.locks.counters)
	batch := &pgx.Batch{}
	batch.Queue(holdCountersSQL, c.shard, of[1], of[2], of[3])
	batch.Queue(c.shortLocks())
	return conn.SendBatch(ctx, batch).Close()
}

// lockTimeoutSQL begin the part of a transaction that does not wait for others, see laterLockTimeout.
var lockTimeoutSQL = postgres.LockTimeouts(laterLockTimeout)

func (c *commit) shortLocks() string {
	c.locksAreShort = true
	return c.b.store.AnyOf(lockTimeoutSQL)
}

// beforeNext is the statement that goes before runs that go on; empty: none does.
func (c *commit) beforeNext(events []*event) string {
	if c.locksAreShort || !mayWait(events) {
		return ""
	}
	return c.shortLocks()
}

// nextLocks is what the next try locks first.
func (c *commit) nextLocks() lockSet {
	for _, e := range c.events {
		if e != nil {
			c.locks.meet(e)
		}
	}
	return c.locks
}

// callOffNext locks what is called off by runs that go on, of which nothing was known when the transaction
// began. What somebody else has locked is not waited for, out of order as that would be: the transaction is
// given up, and begins again with these locks.
func (c *commit) callOffNext(ctx context.Context, conn postgres.Conn, events []*event) error {
	all := atWork(events)
	if len(all) == 0 {
		return nil
	}
	sortSpans(all)
	c.locks.runs = append(c.locks.runs, all...)
	return c.hold(ctx, conn, all, &pgx.Batch{})
}

// hold locks what has been queued since as well, until a statement has got hold of all that it saw: whoever adds to the regions must have
// held a part of that before, so that nobody can from then on.
func (c *commit) hold(ctx context.Context, conn postgres.Conn, all []span, batch *pgx.Batch) error {
	parameters := append([]any{c.shard}, columns(all)[1:]...)
	for range callOffPasses {
		var held bool
		batch.Queue(callOffMoreSQL, parameters...).QueryRow(func(row pgx.Row) error { return row.Scan(&held) })
		if err := conn.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		if held {
			return nil
		}
		batch = &pgx.Batch{}
	}
	return fmt.Errorf("instance %s: %w", all[0].instance, errCallOff)
}

// withdraw takes back the tasks that the transaction itself has called off.
func (c *commit) withdraw() {
	c.result.Tasks = slices.DeleteFunc(c.result.Tasks, func(t backend.Task) bool {
		return slices.ContainsFunc(c.over, func(e *event) bool { return callsOffRun(e, t.Lease.Key) })
	})
}
