package wfformat

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"pulley/engine/graph"
)

// Measured is an observed run of a workflow, for [Export].
type Measured struct {
	Name        string // of the trace; empty: the graph's
	Description string
	Runs        []MeasuredRun // attempts of actions, in any order; at least one
	Machine     Machine       // omitted without a name
}

// MeasuredRun is an attempt at a node run of an action. All attempts at a node run become one task, with the sum of their run
// times.
type MeasuredRun struct {
	Run             graph.Run
	Started, Finish time.Time // not before Started
}

const (
	// edgesMax bounds the dependencies written one by one. If there are more, because each of many tasks waits for all of many
	// others, the nodes that join lists become tasks without a run time.
	edgesMax = 500_000

	// reducedMax is the number of parents up to which transitive ones are omitted.
	reducedMax = 8
	// ancestorsMax bounds the tasks examined for that.
	ancestorsMax = 2_000
)

// Export makes a trace of a measured run: a task for each node run, named by its action, and a dependency wherever the graph
// lets one start only after another. The node runs show which branches were taken, and the rounds of loops. Of several nodes
// that a node could start after (soft edges), those that had ended count.
//
// It fails if the runs cannot be those of the graph.
func Export(g *graph.Graph, m Measured) (*Trace, error) {
	e := &exporter{graph: g, most: edgesMax}
	if err := e.tasks(m.Runs); err != nil {
		return nil, err
	}
	if !e.link() {
		e.joins = true
		e.link()
	}
	t := &Trace{
		Name: m.Name, Description: m.Description, SchemaVersion: "1.5", Tasks: e.all,
		CreatedAt: e.first.Format(time.RFC3339Nano), ExecutedAt: e.first.Format(time.RFC3339Nano),
		MakespanSeconds: e.last.Sub(e.first).Seconds(),
	}
	t.Name = cmp.Or(t.Name, g.Name)
	if m.Machine.Name != "" {
		t.Machines = []Machine{m.Machine}
		for i := range t.Tasks {
			t.Tasks[i].Machines = []string{m.Machine.Name}
		}
	}
	return t, t.Check()
}

type exporter struct {
	graph       *graph.Graph
	runs        []measured
	at          map[graph.Run]int // of runs and all
	all         []Task
	first, last time.Time
	most        int

	rounds  map[place]map[int]bool // seen indices of each loop and spread at a path
	spreads map[graph.NodeID]graph.NodeID
	joins   bool // nodes that join lists become tasks
	memo    map[graph.Run][]int
}

type measured struct {
	run             graph.Run
	started, finish time.Time
	worked          time.Duration
}

type place struct {
	region graph.RegionID
	path   graph.Path
}

func (e *exporter) tasks(list []MeasuredRun) error {
	if len(list) == 0 {
		return errors.New("no action ran, and a trace has at least one task")
	}
	byRun := map[graph.Run]*measured{}
	for _, r := range list {
		id := int(r.Run.Node)
		if id < 0 || id >= len(e.graph.Nodes) || e.graph.Nodes[id].Kind != graph.Action || r.Run.Path.Len() != e.graph.Nodes[id].Depth {
			return fmt.Errorf("node %d at %q is no node run of an action of %s", id, r.Run.Path, e.graph.Name)
		}
		if r.Finish.Before(r.Started) {
			return fmt.Errorf("node %s at %q finished before it started", e.graph.Nodes[id].Name, r.Run.Path)
		}
		have := byRun[r.Run]
		if have == nil {
			have = &measured{run: r.Run, started: r.Started, finish: r.Finish}
			byRun[r.Run] = have
		}
		have.worked += r.Finish.Sub(r.Started)
		if r.Started.Before(have.started) {
			have.started = r.Started
		}
		if r.Finish.After(have.finish) {
			have.finish = r.Finish
		}
	}
	for _, r := range byRun {
		e.runs = append(e.runs, *r)
	}
	slices.SortFunc(e.runs, func(a, b measured) int {
		return cmp.Or(a.started.Compare(b.started), a.finish.Compare(b.finish), cmp.Compare(a.run.Node, b.run.Node), cmp.Compare(a.run.Path, b.run.Path))
	})
	e.first, e.last = e.runs[0].started, e.runs[0].finish
	e.at, e.rounds = map[graph.Run]int{}, map[place]map[int]bool{}
	for i, r := range e.runs {
		e.at[r.run] = i
		e.all = append(e.all, Task{
			ID: e.id(r.run), Name: e.graph.Nodes[r.run.Node].Action, ExecutedAt: r.started.Format(time.RFC3339Nano),
			RuntimeSeconds: math.Round(r.worked.Seconds()*1e9) / 1e9,
		})
		if r.finish.After(e.last) {
			e.last = r.finish
		}
		e.see(r.run)
	}
	e.spreads = map[graph.NodeID]graph.NodeID{}
	for _, n := range e.graph.Nodes {
		if n.Kind == graph.Spread {
			e.spreads[n.Aggregate] = n.ID
		}
	}
	return nil
}

func (e *exporter) id(run graph.Run) string {
	name := e.graph.Nodes[run.Node].Name
	if run.Path == "" {
		return name
	}
	return fmt.Sprintf("%s[%s]", name, run.Path)
}

func (e *exporter) see(run graph.Run) {
	for level := 1; level <= run.Path.Len(); level++ {
		at := place{e.owner(e.graph.Nodes[run.Node].Region, level), run.Path.Cut(level - 1)}
		if e.rounds[at] == nil {
			e.rounds[at] = map[int]bool{}
		}
		e.rounds[at][run.Path.Cut(level).Last()] = true
	}
}

