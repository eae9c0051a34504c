package graph

import (
	"slices"

	"pulley/engine/expr"
)

type reading struct {
	at   *NodeBuilder
	in   *NodeBuilder // at, or the Map, For or Fold around it in the body of what is read
	text string
	name string
}

// readings refuses expressions that read a node which does not come before them, or which may still be running: their value
// would be chance. A node in a case that was not taken does not run, so what comes after the ends of all cases may choose
// between their values.
func (b *Builder) readings() {
	late := map[*NodeBuilder][]reading{}
	hard := map[[2]*NodeBuilder]bool{}
	for _, o := range b.bodies {
		for _, nb := range o.nodes {
			for _, from := range nb.hard {
				hard[[2]*NodeBuilder{from, nb}] = true
			}
			for _, r := range nb.readings() {
				if by := r.source(); !hard[[2]*NodeBuilder{by, r.in}] {
					late[by] = append(late[by], r)
				}
			}
		}
	}
	if len(late) == 0 {
		return
	}
	order := newSequence(b.g)
	for _, o := range b.bodies {
		slices.SortStableFunc(o.nodes, func(a, b *NodeBuilder) int { return order.place[a.n.ID] - order.place[b.n.ID] })
		for _, by := range o.nodes {
			if len(late[by]) > 0 {
				order.judge(by, late[by])
			}
		}
	}
}

// readings lists what the node's expressions read of other nodes. A For or Fold reads itself in its body.
func (n *NodeBuilder) readings() []reading {
	var out []reading
	for _, e := range n.reads() {
		compiled, err := expr.Compile(e, n.body.b.g.Limits)
		if err != nil {
			continue
		}
		for _, name := range compiled.Names() {
			r := reading{at: n, in: n, text: e.Text, name: name}
			for !r.in.body.returns(name) {
				r.in = r.in.body.node
			}
			by := r.source()
			if by != nil && (by != r.in || r.in == n || by.n.Kind == Spread) {
				out = append(out, r)
			}
		}
	}
	return out
}

func (o *Body) returns(name string) bool {
	_, ok := o.values[name]
	return ok
}

// source is nil for inputs and elements.
func (r reading) source() *NodeBuilder { return r.in.body.values[r.name].by }

type sequence struct {
	place      []int
	conditions []condition
}

func newSequence(g *Graph) *sequence {
	s := &sequence{place: make([]int, len(g.Nodes)), conditions: (&checker{g: g}).conditions()}
	for i, id := range g.order() {
		s.place[id] = i
	}
	return s
}

// judge refuses the readings of a node that do not wait for it.
func (s *sequence) judge(by *NodeBuilder, rs []reading) {
	after := map[*NodeBuilder]bool{by: true}   // what comes after it on some way
	certain := map[*NodeBuilder]bool{by: true} // once it has ended, the node that is read has ended or never runs
	for _, n := range by.body.nodes[slices.Index(by.body.nodes, by)+1:] {
		after[n] = slices.ContainsFunc(n.before(), func(from *NodeBuilder) bool { return after[from] })
	}
	for _, n := range by.body.nodes {
		if n == by {
			continue
		}
		safe := func(from *NodeBuilder) bool { return certain[from] || s.apart(by, from) }
		any := slices.Concat(n.soft, n.from)
		certain[n] = slices.ContainsFunc(n.hard, safe) || len(any) > 0 && !slices.ContainsFunc(any, func(from *NodeBuilder) bool { return !safe(from) })
	}
	for _, r := range rs {
		switch {
		case r.in == by || !after[r.in]:
			r.at.mistake("%q reads %s, which does not come before it; use After", r.text, r.name)
		case !certain[r.in]:
			r.at.mistake("%q reads %s, which may still be at work then; use After instead of AfterAny", r.text, r.name)
		}
	}
}

func (s *sequence) apart(a, b *NodeBuilder) bool {
	for _, v := range s.conditions[a.n.ID] {
		for _, w := range s.conditions[b.n.ID] {
			if v.joins(w) {
				return false
			}
		}
	}
	return true
}

// joins reports whether some decisions are within both ways.
func (w way) joins(v way) bool {
	for b, bits := range v {
		if mine, ok := w[b]; ok && mine&bits == 0 {
			return false
		}
	}
	return true
}
