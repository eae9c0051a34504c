package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal/internal/ownership"
	"pulley/engine/plan"
	"pulley/internal/journalstore"
	"pulley/internal/pgstore"
)

// Submit implements backend.Backend. It stores the instances shard by shard.
func (b *Backend) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	out := backend.Committed{Outcomes: make([]backend.Outcome, len(subs))}
	if err := grant.Check(); err != nil {
		return backend.Committed{}, err
	}
	if err := b.usable(ctx); err != nil {
		return backend.Committed{}, err
	}
	byShard := make([][]newcomer, len(b.shards))
	seen := make(map[uuid.UUID]bool, len(subs))
	for i := range subs {
		s := &subs[i]
		if seen[s.ID] {
			out.Outcomes[i].Answer = backend.Duplicate
			continue
		}
		n, err := b.newcomer(ctx, s)
		if err != nil {
			return backend.Committed{}, postgres.Explain(err)
		}
		if n.ord = i; n.refused != nil {
			out.Outcomes[i] = backend.Outcome{Answer: backend.Refused, Err: n.refused}
			continue
		}
		seen[s.ID] = true
		shard := backend.ShardOf(s.ID, len(b.shards))
		byShard[shard] = append(byShard[shard], n)
	}
	committed := false
	for shard, list := range byShard {
		if len(list) == 0 {
			continue
		}
		err := b.submitTo(ctx, shard, list, grant, &out)
		if err != nil && !committed {
			return backend.Committed{}, postgres.Explain(err)
		}
		if err != nil {
			for _, n := range list {
				out.Outcomes[n.ord] = backend.Outcome{Answer: backend.Again, Err: postgres.Explain(err)}
			}
		}
		committed = true
	}
	return out, nil
}

type newcomer struct {
	ord      int
	id       uuid.UUID
	program  *plan.Program
	workflow int32
	input    json.RawMessage
	begin    plan.Plan
	refused  error
}

func (b *Backend) newcomer(ctx context.Context, s *backend.Submission) (newcomer, error) {
	n := newcomer{id: s.ID, program: s.Program, input: bytes.Clone(s.Input)}
	if s.Program == nil {
		n.refused = fmt.Errorf("instance %s: a submission without its program", s.ID)
		return n, nil
	}
	if n.begin, n.refused = s.Program.Start(n.input); n.refused != nil {
		return n, nil
	}
	var err error
	n.workflow, err = b.store.Number(ctx, s.Program)
	return n, err
}

// submitTo stores the instances of a shard. A call that wants tasks takes the shard if it is free and within this engine's share.
// If the shard is not owned here, the instances are left for its owner to adopt.
func (b *Backend) submitTo(ctx context.Context, shard int, list []newcomer, grant backend.Grant, out *backend.Committed) error {
	grant.Max -= len(out.Tasks)
	take := acquireNever
	if grant.Max > 0 {
		take = acquireFair
	}
	return b.anywhere(ctx, shard, take,
		func(sh *shardState) error {
			if room := sh.hasRoom(ctx); sh.epoch.Load() == 0 {
				return errForeign
			} else if !room {
				return b.submitPending(ctx, shard, list, out)
			}
			return sh.submit(ctx, list, grant, out)
		},
		func(*ownership.ShardView) error { return b.submitPending(ctx, shard, list, out) })
}

func (sh *shardState) submit(ctx context.Context, list []newcomer, grant backend.Grant, out *backend.Committed) error {
	t := sh.begin()
	answers := make([]backend.Answer, len(list))
	errs := make([]error, len(list))
	var places []int
	for i := range list {
		n := &list[i]
		if sh.hasInstance(n.id) {
			answers[i] = backend.Duplicate
			continue
		}
		sp := t.savepoint()
		if err := t.createInstance(n); err != nil {
			t.rollback(sp)
			answers[i], errs[i] = backend.Refused, err
			continue
		}
		answers[i] = backend.Applied
		places = append(places, i)
	}
	if len(t.created) > 0 {
		done, err := sh.append(ctx, t)
		if err != nil {
			if pgstore.Poisoned(err) {
				return sh.submitHalves(ctx, list, grant, out, err)
			}
			return err
		}
		sh.answerCreated(t, places, answers, done, out)
		if !done.lost {
			now, grant, _ := sh.cover(ctx, grant)
			t.Now = now
			tasks, err := t.commit(grant)
			if err != nil {
				return err
			}
			out.Tasks = append(out.Tasks, tasks...)
		}
	}
	for i, n := range list {
		out.Outcomes[n.ord] = backend.Outcome{Answer: answers[i], Err: errs[i]}
	}
	if sh.epoch.Load() != 0 {
		sh.outlook(sh.b.now(), out)
	}
	return nil
}

