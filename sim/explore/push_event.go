package explore

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// pushEvent is one thing that push commits: a completion, a new instance, or a run that goes on. It is push's event,
// with the names that things have there.
type pushEvent struct {
	ord        int32
	inst       *instance
	submission *backend.Submission
	completion *backend.Completion
	fired      graph.Run
	token      int64
	inbox      plan.Inbox
	plan       plan.Plan
	waits      bool
	refused    error
}

func (e *pushEvent) program() *plan.Program { return e.inst.twin.w.load.compiled }

func (e *pushEvent) happened() plan.Event {
	c := e.completion
	if c == nil {
		return plan.Event{Run: e.fired, Fired: true}
	}
	return plan.Event{Run: c.Lease.Key.Run, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
}

func (e *pushEvent) run() graph.Run {
	if e.completion == nil {
		return e.fired
	}
	return e.completion.Lease.Key.Run
}

func (e *pushEvent) key() runKey { return keyOf(e.inst, e.run()) }

// value gives what a slot holds once the event's plan is applied.
func (e *pushEvent) value(slot plan.Slot) (json.RawMessage, bool) {
	return e.plan.Value(slot, &e.inbox)
}

func (e *pushEvent) note(snapshot uint64) *happened {
	h := &happened{snapshot: snapshot, inst: e.inst, born: e.submission != nil, run: e.run(), token: e.token, inbox: &e.inbox, plan: &e.plan}
	if e.completion != nil {
		h.attempt, h.failed, h.lease = e.completion.Attempt, e.completion.Failure != nil, e.completion.Lease.Token
	}
	return h
}

// Ord, Of, Key, Plan and New implement push.Planned.
func (e *pushEvent) Ord() int32                        { return e.ord }
func (e *pushEvent) Of() uuid.UUID                     { return e.inst.id }
func (e *pushEvent) Key() backend.Key                  { return backend.Key{Instance: e.inst.id, Run: e.run()} }
func (e *pushEvent) Plan() (*plan.Program, *plan.Plan) { return e.program(), &e.plan }
func (e *pushEvent) New() bool                         { return e.submission != nil }

// distinct leaves one of several completions of the same attempt.
func distinct(events []*pushEvent, out *postgres.Outcomes) []*pushEvent {
	kept := events[:0]
	for i, e := range events {
		if i > 0 && kept[len(kept)-1].completion.Lease == e.completion.Lease {
			out.Answer(e.ord, backend.Stale)
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

func inOrder(events []*pushEvent) {
	slices.SortStableFunc(events, func(a, b *pushEvent) int { return compareRun(a.key(), b.key()) })
}
