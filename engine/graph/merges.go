package graph

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// A condition describes under which decisions of the branches a node runs: in one of the ways, each of which requires, of some
// branches, one of a set of cases. No ways is never; a way without requirements is always.
type condition []way

// way maps a branch to a bit for each case that it may take.
type way map[NodeID]uint64

// merges refuses a node that waits for something that may never come: a hard edge from the case of a branch, or from what
// follows one, while the node's other predecessors run in every case. Such a node would silently never run. It also refuses an
// output that some decisions do not reach.
func (c *checker) merges() {
	if !c.g.hasMerges() {
		return
	}
	for _, n := range c.g.Nodes {
		if n.Kind == Branch && len(c.g.out[n.ID]) > caseMax {
			c.add(n, "has %d cases; %d are the most before nodes that wait, so put a branch behind its else", len(c.g.out[n.ID]), caseMax)
			return
		}
	}
	c.conditions()
}

func (c *checker) conditions() []condition {
	known := make([]condition, len(c.g.Nodes))
	forks := map[NodeID]NodeID{}
	for _, n := range c.g.Nodes {
		if n.Kind == Spread || n.Kind == Parallel {
			forks[n.Aggregate] = n.ID
		}
	}
	for _, id := range c.g.order() {
		n := c.g.Nodes[id]
		cond, ok := c.condition(n, known)
		if !ok {
			return nil
		}
		known[id] = cond
		if !c.ends(n, known, forks) {
			return nil
		}
	}
	return known
}

// ends refuses a node that ends the workflow, a round or a branch under fewer decisions than that begins.
func (c *checker) ends(n *Node, known []condition, forks map[NodeID]NodeID) bool {
	begin := n.ID
	switch out := c.g.out[n.ID]; {
	case n.Kind == Output:
		begin = 0
	case n.Kind == Aggregate:
		begin = forks[n.ID]
	case n.Kind == LoopNext && len(out) > 0:
		begin = out[0].To
	}
	switch cond := known[n.ID]; {
	case cond.equal(known[begin]):
		return true
	case n.Kind == Output:
		c.add(n, "is not reached if %s; let it come after one node of every case with AfterAny", cond.without(c.g))
	default:
		c.add(c.g.Nodes[begin], "begins what is not ended if %s; let its end come after one node of every case with AfterAny", cond.without(c.g))
	}
	return false
}

// hasMerges reports whether any branch comes before something that waits: otherwise nothing can be missed. Graphs compiled from
// programs have exclusive joins only.
func (g *Graph) hasMerges() bool {
	branches, waits := false, false
	for _, n := range g.Nodes {
		branches = branches || n.Kind == Branch
		waits = waits || n.Kind != Aggregate && (g.Waits(n) || n.Kind == Output && !n.Exclusive)
	}
	return branches && waits
}

func (g *Graph) order() []NodeID {
	open := make([]int, len(g.Nodes))
	for _, e := range g.Edges {
		if e.Kind != Data && e.Kind != Back {
			open[e.To]++
		}
	}
	out := []NodeID{0}
	for i := 0; i < len(out); i++ {
		for _, e := range g.out[out[i]] {
			if e.Kind == Back {
				continue
			}
			if open[e.To]--; open[e.To] == 0 {
				out = append(out, e.To)
			}
		}
	}
	return out
}

func (c *checker) condition(n *Node, known []condition) (condition, bool) {
	if n.Kind == Input {
		return condition{way{}}, true
	}
	var hard []condition
	var hardFrom []string
	var soft condition
	var softFrom []string
	for _, e := range c.g.in[n.ID] {
		cond, from := known[e.From], c.g.Nodes[e.From].Name
		switch e.Kind {
		case Guard:
			soft, softFrom = append(soft, cond.with(e.From, c.g.caseBit(e))...), append(softFrom, from)
		case Soft:
			soft, softFrom = append(soft, cond...), append(softFrom, from)
		case Forward, Continue, Break:
			hard, hardFrom = append(hard, cond), append(hardFrom, from)
		}
	}
	if len(softFrom) > 0 {
		hard, hardFrom = append(hard, c.g.simplify(soft)), append(hardFrom, strings.Join(softFrom, " or "))
	}
	for i := 1; i < len(hard); i++ {
		if !hard[i].equal(hard[0]) {
			narrow, cond := hardFrom[i], hard[i]
			if hard[i].equal(condition{way{}}) {
				narrow, cond = hardFrom[0], hard[0]
			}
			c.add(n, "waits for %s, which does not run if %s, so it might never run itself; use AfterAny for the ends of a branch's cases", narrow, cond.without(c.g))
			return nil, false
		}
	}
	if len(hard) == 0 {
		return condition{way{}}, true
	}
	return hard[0], true
}

// caseBit numbers the cases of a branch by target and order.
func (g *Graph) caseBit(e *Edge) uint64 {
	return 1 << slices.Index(g.out[e.From], e)
}

// allCases has a bit for every way out of a branch; without an else the last bit stands for none.
func (g *Graph) allCases(branch NodeID) uint64 {
	out := g.out[branch]
	n := len(out)
	if !slices.ContainsFunc(out, func(e *Edge) bool { return e.Guard == nil }) {
		n++
	}
	return 1<<n - 1
}

func (c condition) with(branch NodeID, bit uint64) condition {
	out := make(condition, len(c))
	for i, w := range c {
		out[i] = way{branch: bit}
		for b, bits := range w {
			out[i][b] = bits
		}
	}
	return out
}

// simplify merges ways that differ in one branch only, until none do. A branch with all cases allowed does not matter.
func (g *Graph) simplify(c condition) condition {
	c = slices.Clone(c)
again:
	for i := range c {
		for j := i + 1; j < len(c); j++ {
			merged, ok := c[i].merge(c[j])
			if !ok {
				continue
			}
			for b, bits := range merged {
				if bits == g.allCases(b) {
					delete(merged, b)
				}
			}
			c[i] = merged
			c = slices.Delete(c, j, j+1)
			goto again
		}
	}
	return c
}

// merge returns the way that allows what either allows, if that is one way.
func (w way) merge(v way) (way, bool) {
	if w.within(v) {
		return v.clone(), true
	}
	if v.within(w) {
		return w.clone(), true
	}
	if len(w) != len(v) {
		return nil, false
	}
	out := w.clone()
	different := 0
	for b, bits := range v {
		mine, ok := out[b]
		if !ok {
			return nil, false
		}
		if mine != bits {
			different++
			out[b] = mine | bits
		}
	}
	return out, different <= 1
}

func (w way) within(v way) bool {
	for b, bits := range v {
		mine, ok := w[b]
		if !ok || mine&^bits != 0 {
			return false
		}
	}
	return true
}

func (w way) clone() way {
	out := way{}
	for b, bits := range w {
		out[b] = bits
	}
	return out
}

func (c condition) equal(d condition) bool {
	covers := func(a, b condition) bool {
		for _, w := range a {
			if !slices.ContainsFunc(b, w.within) {
				return false
			}
		}
		return true
	}
	return covers(c, d) && covers(d, c)
}

func (c condition) without(g *Graph) string {
	var names []string
	for _, w := range c {
		for b := range w {
			names = append(names, g.Nodes[b].Name)
		}
	}
	sort.Strings(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return "a branch decides otherwise"
	}
	return fmt.Sprintf("branch %s takes another case", strings.Join(names, " or "))
}
