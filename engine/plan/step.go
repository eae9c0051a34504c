package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
)

const backoffMax = time.Hour

// InputError is an input that the workflow does not accept.
type InputError struct{ Msg string }

// Error describes the mistake and the remedy.
func (e *InputError) Error() string { return "input: " + e.Msg }

// ErrEvent means that an event does not fit the program.
var ErrEvent = errors.New("event does not fit the workflow")

// Start plans the start of an instance. The input is a JSON object with exactly the names of the graph's inputs; otherwise the
// error is an *InputError.
func (p *Program) Start(input json.RawMessage) (Plan, error) {
	if p.memo != nil {
		return p.memo.start(p, input)
	}
	return p.start(input)
}

func (p *Program) start(input json.RawMessage) (Plan, error) {
	values, err := p.input(input)
	if err != nil {
		return Plan{}, err
	}
	w := p.walk(nil, Inbox{})
	defer w.done()
	start := &p.nodes[0]
	for i, v := range start.Targets {
		w.set(Slot{Var: v}, value{val: values[i]})
	}
	w.followEdges(start, "")
	return w.finish(), nil
}

func (p *Program) input(input json.RawMessage) ([]expr.Value, error) {
	takes := func() string {
		if len(p.graph.Inputs) == 0 {
			return "takes nothing; give {}"
		}
		return "takes " + strings.Join(p.graph.Inputs, ", ")
	}
	decoded, err := expr.Decode(input, p.limits)
	if err != nil {
		return nil, &InputError{fmt.Sprintf("%s; the workflow %s", err, takes())}
	}
	object, ok := decoded.(*starlark.Dict)
	if !ok {
		return nil, &InputError{fmt.Sprintf("a JSON object is wanted, not %s; the workflow %s", decoded.Type(), takes())}
	}
	for name := range object.Entries() {
		if name, ok := starlark.AsString(name); ok && !slices.Contains(p.graph.Inputs, name) {
			return nil, &InputError{fmt.Sprintf("%q is not an input of the workflow, which %s", name, takes())}
		}
	}
	values := make([]expr.Value, len(p.graph.Inputs))
	for i, name := range p.graph.Inputs {
		v, given, err := object.Get(starlark.String(name))
		if err != nil || !given {
			return nil, &InputError{fmt.Sprintf("%q is missing; the workflow %s", name, takes())}
		}
		values[i] = v
	}
	return values, nil
}

// Needs returns what Step reads from the inbox for the event.
func (p *Program) Needs(ev Event) Needs {
	if p.check(ev) != nil {
		return Needs{}
	}
	n := &p.nodes[ev.Run.Node]
	vars, elements := &n.needs, false
	switch {
	case ev.Fired && n.Kind == graph.Aggregate:
		elements = true
	case ev.Fired:
		vars = &n.fired
	case ev.Failure != nil && !n.Continue:
		vars = &n.caught
	}
	if vars.fixed != nil {
		return Needs{Elements: elements, Slots: vars.fixed}
	}
	needs := Needs{Elements: elements}
	for _, v := range vars.vars {
		if slot, ok := p.need(v, ev); ok {
			needs.Slots = append(needs.Slots, slot)
		}
	}
	return needs
}

// readSet is what an event reads: variables, and their slots if these are the same for every run.
type readSet struct {
	vars  []graph.VarID
	fixed []Slot
}

func (p *Program) readSet(vars []graph.VarID) readSet {
	fixed := make([]Slot, 0, len(vars))
	for _, v := range vars {
		if p.heads[v] != nil || p.graph.Vars[v].Scope != 0 {
			return readSet{vars: vars}
		}
		fixed = append(fixed, Slot{Var: v})
	}
	return readSet{vars: vars, fixed: slices.Clip(fixed)}
}

