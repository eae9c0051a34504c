package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
)

// refBytes is the size from which an argument that is just a variable is passed by its slot: a fan-out must not copy a large
// input once per task (D12).
const refBytes = 1 << 10

type walk struct {
	p      *Program
	event  *Event // nil at the start of an instance
	cause  Event  // what event points to
	values table
	dirty  []Slot
	added  []pending // appended by this traversal to a list that is not in memory, or was read from the inbox
	todo   []step
	plan   Plan
	broken error // no plan wrote this inbox

	args    []expr.Value
	places  []Arg   // allocated at once for the actions to enqueue
	passing nodeSet // enqueued actions: what is live across them must be written
	waiting nodeSet // where the traversal stopped: what these and later nodes read must be written, too
}

type step struct {
	run  graph.Run
	hops int
}

// value is in one form or both; in none if it was removed.
type value struct {
	raw   json.RawMessage
	val   expr.Value
	dirty bool
	force bool // to be written in any case: passed by reference, or for a run that starts later
}

func (v *value) there() bool { return v != nil && (v.raw != nil || v.val != nil) }

// walks reuses the memory of traversals; plans do not refer to it.
var walks = sync.Pool{New: func() any { return new(walk) }}

// done frees the traversal. Nothing may refer to it any more.
func (w *walk) done() {
	clear(w.dirty)
	clear(w.added)
	clear(w.args)
	clear(w.todo[:cap(w.todo)])
	w.values.clear()
	w.p, w.event, w.cause, w.plan, w.places, w.broken = nil, nil, Event{}, Plan{}, nil, nil
	w.dirty, w.added, w.todo, w.args = w.dirty[:0], w.added[:0], w.todo[:0], w.args[:0]
	w.passing, w.waiting = w.passing[:0], w.waiting[:0]
	if cap(w.dirty)+cap(w.added)+cap(w.todo) < keptValuesMax {
		walks.Put(w)
	}
}

// keptValuesMax bounds the memory that is reused: a large traversal is rare.
const keptValuesMax = 4096

func (p *Program) walk(ev *Event, inbox Inbox) *walk {
	w := walks.Get().(*walk)
	w.p = p
	if ev != nil {
		w.cause = *ev
		w.event = &w.cause
	}
	for slot, raw := range inbox.Values {
		if whole, err := JoinAppended(raw, inbox.Appended[slot]); err != nil {
			w.broken = fmt.Errorf("%s: %w", p.slotName(slot), err)
		} else {
			w.values.put(slot, value{raw: whole})
		}
	}
	return w
}

// run executes the steps, in order of arrival, until everything has stopped at a frontier.
func (w *walk) run() {
	for i := 0; i < len(w.todo) && w.plan.End == nil; i++ {
		s := w.todo[i]
		n := &w.p.nodes[s.run.Node]
		if s.hops++; s.hops > w.p.limits.InlineSteps && n.Kind != graph.Action {
			w.fail(&Failure{Type: expr.TypeLimit, Message: ir.LimitError(ir.Pos{}, "inline steps per completion", s.hops, w.p.limits.InlineSteps).Msg, Pos: n.Pos})
			return
		}
		if !w.stops(n, s.run) {
			w.execute(n, s)
		}
		if i > 1024 && i*2 > len(w.todo) { // a long inline loop keeps its list short
			w.todo = append(w.todo[:0], w.todo[i+1:]...)
			i = -1
		}
	}
	w.todo = w.todo[:0]
}

// stops stops the traversal before a node that reads an unread accumulator: it is resumed there.
func (w *walk) stops(n *node, run graph.Run) bool {
	if len(n.wholeReads) == 0 || w.event != nil && w.event.Fired && w.event.Run == run {
		return false
	}
	for _, v := range n.wholeReads {
		slot := w.p.slot(v, run.Path)
		if known := w.values.get(slot); known != nil && (known.there() || known.dirty) {
			continue
		}
		if length := w.values.get(Slot{w.p.graph.Vars[v].Length, slot.Scope}); length != nil && !length.there() {
			continue // it was removed
		}
		w.resume(run)
		return true
	}
	return false
}

func (w *walk) resume(run graph.Run) {
	w.waiting.add(run.Node)
	if item := w.p.nodes[run.Node].item; item != graph.None {
		w.force(w.p.slot(item, run.Path))
	}
	w.plan.Resumes = append(w.plan.Resumes, run)
}

func (w *walk) followEdges(n *node, path graph.Path) {
	w.leave(n, step{run: graph.Run{Node: n.ID, Path: path}})
	w.run()
}

func (w *walk) leave(n *node, s step) {
	if w.plan.End != nil {
		return
	}
	for _, e := range w.p.graph.Out(n.ID) {
		if e.Kind != graph.Exception {
			w.arrive(n, e, s)
		}
	}
}

