package push

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

func cancelsRuns(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Clears, func(c plan.Clear) bool { return c.AtWork })
}

func cancelsRun(e *commitEvent, key backend.Key) bool {
	return len(e.plan.Clears) > 0 && e.instance == key.Instance && slices.ContainsFunc(e.plan.Clears, func(c plan.Clear) bool {
		return key.Run.Path.Under(c.Path) && slices.Contains(e.program.Cleared(c.Region).Runs, key.Run.Node)
	})
}

func clearsRows(e *commitEvent) bool { return len(e.plan.Clears) > 0 || e.plan.End != nil }

// isAlone reports whether no other node run can be open when an event ends its instance.
func isAlone(e *commitEvent) bool { return e.plan.End.Failure == nil && !e.program.EndsEarly() }

// span is a range of keys of a node or variable: low <= path < high. Of a variable it begins at an element: -1 is the value,
// appended values count from 0.
type span struct {
	ord       int32 // of its event
	instance  uuid.UUID
	id        int32
	low, high string
	first     int32
}

// sortSpans sorts by key, the order in which every commit locks.
func sortSpans(all []span) {
	slices.SortFunc(all, func(a, b span) int {
		return cmp.Or(slices.Compare(a.instance[:], b.instance[:]), cmp.Compare(a.id, b.id), strings.Compare(a.low, b.low))
	})
}

func spanOfRun(e *commitEvent) span {
	run := e.key().Run
	return only(e, int32(run.Node), run.Path)
}

// only returns the span of one path without those below it, which continue with a dot or a slash.
func only(e *commitEvent, id int32, path graph.Path) span {
	return span{ord: e.ord, instance: e.instance, id: id, low: string(path), high: string(path) + " "}
}

// spans appends the span of a path and all below it, for each node or variable. Paths below continue with a dot, which sorts
// before the slash; no path has a character beyond 'c'.
func spans[ID ~int32](to []span, e *commitEvent, ids []ID, under graph.Path) []span {
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

type drops struct {
	runs, counters, elements, values []span
	ended                            []*commitEvent // whose remaining rows are deleted if possible
}

func dropsOf(unset, clear []*commitEvent) *drops {
	var d drops
	for _, e := range unset {
		d.unset(e)
	}
	for _, e := range clear {
		d.clear(e)
	}
	for _, all := range [][]span{d.runs, d.counters, d.elements, d.values} {
		sortSpans(all)
	}
	return &d
}

// unset adds values that an event unsets, and what was appended to values that it replaces. A new instance has none.
func (d *drops) unset(e *commitEvent) {
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

func (d *drops) clear(e *commitEvent) {
	if e.submission != nil {
		return
	}
	for _, cl := range e.plan.Clears {
		cleared := e.program.Cleared(cl.Region)
		if cl.AtWork { // other regions have no open node runs or aggregates
			d.runs = spans(d.runs, e, cleared.Runs, cl.Path)
			d.elements = spans(d.elements, e, cleared.Barriers, cl.Path)
		}
		d.counters = spans(d.counters, e, cleared.Barriers, cl.Path)
		d.values = spans(d.values, e, cleared.Vars, cl.Path)
	}
	if e.plan.End != nil {
		d.ended = append(d.ended, e)
	}
}

func atWork(events []*commitEvent) []span {
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

// lockSet lists rows that an earlier try of a transaction met out of order. The retry locks them first, in key order.
type lockSet struct {
	runs     []span // to be cancelled
	counters []span // by node and low
}

func (c *lockSet) addBarriers(e *commitEvent) {
	for _, o := range e.plan.Opens {
		c.counters = append(c.counters, span{instance: e.instance, id: int32(o.Run.Node), low: string(o.Run.Path)})
	}
	for _, a := range e.plan.Arrivals {
		c.counters = append(c.counters, span{instance: e.instance, id: int32(a.Run.Node), low: string(a.Run.Path)})
	}
}

// sort sorts the barriers and removes duplicates, in a copy: earlier tries share the list.
func (c *lockSet) sort() {
	c.counters = slices.Clone(c.counters)
	sortSpans(c.counters)
	c.counters = slices.Compact(c.counters)
}

// lockTimeout bounds, up to 1.6 times at random, the wait for each row lock after a transaction's first round or after its lock
// set. These locks are out of key order: their holder may be waiting for this transaction. Postgres cannot insert or count
// without waiting, so the bound is short, far below deadlock_timeout; after it the transaction is retried, and locks these rows
// first.
const lockTimeout = 10 * time.Millisecond

func mayWait(events []*commitEvent) bool {
	return slices.ContainsFunc(events, func(e *commitEvent) bool {
		return len(e.plan.Arrivals)+len(e.plan.Opens) > 0 || e.plan.End != nil
	})
}

// groups divides completions into transactions. A completion behind one that ends its instance comes into a later transaction,
// where it is stale if the instance did end. A completion that cancels node runs is alone of its instance in its transaction, so
// that each of those is completed before it or not at all.
func groups(events []*commitEvent) [][]*commitEvent {
	var out [][]*commitEvent
	if !slices.ContainsFunc(events, func(e *commitEvent) bool {
		return e.plan.End != nil || cancelsRuns(&e.plan)
	}) {
		return append(out, events)
	}
	place := func(i int, e *commitEvent) {
		for len(out) <= i {
			out = append(out, nil)
		}
		out[i] = append(out[i], e)
	}
	next := map[uuid.UUID]int{}
	var last []*commitEvent
	for _, e := range events {
		switch p := &e.plan; {
		case cancelsRuns(p):
			last = append(last, e)
		case p.End != nil:
			place(next[e.instance], e)
			next[e.instance] = 1
		default:
			place(next[e.instance], e)
		}
	}
	first := len(out)
	clear(next)
	for _, e := range last {
		place(first+next[e.instance], e)
		next[e.instance]++
	}
	return out
}

// spared removes completions that another of the call has cancelled, and answers them Stale, as the store would.
func spared(group, all []*commitEvent, out *pgstore.Outcomes) []*commitEvent {
	return slices.DeleteFunc(group, func(e *commitEvent) bool {
		off := slices.ContainsFunc(all, func(by *commitEvent) bool {
			return cancelsRuns(&by.plan) && out.Answers[by.ord].Answer == backend.Applied && cancelsRun(by, e.key())
		})
		if off {
			out.Answer(e.ord, backend.Stale)
		}
		return off
	})
}