func (sh *shardState) answerCreated(t *tx, places []int, answers []backend.Answer, done appended, out *backend.Committed) {
	for k, e := range t.created {
		switch {
		case done.created != nil && !done.created[e.public.ID]:
			answers[places[k]] = backend.Duplicate
			if !e.inst.Detached {
				sh.space.Bytes -= e.inst.Bytes
			}
			e.inst.Detached = true
			delete(sh.instances, e.public.ID)
		case e.public.Status != backend.Running:
			out.Ended = append(out.Ended, e.public)
		}
	}
}

// submitHalves halves a batch to find the member whose data the server refuses.
func (sh *shardState) submitHalves(ctx context.Context, list []newcomer, grant backend.Grant, out *backend.Committed, cause error) error {
	if len(list) == 1 {
		out.Outcomes[list[0].ord] = backend.Outcome{Answer: backend.Refused, Err: postgres.Explain(cause)}
		return nil
	}
	half := len(list) / 2
	if err := sh.submit(ctx, list[:half], grant, out); err != nil {
		return err
	}
	grant.Max -= len(out.Tasks)
	if err := sh.submit(ctx, list[half:], grant, out); err != nil {
		for _, n := range list[half:] {
			out.Outcomes[n.ord] = backend.Outcome{Answer: backend.Again, Err: err}
		}
	}
	return nil
}

func (t *tx) createInstance(n *newcomer) error {
	inst := newInstance(n.id, n.program, n.workflow)
	e := ending{inst: inst, input: n.input, public: backend.Instance{ID: n.id, Status: backend.Running}}
	ends := len(t.ends)
	if err := t.start(inst, n.begin); err != nil {
		return err
	}
	if inst.Detached {
		e.public = t.ends[ends].public
		t.sh.tokens++
		e.token = t.sh.tokens
		t.ends = t.ends[:ends] // it is inserted as ended
	}
	t.created = append(t.created, e)
	return nil
}

// submitPending stores new instances for the shard's owner to adopt. Those that end at their start are stored as ended.
func (b *Backend) submitPending(ctx context.Context, shard int, list []newcomer, out *backend.Committed) error {
	buf := newBuffers()
	ended := map[uuid.UUID]backend.Instance{}
	for i := range list {
		n := &list[i]
		e := ending{inst: &instance{workflow: n.workflow}, input: n.input, public: backend.Instance{ID: n.id, Status: backend.Running}}
		if end := n.begin.End; end != nil {
			e.public.Status, e.public.Result, e.public.Failure = backend.Completed, end.Result, end.Failure
			if end.Failure != nil {
				e.public.Status = backend.Failed
			}
			ended[n.id] = e.public
		}
		if err := buf.addCreated(&e); err != nil {
			return err
		}
	}
	created, err := b.insertPending(ctx, shard, &buf)
	if err != nil {
		return err
	}
	for _, n := range list {
		out.Outcomes[n.ord].Answer = backend.Duplicate
		if created[n.id] {
			out.Outcomes[n.ord].Answer = backend.Applied
			if inst, ok := ended[n.id]; ok {
				out.Ended = append(out.Ended, inst)
			}
		}
	}
	out.More = true
	return nil
}

func (b *Backend) insertPending(ctx context.Context, shard int, buf *buffers) (map[uuid.UUID]bool, error) {
	created, err := b.pending(ctx, shard, buf)
	if pgstore.Unconfirmed(err) && !journalstore.IsNotSent(err) {
		err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return created, err
}

func (b *Backend) pending(ctx context.Context, shard int, buf *buffers) (map[uuid.UUID]bool, error) {
	const name = "journal_submit_pending"
	number := []byte{byte(shard >> 8), byte(shard)}
	params := [][]byte{
		number, buf.created.Append(nil), buf.workflow.Append(nil), buf.input.Append(nil), buf.createdStatus.Append(nil),
		buf.createdResult.Append(nil), buf.createdFailure.Append(nil), []byte(b.store.Channel(topic)), []byte(strconv.Itoa(shard)),
	}
	results, err := b.store.Pool.Prepared(ctx, journalstore.Prepared{Name: name, SQL: submitPendingSQL, Params: params})
	if err != nil {
		return nil, err
	}
	if len(results[0].Rows) != 1 {
		return nil, fmt.Errorf("journal: %s gave %d rows", name, len(results[0].Rows))
	}
	return readUUIDs(results[0].Rows[0][1])
}
