package engine

import (
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

// Observer is told of what an engine does, for measuring and for histories. Functions that are nil
// are not called and cost nothing. The others are called from several goroutines at once, some of them
// from the one that decides everything: they must be quick, and must not call the engine.
//
// The time of a hop, from a completion to the start of what it made ready, is the time between Offered
// and the next Started of the same instance, where the instance has one path.
type Observer struct {
	// Submitted says that an instance was stored by this engine; not that one was there already.
	Submitted func(id uuid.UUID, at time.Time)

	// Leased says that a task came to this engine. It may never start here.
	Leased func(task backend.Task, at time.Time)

	// Started says that an action is about to be called, from the goroutine that calls it.
	Started func(task backend.Task, at time.Time)

	// Offered says that an action has returned, from the goroutine that called it. If the lease was
	// lost, its completion goes no further. Of an action that did not return after its timeout it
	// gives the failure instead, and so of one that was delivered as often as it may be.
	Offered func(completion backend.Completion, at time.Time)

	// Answered gives the store's answer to a completion. Where the call failed, err is set, and the
	// completion is offered again; with backend.IsUnknown the first may have been applied.
	Answered func(completion backend.Completion, outcome backend.Outcome, err error, at time.Time)

	// Committed says that a transaction applied n completions.
	Committed func(n int, at time.Time)

	// Ended says that an instance ended in a transaction of this engine, or was found canceled by its
	// Cancel.
	Ended func(instance backend.Instance, at time.Time)

	// Problem tells of something that went wrong, and what is done about it, in one line.
	Problem func(err error)
}

func (o *Observer) problem(err error) {
	if o.Problem != nil {
		o.Problem(err)
	}
}

// committed tells of what a reply brought.
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

// answered tells of the answers to completions.
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
