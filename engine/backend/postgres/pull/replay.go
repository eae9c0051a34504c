package pull

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// replay is an instance's state as the ledger tells it: the core is led through the completions in
// their order, and what it wanted is kept in memory.
type replay struct {
	program *plan.Program
	root    place
	order   []graph.Run // runs that the core enqueued, in order
	seen    map[graph.Run]bool
	todo    []plan.Event // what follows from the completion at hand
	clears  []plan.Clear // what is taken away after it
	end     *plan.End
	ignored []graph.Run // completed, and called off or after the end
}

// completion is a row of the ledger that has its result.
type completion struct {
	run     graph.Run
	done    int64
	result  json.RawMessage
	failure *plan.Failure
}

// finalAttempt is an attempt after which no policy tries again.
const finalAttempt = 1 << 30

// rebuild leads the core through an instance from its input on. Completions of runs that are not under
// way then are of such as were called off before they ended, and change nothing.
func rebuild(p *plan.Program, input json.RawMessage, completions []completion) (*replay, error) {
	r := &replay{program: p, seen: map[graph.Run]bool{}}
	started, err := p.Start(input)
	if err != nil {
		return nil, err
	}
	if err := r.commit(started); err != nil {
		return nil, err
	}
	slices.SortFunc(completions, func(a, b completion) int { return cmp.Compare(a.done, b.done) })
	for _, c := range completions {
		at := r.root.find(c.run.Path)
		if _, open := at.runs[c.run.Node]; !open || r.end != nil {
			r.ignored = append(r.ignored, c.run)
			continue
		}
		delete(at.runs, c.run.Node)
		// Retries were decided when the attempt ended: what stands in the ledger is final.
		pl, err := r.step(plan.Event{Run: c.run, Attempt: finalAttempt, Result: c.result, Failure: c.failure})
		if err != nil {
			return nil, err
		}
		if err := r.commit(pl); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// commit applies a plan, what follows from it, and at last what is taken away.
func (r *replay) commit(pl plan.Plan) error {
	for {
		if err := r.apply(pl); err != nil {
			return err
		}
		if r.end != nil || len(r.todo) == 0 {
			break
		}
		ev := r.todo[0]
		r.todo = r.todo[1:]
		var err error
		if pl, err = r.step(ev); err != nil {
			return err
		}
	}
	for _, c := range r.clears {
		r.root.clear(c.Path, r.program.Cleared(c.Region))
	}
	r.clears = r.clears[:0]
	return nil
}

func (r *replay) step(ev plan.Event) (plan.Plan, error) {
	needs := r.program.Needs(ev)
	inbox := plan.Inbox{Values: map[plan.Slot]json.RawMessage{}}
	for _, s := range needs.Slots {
		at := r.root.find(s.Scope)
		if v, ok := at.values[s.Var]; ok {
			inbox.Values[s] = v
		}
		if appended := at.appended[s.Var]; appended != nil {
			put(&inbox.Appended, s, appended)
		}
	}
	if needs.Elements {
		at := r.root.find(ev.Run.Path)
		inbox.Elements = at.elements[ev.Run.Node]
		delete(at.elements, ev.Run.Node)
	}
	return r.program.Step(ev, inbox, 0)
}

func (r *replay) apply(pl plan.Plan) error {
	if pl.End != nil {
		r.end = pl.End
		return nil
	}
	r.store(pl)
	for _, q := range pl.Enqueues {
		if r.seen[q.Run] {
			return fmt.Errorf("%s: runnable twice (I1)", r.program.RunName(q.Run))
		}
		r.seen[q.Run] = true
		r.order = append(r.order, q.Run)
		put(&r.root.at(q.Run.Path).runs, q.Run.Node, q)
	}
	for _, run := range pl.Resumes {
		r.todo = append(r.todo, plan.Event{Run: run, Fired: true})
	}
	for _, a := range pl.Arrivals {
		if err := r.arrive(a); err != nil {
			return err
		}
	}
	r.clears = append(r.clears, pl.Clears...)
	return nil
}

// store keeps the values of a plan.
func (r *replay) store(pl plan.Plan) {
	for _, w := range pl.Writes {
		at := r.root.at(w.Slot.Scope)
		if w.Drops {
			delete(at.appended, w.Slot.Var)
		}
		if w.Value == nil {
			delete(at.values, w.Slot.Var)
			continue
		}
		put(&at.values, w.Slot.Var, w.Value)
	}
	for _, a := range pl.Appends {
		at := r.root.at(a.Slot.Scope)
		put(&at.appended, a.Slot.Var, append(at.appended[a.Slot.Var], a))
	}
	for _, e := range pl.Elements {
		at := r.root.at(e.Barrier.Path)
		put(&at.elements, e.Barrier.Node, append(at.elements[e.Barrier.Node], e))
	}
	for _, o := range pl.Opens {
		put(&r.root.at(o.Run.Path).barriers, o.Run.Node, &barrier{required: o.Required})
	}
}

// arrive counts, and notes what follows.
func (r *replay) arrive(a plan.Arrival) error {
	at := r.root.at(a.Run.Path)
	b := at.barriers[a.Run.Node]
	if b == nil {
		b = &barrier{required: a.Required}
		put(&at.barriers, a.Run.Node, b)
	}
	if a.Soft {
		if b.soft {
			return nil
		}
		b.soft = true
	}
	if b.completed++; b.completed > b.required {
		return fmt.Errorf("%w: %s has %d arrivals of %d", backend.ErrOverflow, r.program.RunName(a.Run), b.completed, b.required)
	}
	if a.Watched || b.completed == b.required {
		r.todo = append(r.todo, r.program.Reached(a.Run, b.required, b.completed-1, b.completed)...)
	}
	return nil
}

// open gives a run that is to be executed and has not ended.
func (r *replay) open(run graph.Run) (plan.Enqueue, bool) {
	q, ok := r.root.find(run.Path).runs[run.Node]
	return q, ok
}

// slot reads the whole value of a slot.
func (r *replay) slot(s plan.Slot) (json.RawMessage, bool) {
	at := r.root.find(s.Scope)
	base, ok := at.values[s.Var]
	whole, err := plan.JoinAppended(base, at.appended[s.Var])
	return whole, ok && err == nil
}
