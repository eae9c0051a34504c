package eager

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// commitEvent is a completion, a new instance or a continuation, to be committed.
type commitEvent struct {
	ord        int32 // the index in the call; of a continuation, in its round
	instance   uuid.UUID
	program    *plan.Program
	shape      *shape
	workflow   int32
	submission *backend.Submission
	completion *backend.Completion
	coreEvent  plan.Event // unless it is a new instance
	place      graph.Path
	inbox      plan.Inbox
	plan       plan.Plan
}

// Ord and Of implement pgstore.Member.
func (e *commitEvent) Ord() int32    { return e.ord }
func (e *commitEvent) Of() uuid.UUID { return e.instance }

// key returns the key of the event's row. Rows are locked in the order of keys (D5).
func (e *commitEvent) key() backend.Key {
	return backend.Key{Instance: e.instance, Run: graph.Run{Node: e.coreEvent.Run.Node, Path: e.place}}
}

func (e *commitEvent) continuation(what plan.Event) *commitEvent {
	return &commitEvent{instance: e.instance, program: e.program, shape: e.shape, workflow: e.workflow, coreEvent: what, place: e.shape.run(what.Run)}
}

// isAlone reports whether no other node run can be open on the instance that the event ends.
func (e *commitEvent) isAlone() bool {
	return e.plan.End != nil && e.plan.End.Failure == nil && endsCleanly(e.program)
}

func (e *commitEvent) outcome() backend.Instance {
	return pgstore.EndedInstance(e.instance, e.plan.End)
}

func (e *commitEvent) value(slot plan.Slot) (json.RawMessage, bool) {
	return e.plan.Value(slot, &e.inbox)
}

type reads struct {
	events            map[int32]*commitEvent
	slots, aggregates pgstore.Keys
}

func (r *reads) add(e *commitEvent, slots []plan.Slot) {
	if r.events == nil {
		r.events = map[int32]*commitEvent{}
	}
	r.events[e.ord] = e
	r.slots.AddSlots(e.ord, e.instance, slots)
}

func (r *reads) need(e *commitEvent) {
	needs := e.program.Needs(e.coreEvent)
	r.add(e, needs.Slots)
	if needs.Elements {
		r.aggregates.Add(e.ord, e.instance, int32(e.coreEvent.Run.Node), e.place)
	}
}

func (r *reads) queue(batch *pgx.Batch, shard int) {
	if len(r.slots.Ord) > 0 {
		batch.Queue(readSQL, r.slots.Parameters(shard)...).Query(func(rows pgx.Rows) error {
			return pgstore.CollectValues(rows, func(ord int32) *plan.Inbox { return &r.events[ord].inbox })
		})
	}
	if len(r.aggregates.Ord) > 0 {
		batch.Queue(gatherSQL, r.aggregates.Parameters(shard)...).Query(r.gather)
	}
}

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

func (e *commitEvent) step(jitter float64) error {
	var err error
	if e.plan, err = e.program.Step(e.coreEvent, e.inbox, jitter); err != nil {
		return e.unfit(err)
	}
	return nil
}

func (e *commitEvent) lease(q *plan.Enqueue, token int64) (backend.Task, error) {
	args, err := backend.AssembleArgs(q.Args, e.value)
	if err != nil {
		return backend.Task{}, e.unfit(fmt.Errorf("arguments of %s: %w", e.program.RunName(q.Run), err))
	}
	key := backend.Key{Instance: e.instance, Run: q.Run}
	return backend.Task{Lease: backend.Lease{Key: key, Token: token}, Program: e.program, Action: q.Action, Args: args, Attempt: 1, Deliveries: 1}, nil
}
