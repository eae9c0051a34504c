package pull

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

type replay struct {
	inst    state.Instance
	end     *plan.End
	ignored []graph.Run // cancelled, or completed after the end
}

type completion struct {
	run     graph.Run
	done    int64
	result  json.RawMessage
	failure *plan.Failure
}

// finalAttempt is an attempt that no policy retries.
const finalAttempt = 1 << 30

// rebuild replays an instance from its input. Completions of runs that are not open belong to cancelled runs, and are ignored.
// The replay's clock is zero.
func rebuild(id uuid.UUID, p *plan.Program, input json.RawMessage, completions []completion) (*replay, error) {
	r := &replay{inst: state.Instance{ID: id, Core: p}}
	started, err := p.Start(input)
	if err != nil {
		return nil, err
	}
	space := state.Space{Rules: state.Rules{KeepDone: true}}
	t := space.Begin(0)
	t.Final = true
	if r.end, err = t.Apply(&r.inst, started); err != nil {
		return nil, err
	}
	slices.SortFunc(completions, func(a, b completion) int { return cmp.Compare(a.done, b.done) })
	for i := range completions {
		c := &completions[i]
		run, open := r.open(c.run)
		if !open || r.end != nil {
			r.ignored = append(r.ignored, c.run)
			continue
		}
		t.Done(run)
		// Retries are decided when an attempt ends: the ledger has only final results.
		pl, err := t.Step(&r.inst, plan.Event{Run: c.run, Attempt: finalAttempt, Result: c.result, Failure: c.failure}, 0)
		if err == nil {
			r.end, err = t.Apply(&r.inst, pl)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *replay) open(run graph.Run) (*state.Run, bool) {
	q, ok := r.inst.Runs.Get(state.OfRun(run))
	return q, ok && q.Place != state.NoQueue
}
