package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// callOffPasses bounds how often one transaction looks for runs that are to be called off.
const callOffPasses = 5

// errCallOff is in the error of a transaction that could not get hold of all that it calls off.
var errCallOff = errors.New("runs that are to be called off go on and on")

// callsOff says whether a plan calls off runs that may be at work.
func callsOff(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Clears, func(c plan.Clear) bool { return c.AtWork })
}

// callsOff says whether the event clears away a node run.
func (e *event) callsOff(key backend.Key) bool {
	return e.instance == key.Instance && slices.ContainsFunc(e.plan.Clears, func(c plan.Clear) bool {
		return key.Run.Path.Under(c.Path) && slices.Contains(e.program.Cleared(c.Region).Runs, key.Run.Node)
	})
}

// span is a range of a table's keys: those of a node or variable whose path is low or greater, but less
// than high. Of a variable, it begins with an element: -1 is its value, and 0 what was appended first.
type span struct {
	ord       int32
	instance  uuid.UUID
	id        int32
	low, high string
	first     int32
}

// only gives the span of one path, without what follows that: there, a dot stands or more.
func only(e *event, id int32, path graph.Path) span {
	return span{ord: e.ord, instance: e.instance, id: id, low: string(path), high: string(path) + " "}
}

// spans gives what stands under a path for some nodes or variables. In the order of paths, what follows
// a path with a dot ends before the path with a slash; no path has a character beyond 'c'.
func spans[ID ~int32](to []span, e *event, ids []ID, under graph.Path) []span {
	s := span{ord: e.ord, instance: e.instance, low: string(under), high: string(under) + "/", first: -1}
	if under == "" {
		s.high = "~"
	}
	for _, id := range ids {
		s.id = int32(id)
		to = append(to, s)
	}
	return to
}

// columns gives spans as parameters, in the order of keys: ord, instance, node or variable, low, high.
func columns(all []span) []any {
	slices.SortFunc(all, func(a, b span) int {
		return cmp.Or(slices.Compare(a.instance[:], b.instance[:]), cmp.Compare(a.id, b.id), strings.Compare(a.low, b.low))
	})
	n := len(all)
	ords, ids, lows, highs := make([]int32, n), make([]int32, n), make([]string, n), make([]string, n)
	instances := make([][16]byte, n)
	for i, s := range all {
		ords[i], instances[i], ids[i], lows[i], highs[i] = s.ord, s.instance, s.id, s.low, s.high
	}
	return []any{ords, instances, ids, lows, highs}
}

// drops are what events take away, by table.
type drops struct {
	runs, counters, elements, values []span
	ended                            []*event
}

// unset takes away the values that an event takes away, and those that were appended to what it replaces.
// An instance that is new has none.
func (d *drops) unset(e *event) {
	if e.submission != nil {
		return
	}
	for _, w := range e.plan.Writes {
		if w.Value != nil && !w.Drops {
			continue
		}
		s := only(e, int32(w.Slot.Var), w.Slot.Scope)
		if w.Value == nil {
			s.first = -1
		}
		d.values = append(d.values, s)
	}
}

// clear takes away what is over or called off, and all of an instance that has ended and that nothing else
// works on.
func (d *drops) clear(e *event) {
	if e.submission != nil {
		return
	}
	for _, cl := range e.plan.Clears {
		cleared := e.program.Cleared(cl.Region)
		if cl.AtWork { // what else is over has no runs that are open, and no aggregate that is not
			d.runs = spans(d.runs, e, cleared.Runs, cl.Path)
			d.elements = spans(d.elements, e, cleared.Barriers, cl.Path)
		}
		d.counters = spans(d.counters, e, cleared.Barriers, cl.Path)
		d.values = spans(d.values, e, cleared.Vars, cl.Path)
	}
	if takesAll(e) {
		d.ended = append(d.ended, e)
	}
}

// drop adds the statements that take away what events unset, and others clear. Before their own statement has
// been answered it is not sure that they took place; these statements find that out.
func (c *commit) drop(batch *pgx.Batch, unset, clear []*event, sure bool) {
	var d drops
	for _, e := range unset {
		d.unset(e)
	}
	for _, e := range clear {
		d.clear(e)
	}
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
		ords, instances := make([]int32, len(d.ended)), make([][16]byte, len(d.ended))
		for i, e := range d.ended {
			ords[i], instances[i] = e.ord, e.instance
		}
		batch.Queue(endSQL, guarded(ords, instances)...)
	}
}

// atWork gives where runs may be under way that events call off.
func atWork(events []*event) []span {
	var all []span
	for _, e := range events {
		for _, cl := range e.plan.Clears {
			if cl.AtWork {
				all = spans(all, e, e.program.Cleared(cl.Region).Runs, cl.Path)
			}
		}
	}
	return all
}

// callOff begins a transaction whose events call runs off, or which has been given up because what
// follows them does: it locks those runs, and with them the events' own, in key order like any completion.
// Whatever completes one of them meanwhile is waited for. It does nothing where no run is called off.
func (c *commit) callOff(ctx context.Context, conn *pgxpool.Conn, events []*event) (begun bool, err error) {
	all := append(atWork(events), c.contested...)
	if len(all) == 0 {
		return false, nil
	}
	for _, e := range events {
		if e.completion != nil {
			run := e.run()
			all = append(all, only(e, int32(run.Node), run.Path))
		}
	}
	batch, before := &pgx.Batch{}, int64(0)
	batch.Queue("BEGIN")
	batch.Queue(callOffSQL, append([]any{c.shard}, columns(all)[1:]...)...).QueryRow(func(row pgx.Row) error { return row.Scan(&before) })
	return true, c.hold(ctx, conn, all, batch, &before)
}

// callOffNext locks what is called off by runs that go on, of which nothing was known when the transaction
// began. What somebody else has locked is not waited for, out of order as that would be: the transaction is
// given up, and begins again with these locks.
func (c *commit) callOffNext(ctx context.Context, conn *pgxpool.Conn, events []*event) error {
	all := atWork(events)
	if len(all) == 0 {
		return nil
	}
	c.contested = append(c.contested, all...)
	before := int64(-1)
	return c.hold(ctx, conn, all, &pgx.Batch{}, &before)
}

// hold locks what has been queued since as well, until there is nothing new: from then on nobody can add to
// the regions.
func (c *commit) hold(ctx context.Context, conn *pgxpool.Conn, all []span, batch *pgx.Batch, before *int64) error {
	parameters := append([]any{c.shard}, columns(all)[1:]...)
	for range callOffPasses {
		var after int64
		batch.Queue(callOffMoreSQL, parameters...).QueryRow(func(row pgx.Row) error { return row.Scan(&after) })
		if err := conn.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		if after == *before {
			return nil
		}
		*before, batch = after, &pgx.Batch{}
	}
	return fmt.Errorf("instance %s: %w", all[0].instance, errCallOff)
}

// withdraw takes back the tasks that the transaction itself has called off.
func (c *commit) withdraw() {
	c.result.Tasks = slices.DeleteFunc(c.result.Tasks, func(t backend.Task) bool {
		return slices.ContainsFunc(c.over, func(e *event) bool { return e.callsOff(t.Lease.Key) })
	})
}
