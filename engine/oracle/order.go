package oracle

import (
	"math"
	"slices"

	"pulley/engine/graph"
)

// judgeOrder checks I5: an action starts only after what it depends on has committed. Moments are lines of the history: a
// predecessor is done when its applied completion was offered, or, in commit order, answered.
func judgeOrder(j *judgement) {
	j.Why = "there is no graph of any instance, or no action that waits for another"
	for _, r := range j.instances {
		if j.rules.Graph == nil {
			return
		}
		if g := j.rules.Graph(r.id); g != nil {
			newOrder(j, r, g).judge()
		}
	}
}

type moment struct {
	line  int        // in the history; otherwise one of the two below
	blame *runRecord // the action that took until then, or that has not ended; nil: none
	node  string     // the node that was not reached, for never
}

const (
	always = -1
	never  = math.MaxInt
)

func (m moment) neverRan() bool { return m.line == never && m.blame == nil }

func later(a, b moment) moment {
	if b.line > a.line {
		return b
	}
	return a
}

func sooner(a, b moment) moment {
	if b.line < a.line {
		return b
	}
	return a
}

// order computes when the node runs of one instance became reachable.
type order struct {
	*judgement
	instance *instanceRecord
	graph    *graph.Graph
	nodes    map[string]*graph.Node
	reached  map[graph.Run]moment // also of nodes that are not actions
	finished map[*runRecord]moment
	regions  map[regionKey]*region
	last     map[graph.Run]moment // when the last run of an action within a path's prefix was done; nil until needed
}

func newOrder(j *judgement, r *instanceRecord, g *graph.Graph) *order {
	o := &order{
		judgement: j, instance: r, graph: g,
		nodes:   make(map[string]*graph.Node, len(g.Nodes)),
		reached: map[graph.Run]moment{}, finished: map[*runRecord]moment{},
		regions: map[regionKey]*region{},
	}
	for _, n := range g.Nodes {
		o.nodes[n.Name] = n
	}
	return o
}

func (o *order) judge() {
	for _, r := range o.instance.runs {
		if len(r.started) == 0 {
			continue
		}
		start := r.started[0]
		n := o.nodes[r.key.node]
		path := graph.Path(r.key.path)
		if n == nil || n.Kind != graph.Action || n.Depth != path.Len() {
			o.Judged++
			o.violate([]int{start}, "the workflow has no action %s", r.key)
			continue
		}
		m := o.ready(n, path)
		if m.line == always {
			continue
		}
		o.Judged++
		switch {
		case m.line == never:
			o.violate([]int{start}, "%s started, and %s has not committed", r.key, m.node)
		case m.line > start:
			o.violate([]int{start, m.line}, "%s started before %s had committed", r.key, m.blame.key)
		}
	}
}

// ready returns the moment from which a node run can have been reached: after all of its forward edges and one of its soft
// group, to which the cases of a branch belong.
func (o *order) ready(n *graph.Node, path graph.Path) moment {
	run := graph.Run{Node: n.ID, Path: path}
	m, known := o.reached[run]
	if !known {
		if n.Exclusive || n.Kind == graph.LoopHead {
			m = o.oneWay(n, path)
		} else {
			m = o.allWays(n, path)
		}
		o.reached[run] = m
	}
	return m
}

func (o *order) allWays(n *graph.Node, path graph.Path) moment {
	result := moment{line: always}
	group := moment{line: never, node: n.Name}
	hasHard, hasSoft, hasGroup := false, false, false
	for _, e := range o.graph.In(n.ID) {
		m := o.edgeTime(e, n, path)
		if e.Kind == graph.Forward {
			result, hasHard = later(result, m), true
			continue
		}
		group, hasGroup = sooner(group, m), true
		hasSoft = hasSoft || e.Kind == graph.Soft
	}
	if hasGroup && (hasSoft || !hasHard) {
		result = later(result, group)
	}
	return result
}

// oneWay is for a node that is reached on exactly one of its ways. A way on which an action did not run was not taken; nor,
// after a caught failure, one on which an action did not end: it was cancelled. Of the others, the one with the latest action
// was taken, since a way without actions is as early as its decision.
func (o *order) oneWay(n *graph.Node, path graph.Path) moment {
	result := moment{line: never, node: n.Name}
	found := false
	for _, e := range o.graph.In(n.ID) {
		m := o.edgeTime(e, n, path)
		switch {
		case m.neverRan(), m.line == never && o.instance.broken:
			if result.line == never && !m.neverRan() {
				result = m
			}
		case !found:
			result, found = m, true
		default:
			result = later(result, m)
		}
	}
	return result
}

func (o *order) edgeTime(e *graph.Edge, n *graph.Node, path graph.Path) moment {
	from := o.graph.Nodes[e.From]
	if n.Kind == graph.LoopHead {
		round := path.Last()
		switch {
		case e.Kind == graph.Back && round > 0:
			return o.passed(from, path.Cut(n.Depth-1).Push(round-1))
		case e.Kind == graph.Back || round > 0:
			return moment{line: never, node: from.Name}
		}
	}
	if from.Depth > n.Depth {
		return o.regionEnd(from, n.Depth, path)
	}
	if e.Kind == graph.Exception && !o.failed(from, path.Cut(from.Depth)) {
		return moment{line: never, node: from.Name}
	}
	return o.passed(from, path.Cut(from.Depth))
}

