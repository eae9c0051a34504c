package plan

import (
	"encoding/json"
	"slices"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
)

// spread starts a branch for every element, or as many as its limit allows, and opens the aggregate. Without elements it
// continues from the aggregate with an empty list.
func (w *walk) spread(n *node, s step) {
	path := s.run.Path
	v, failure := w.eval(n.expr, path)
	if failure != nil {
		w.fail(failure)
		return
	}
	elements, failure := w.elements(n, v)
	if failure != nil {
		w.fail(failure)
		return
	}
	agg := &w.p.nodes[n.Aggregate]
	if len(elements) == 0 {
		w.assign(agg.Targets, path, agg.place(), value{raw: json.RawMessage("[]")})
		w.leave(agg, s)
		return
	}
	if len(elements) > w.p.limits.SpreadElements {
		w.fail(&Failure{Type: expr.TypeLimit, Message: ir.LimitError(ir.Pos{}, "elements of a spread", len(elements), w.p.limits.SpreadElements).Msg, Pos: n.Pos})
		return
	}
	w.waiting.add(agg.ID)
	w.plan.Opens = append(w.plan.Opens, Open{Run: graph.Run{Node: agg.ID, Path: path}, Required: len(elements)})
	if n.Limit == 0 && w.p.local[n.Var] {
		w.plan.Enqueues = slices.Grow(w.plan.Enqueues, len(elements))
		w.places = make([]Arg, len(elements)*len(w.p.nodes[w.p.graph.Out(n.ID)[0].To].Args))
	}
	for i, e := range elements {
		w.branchOut(n, path.Push(i), e, s, n.Limit == 0 || i < n.Limit)
		if w.plan.End != nil {
			return
		}
	}
}

func (w *walk) branchOut(n *node, path graph.Path, element expr.Value, s step, now bool) {
	each := &w.p.nodes[w.p.graph.Out(n.ID)[0].To]
	slot := w.p.slot(n.Var, path)
	switch {
	case !now:
		w.waiting.add(each.ID)
		if w.p.live.In(each.ID, n.Var) {
			w.set(slot, value{val: element})
			w.force(slot)
		}
	case w.p.local[n.Var]:
		w.values.put(slot, value{val: element})
		w.enqueue(each, path)
		w.values.remove(slot)
	default:
		w.set(slot, value{val: element})
		w.todo = append(w.todo, step{graph.Run{Node: each.ID, Path: path}, s.hops})
	}
}

// clear clears what is over when an edge is taken: a loop's round when the next begins, a loop when it is left, and the
// branches of a spread or parallel when a failure leaves it. What this traversal itself passed through has left nothing. In a
// graph with races, other nodes may still be running anywhere.
func (w *walk) clear(from, to *node, kind graph.EdgeKind, path graph.Path) {
	g := w.p.graph
	if w.event == nil {
		return
	}
	if kind == graph.Back {
		depth := g.Regions[to.Region].Depth
		w.clearUnder(to.Region, path.Cut(depth), depth, w.p.races)
		if i := path.Cut(depth).Last(); i > 0 { // the row of the completion that ended the round before
			w.clearUnder(to.Region, path.Cut(depth-1).Push(i-1), depth-1, w.p.races)
		}
		return
	}
	left, atWork := graph.RegionID(0), w.p.races
	for r := from.Region; !g.Within(to.Region, r); r = g.Regions[r].Parent {
		left = r
		atWork = atWork || !g.Regions[r].Loop && kind == graph.Exception
	}
	if left == 0 || from.Kind == graph.Aggregate && left == from.Region {
		return
	}
	depth := g.Regions[left].Depth
	if g.Regions[left].Loop {
		depth--
	}
	w.clearUnder(left, path.Cut(depth), depth, atWork)
}

// clearUnder adds a clear, if the event comes from a run there. depth is how many parts of its path must equal those of the
// clear's.
func (w *walk) clearUnder(r graph.RegionID, under graph.Path, depth int, atWork bool) {
	g := w.p.graph
	ev := w.event.Run
	c := w.p.Cleared(r)
	switch {
	case len(c.Runs)+len(c.Barriers)+len(c.Vars) == 0:
		return
	case !g.Within(g.Nodes[ev.Node].Region, r) || ev.Path.Cut(depth) != under.Cut(depth):
		return
	}
	kept := w.plan.Clears[:0]
	for _, old := range w.plan.Clears {
		if g.Within(old.Region, r) && old.Path.Under(under) {
			atWork = atWork || old.AtWork
			continue
		}
		kept = append(kept, old)
	}
	w.plan.Clears = append(kept, Clear{Region: r, Path: under, AtWork: atWork})
}
