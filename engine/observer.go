package engine

import (
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

// Observer receives what an engine does, for measurements and histories. Nil functions are skipped. The others are called
// concurrently, some from the goroutine that decides: they must be quick, and must not call the engine.
//
// In an instance with one path, the time from Offered to the next Started is the time from a completion to the start of what it
// made ready.
type Observer struct {
	// Submitted reports an instance that this engine stored, not one that existed.
	Submitted func(id uuid.UUID, at time.Time)

	// Leased reports a task leased to this engine. It may never start here.
	Leased func(task backend.Task, at time.Time)

	// Started reports that an action is about to be called, from its goroutine.
	Started func(task backend.Task, at time.Time)

	// Offered reports that an action has returned, from its goroutine. A completion whose lease was lost is dropped. Offered
	// also reports the failure of an action that did not return after its timeout, and of an attempt that reached its bound of
	// deliveries.
	Offered func(completion backend.Completion, at time.Time)

	// Answered reports the store's answer to a completion. If the call failed, err is set, and the completion is offered again;
	// with backend.IsUnknown it may have been applied.
	Answered func(completion backend.Completion, outcome backend.Outcome, err error, at time.Time)

	// Committed reports that a transaction applied n completions.
	Committed func(n int, at time.Time)

	// Ended reports an instance that ended in a transaction of this engine, or by its Cancel.
	Ended func(instance backend.Instance, at time.Time)

	// Purged reports ended instances that the engine deleted in one transaction, with [Config.Retention].
	Purged func(purged backend.Purged, at time.Time)

	// Problem reports in one line what went wrong, and what follows.
	Problem func(err error)
}

// Then returns an observer that calls o, and then next.
func (o Observer) Then(next Observer) Observer {
	return Observer{
		Submitted: both(o.Submitted, next.Submitted),
		Leased:    both(o.Leased, next.Leased),
		Started:   both(o.Started, next.Started),
		Offered:   both(o.Offered, next.Offered),
		Answered:  bothAnswered(o.Answered, next.Answered),
		Committed: both(o.Committed, next.Committed),
		Ended:     both(o.Ended, next.Ended),
		Purged:    both(o.Purged, next.Purged),
		Problem:   bothProblem(o.Problem, next.Problem),
	}
}

func both[A, B any](first, second func(A, B)) func(A, B) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(a A, b B) { first(a, b); second(a, b) }
}

type answered = func(backend.Completion, backend.Outcome, error, time.Time)

func bothAnswered(first, second answered) answered {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(c backend.Completion, o backend.Outcome, err error, at time.Time) {
		first(c, o, err, at)
		second(c, o, err, at)
	}
}

func bothProblem(first, second func(error)) func(error) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(err error) { first(err); second(err) }
}

func (o *Observer) problem(err error) {
	if o.Problem != nil {
		o.Problem(err)
	}
}

func (o *Observer) committed(c backend.Committed, at time.Time) {
	if o.Leased != nil {
		for _, t := range c.Tasks {
			o.Leased(t, at)
		}
	}
	if o.Ended != nil {
		for _, inst := range c.Ended {
			o.Ended(inst, at)
		}
	}
}

func (o *Observer) answered(completions []backend.Completion, c backend.Committed, err error, at time.Time) {
	applied := 0
	for i, done := range completions {
		var out backend.Outcome
		if err == nil && i < len(c.Outcomes) {
			out = c.Outcomes[i]
		}
		if out.Answer == backend.Applied {
			applied++
		}
		if o.Answered != nil {
			o.Answered(done, out, err, at)
		}
	}
	if applied > 0 && o.Committed != nil {
		o.Committed(applied, at)
	}
}