func (o *order) failed(n *graph.Node, path graph.Path) bool {
	r := o.byRun[runKey{o.instance.id, n.Name, string(path)}]
	if o.rules.Partial || r == nil {
		return o.rules.Partial
	}
	if len(o.final(r)) == 0 && o.firstOpen(r) >= 0 {
		return true
	}
	return slices.ContainsFunc(o.final(r), func(line int) bool { return o.history[line].Error != nil })
}

func (o *order) passed(n *graph.Node, path graph.Path) moment {
	r := o.byRun[runKey{o.instance.id, n.Name, string(path)}]
	if n.Kind == graph.Sleep && r != nil && len(r.answered) > 0 { // its end was recorded, so the recorder relies on it
		return o.done(r)
	}
	if n.Kind != graph.Action {
		return o.ready(n, path)
	}
	if r == nil {
		if o.rules.Partial {
			return moment{line: always}
		}
		return moment{line: never, node: n.Name}
	}
	return o.done(r)
}

func (o *order) done(r *runRecord) moment {
	m, known := o.finished[r]
	if !known {
		m = o.finish(r)
		o.finished[r] = m
	}
	return m
}

func (o *order) finish(r *runRecord) moment {
	finals := o.final(r)
	if len(finals) == 0 {
		if o.rules.Partial {
			return moment{line: always}
		}
		if line := o.firstOpen(r); line >= 0 {
			return moment{line: line, blame: r}
		}
		return moment{line: never, node: r.key.String(), blame: r}
	}
	if o.rules.CommitOrder {
		return moment{line: finals[0], blame: r}
	}
	for _, line := range r.offered {
		if o.history[line].Token == o.history[finals[0]].Token {
			return moment{line: line, blame: r}
		}
	}
	return moment{line: always} // the offer was not recorded
}

// firstOpen returns the line of a run's first completion with an unknown answer, or -1. A recorder of commits knows all
// answers.
func (o *order) firstOpen(r *runRecord) int {
	if o.rules.CommitOrder {
		return -1
	}
	open := o.openOffers(r)
	for _, line := range r.offered {
		if open[o.history[line].Token] > 0 {
			return line
		}
	}
	return -1
}

// regionKey identifies a loop or a spread by the node from which it is left and the depth to which.
type regionKey struct {
	from  graph.NodeID
	depth int
}

type region struct {
	actions []*graph.Node
	entries []*graph.Edge
}

// regionEnd returns the moment at which a loop or a spread, whose last node is from, was over: all of its actions that ran are
// done, and the way into it could be taken. After a caught failure, other branches may still run.
func (o *order) regionEnd(from *graph.Node, depth int, path graph.Path) moment {
	reg := o.region(from, depth)
	in := moment{line: never, node: from.Name}
	for _, e := range reg.entries {
		entry := o.graph.Nodes[e.From]
		in = sooner(in, o.passed(entry, path.Cut(entry.Depth)))
	}
	if o.instance.broken {
		return in
	}
	if o.last == nil {
		o.summarize()
	}
	for _, n := range reg.actions {
		if m, ran := o.last[graph.Run{Node: n.ID, Path: path}]; ran {
			in = later(in, m)
		}
	}
	return in
}

func (o *order) region(from *graph.Node, depth int) *region {
	key := regionKey{from.ID, depth}
	if r := o.regions[key]; r != nil {
		return r
	}
	r := &region{}
	seen := map[graph.NodeID]bool{from.ID: true}
	for queue := []*graph.Node{from}; len(queue) > 0; queue = queue[1:] {
		if queue[0].Kind == graph.Action {
			r.actions = append(r.actions, queue[0])
		}
		for _, e := range o.graph.In(queue[0].ID) {
			before := o.graph.Nodes[e.From]
			switch {
			case before.Depth <= depth:
				r.entries = append(r.entries, e)
			case !seen[before.ID]:
				seen[before.ID] = true
				queue = append(queue, before)
			}
		}
	}
	o.regions[key] = r
	return r
}

// summarize computes, for every action and every prefix of its runs' paths, when the last of them was done.
func (o *order) summarize() {
	o.last = map[graph.Run]moment{}
	for _, r := range o.instance.runs {
		n := o.nodes[r.key.node]
		if n == nil || n.Kind != graph.Action {
			continue
		}
		m := o.done(r)
		path := graph.Path(r.key.path)
		for depth := range path.Len() {
			prefix := graph.Run{Node: n.ID, Path: path.Cut(depth)}
			if known, has := o.last[prefix]; has {
				o.last[prefix] = later(known, m)
			} else {
				o.last[prefix] = m
			}
		}
	}
}