func (p *Program) need(v graph.VarID, ev Event) (Slot, bool) {
	head, ok := p.heads[v]
	i := 0
	switch {
	case !ok:
		return p.slot(v, ev.Run.Path), true
	case ev.Run.Path.Len() < head.Depth:
		return Slot{}, false // outside the loop, which starts anew
	case head.ranged:
	case ev.Run.Node == head.ID:
		i = ev.Run.Path.Cut(head.Depth).Last()
	default: // the head is reached again in the next round
		i = ev.Run.Path.Cut(head.Depth).Last() + 1
	}
	return chunkSlot(head, ev.Run.Path, i), true
}

// Step plans what an event changes. inbox holds what Needs returned. jitter, from 0 up to 1, spreads the wait before a retry
// over ±10 %. Failures of the workflow are part of the plan; an error is ErrEvent: the event itself is impossible.
func (p *Program) Step(ev Event, inbox Inbox, jitter float64) (Plan, error) {
	if p.memo != nil {
		return p.memo.step(p, ev, inbox, jitter)
	}
	return p.step(ev, inbox, jitter)
}

func (p *Program) step(ev Event, inbox Inbox, jitter float64) (Plan, error) {
	if err := p.check(ev); err != nil {
		return Plan{}, err
	}
	n := &p.nodes[ev.Run.Node]
	w := p.walk(&ev, inbox)
	defer w.done()
	switch {
	case w.broken != nil:
		return Plan{}, fmt.Errorf("%w: %w", ErrEvent, w.broken)
	case !ev.Fired:
		w.ended(n, ev, jitter)
	case n.Kind == graph.Aggregate:
		if err := w.gather(n, ev.Run.Path, inbox.Elements); err != nil {
			return Plan{}, err
		}
	default:
		w.todo = append(w.todo, step{run: ev.Run})
		w.run()
	}
	return w.finish(), nil
}

func (p *Program) check(ev Event) error {
	if ev.Run.Node < 0 || int(ev.Run.Node) >= len(p.nodes) {
		return fmt.Errorf("%w: there is no node %d", ErrEvent, ev.Run.Node)
	}
	n := &p.nodes[ev.Run.Node]
	switch {
	case ev.Run.Path.Len() != n.Depth:
		return fmt.Errorf("%w: node %s has runs of %d parts, not %q", ErrEvent, n.Name, n.Depth, ev.Run.Path)
	case !p.canonical(ev.Run.Path):
		return fmt.Errorf("%w: node %s has no run %q; its parts are numbers from 0", ErrEvent, n.Name, ev.Run.Path)
	case ev.Fired && !n.waits && !p.resumes(n):
		return fmt.Errorf("%w: node %s is no barrier", ErrEvent, n.Name)
	case !ev.Fired && n.Kind != graph.Action && n.Kind != graph.Sleep:
		return fmt.Errorf("%w: node %s is no action", ErrEvent, n.Name)
	}
	return nil
}

// canonical paths have the form of Path.Push, with indices that a loop or spread can have.
func (p *Program) canonical(path graph.Path) bool {
	if path == "" {
		return true
	}
	most := max(p.limits.LoopIterations, p.limits.SpreadElements)
	n, digits, zero := 0, 0, false
	for i := 0; i <= len(path); i++ {
		if i == len(path) || path[i] == '.' {
			if digits == 0 || zero && digits > 1 {
				return false
			}
			n, digits, zero = 0, 0, false
			continue
		}
		c := path[i] - '0'
		if c > 9 {
			return false
		}
		zero = zero || digits == 0 && c == 0
		digits++
		if n = n*10 + int(c); n > most {
			return false
		}
	}
	return true
}

func (p *Program) slot(v graph.VarID, path graph.Path) Slot {
	return Slot{Var: v, Scope: path.Cut(p.graph.Vars[v].Scope)}
}

