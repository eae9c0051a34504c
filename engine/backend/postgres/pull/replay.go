package pull

import (
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
	program  *plan.Program
	values   map[plan.Slot]json.RawMessage
	elements map[graph.Run][]plan.Element
	barriers map[graph.Run]*barrier
	runnable []entry // node runs that the core enqueued, in order
	end      *plan.End
	seen     map[graph.Run]bool
}

// barrier is a readiness counter in memory.
type barrier struct {
	required, completed int
	soft                bool
}

// entry is a node run with its arguments put together.
type entry struct {
	run  graph.Run
	args json.RawMessage
}

// completion is a row of the ledger that has its result.
type completion struct {
	run     graph.Run
	attempt int
	done    int64
	result  json.RawMessage
	failure *plan.Failure
}

// rebuild leads the core through an instance from its input on.
func rebuild(p *plan.Program, input json.RawMessage, completions []completion) (*replay, error) {
	r := &replay{
		program: p, values: map[plan.Slot]json.RawMessage{}, elements: map[graph.Run][]plan.Element{},
		barriers: map[graph.Run]*barrier{}, seen: map[graph.Run]bool{},
	}
	started, err := p.Start(input)
	if err != nil {
		return nil, err
	}
	if err := r.apply(started); err != nil {
		return nil, err
	}
	slices.SortFunc(completions, func(a, b completion) int { return int(a.done - b.done) })
	for _, c := range completions {
		if r.end != nil {
			break
		}
		// Retries were decided when the attempt ended: what stands in the ledger is final.
		ev := plan.Event{Run: c.run, Attempt: finalAttempt, Result: c.result, Failure: c.failure}
		if err := r.step(ev); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// finalAttempt is an attempt after which no policy tries again.
const finalAttempt = 1 << 30

func (r *replay) step(ev plan.Event) error {
	needs := r.program.Needs(ev)
	inbox := plan.Inbox{Values: map[plan.Slot]json.RawMessage{}}
	for _, s := range needs.Slots {
		if v, ok := r.values[s]; ok {
			inbox.Values[s] = v
		}
	}
	if needs.Elements {
		inbox.Elements = r.elements[ev.Run]
		delete(r.elements, ev.Run)
	}
	pl, err := r.program.Step(ev, inbox, 0)
	if err != nil {
		return err
	}
	return r.apply(pl)
}

func (r *replay) apply(pl plan.Plan) error {
	for _, w := range pl.Writes {
		if r.values[w.Slot] = w.Value; w.Value == nil {
			delete(r.values, w.Slot)
		}
	}
	for _, e := range pl.Elements {
		r.elements[e.Barrier] = append(r.elements[e.Barrier], e)
	}
	for _, o := range pl.Opens {
		r.barriers[o.Run] = &barrier{required: o.Required}
	}
	for _, q := range pl.Enqueues {
		args, err := backend.AssembleArgs(q.Args, func(s plan.Slot) (json.RawMessage, bool) {
			v, ok := r.values[s]
			return v, ok
		})
		if err != nil {
			return fmt.Errorf("%s: %w", r.program.RunName(q.Run), err)
		}
		if r.seen[q.Run] {
			return fmt.Errorf("%s: runnable twice (I1)", r.program.RunName(q.Run))
		}
		r.seen[q.Run] = true
		r.runnable = append(r.runnable, entry{q.Run, args})
	}
	if pl.End != nil {
		r.end = pl.End
		return nil
	}
	for _, a := range pl.Arrivals {
		if err := r.arrive(a); err != nil || r.end != nil {
			return err
		}
	}
	return nil
}

// arrive counts, and goes on from a barrier that opens.
func (r *replay) arrive(a plan.Arrival) error {
	b := r.barriers[a.Run]
	if b == nil {
		b = &barrier{required: a.Required}
		r.barriers[a.Run] = b
	}
	if a.Soft {
		if b.soft {
			return nil
		}
		b.soft = true
	}
	b.completed++
	switch {
	case b.completed > b.required:
		return fmt.Errorf("%w: %s has %d arrivals of %d", backend.ErrOverflow, r.program.RunName(a.Run), b.completed, b.required)
	case b.completed < b.required:
		return nil
	}
	return r.step(plan.Event{Run: a.Run, Fired: true})
}
