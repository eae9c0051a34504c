package plan

import (
	"slices"

	"pulley/engine/graph"
)

// A region is the part of a graph that one event can run through without waiting: inline nodes, and the actions and the output
// at its rim, whose expressions are evaluated on arrival. For each node it holds the variables that may be read from there on.
type region struct {
	p     *Program
	reads [][]graph.VarID
	order []graph.NodeID
	from  map[graph.NodeID]map[graph.VarID]bool
}

// needs computes what each kind of event must read. An accumulator is not included: a growing list must not be read in every
// round, so the traversal stops where it is read and is resumed.
func (p *Program) needs(reads [][]graph.VarID) {
	scalar := make([][]graph.VarID, len(reads))
	for id, vars := range reads {
		for _, v := range vars {
			if p.graph.Vars[v].Length == 0 {
				scalar[id] = append(scalar[id], v)
			} else {
				p.nodes[id].wholeReads = append(p.nodes[id].wholeReads, v)
			}
		}
	}
	for i := range p.nodes { // a spread evaluates the first nodes of its branches
		if n := &p.nodes[i]; n.Kind == graph.Spread {
			n.wholeReads = append(n.wholeReads, p.nodes[p.graph.Out(n.ID)[0].To].wholeReads...)
		}
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		switch n.Kind {
		case graph.Action, graph.Sleep, graph.Aggregate:
			n.needs = p.readSet(p.readsAfter(scalar, n.ID))
			n.caught = p.readSet(p.readsCaught(scalar, n.ID))
		}
		if n.Kind != graph.Aggregate && (n.waits || p.resumes(n)) {
			n.fired = p.readSet(p.readsFrom(scalar, n))
		}
	}
}

// readsAfter leaves out the node's own value.
func (p *Program) readsAfter(reads [][]graph.VarID, id graph.NodeID) []graph.VarID {
	r := p.region(reads, p.next(id))
	set := map[graph.VarID]bool{}
	for _, to := range p.next(id) {
		for v := range r.from[to] {
			if !slices.Contains(p.nodes[id].Kills(), v) {
				set[v] = true
			}
		}
	}
	return p.stored(set)
}

func (p *Program) readsCaught(reads [][]graph.VarID, id graph.NodeID) []graph.VarID {
	set := map[graph.VarID]bool{}
	for _, e := range p.graph.Out(id) {
		if e.Kind != graph.Exception {
			continue
		}
		for v := range p.region(reads, []graph.NodeID{e.To}).from[e.To] {
			if v != e.Var {
				set[v] = true
			}
		}
	}
	return p.stored(set)
}

func (p *Program) readsFrom(reads [][]graph.VarID, n *node) []graph.VarID {
	set := p.region(reads, []graph.NodeID{n.ID}).from[n.ID]
	for _, v := range n.wholeReads {
		set[v] = true
	}
	return p.stored(set)
}

func (p *Program) region(reads [][]graph.VarID, starts []graph.NodeID) *region {
	r := &region{p: p, reads: reads, from: map[graph.NodeID]map[graph.VarID]bool{}}
	r.enter(starts)
	for i := 0; i < len(r.order); i++ {
		if !p.rim(r.order[i]) {
			r.enter(p.next(r.order[i]))
		}
	}
	for changed := true; changed; {
		changed = false
		for i := len(r.order) - 1; i >= 0; i-- {
			changed = r.update(r.order[i]) || changed
		}
	}
	return r
}

func (r *region) enter(ids []graph.NodeID) {
	for _, id := range ids {
		if r.from[id] == nil {
			r.from[id] = map[graph.VarID]bool{}
			r.order = append(r.order, id)
		}
	}
}

func (r *region) update(id graph.NodeID) bool {
	set := r.from[id]
	before := len(set)
	for _, v := range r.reads[id] {
		set[v] = true
	}
	if !r.p.rim(id) {
		writes := r.p.nodes[id].Kills()
		for _, to := range r.p.next(id) {
			for v := range r.from[to] {
				if !slices.Contains(writes, v) {
					set[v] = true
				}
			}
		}
	}
	return len(set) != before
}

// rim reports whether a traversal ends at the node after evaluating its expressions.
func (p *Program) rim(id graph.NodeID) bool {
	kind := p.nodes[id].Kind
	return kind == graph.Action || kind == graph.Sleep || kind == graph.Output
}

// next lists the nodes that a traversal can reach from a node without waiting. An empty spread runs into its aggregate.
func (p *Program) next(id graph.NodeID) []graph.NodeID {
	var out []graph.NodeID
	for _, e := range p.graph.Out(id) {
		if e.Kind != graph.Exception && !p.nodes[e.To].waits {
			out = append(out, e.To)
		}
	}
	if agg, ok := p.nodes[id].Skip(); ok {
		out = append(out, agg)
	}
	return out
}

func (p *Program) stored(set map[graph.VarID]bool) []graph.VarID {
	out := make([]graph.VarID, 0, len(set))
	for v := range set {
		if !p.local[v] {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}