func (w *walk) ended(n *node, ev Event, jitter float64) {
	result, failure := w.result(n, ev)
	if failure == nil {
		w.assign(n.Targets, ev.Run.Path, n.place(), result)
		w.followEdges(n, ev.Run.Path)
		return
	}
	if retry, ok := n.RetryFor(failure.Type); ok && ev.Attempt <= retry.Count {
		w.plan.Retry = &Retry{After: backoff(retry.Backoff, ev.Attempt, jitter), Failure: *failure}
		return
	}
	if n.Continue {
		w.assign(n.Targets, ev.Run.Path, n.place(), value{val: expr.NewError(failure.Type, failure.Message, failure.Action)})
		w.followEdges(n, ev.Run.Path)
		return
	}
	if e := w.p.graph.Handler(n.ID, failure.Type); e != nil {
		if e.Var != graph.None {
			w.set(w.p.slot(e.Var, ev.Run.Path), value{val: expr.NewError(failure.Type, failure.Message, failure.Action)})
		}
		w.arrive(n, e, step{run: ev.Run})
		w.run()
		return
	}
	w.plan.End = &End{Failure: failure}
}

// Fatal reports whether the failure of an action ends the instance unless it is retried: nothing catches it.
func (p *Program) Fatal(ev Event) bool {
	if ev.Failure == nil || p.check(ev) != nil {
		return false
	}
	n := &p.nodes[ev.Run.Node]
	return !n.Continue && p.graph.Handler(n.ID, ev.Failure.Type) == nil
}

func (w *walk) result(n *node, ev Event) (value, *Failure) {
	failure := ev.Failure
	if failure == nil {
		v, err := expr.Decode(ev.Result, w.p.limits)
		if err == nil {
			return value{val: v, raw: ev.Result}, nil
		}
		var e *expr.EvalError
		failure = &Failure{Type: "ResultError", Message: fmt.Sprintf("the result of @%s is no value: %s", n.Action, err)}
		if errors.As(err, &e) && e.Type == expr.TypeLimit {
			failure.Type = e.Type
		}
	}
	out := *failure
	out.Action, out.Pos = n.Action, n.Pos
	if out.Type == "" {
		out.Type = "Error"
	}
	return value{}, &out
}

// backoff is base × 2^(attempt−1), at most an hour, spread by ±10 %.
func backoff(base time.Duration, attempt int, jitter float64) time.Duration {
	wait := base
	for i := 1; i < attempt && wait > 0 && wait < backoffMax; i++ {
		wait *= 2
	}
	wait = min(wait, backoffMax)
	return time.Duration(float64(wait) * (0.9 + 0.2*jitter))
}

func failureOf(pos ir.Pos, err error) *Failure {
	var e *expr.EvalError
	if !errors.As(err, &e) {
		return &Failure{Type: expr.TypeExpression, Message: err.Error(), Pos: pos}
	}
	if e.Pos.Line > 0 {
		pos = e.Pos
	}
	return &Failure{Type: e.Type, Message: e.Msg, Pos: pos}
}

// JudgeAttempt judges the end of an attempt without planning what follows: it returns the event with a valid result or the
// complete failure, and the retry if there is one. Designs use it that store what happened first and plan later.
func (p *Program) JudgeAttempt(ev Event, jitter float64) (Event, *Retry, error) {
	if err := p.check(ev); err != nil {
		return Event{}, nil, err
	}
	if ev.Fired {
		return Event{}, nil, fmt.Errorf("%w: a barrier that opened is no attempt that ended", ErrEvent)
	}
	n := &p.nodes[ev.Run.Node]
	w := p.walk(nil, Inbox{})
	defer w.done()
	_, ev.Failure = w.result(n, ev)
	if ev.Failure == nil {
		return ev, nil, nil
	}
	ev.Result = nil
	if retry, ok := n.RetryFor(ev.Failure.Type); ok && ev.Attempt <= retry.Count {
		return ev, &Retry{After: backoff(retry.Backoff, ev.Attempt, jitter), Failure: *ev.Failure}, nil
	}
	return ev, nil, nil
}
