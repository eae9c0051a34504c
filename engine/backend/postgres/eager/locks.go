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

	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
)

// gatesPasses bounds how often one transaction looks for runs that are to be cancelled.
const gatesPasses = 5

// lockTimeout is how long, and half as long again at most, a transaction waits for a row where rows are recycled, see shape.recycles. A row for
// which it has waited in vain, since that stands for the next round of a loop by now, stays locked, and whoever is at work on that
// round may come to it holding one for which this transaction waits next. The timeout is far below deadlock_timeout, and longer
// than a commit takes.
const lockTimeout = 100 * time.Millisecond

var lockTimeoutSQL = postgres.LockTimeouts(lockTimeout)

// errGates is in the error of a transaction that could not get hold of all that it cancels.
var errGates = errors.New("runs to be cancelled appear without end")

// lockSet is what a call has learned, in tries that were given up, of the rows that what follows from its
// events locks. The next try locks them in their order (D5), before it could hold one behind them.
type lockSet struct {
	gates    gates
	barriers map[rowKey]bool
}

// rowKey names the row of a node.
type rowKey struct {
	instance uuid.UUID
	node     graph.NodeID
	place    graph.Path
}

func compareRows(a, b rowKey) int {
	return cmp.Or(slices.Compare(a.instance[:], b.instance[:]), cmp.Compare(a.node, b.node), cmp.Compare(a.place, b.place))
}

// gates are the runs that a transaction locks before anything else, where it is to call runs off that may be
// at work: two that each hold a run and cancel the other's would wait in a circle.
type gates []gate

type gate struct {
	instance  uuid.UUID
	node      graph.NodeID
	low, high string
}

// atWork gives where runs may be under way that events cancel.
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

// with adds the completions themselves.
func (g gates) with(events []*commitEvent) gates {
	out := slices.Clone(g)
	for _, e := range events {
		if e.completion != nil {
			out = append(out, gate{e.instance, e.coreEvent.Run.Node, string(e.place), string(e.place)})
		}
	}
	return out
}

// parameters gives the gates in the order of keys, as values of gates.sql and gates_more.sql.
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

// queue adds the statements that lock the gates: first in order, waiting for what is being completed there,
// and then, without waiting, what that has made ready.
func (g gates) queue(batch *pgx.Batch, shard int, held *bool) {
	parameters := g.parameters(shard)
	batch.Queue(gatesSQL, parameters...)
	batch.Queue(gatesMoreSQL, parameters...).QueryRow(func(row pgx.Row) error { return row.Scan(held) })
}

// lockAllSeen locks what has become ready behind the gates since, without waiting, until a statement has got hold of all that it saw: whoever
// changes anything there must have held a part of that before, so that nobody does from then on.
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

// lockAllNext locks what is cancelled by events that follow, of which nothing was known when the transaction
// began. What another has locked is not waited for, out of order as that would be.
func (c *commit) lockAllNext(ctx context.Context, events []*commitEvent) error {
	g := atWork(events)
	if len(g) == 0 {
		return nil
	}
	c.contest.gates = append(c.contest.gates, g...)
	return c.lockAllSeen(ctx, g, false)
}

// queueBarriers adds the statement that locks the barriers at which events arrive, where apply.sql does not
// meet them in order. What follows from events arrives behind what those hold: it waits for nobody, and
// where that cannot be, the transaction begins again by locking them all.
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
			return // apply.sql meets them in order
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