func (w *walk) execute(n *node, s step) {
	path := s.run.Path
	switch n.Kind {
	case graph.Assign, graph.Return:
		w.sets(n, path)
		w.leave(n, s)
	case graph.Branch:
		w.branch(n, s)
	case graph.Join, graph.Parallel, graph.LoopNext, graph.LoopExit:
		w.leave(n, s)
	case graph.LoopInit:
		w.loopInit(n, s)
	case graph.LoopHead:
		w.loopHead(n, s)
	case graph.Spread:
		w.spread(n, s)
	case graph.Action:
		w.enqueue(n, path)
	case graph.Sleep:
		w.sleep(n, path)
	case graph.Output:
		w.output(n, path)
	default:
		w.fail(&Failure{Type: "NotSupported", Message: fmt.Sprintf("the scheduler cannot run a %s node", n.Kind), Pos: n.Pos})
	}
}

// arrive takes one edge. The path follows the target's depth: entering a loop starts at iteration 0, going back adds one, and
// leaving loops and spreads cuts.
func (w *walk) arrive(from *node, e *graph.Edge, s step) {
	to, path := &w.p.nodes[e.To], s.run.Path
	if to.Kind == graph.Aggregate {
		w.element(from, to, e, path)
		return
	}
	w.clear(from, to, e.Kind, path)
	next := path.Cut(to.Depth)
	switch {
	case to.Depth > from.Depth && from.Kind == graph.LoopInit:
		next = path.Push(0)
	case e.Kind == graph.Back:
		next = path.Cut(to.Depth - 1).Push(next.Last() + 1)
	}
	if to.waits {
		w.waiting.add(to.ID)
		w.plan.Arrivals = append(w.plan.Arrivals, Arrival{Run: graph.Run{Node: to.ID, Path: next}, Required: to.Required, Soft: e.Kind == graph.Soft || e.Kind == graph.Guard})
		return
	}
	w.todo = append(w.todo, step{graph.Run{Node: to.ID, Path: next}, s.hops})
}

func (w *walk) element(from, to *node, e *graph.Edge, path graph.Path) {
	index := e.Element
	if from.Depth > to.Depth {
		index = path.Cut(to.Depth + 1).Last()
	}
	raw, failure := w.encode(w.values.get(w.p.slot(e.Var, path)), to.Pos)
	if failure != nil {
		w.fail(failure)
		return
	}
	barrier := graph.Run{Node: to.ID, Path: path.Cut(to.Depth)}
	w.waiting.add(to.ID)
	w.plan.Elements = append(w.plan.Elements, Element{Barrier: barrier, Index: index, Value: raw})
	w.plan.Arrivals = append(w.plan.Arrivals, Arrival{Run: barrier, Required: to.Required, Watched: to.fork != nil && to.fork.Limit > 0})
}

func (w *walk) gather(n *node, path graph.Path, elements []Element) error {
	elements = slices.Clone(elements)
	slices.SortFunc(elements, func(a, b Element) int { return a.Index - b.Index })
	list := []byte{'['}
	for i, e := range elements {
		if e.Index != i {
			return fmt.Errorf("%w: element %d of %s is missing or there twice", ErrEvent, i, n.Name)
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, e.Value...)
	}
	if n.Required > 0 && n.Required != len(elements) {
		return fmt.Errorf("%w: %d elements of %s, not %d", ErrEvent, len(elements), n.Name, n.Required)
	}
	list = append(list, ']')
	if len(list) > w.p.limits.ValueBytes {
		w.fail(&Failure{Type: expr.TypeLimit, Message: ir.LimitError(ir.Pos{}, "bytes of the list of results", len(list), w.p.limits.ValueBytes).Msg, Pos: n.Pos})
		return nil
	}
	w.assign(n.Targets, path, n.place(), value{raw: list})
	w.followEdges(n, path)
	return nil
}

func (w *walk) branch(n *node, s step) {
	for i, e := range w.p.graph.Out(n.ID) {
		if n.guards[i] != nil {
			v, failure := w.eval(n.guards[i], s.run.Path)
			if failure != nil {
				w.fail(failure)
				return
			}
			if !expr.Truth(v) {
				continue
			}
		}
		w.arrive(n, e, s)
		return
	}
	w.fail(&Failure{Type: "NoCase", Message: fmt.Sprintf("no case of branch %s holds and it has no else", n.Name), Pos: n.Pos})
}

func (w *walk) enqueue(n *node, path graph.Path) {
	task := Enqueue{Run: graph.Run{Node: n.ID, Path: path}, Action: n.Action}
	into := w.plan.Enqueues
	if k := len(n.Args); into == nil && 0 < k && k <= len(alone{}.args) && len(w.places) < k {
		one := new(alone)
		into, task.Args = one.enqueues[:0], one.args[:k:k]
	} else {
		task.Args = w.allocArgs(k)
	}
	for i, a := range n.Args {
		arg, failure := w.arg(n.args[i], path)
		if failure != nil {
			w.fail(failure)
			return
		}
		arg.Name = a.Name
		task.Args[i] = arg
	}
	w.passing.add(n.ID)
	w.plan.Enqueues = append(into, task)
}

