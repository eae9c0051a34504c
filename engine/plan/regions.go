package plan

import (
	"slices"

	"pulley/engine/graph"
)

// Cleared lists what may have rows in a region and those inside it. The slices belong to the program.
func (p *Program) Cleared(region graph.RegionID) Cleared {
	if region < 0 || int(region) >= len(p.cleared) {
		return Cleared{}
	}
	return p.cleared[region]
}

// BarrierEvents returns the events that follow, in the same transaction, when a barrier's count has changed from before to
// after: the next elements of a limited spread, one for each that has ended; and the barrier itself when it is full.
func (p *Program) BarrierEvents(barrier graph.Run, required, before, after int) []Event {
	var out []Event
	if first, limit := p.window(barrier.Node); limit > 0 {
		for i := limit + before; i < min(limit+after, required); i++ {
			out = append(out, Event{Run: graph.Run{Node: first, Path: barrier.Path.Push(i)}, Fired: true})
		}
	}
	if after == required {
		out = append(out, Event{Run: barrier, Fired: true})
	}
	return out
}

// window returns, for the aggregate of a limited spread, the first node of a branch and the limit; otherwise a limit of 0.
func (p *Program) window(agg graph.NodeID) (graph.NodeID, int) {
	if spread := p.nodes[agg].fork; spread != nil && spread.Limit > 0 {
		return p.graph.Out(spread.ID)[0].To, spread.Limit
	}
	return 0, 0
}

func (p *Program) regions() {
	p.cleared = make([]Cleared, len(p.graph.Regions))
	for i := range p.nodes {
		n := &p.nodes[i]
		for _, r := range p.graph.Around(n.Region) {
			c := &p.cleared[r]
			if n.Kind == graph.Action || n.Kind == graph.Sleep {
				c.Runs = append(c.Runs, n.ID)
			}
			if n.waits {
				c.Barriers = append(c.Barriers, n.ID)
			}
			for _, v := range p.under(n, r) {
				if !slices.Contains(c.Vars, v) {
					c.Vars = append(c.Vars, v)
				}
			}
		}
	}
}

func (p *Program) under(n *node, r graph.RegionID) []graph.VarID {
	var out []graph.VarID
	outer := p.graph.Regions[r].Depth
	if p.graph.Regions[r].Loop { // a variable of that scope is the round's own
		outer--
	}
	written := n.Writes()
	switch n.Kind {
	case graph.Aggregate:
		out = append(out, n.Var)
		if n.fork.Kind == graph.Spread {
			written = append(written, n.fork.Var)
		}
	case graph.LoopHead:
		if n.Var != graph.None {
			out = append(out, n.Var)
		}
	}
	for _, e := range p.graph.Out(n.ID) {
		if e.Kind == graph.Exception && e.Var != graph.None {
			written = append(written, e.Var)
		}
	}
	for _, v := range written {
		if p.graph.Vars[v].Scope <= outer || p.local[v] {
			continue
		}
		if out = append(out, v); p.graph.Vars[v].Length != 0 {
			out = append(out, p.graph.Vars[v].Length)
		}
	}
	return out
}