// owner is the loop or spread of a path's element, counted from 1: a loop's is one of the leading elements that choose its
// round, a spread's the one after those that choose its run.
func (e *exporter) owner(region graph.RegionID, level int) graph.RegionID {
	around := e.graph.Around(region)
	for _, r := range around {
		if e.graph.Regions[r].Loop && e.graph.Regions[r].Depth == level {
			return r
		}
	}
	for _, r := range around {
		if !e.graph.Regions[r].Loop && e.graph.Regions[r].Depth == level-1 {
			return r
		}
	}
	return 0
}

// link reports whether the parents are at most most.
func (e *exporter) link() bool {
	e.memo = map[graph.Run][]int{}
	e.all = e.all[:len(e.runs)]
	edges := 0
	for i := range e.runs {
		parents := e.causal(i, e.before(e.runs[i].run))
		if len(parents) > 1 && len(parents) <= reducedMax {
			parents = e.reduced(parents)
		}
		e.all[i].Parents = parents
		if edges += len(parents); edges > e.most && !e.joins {
			return false
		}
	}
	return true
}

// causal omits parents that had not ended when a task began: something else started it. If that is all of them, clocks differ,
// and it omits none.
func (e *exporter) causal(task int, parents []int) []int {
	began := e.runs[task].started
	late := func(p int) bool { return p < len(e.runs) && e.runs[p].finish.After(began) }
	if !slices.ContainsFunc(parents, late) {
		return parents
	}
	kept := slices.DeleteFunc(slices.Clone(parents), late)
	if len(kept) == 0 {
		return parents
	}
	return kept
}

// before returns what a node run waits for, ascending.
func (e *exporter) before(run graph.Run) []int {
	if have, known := e.memo[run]; known {
		return have
	}
	e.memo[run] = nil // ends a cycle, which no graph has
	var all []int
	for _, edge := range e.graph.In(run.Node) {
		for _, from := range e.sources(edge, run) {
			all = append(all, e.through(from)...)
		}
	}
	if spread, is := e.spreads[run.Node]; is && len(all) == 0 { // it had no elements
		all = e.through(graph.Run{Node: spread, Path: run.Path})
	}
	slices.Sort(all)
	all = slices.Compact(all)
	e.memo[run] = all
	return all
}

// through returns a node run's task, or else what it waits for. Nothing passes through an action that did not run.
func (e *exporter) through(run graph.Run) []int {
	n := e.graph.Nodes[run.Node]
	if n.Kind == graph.Action {
		if i, ran := e.at[run]; ran {
			return []int{i}
		}
		return nil
	}
	parents := e.before(run)
	if !e.joins || n.Kind != graph.Aggregate || len(parents) < 2 {
		return parents
	}
	i := len(e.all)
	e.all = append(e.all, Task{ID: e.id(run), Name: string(graph.Aggregate), Parents: parents})
	e.memo[run] = []int{i}
	return e.memo[run]
}

// sources are the runs of an edge's node that can have led to a run.
func (e *exporter) sources(edge *graph.Edge, to graph.Run) []graph.Run {
	from, target := e.graph.Nodes[edge.From], e.graph.Nodes[to.Node]
	path := to.Path
	if target.Kind == graph.LoopHead {
		round := path.Last()
		switch back := edge.Kind == graph.Back; {
		case back && round == 0, !back && round > 0:
			return nil // the first round starts from outside, every other one from the previous
		case back:
			path = path.Cut(path.Len() - 1).Push(round - 1)
		}
	}
	if from.Depth <= path.Len() {
		return []graph.Run{{Node: from.ID, Path: path.Cut(from.Depth)}}
	}
	paths := []graph.Path{path}
	for level := path.Len() + 1; level <= from.Depth; level++ {
		owner := e.owner(from.Region, level)
		var longer []graph.Path
		for _, p := range paths {
			for _, i := range e.indices(owner, p, from) {
				longer = append(longer, p.Push(i))
			}
		}
		paths = longer
	}
	runs := make([]graph.Run, len(paths))
	for i, p := range paths {
		runs[i] = graph.Run{Node: from.ID, Path: p}
	}
	return runs
}

// indices are a spread's elements, or a loop's last round: of its head one more.
func (e *exporter) indices(owner graph.RegionID, path graph.Path, from *graph.Node) []int {
	seen := e.rounds[place{owner, path}]
	if !e.graph.Regions[owner].Loop {
		var all []int
		for i := range seen {
			all = append(all, i)
		}
		return all
	}
	last := -1
	for i := range seen {
		last = max(last, i)
	}
	if from.Kind == graph.LoopHead && e.graph.Regions[from.Region].Depth == path.Len()+1 {
		return []int{last + 1}
	}
	if last < 0 {
		return nil
	}
	return []int{last}
}

func (e *exporter) reduced(parents []int) []int {
	over := map[int]bool{}
	for _, p := range parents {
		look, seen := slices.Clone(e.all[p].Parents), map[int]bool{}
		for len(look) > 0 && len(seen) < ancestorsMax {
			at := look[len(look)-1]
			look = look[:len(look)-1]
			if seen[at] {
				continue
			}
			seen[at] = true
			over[at] = true
			look = append(look, e.all[at].Parents...)
		}
	}
	return slices.DeleteFunc(slices.Clone(parents), func(p int) bool { return over[p] })
}