// alone allocates a plan's only action, the usual case, together with its few arguments.
type alone struct {
	enqueues [1]Enqueue
	args     [2]Arg
}

func (w *walk) allocArgs(n int) []Arg {
	if n == 0 {
		return nil
	}
	if len(w.places) < n {
		return make([]Arg, n)
	}
	places := w.places[:n:n]
	w.places = w.places[n:]
	return places
}

// arg evaluates an argument. A large value of a variable is passed by its slot.
func (w *walk) arg(x *expression, path graph.Path) (Arg, *Failure) {
	if x.constant != nil {
		if raw := x.constant(); raw != nil {
			return Arg{Value: raw}, nil
		}
	}
	if !x.bare {
		v, failure := w.eval(x, path)
		if failure != nil {
			return Arg{}, failure
		}
		raw, failure := w.encode(&value{val: v}, x.compiled.Expr().Pos)
		return Arg{Value: raw}, failure
	}
	slot := w.p.slot(x.vars[0], path)
	known := w.values.get(slot)
	if !known.there() {
		_, failure := w.eval(x, path)
		return Arg{}, failure
	}
	raw, failure := w.encode(known, x.compiled.Expr().Pos)
	if failure != nil || len(raw) < refBytes || w.p.local[x.vars[0]] {
		return Arg{Value: raw}, failure
	}
	known.force = true
	ref := slot
	return Arg{Ref: &ref}, nil
}

// sleepMax bounds a sleep to what clocks and databases can represent.
const sleepMax = 100 * 365 * 24 * time.Hour

func (w *walk) sleep(n *node, path graph.Path) {
	v, failure := w.eval(n.expr, path)
	if failure != nil {
		w.fail(failure)
		return
	}
	seconds, ok := starlark.AsFloat(v)
	if !ok || seconds < 0 {
		w.fail(&Failure{Type: expr.TypeExpression, Message: "sleep needs a number of seconds that is not negative, not " + quoted(v), Pos: n.Expr.Pos})
		return
	}
	after := sleepMax
	if seconds < sleepMax.Seconds() {
		after = time.Duration(seconds * float64(time.Second))
	}
	w.passing.add(n.ID)
	w.plan.Enqueues = append(w.plan.Enqueues, Enqueue{Run: graph.Run{Node: n.ID, Path: path}, After: after})
}

func (w *walk) output(n *node, path graph.Path) {
	end := &End{}
	if n.expr == nil {
		raw, failure := w.encode(w.values.get(w.p.slot(n.Var, path)), n.Pos)
		if failure != nil {
			w.fail(failure)
			return
		}
		end.Result = raw
	} else {
		v, failure := w.eval(n.expr, path)
		if failure != nil {
			w.fail(failure)
			return
		}
		if end.Result, failure = w.encode(&value{val: v}, n.Pos); failure != nil {
			w.fail(failure)
			return
		}
	}
	w.plan.End = end
}

func (w *walk) fail(f *Failure) { w.plan.End = &End{Failure: f} }

// finish adds the writes to the plan. An instance that ends writes only its end.
func (w *walk) finish() Plan {
	if w.plan.End != nil {
		return Plan{End: w.plan.End}
	}
	for _, slot := range w.dirty {
		v := w.values.get(slot)
		if !w.isReadLater(slot, v) {
			continue
		}
		wr := Write{Slot: slot, Drops: w.p.graph.Vars[slot.Var].Length != 0}
		if v.there() {
			var failure *Failure
			if wr.Value, failure = w.encode(v, ir.Pos{}); failure != nil {
				return Plan{End: &End{Failure: failure}}
			}
		}
		w.plan.Writes = append(w.plan.Writes, wr)
	}
	for _, a := range w.added {
		if !w.isReadLater(a.slot, w.values.get(a.slot)) {
			continue
		}
		raw, err := expr.Encode(a.val)
		if err != nil {
			return Plan{End: &End{Failure: failureOf(a.pos, err)}}
		}
		w.plan.Appends = append(w.plan.Appends, Append{Slot: a.slot, Index: a.index, Value: raw})
	}
	return w.plan
}

func (w *walk) isReadLater(slot Slot, v *value) bool {
	if w.p.local[slot.Var] {
		return false
	}
	if v != nil && v.force {
		return true
	}
	for _, id := range w.passing {
		if w.p.live.Across(w.p.graph.Nodes[id], slot.Var) {
			return true
		}
	}
	for _, id := range w.waiting {
		if w.p.live.In(id, slot.Var) && w.p.nodes[id].item != slot.Var {
			return true
		}
	}
	return false
}

func (w *walk) force(slot Slot) {
	v := w.values.get(slot)
	if v == nil {
		v = w.values.put(slot, value{})
	}
	v.force = true
}
