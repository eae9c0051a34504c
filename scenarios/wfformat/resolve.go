package wfformat

import (
	"fmt"
	"slices"
)

// resolve converts names to indices, both sides of edges to one, and adds run times to their tasks.
func (p *parser) resolve() (*Trace, error) {
	p.path = nil
	layout, tasks := "workflow.specification.tasks", p.raw.spec
	if len(tasks) == 0 {
		layout, tasks = "workflow.tasks", p.raw.flat
	}
	r := &resolver{parser: p, layout: layout, tasks: tasks, trace: p.raw.trace}
	r.trace.File = p.file
	if err := r.names(); err != nil {
		return nil, err
	}
	if err := r.edges(); err != nil {
		return nil, err
	}
	if err := r.times(); err != nil {
		return nil, err
	}
	r.files()
	return r.finish()
}

type resolver struct {
	*parser
	layout string
	tasks  []rawTask
	trace  Trace

	byID   map[string]int
	byName map[string]int
}

const ambiguous = -1

func (r *resolver) wrong(task int, at int, place, format string, args ...any) error {
	line, col := lineCol(r.data, at)
	path := fmt.Sprintf("%s[%d]%s", r.layout, task, place)
	return &Error{File: r.file, Line: line, Col: col, Path: path, Msg: fmt.Sprintf(format, args...)}
}

func (r *resolver) warn(format string, args ...any) {
	r.trace.Warnings = append(r.trace.Warnings, r.file+": "+fmt.Sprintf(format, args...))
}

func (r *resolver) names() error {
	r.byID = make(map[string]int, len(r.tasks))
	r.byName = make(map[string]int, len(r.tasks))
	for i := range r.tasks {
		t := &r.tasks[i].task
		if first, twice := r.byID[t.ID]; twice {
			line, _ := lineCol(r.data, r.tasks[first].at)
			return r.wrong(i, r.tasks[i].at, "", "the id %s is that of the task on line %d too; ids must be unique", shown(t.ID), line)
		}
		r.byID[t.ID] = i
		if _, twice := r.byName[t.Name]; twice {
			r.byName[t.Name] = ambiguous
		} else {
			r.byName[t.Name] = i
		}
	}
	return nil
}

// find resolves a reference by id or, as before version 1.5, by name.
func (r *resolver) find(ref reference) (task int, problem string) {
	if i, ok := r.byID[ref.text]; ok {
		return i, ""
	}
	i, ok := r.byName[ref.text]
	switch {
	case !ok:
		return 0, "there is no task " + shown(ref.text)
	case i == ambiguous:
		return 0, "several tasks are named " + shown(ref.text) + "; use their ids"
	}
	return i, ""
}

// edge is packed so that it sorts by child, then by parent.
type edge uint64

func newEdge(parent, child int) edge { return edge(child)<<32 | edge(parent) }
func (e edge) parent() int           { return int(e & 0xffffffff) }
func (e edge) child() int            { return int(e >> 32) }

func (r *resolver) edges() error {
	var up, down []edge
	for i := range r.tasks {
		for k, ref := range r.tasks[i].parents {
			j, problem := r.find(ref)
			if problem != "" {
				return r.wrong(i, ref.at, fmt.Sprintf(".parents[%d]", k), "%s", problem)
			}
			up = append(up, newEdge(j, i))
		}
		for k, ref := range r.tasks[i].children {
			j, problem := r.find(ref)
			if problem != "" {
				return r.wrong(i, ref.at, fmt.Sprintf(".children[%d]", k), "%s", problem)
			}
			down = append(down, newEdge(i, j))
		}
	}
	up, down = r.distinct(up, "parents"), r.distinct(down, "children")
	all := r.union(up, down)
	r.trace.Tasks = make([]Task, len(r.tasks))
	for i := range r.tasks {
		r.trace.Tasks[i] = r.tasks[i].task
	}
	for _, e := range all {
		t := &r.trace.Tasks[e.child()]
		t.Parents = append(t.Parents, e.parent())
	}
	return nil
}

func (r *resolver) distinct(edges []edge, side string) []edge {
	slices.Sort(edges)
	distinct := slices.Compact(edges)
	if n := len(edges) - len(distinct); n > 0 {
		r.warn("%d %s stand twice in their list; each counts once", n, side)
	}
	return distinct
}

// union merges two sorted lists. A file with both sides should give the same edges twice.
func (r *resolver) union(up, down []edge) []edge {
	all := slices.Concat(up, down)
	slices.Sort(all)
	all = slices.Compact(all)
	onesided := 2*len(all) - len(up) - len(down)
	if len(up) == 0 || len(down) == 0 || onesided == 0 {
		return all
	}
	first := all[0]
	for _, e := range all {
		_, inUp := slices.BinarySearch(up, e)
		_, inDown := slices.BinarySearch(down, e)
		if inUp != inDown {
			first = e
			break
		}
	}
	r.warn("%d edges are named by only one of their tasks, the first of them %s → %s; they count",
		onesided, shown(r.tasks[first.parent()].task.ID), shown(r.tasks[first.child()].task.ID))
	return all
}

// times sets run times if the layout stores them apart.
func (r *resolver) times() error {
	seen := make(map[int]bool, len(r.raw.times))
	unknown := 0
	for i, t := range r.raw.times {
		task, problem := r.find(t.id)
		if problem != "" {
			unknown++
			continue
		}
		if seen[task] {
			line, col := lineCol(r.data, t.id.at)
			return &Error{File: r.file, Line: line, Col: col, Path: fmt.Sprintf("workflow.execution.tasks[%d].id", i),
				Msg: fmt.Sprintf("task %s has run already; a task runs once", shown(t.id.text))}
		}
		seen[task] = true
		r.trace.Tasks[task].ExecutedAt, r.trace.Tasks[task].Machines = t.executedAt, t.machines
		if t.timed {
			r.tasks[task].timed = true
			r.trace.Tasks[task].RuntimeSeconds = t.seconds
		}
	}
	if unknown > 0 {
		r.warn("%d run times are of tasks that the trace does not have; they are left out", unknown)
	}
	untimed := 0
	for i := range r.tasks {
		if !r.tasks[i].timed {
			untimed++
		}
	}
	if untimed > 0 {
		r.warn("%d of %d tasks have no run time; it counts as 0", untimed, len(r.tasks))
	}
	return nil
}

// files makes the ids of files unique; a known size replaces an unknown one.
func (r *resolver) files() {
	files := slices.Concat(r.trace.Files, r.raw.flatFiles)
	if len(files) == 0 {
		return
	}
	at := make(map[string]int, len(files))
	unique := make([]File, 0, len(files))
	for _, f := range files {
		i, ok := at[f.ID]
		switch {
		case !ok:
			at[f.ID] = len(unique)
			unique = append(unique, f)
		case unique[i].SizeBytes == 0:
			unique[i].SizeBytes = f.SizeBytes
		}
	}
	r.trace.Files = unique
}

// finish does what needs the whole trace, such as finding cycles.
func (r *resolver) finish() (*Trace, error) {
	t := &r.trace
	if msg := secondsProblem("makespan", t.MakespanSeconds); msg != "" {
		r.warn("the makespan is left out: %s", msg)
		t.MakespanSeconds = 0
	}
	if t.ExecutedAt == unknownTime {
		t.ExecutedAt = ""
	}
	if _, cycle := t.order(); cycle != nil {
		return nil, r.wrong(cycle[0], r.tasks[cycle[0]].at, "", "%s", t.cycleMessage(cycle))
	}
	return t, nil
}
