package eager

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// commitEvent is one thing to be committed: a completion, a new instance, or what follows from one of them in
// the same transaction.
type commitEvent struct {
	ord        int32 // its place in the call, or, of what follows, in its round
	instance   uuid.UUID
	program    *plan.Program
	shape      *shape
	workflow   int32
	submission *backend.Submission
	completion *backend.Completion
	coreEvent  plan.Event // of a completion and of what follows
	place      graph.Path // of its run
	inbox      plan.Inbox
	plan       plan.Plan
}

// Ord and Of implement postgres.Member.
func (e *commitEvent) Ord() int32    { return e.ord }
func (e *commitEvent) Of() uuid.UUID { return e.instance }

// key is the row that the event holds: the order of keys is that of locks (D5).
func (e *commitEvent) key() backend.Key {
	return backend.Key{Instance: e.instance, Run: graph.Run{Node: e.coreEvent.Run.Node, Path: e.place}}
}

// continuation gives what follows from an event in the same transaction.
func (e *commitEvent) continuation(what plan.Event) *commitEvent {
	return &commitEvent{instance: e.instance, program: e.program, shape: e.shape, workflow: e.workflow, coreEvent: what, place: e.shape.run(what.Run)}
}

// isAlone says whether nothing else can be at work on the instance that the event ends.
func (e *commitEvent) isAlone() bool {
	return e.plan.End != nil && e.plan.End.Failure == nil && endsCleanly(e.program)
}

// outcome gives the instance that the event ended.
func (e *commitEvent) outcome() backend.Instance {
	return postgres.EndedInstance(e.instance, e.plan.End)
}

// value gives what a slot holds once the event's plan is applied.
func (e *commitEvent) value(slot plan.Slot) (json.RawMessage, bool) {
	return e.plan.Value(slot, &e.inbox)
}

// reads are the parameters of read.sql and gather.sql: what events need.
type reads struct {
	events            map[int32]*commitEvent
	slots, aggregates postgres.Keys
}

// add asks for slots.
func (r *reads) add(e *commitEvent, slots []plan.Slot) {
	if r.events == nil {
		r.events = map[int32]*commitEvent{}
	}
	r.events[e.ord] = e
	r.slots.AddSlots(e.ord, e.instance, slots)
}

// need asks for all that an event needs.
func (r *reads) need(e *commitEvent) {
	needs := e.program.Needs(e.coreEvent)
	r.add(e, needs.Slots)
	if needs.Elements {
		r.aggregates.Add(e.ord, e.instance, int32(e.coreEvent.Run.Node), e.place)
	}
}

// queue adds the statements that are needed to a batch.
func (r *reads) queue(batch *pgx.Batch, shard int) {
	if len(r.slots.Ord) > 0 {
		batch.Queue(readSQL, r.slots.Parameters(shard)...).Query(func(rows pgx.Rows) error {
			return postgres.CollectValues(rows, func(ord int32) *plan.Inbox { return &r.events[ord].inbox })
		})
	}
	if len(r.aggregates.Ord) > 0 {
		batch.Queue(gatherSQL, r.aggregates.Parameters(shard)...).Query(r.gather)
	}
}

// gather puts the elements of aggregates into the inboxes of events.
func (r *reads) gather(rows pgx.Rows) error {
	var ord, element int32
	var payload []byte
	_, err := pgx.ForEachRow(rows, []any{&ord, &element, &payload}, func() error {
		e := r.events[ord]
		e.inbox.Elements = append(e.inbox.Elements, plan.Element{Barrier: e.coreEvent.Run, Index: int(element), Value: slices.Clone(payload)})
		return nil
	})
	return err
}

// step plans the event.
func (e *commitEvent) step(jitter float64) error {
	var err error
	if e.plan, err = e.program.Step(e.coreEvent, e.inbox, jitter); err != nil {
		return e.unfit(err)
	}
	return nil
}

// lease makes the task of a run that the event made ready.
func (e *commitEvent) lease(q *plan.Enqueue, token int64) (backend.Task, error) {
	args, err := backend.AssembleArgs(q.Args, e.value)
	if err != nil {
		return backend.Task{}, e.unfit(fmt.Errorf("arguments of %s: %w", e.program.RunName(q.Run), err))
	}
	key := backend.Key{Instance: e.instance, Run: q.Run}
	return backend.Task{Lease: backend.Lease{Key: key, Token: token}, Program: e.program, Action: q.Action, Args: args, Attempt: 1, Deliveries: 1}, nil
}
