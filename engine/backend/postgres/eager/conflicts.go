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

// cancelledScopes is what a transaction has cancelled in an instance: all of it, or the regions of clears.
type cancelledScopes struct {
	by     *commitEvent // the event that ended the instance, or nil
	clears []plan.Clear
	shape  *shape
}

func (s *cancelledScopes) covers(run graph.Run) bool {
	if s == nil {
		return false
	}
	return s.by != nil || slices.ContainsFunc(s.clears, func(c plan.Clear) bool {
		return s.shape.graph.Within(s.shape.graph.Nodes[run.Node].Region, c.Region) && run.Path.Under(c.Path)
	})
}

// isCancelled reports whether another event of the transaction cancelled the event's node run.
func (c *commit) isCancelled(e *commitEvent) bool {
	return c.cancelled[e.instance].covers(e.coreEvent.Run)
}

// dropConflicting keeps the events of a round that do not conflict. An event that ends its instance or cancels node runs counts
// as the first, and makes the events of those runs stale; among such events, the widest counts first.
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

// trim removes from a plan what it would start or write in a region that it clears: a node's row serves one round of a loop, an
// ended round has no effects, and rows are cleared before values are written.
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

func (e *commitEvent) clearsValue(slot plan.Slot) bool {
	return slices.ContainsFunc(e.plan.Clears, func(c plan.Clear) bool {
		return slot.Scope.Under(c.Path) && slices.Contains(e.program.Cleared(c.Region).Vars, slot.Var)
	})
}

// cancelOrder orders events by what they cancel: whole instances first, then outer regions.
func cancelOrder(e *commitEvent) graph.RegionID {
	if e.plan.End != nil {
		return 0
	}
	return slices.MinFunc(e.plan.Clears, func(a, b plan.Clear) int { return cmp.Compare(a.Region, b.Region) }).Region
}

// clears returns the clears of a plan that have node runs to delete. The round before the ended one has none: its rows have been
// reused.
func (e *commitEvent) clears() []plan.Clear {
	return slices.DeleteFunc(slices.Clone(e.plan.Clears), func(c plan.Clear) bool { return !e.hasRuns(c) })
}

func (e *commitEvent) hasRuns(c plan.Clear) bool { return e.coreEvent.Run.Path.Under(c.Path) }

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

// under returns the range of a path and all below it: paths below continue with a dot, and the slash sorts after it.
func under(path graph.Path) (low, high string) {
	if path == "" {
		return "", "~"
	}
	return string(path), string(path) + "/"
}

// addRuns appends the node runs of a clear, then the barriers at which they arrive: the order in which completions lock them.
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

func (p *cleared) addValues(id uuid.UUID, all plan.Cleared, c plan.Clear) {
	low, high := under(c.Path)
	for _, v := range all.Vars {
		p.vars.instance = append(p.vars.instance, id)
		p.vars.variable = append(p.vars.variable, int32(v))
		p.vars.low = append(p.vars.low, low)
		p.vars.high = append(p.vars.high, high)
	}
}

// clear deletes what events clear, before they are applied. Node runs that may be open are locked already.
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
