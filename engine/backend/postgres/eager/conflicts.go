package eager

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// cancelledScopes are what a transaction has cancelled in an instance: all of it, or what stands under clears.
type cancelledScopes struct {
	by     *commitEvent // who ended the instance; nil while it runs
	clears []plan.Clear
	shape  *shape
}

// covers says whether a run has been cancelled.
func (s *cancelledScopes) covers(run graph.Run) bool {
	if s == nil {
		return false
	}
	return s.by != nil || slices.ContainsFunc(s.clears, func(c plan.Clear) bool {
		return s.shape.graph.Within(s.shape.graph.Nodes[run.Node].Region, c.Region) && run.Path.Under(c.Path)
	})
}

// isCancelled says whether the run of an event has been cancelled by another event of the transaction.
func (c *commit) isCancelled(e *commitEvent) bool {
	return c.cancelled[e.instance].covers(e.coreEvent.Run)
}

// dropConflicting leaves of the events of a round those that can are applied together. Where one ends its instance
// or cancels what others come from, it is as if it had been first, and they are stale; of several such,
// the one with the most to say.
func (c *commit) dropConflicting(events []*commitEvent) []*commitEvent {
	var strong []*commitEvent
	for _, e := range events {
		if e.plan.End != nil || len(e.plan.Clears) > 0 {
			strong = append(strong, e)
		}
	}
	slices.SortStableFunc(strong, func(a, b *commitEvent) int { return cmp.Compare(cancelOrder(a), cancelOrder(b)) })
	stands := map[*commitEvent]bool{}
	for _, e := range strong {
		if c.isCancelled(e) {
			continue
		}
		stands[e] = true
		s := c.cancelled[e.instance]
		if s == nil {
			s = &cancelledScopes{shape: e.shape}
			c.cancelled[e.instance] = s
		}
		s.clears = append(s.clears, e.clears()...)
		if e.plan.End != nil {
			s.by = e
		} else {
			e.trim(s)
		}
	}
	kept := events[:0:0]
	for _, e := range events {
		if !stands[e] && c.isCancelled(e) {
			delete(c.live, e)
			continue
		}
		kept = append(kept, e)
	}
	c.result.Tasks = slices.DeleteFunc(c.result.Tasks, func(t backend.Task) bool {
		return c.cancelled[t.Lease.Key.Instance].covers(t.Lease.Key.Run)
	})
	return kept
}

// trim takes from a plan what it would begin or write in what it clears: the row of a node stands for one round of a loop, nothing that comes
// of a round that ends counts any more, and rows are cleared before values are written.
func (e *commitEvent) trim(s *cancelledScopes) {
	p := &e.plan
	p.Enqueues = slices.DeleteFunc(p.Enqueues, func(q plan.Enqueue) bool { return s.covers(q.Run) })
	p.Arrivals = slices.DeleteFunc(p.Arrivals, func(a plan.Arrival) bool { return s.covers(a.Run) })
	p.Opens = slices.DeleteFunc(p.Opens, func(o plan.Open) bool { return s.covers(o.Run) })
	p.Elements = slices.DeleteFunc(p.Elements, func(el plan.Element) bool { return s.covers(el.Barrier) })
	p.Resumes = slices.DeleteFunc(p.Resumes, s.covers)
	p.Writes = slices.DeleteFunc(p.Writes, func(w plan.Write) bool { return e.clearsValue(w.Slot) })
	p.Appends = slices.DeleteFunc(p.Appends, func(a plan.Append) bool { return e.clearsValue(a.Slot) })
}

// clearsValue says whether the event's plan takes away what a slot holds.
func (e *commitEvent) clearsValue(slot plan.Slot) bool {
	return slices.ContainsFunc(e.plan.Clears, func(c plan.Clear) bool {
		return slot.Scope.Under(c.Path) && slices.Contains(e.program.Cleared(c.Region).Vars, slot.Var)
	})
}

// cancelOrder orders events by how much they cancel: the whole instance comes first, then outer regions.
func cancelOrder(e *commitEvent) graph.RegionID {
	if e.plan.End != nil {
		return 0
	}
	return slices.MinFunc(e.plan.Clears, func(a, b plan.Clear) int { return cmp.Compare(a.Region, b.Region) }).Region
}

// clears gives the clears of an event's plan that have runs to take away. The round of a loop before the one
// that ends has left none: the rows of a body are used again.
func (e *commitEvent) clears() []plan.Clear {
	return slices.DeleteFunc(slices.Clone(e.plan.Clears), func(c plan.Clear) bool { return !e.hasRuns(c) })
}

func (e *commitEvent) hasRuns(c plan.Clear) bool { return e.coreEvent.Run.Path.Under(c.Path) }

// cleared are the parameters of clear.sql.
type cleared struct {
	nodes struct {
		instance  [][16]byte
		node      []int32
		low, high []string
	}
	vars struct {
		instance  [][16]byte
		variable  []int32
		low, high []string
	}
}

func (p *cleared) parameters(shard int) []any {
	n, v := &p.nodes, &p.vars
	return []any{shard, n.instance, n.node, n.low, n.high, v.instance, v.variable, v.low, v.high}
}

// under gives the range of paths that are the path or continue it: a slash is what comes after a dot.
func under(path graph.Path) (low, high string) {
	if path == "" {
		return "", "~"
	}
	return string(path), string(path) + "/"
}

// addRuns appends the runs that a clear takes away. Their rows come before those that they arrive at: the order
// in which completions lock them.
func (p *cleared) addRuns(id uuid.UUID, all plan.Cleared, s *shape, c plan.Clear) {
	place := s.place(c.Region, c.Path)
	low, high := under(place)
	for _, n := range slices.Concat(all.Runs, slices.DeleteFunc(slices.Clone(all.Barriers), func(n graph.NodeID) bool { return slices.Contains(all.Runs, n) })) {
		p.nodes.instance = append(p.nodes.instance, id)
		p.nodes.node = append(p.nodes.node, int32(n))
		p.nodes.low = append(p.nodes.low, low)
		if s.indices(s.graph.Nodes[n]) == place.Len() {
			p.nodes.high = append(p.nodes.high, low)
		} else {
			p.nodes.high = append(p.nodes.high, high)
		}
	}
}

// addValues appends the values that a clear takes away.
func (p *cleared) addValues(id uuid.UUID, all plan.Cleared, c plan.Clear) {
	low, high := under(c.Path)
	for _, v := range all.Vars {
		p.vars.instance = append(p.vars.instance, id)
		p.vars.variable = append(p.vars.variable, int32(v))
		p.vars.low = append(p.vars.low, low)
		p.vars.high = append(p.vars.high, high)
	}
}

// clear takes away what the events clear, before they are applied. Where runs may be at work, all that could
// add to it is locked.
func (c *commit) clear(batch *pgx.Batch, events []*commitEvent) {
	var all cleared
	for _, e := range events {
		for _, cl := range e.plan.Clears {
			what := e.program.Cleared(cl.Region)
			if e.hasRuns(cl) {
				all.addRuns(e.instance, what, e.shape, cl)
			}
			all.addValues(e.instance, what, cl)
		}
	}
	if len(all.nodes.node)+len(all.vars.variable) > 0 {
		batch.Queue(clearSQL, all.parameters(c.shard)...)
	}
}
