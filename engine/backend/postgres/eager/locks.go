package eager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/graph"
	"pulley/internal/pgstore"
)

// gatesPasses bounds the passes that lock what a transaction cancels.
const gatesPasses = 5

// lockTimeout bounds each lock wait, up to 1.6 times at random, where rows are recycled (shape.recycles). A row that serves the
// next round after the wait stays locked, and another transaction of that round may want it while it holds one that this
// transaction wants next. The bound is far below deadlock_timeout, and longer than a commit.
const lockTimeout = 100 * time.Millisecond

var lockTimeoutSQL = pgstore.LockTimeouts(lockTimeout)

var errGates = errors.New("runs to be cancelled appear without end")

// lockSet lists the rows that continuations locked in earlier tries of a call. The next try locks them first, in order (D5).
type lockSet struct {
	gates    gates
	barriers map[rowKey]bool
}

type rowKey struct {
	instance uuid.UUID
	node     graph.NodeID
	place    graph.Path
}

func compareRows(a, b rowKey) int {
	return cmp.Or(slices.Compare(a.instance[:], b.instance[:]), cmp.Compare(a.node, b.node), cmp.Compare(a.place, b.place))
}

// gates are ranges of node runs that a transaction locks first because it cancels them: two transactions that each hold a node
// run and cancel the other's would deadlock.
type gates []gate

type gate struct {
	instance  uuid.UUID
	node      graph.NodeID
	low, high string
}

func atWork(events []*commitEvent) gates {
	var out gates
	for _, e := range events {
		for _, c := range e.plan.Clears {
			if !c.AtWork {
				continue
			}
			low, high := under(e.shape.place(c.Region, c.Path))
			for _, n := range e.program.Cleared(c.Region).Runs {
				out = append(out, gate{e.instance, n, low, high})
			}
		}
	}
	return out
}

// with adds the completions' own node runs.
func (g gates) with(events []*commitEvent) gates {
	out := slices.Clone(g)
	for _, e := range events {
		if e.completion != nil {
			out = append(out, gate{e.instance, e.coreEvent.Run.Node, string(e.place), string(e.place)})
		}
	}
	return out
}

func (g gates) parameters(shard int) []any {
	slices.SortFunc(g, func(a, b gate) int {
		return cmp.Or(slices.Compare(a.instance[:], b.instance[:]), cmp.Compare(a.node, b.node), cmp.Compare(a.low, b.low))
	})
	var r rows
	var low, high []string
	for _, gate := range g {
		r.add(gate.instance, gate.node, "")
		low, high = append(low, gate.low), append(high, gate.high)
	}
	return []any{shard, r.instance, r.node, low, high}
}

// queue queues the lock statements: in order and waiting for completions, then, without waiting, what those have made ready.
func (g gates) queue(batch *pgx.Batch, shard int, held *bool) {
	parameters := g.parameters(shard)
	batch.Queue(gatesSQL, parameters...)
	batch.Queue(gatesMoreSQL, parameters...).QueryRow(func(row pgx.Row) error { return row.Scan(held) })
}

// lockAllSeen repeats a lock statement, without waiting, until it has locked all that it saw. Changing anything there takes a
// lock, so then nobody can.
func (c *commit) lockAllSeen(ctx context.Context, g gates, held bool) error {
	parameters := g.parameters(c.shard)
	for pass := 0; !held; pass++ {
		if pass == gatesPasses {
			return fmt.Errorf("instance %s: %w", g[0].instance, errGates)
		}
		if err := c.conn.QueryRow(ctx, gatesMoreSQL, parameters...).Scan(&held); err != nil {
			return err
		}
	}
	return nil
}

// lockAllNext locks what continuations cancel. That is out of order, so it does not wait.
func (c *commit) lockAllNext(ctx context.Context, events []*commitEvent) error {
	g := atWork(events)
	if len(g) == 0 {
		return nil
	}
	c.contest.gates = append(c.contest.gates, g...)
	return c.lockAllSeen(ctx, g, false)
}

// queueBarriers queues the statement that locks the barriers at which events arrive. Continuations arrive out of order, so it
// does not wait: if a row is locked, the next try locks them all first.
func (c *commit) queueBarriers(batch *pgx.Batch, events []*commitEvent) {
	wanted := map[rowKey]bool{}
	for _, e := range events {
		for _, a := range e.plan.Arrivals {
			wanted[rowKey{e.instance, a.Run.Node, e.shape.run(a.Run)}] = true
		}
	}
	sql := barriersNowSQL
	if c.rounds == 0 {
		if len(c.contest.barriers) == 0 {
			return // apply.sql locks them in order
		}
		sql = barriersSQL
		for key := range c.contest.barriers {
			wanted[key] = true
		}
	}
	var sorted []rowKey
	for key := range wanted {
		sorted = append(sorted, key)
		if c.rounds > 0 {
			c.contest.barriers[key] = true
		}
	}
	slices.SortFunc(sorted, compareRows)
	var r rows
	for _, key := range sorted {
		r.add(key.instance, key.node, key.place)
	}
	if len(sorted) > 0 {
		batch.Queue(sql, c.shard, r.instance, r.node, r.place)
	}
}
