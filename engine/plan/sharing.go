package plan

import (
	"encoding/binary"
	"slices"

	"pulley/engine/graph"
)

// WrittenOnce says whether at most one run of an instance gives a variable a value, which then stays as it is until the instance
// ends: nothing replaces it, appends to it or clears it.
func (p *Program) WrittenOnce(v graph.VarID) bool {
	return v >= 0 && int(v) < len(p.once) && p.once[v]
}

// CountsAt gives the barrier at which arrivals at a barrier are counted: of barriers that the same hard edges lead to, the first.
// Whatever arrives at one of them arrives at all, so that one counter serves. Any other barrier has its own. Its path is the same.
func (p *Program) CountsAt(barrier graph.NodeID) graph.NodeID {
	if first, ok := p.countsAt[barrier]; ok {
		return first
	}
	return barrier
}

// CountedAt lists the barriers other than this one whose arrivals are counted at it. The slice is the program's own.
func (p *Program) CountedAt(barrier graph.NodeID) []graph.NodeID { return p.countedAt[barrier] }

// shareValues finds the variables that are written once.
func (p *Program) shareValues() {
	g := p.graph
	writers, often := make([]int, len(g.Vars)), make([]bool, len(g.Vars))
	for i := range p.nodes {
		n := &p.nodes[i]
		written := n.Writes()
		for _, e := range g.Out(n.ID) {
			if e.Kind == graph.Exception && e.Var != graph.None {
				written = append(written, e.Var)
			}
		}
		if n.Var != graph.None && n.Kind != graph.Output {
			written = append(written, n.Var)
			often[n.Var] = true // as a loop, a spread or an aggregate keeps its own
		}
		for _, v := range n.Clear {
			often[v] = true
		}
		slices.Sort(written)
		for _, v := range slices.Compact(written) {
			writers[v]++
			often[v] = often[v] || n.Depth > 0 || n.Region != 0
		}
	}
	p.once = make([]bool, len(g.Vars))
	for v := range g.Vars {
		p.once[v] = writers[v] == 1 && !often[v] && !p.local[v] && g.Vars[v].Scope == 0 && g.Vars[v].Length == 0
	}
	for v := range g.Vars {
		if length := g.Vars[v].Length; length != 0 {
			p.once[length] = false
		}
	}
	for _, c := range p.cleared {
		for _, v := range c.Vars {
			p.once[v] = false
		}
	}
}

// shareCounters finds the barriers that the same edges lead to.
func (p *Program) shareCounters() {
	first := map[string]graph.NodeID{}
	for i := range p.nodes {
		n := &p.nodes[i]
		edges, ok := p.hardEdges(n)
		if !ok {
			continue
		}
		key := binary.AppendVarint(binary.AppendVarint(nil, int64(n.Region)), int64(n.Required))
		for _, from := range edges {
			key = binary.AppendVarint(key, int64(from))
		}
		at, there := first[string(key)]
		if !there {
			first[string(key)] = n.ID
			continue
		}
		if p.countsAt == nil {
			p.countsAt, p.countedAt = map[graph.NodeID]graph.NodeID{}, map[graph.NodeID][]graph.NodeID{}
		}
		p.countsAt[n.ID] = at
		p.countedAt[at] = append(p.countedAt[at], n.ID)
	}
}

// hardEdges gives where the edges to a barrier come from, in order, if each of them is taken whenever the others out of its node are.
func (p *Program) hardEdges(n *node) (from []graph.NodeID, ok bool) {
	if !n.waits || n.Kind == graph.Aggregate {
		return nil, false
	}
	for _, e := range p.graph.In(n.ID) {
		of := &p.nodes[e.From]
		switch of.Kind {
		case graph.Branch, graph.Spread, graph.Parallel, graph.LoopInit, graph.LoopHead, graph.LoopNext:
			return nil, false
		}
		if e.Kind != graph.Forward || of.Depth != n.Depth || of.Region != n.Region {
			return nil, false
		}
		from = append(from, e.From)
	}
	slices.Sort(from)
	return from, true
}
