package eager

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// calls are what a transaction has called off in an instance: all of it, or what stands under clears.
type calls struct {
	by     *event // who ended the instance; nil while it runs
	clears []plan.Clear
	shape  *shape
}

// off says whether a run has been called off.
func (s *calls) off(run graph.Run) bool {
	if s == nil {
		return false
	}
	return s.by != nil || slices.ContainsFunc(s.clears, func(c plan.Clear) bool {
		return s.shape.graph.Within(s.shape.graph.Nodes[run.Node].Region, c.Region) && run.Path.Under(c.Path)
	})
}

// calledOff says whether the run of an event has been called off by another event of the transaction.
func (c *commit) calledOff(e *event) bool { return c.called[e.instance].off(e.what.Run) }

// rivals leaves of the events of a round those that can take place together. Where one ends its instance
// or calls off what others come from, it is as if it had been first, and they are stale; of several such,
// the one with the most to say.
func (c *commit) rivals(events []*event) []*event {
	var strong []*event
	for _, e := range events {
		if e.plan.End != nil || len(e.plan.Clears) > 0 {
			strong = append(strong, e)
		}
	}
	slices.SortStableFunc(strong, func(a, b *event) int { return cmp.Compare(reach(a), reach(b)) })
	stands := map[*event]bool{}
	for _, e := range strong {
		if c.calledOff(e) {
			continue
		}
		stands[e] = true
		s := c.called[e.instance]
		if s == nil {
			s = &calls{shape: e.shape}
			c.called[e.instance] = s
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
		if !stands[e] && c.calledOff(e) {
			delete(c.live, e)
			continue
		}
		kept = append(kept, e)
	}
	c.result.Tasks = slices.DeleteFunc(c.result.Tasks, func(t backend.Task) bool {
		return c.called[t.Lease.Key.Instance].off(t.Lease.Key.Run)
	})
	return kept
}

// trim takes from a plan what it would begin in a round of a loop that it ends: the row of a node stands for
// one round, and nothing that comes of the other counts any more.
func (e *event) trim(s *calls) {
	p := &e.plan
	p.Enqueues = slices.DeleteFunc(p.Enqueues, func(q plan.Enqueue) bool { return s.off(q.Run) })
	p.Arrivals = slices.DeleteFunc(p.Arrivals, func(a plan.Arrival) bool { return s.off(a.Run) })
	p.Opens = slices.DeleteFunc(p.Opens, func(o plan.Open) bool { return s.off(o.Run) })
	p.Elements = slices.DeleteFunc(p.Elements, func(el plan.Element) bool { return s.off(el.Barrier) })
	p.Resumes = slices.DeleteFunc(p.Resumes, s.off)
}

// reach orders events by how much they call off: the whole instance comes first, then outer regions.
func reach(e *event) graph.RegionID {
	if e.plan.End != nil {
		return 0
	}
	return slices.MinFunc(e.plan.Clears, func(a, b plan.Clear) int { return cmp.Compare(a.Region, b.Region) }).Region
}

// clears gives the clears of an event's plan that have something to take away. The round of a loop before
// the one that ends has left nothing: the rows of a body are used again.
func (e *event) clears() []plan.Clear {
	return slices.DeleteFunc(slices.Clone(e.plan.Clears), func(c plan.Clear) bool { return !e.what.Run.Path.Under(c.Path) })
}

// cleared are the parameters of clear.sql.
type cleared struct {
	nodes, loops struct {
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
	n, v, l := &p.nodes, &p.vars, &p.loops
	return []any{shard, n.instance, n.node, n.low, n.high, v.instance, v.variable, v.low, v.high, l.instance, l.node, l.low, l.high}
}

// under gives the range of paths that are the path or continue it: a slash is what comes after a dot.
func under(path graph.Path) (low, high string) {
	if path == "" {
		return "", "~"
	}
	return string(path), string(path) + "/"
}

// add appends what a clear takes away. Rows of runs come before those that runs arrive at: the order in
// which completions lock them.
func (p *cleared) add(id uuid.UUID, program *plan.Program, s *shape, c plan.Clear) {
	all := program.Cleared(c.Region)
	place := s.place(c.Region, c.Path)
	region := s.graph.Regions[c.Region]
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
	for r, head := range s.heads {
		if r := graph.RegionID(r); !s.graph.Regions[r].Loop || !s.graph.Within(r, c.Region) || r == c.Region && c.Path.Len() == region.Depth {
			continue
		}
		p.loops.instance = append(p.loops.instance, id)
		p.loops.node = append(p.loops.node, int32(head))
		p.loops.low = append(p.loops.low, low)
		p.loops.high = append(p.loops.high, high)
	}
	low, high = under(c.Path)
	for _, v := range all.Vars {
		p.vars.instance = append(p.vars.instance, id)
		p.vars.variable = append(p.vars.variable, int32(v))
		p.vars.low = append(p.vars.low, low)
		p.vars.high = append(p.vars.high, high)
	}
}

// clear takes away what the events clear, before they are applied. Where runs may be at work, one that is
// being completed by another transaction may leave rows that a clear does not see: so it is repeated, in
// this transaction, until it finds nothing.
func (c *commit) clear(ctx context.Context, batch *pgx.Batch, events []*event) error {
	var quietly, atWork cleared
	for _, e := range events {
		for _, cl := range e.clears() {
			if all := e.program.Cleared(cl.Region); cl.AtWork && len(all.Runs)+len(all.Barriers) > 0 {
				atWork.add(e.instance, e.program, e.shape, cl)
			} else {
				quietly.add(e.instance, e.program, e.shape, cl)
			}
		}
	}
	for found := len(atWork.nodes.node); found > 0; {
		if err := c.conn.QueryRow(ctx, clearSQL, atWork.parameters(c.shard)...).Scan(&found); err != nil {
			return err
		}
	}
	if len(quietly.nodes.node)+len(quietly.vars.variable) > 0 {
		batch.Queue(clearSQL, quietly.parameters(c.shard)...)
	}
	return nil
}

// gates are the runs that a transaction locks before anything else, where it is to call runs off that may be
// at work: two that each hold a run and call off the other's would wait in a circle (D5).
type gates []gate

type gate struct {
	instance  uuid.UUID
	node      graph.NodeID
	low, high string
}

// callingOff gives the gates of events of which some call off runs at work: of what they call off, and of
// all the completions.
func callingOff(planned, events []*event) gates {
	var out gates
	for _, e := range planned {
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
	if len(out) == 0 {
		return nil
	}
	for _, e := range events {
		out = append(out, gate{e.instance, e.what.Run.Node, string(e.place), string(e.place)})
	}
	slices.SortFunc(out, func(a, b gate) int {
		return cmp.Or(slices.Compare(a.instance[:], b.instance[:]), cmp.Compare(a.node, b.node), cmp.Compare(a.low, b.low))
	})
	return out
}

// batch begins the transaction anew by locking the gates.
func (g gates) batch(shard int) *pgx.Batch {
	var r rows
	var low, high []string
	for _, gate := range g {
		r.add(gate.instance, gate.node, "")
		low, high = append(low, gate.low), append(high, gate.high)
	}
	batch := &pgx.Batch{}
	batch.Queue("ROLLBACK")
	batch.Queue("BEGIN")
	batch.Queue(gatesSQL, shard, r.instance, r.node, low, high)
	return batch
}
