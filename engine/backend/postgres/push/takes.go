package push

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// What stands here decides without the database.

// cancelsRuns says whether a plan cancels runs that may be at work.
func cancelsRuns(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Clears, func(c plan.Clear) bool { return c.AtWork })
}

// cancelsRun says whether an event clears away a node run.
func cancelsRun(e *commitEvent, key backend.Key) bool {
	return len(e.plan.Clears) > 0 && e.instance == key.Instance && slices.ContainsFunc(e.plan.Clears, func(c plan.Clear) bool {
		return key.Run.Path.Under(c.Path) && slices.Contains(e.program.Cleared(c.Region).Runs, key.Run.Node)
	})
}

// clearsRows says whether an event takes rows away besides those that it completes or replaces.
func clearsRows(e *commitEvent) bool { return len(e.plan.Clears) > 0 || e.plan.End != nil }

// isAlone says whether nothing else can be at work on an instance that an event ends: it completes, and could not have done so before.
func isAlone(e *commitEvent) bool { return e.plan.End.Failure == nil && !e.program.EndsEarly() }

// span is a range of a table's keys: those of a node or variable whose path is low or greater, but less
// than high. Of a variable, it begins with an element: -1 is its value, and 0 what was appended first.
type span struct {
	ord       int32 // of the event that it is of
	instance  uuid.UUID
	id        int32
	low, high string
	first     int32
}

// sortSpans puts them in the order of keys, which is that in which every commit locks.
func sortSpans(all []span) {
	slices.SortFunc(all, func(a, b span) int {
		return cmp.Or(slices.Compare(a.instance[:], b.instance[:]), cmp.Compare(a.id, b.id), strings.Compare(a.low, b.low))
	})
}

// spanOfRun gives the span of the run that an event is of.
func spanOfRun(e *commitEvent) span {
	run := e.key().Run
	return only(e, int32(run.Node), run.Path)
}

// only gives the span of one path, without what follows that: there, a dot stands or more.
func only(e *commitEvent, id int32, path graph.Path) span {
	return span{ord: e.ord, instance: e.instance, id: id, low: string(path), high: string(path) + " "}
}

// spans gives what stands under a path for some nodes or variables. In the order of paths, what follows
// a path with a dot ends before the path with a slash; no path has a character beyond 'c'.
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

// drops are what events take away, by table, in the order of keys.
type drops struct {
	runs, counters, elements, values []span
	ended                            []*commitEvent // what is left of their instances goes, too, if they can
}

// dropsOf gives what events unset, and what others clear.
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

// unset takes away the values that an event takes away, and those that were appended to what it replaces.
// An instance that is new has none.
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

// clear takes away what is over or cancelled, and all of an instance that has ended, unless something else
// works on it.
func (d *drops) clear(e *commitEvent) {
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
	if e.plan.End != nil {
		d.ended = append(d.ended, e)
	}
}

// atWork gives where runs may be under way that events cancel.
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

// lockSet is what a transaction locks before it changes anything, in the order of keys, since one before it met others there.
type lockSet struct {
	runs     []span // that are cancelled
	counters []span // of barriers, each with the path that low is
}

// addBarriers adds the barriers that events arrive at, or open.
func (c *lockSet) addBarriers(e *commitEvent) {
	for _, o := range e.plan.Opens {
		c.counters = append(c.counters, span{instance: e.instance, id: int32(o.Run.Node), low: string(o.Run.Path)})
	}
	for _, a := range e.plan.Arrivals {
		c.counters = append(c.counters, span{instance: e.instance, id: int32(a.Run.Node), low: string(a.Run.Path)})
	}
}

// sort puts the barriers in the order of keys, each once. It makes a list of its own: other tries of the transaction have the one before.
func (c *lockSet) sort() {
	c.counters = slices.Clone(c.counters)
	sortSpans(c.counters)
	c.counters = slices.Compact(c.counters)
}

// lockTimeout is how long, and half as long again at most, a transaction waits for each row after its first round, or after what it has locked first.
// That is out of order: who has the row may be waiting for one of this transaction's own. Postgres cannot insert or count
// without waiting at all, so the wait is short, and far below deadlock_timeout; after it the transaction begins again with
// what it met locked first.
const lockTimeout = 10 * time.Millisecond

// mayWait says whether runs that go on change rows that others change, too.
func mayWait(events []*commitEvent) bool {
	return slices.ContainsFunc(events, func(e *commitEvent) bool {
		return len(e.plan.Arrivals)+len(e.plan.Opens) > 0 || e.plan.End != nil
	})
}

// groups says which completions go into one transaction. One that comes after another which would end
// their instance belongs to a later one, in which it is stale if that did. One that calls others off is
// alone of its instance, so that each of those is applied before it or not at all.
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

// spared leaves those of a group that no completion of the call has cancelled yet. The others are stale,
// as the store would say.
func spared(group, all []*commitEvent, out *postgres.Outcomes) []*commitEvent {
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
