package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

// errForeign says that the shard is owned by somebody else.
var errForeign = errors.New("the shard has another owner")

// ownerTries bounds how often one call finds that the shard has gone to another owner meanwhile.
const ownerTries = 20

// locally makes a call on the memory of a shard, if it is this backend's or nobody's.
func (b *Backend) locally(ctx context.Context, shard int, take bool, call func(*shardState) error) error {
	sh := b.shards[shard]
	if err := sh.lock(ctx); err != nil {
		return err
	}
	defer sh.unlock()
	own := sh.own
	if !take {
		own = sh.owned
	}
	ok, err := own(ctx)
	switch {
	case err != nil:
		return err
	case !ok:
		return errForeign
	}
	if err := call(sh); !errors.Is(err, errLost) {
		return err
	}
	return errForeign
}

// anywhere makes a call where the shard's owner is: here, or by asking it.
func (b *Backend) anywhere(ctx context.Context, shard int, take bool, call func(*shardState) error, ask func() error) error {
	var err error
	for range ownerTries {
		if err = b.locally(ctx, shard, take, call); !errors.Is(err, errForeign) {
			return err
		}
		if err = ask(); !errors.Is(err, errForeign) {
			return err
		}
	}
	return fmt.Errorf("shard %d changes hands again and again: %w", shard, err)
}

// Claim implements backend.Backend.
func (b *Backend) Claim(ctx context.Context, shard int, grant backend.Grant) (out backend.Committed, err error) {
	if err := b.check(ctx, shard, grant); err != nil {
		return out, err
	}
	b.claimed.Store(b.now())
	b.keep()
	take := len(b.held()) < int(b.fair.Load())
	err = b.anywhere(ctx, shard, take,
		func(sh *shardState) error { return sh.claimTo(ctx, grant, &out) },
		func() error {
			if !take {
				if s, err := b.shards[shard].standing(ctx); err != nil || s.free(b) {
					return err // others' part, who will find it
				}
			}
			return b.askCommitted(ctx, shard, request{Op: opClaim, Grant: grant}, &out)
		})
	return out, postgres.Explain(err)
}

// claimTo leases what is ready; where nothing is, it looks for what others have stored.
func (sh *shardState) claimTo(ctx context.Context, grant backend.Grant, out *backend.Committed) error {
	if sh.promote(sh.b.now()); sh.ready.peek() == nil {
		if _, err := sh.adopt(ctx); err != nil {
			return err
		}
	}
	now := sh.b.now()
	tasks, err := sh.claim(now, grant)
	*out = backend.Committed{Tasks: tasks}
	sh.outlook(now, out)
	return err
}

// Complete implements backend.Backend.
func (b *Backend) Complete(ctx context.Context, shard int, completions []backend.Completion, grant backend.Grant) (out backend.Committed, err error) {
	if err := b.check(ctx, shard, grant); err != nil {
		return out, err
	}
	if len(completions) == 0 {
		return out, nil
	}
	err = b.anywhere(ctx, shard, true,
		func(sh *shardState) error { return sh.complete(ctx, completions, grant, &out) },
		func() error {
			req := request{Op: opComplete, Grant: grant}
			if req.Completions, err = b.wireCompletions(ctx, completions); err != nil {
				return err
			}
			return b.askCommitted(ctx, shard, req, &out)
		})
	return out, postgres.Explain(err)
}

// complete applies completions and appends what happened. Where the data of one is at fault, the batch is halved
// until that one is alone, and refused.
func (sh *shardState) complete(ctx context.Context, completions []backend.Completion, grant backend.Grant, out *backend.Committed) error {
	*out = backend.Committed{Outcomes: make([]backend.Outcome, len(completions))}
	t := sh.begin()
	for i := range completions {
		c := &completions[i]
		r := sh.held(c.Lease)
		if r == nil {
			out.Outcomes[i].Answer = backend.Stale
			continue
		}
		sp := t.savepoint()
		if err := t.advance(r, c); err != nil {
			t.rollback(sp)
			out.Outcomes[i] = backend.Outcome{Answer: backend.Refused, Err: err}
			continue
		}
		out.Outcomes[i].Answer = backend.Applied
	}
	err := sh.finish(ctx, t, grant, out)
	if err == nil || !postgres.Poisoned(err) {
		return err
	}
	if len(completions) == 1 {
		out.Outcomes[0] = backend.Outcome{Answer: backend.Refused, Err: postgres.Explain(err)}
		return nil
	}
	return sh.halves(ctx, completions, grant, out)
}

// halves completes a batch in two parts. Once one of them is durable, an error of the other is that of its members.
func (sh *shardState) halves(ctx context.Context, completions []backend.Completion, grant backend.Grant, out *backend.Committed) error {
	half := len(completions) / 2
	var first, second backend.Committed
	if err := sh.complete(ctx, completions[:half], grant, &first); err != nil {
		return err
	}
	grant.Max -= len(first.Tasks)
	if err := sh.complete(ctx, completions[half:], grant, &second); err != nil {
		second = backend.Committed{Outcomes: make([]backend.Outcome, len(completions)-half)}
		for i := range second.Outcomes {
			second.Outcomes[i] = backend.Outcome{Answer: backend.Again, Err: err}
		}
	}
	*out = backend.Committed{
		Outcomes: append(first.Outcomes, second.Outcomes...),
		Tasks:    append(first.Tasks, second.Tasks...),
		Ended:    append(first.Ended, second.Ended...),
	}
	if sh.epoch.Load() != 0 {
		sh.outlook(sh.b.now(), out)
	}
	return nil
}

// finish makes a transaction durable and hands out what it made ready.
func (sh *shardState) finish(ctx context.Context, t *tx, grant backend.Grant, out *backend.Committed) error {
	if len(t.events)+len(t.ends)+len(t.births) == 0 {
		sh.outlook(t.now, out)
		return nil
	}
	done, err := sh.append(ctx, t)
	if err != nil {
		return err
	}
	for _, e := range t.ends {
		out.Ended = append(out.Ended, e.public)
	}
	if done.lost {
		return nil // the next owner has it all
	}
	now := sh.b.now()
	t.now = now // leases begin when they are given
	if out.Tasks, err = t.commit(grant); err != nil {
		return err
	}
	sh.outlook(now, out)
	return nil
}

// Extend implements backend.Backend.
func (b *Backend) Extend(ctx context.Context, shard int, leases []backend.Lease, grant backend.Grant) ([]bool, error) {
	if err := b.check(ctx, shard, grant); err != nil {
		return nil, err
	}
	if grant.Lease <= 0 {
		return nil, fmt.Errorf("journal: extend: lease of %s; give a positive duration", grant.Lease)
	}
	kept := make([]bool, len(leases))
	if len(leases) == 0 {
		return kept, nil
	}
	err := b.anywhere(ctx, shard, true,
		func(sh *shardState) error {
			sh.extend(leases, grant, kept)
			return nil
		},
		func() error {
			answer, err := b.ask(ctx, shard, request{Op: opExtend, Grant: grant, Leases: leases})
			copy(kept, answer.Held)
			return err
		})
	return kept, postgres.Explain(err)
}

// extend prolongs the leases that are held.
func (sh *shardState) extend(leases []backend.Lease, grant backend.Grant, kept []bool) {
	until := sh.b.now() + int64(grant.Lease)
	for i, l := range leases {
		r := sh.held(l)
		if kept[i] = r != nil; r == nil {
			continue
		}
		r.place, r.due = leased, until
		sh.file(r)
	}
}

// Sweep implements backend.Backend.
func (b *Backend) Sweep(ctx context.Context, shard int) (swept backend.Swept, err error) {
	if err := b.check(ctx, shard, backend.Grant{}); err != nil {
		return swept, err
	}
	err = b.anywhere(ctx, shard, true,
		func(sh *shardState) error {
			swept, err = sh.sweep(ctx)
			return err
		},
		func() error {
			answer, err := b.ask(ctx, shard, request{Op: opSweep})
			swept = answer.Swept
			return err
		})
	return swept, postgres.Explain(err)
}

// Cancel implements backend.Canceler.
func (b *Backend) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	byShard := make([][]uuid.UUID, len(b.shards))
	for _, id := range ids {
		shard := backend.ShardOf(id, len(b.shards))
		byShard[shard] = append(byShard[shard], id)
	}
	done := false
	for shard, ids := range byShard {
		if len(ids) == 0 {
			continue
		}
		if err := b.cancelIn(ctx, shard, ids, reason); err != nil {
			if done && !backend.IsUnknown(err) {
				err = fmt.Errorf("%w: %w", backend.ErrUnknown, err) // a part of the call is durable
			}
			return nil, postgres.Explain(err)
		}
		done = true
	}
	found, err := b.store.Lookup(ctx, ids)
	if err != nil && done {
		err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return found, err
}

func (b *Backend) cancelIn(ctx context.Context, shard int, ids []uuid.UUID, reason string) error {
	failure := &plan.Failure{Type: backend.CanceledType, Message: reason}
	return b.anywhere(ctx, shard, false,
		func(sh *shardState) error { return sh.cancel(ctx, ids, failure) },
		func() error {
			free, err := b.cancelFree(ctx, shard, ids, failure)
			if err != nil || free {
				return err
			}
			_, err = b.ask(ctx, shard, request{Op: opCancel, IDs: ids, Reason: reason})
			return err
		})
}

// cancelFree cancels in a shard that nobody owns, and says whether nobody does.
func (b *Backend) cancelFree(ctx context.Context, shard int, ids []uuid.UUID, failure *plan.Failure) (bool, error) {
	encoded, err := json.Marshal(failure)
	if err != nil {
		return false, err
	}
	raw := make([][16]byte, len(ids))
	for i, id := range ids {
		raw[i] = id
	}
	var free int
	err = b.store.Pool.QueryRow(ctx, cancelFreeSQL, shard, raw, string(encoded)).Scan(&free)
	if postgres.Unconfirmed(err) && !errors.Is(err, pgx.ErrNoRows) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return free > 0, err
}

// cancel ends instances, and also those that run in the store and are not known here: they are broken, or were
// stored a moment ago.
func (sh *shardState) cancel(ctx context.Context, ids []uuid.UUID, failure *plan.Failure) error {
	t := sh.begin()
	for _, id := range ids {
		sh.tokens++
		inst := sh.instances[id]
		if inst != nil {
			t.end(inst, backend.Canceled, plan.End{Failure: failure}, sh.tokens)
			continue
		}
		t.ends = append(t.ends, ending{
			inst: &instance{id: id, gone: true}, token: sh.tokens,
			public: backend.Instance{ID: id, Status: backend.Canceled, Failure: failure},
		})
	}
	var out backend.Committed
	return sh.finish(ctx, t, backend.Grant{}, &out)
}

// Submit implements backend.Backend. Instances of several shards are stored shard by shard.
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

// newcomer is a submission whose beginning is planned.
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

// submitTo stores the instances of a shard. A backend that wants tasks takes the shard if it is free; otherwise, and
// where the shard has another owner, the instances are left for the owner to take up.
func (b *Backend) submitTo(ctx context.Context, shard int, list []newcomer, grant backend.Grant, out *backend.Committed) error {
	grant.Max -= len(out.Tasks)
	return b.anywhere(ctx, shard, grant.Max > 0,
		func(sh *shardState) error {
			if b.full() {
				return b.submitPending(ctx, shard, list, out)
			}
			return sh.submit(ctx, list, grant, out)
		},
		func() error { return b.submitPending(ctx, shard, list, out) })
}

// submit stores instances of a shard that is owned, and begins them.
func (sh *shardState) submit(ctx context.Context, list []newcomer, grant backend.Grant, out *backend.Committed) error {
	t := sh.begin()
	answers := make([]backend.Answer, len(list))
	errs := make([]error, len(list))
	var places []int
	for i := range list {
		n := &list[i]
		if sh.instances[n.id] != nil || sh.broken[n.id] != nil {
			answers[i] = backend.Duplicate
			continue
		}
		sp := t.savepoint()
		if err := t.birth(n); err != nil {
			t.rollback(sp)
			answers[i], errs[i] = backend.Refused, err
			continue
		}
		answers[i] = backend.Applied
		places = append(places, i)
	}
	if len(t.births) > 0 {
		done, err := sh.append(ctx, t)
		if err != nil {
			if postgres.Poisoned(err) {
				return sh.submitHalves(ctx, list, grant, out, err)
			}
			return err
		}
		sh.settleBirths(t, places, answers, done, out)
		if !done.lost {
			t.now = sh.b.now()
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

// settleBirths answers what the store said to new instances: those that were there already are none.
func (sh *shardState) settleBirths(t *tx, places []int, answers []backend.Answer, done appended, out *backend.Committed) {
	for k, e := range t.births {
		switch {
		case done.born != nil && !done.born[e.public.ID]:
			answers[places[k]] = backend.Duplicate
			if !e.inst.gone {
				sh.bytes -= e.inst.bytes
			}
			e.inst.gone = true
			delete(sh.instances, e.public.ID)
		case e.public.Status != backend.Running:
			out.Ended = append(out.Ended, e.public)
		}
	}
}

// submitHalves stores a batch in two parts, since the data of a member is at fault.
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

// birth begins an instance in memory.
func (t *tx) birth(n *newcomer) error {
	inst := &instance{id: n.id, program: n.program, workflow: n.workflow}
	e := ending{inst: inst, input: n.input, public: backend.Instance{ID: n.id, Status: backend.Running}}
	ends := len(t.ends)
	if err := t.start(inst, n.begin); err != nil {
		return err
	}
	if inst.gone {
		e.public = t.ends[ends].public
		t.sh.tokens++
		e.token = t.sh.tokens
		t.ends = t.ends[:ends] // it is born with its end
	}
	t.births = append(t.births, e)
	return nil
}

// submitPending leaves new instances for the owner of their shard.
func (b *Backend) submitPending(ctx context.Context, shard int, list []newcomer, out *backend.Committed) error {
	var buf buffers
	buf.births()
	for i := range list {
		n := &list[i]
		e := ending{public: backend.Instance{ID: n.id, Status: backend.Running}}
		if end := n.begin.End; end != nil {
			e.public.Status, e.public.Result, e.public.Failure = backend.Completed, end.Result, end.Failure
			if end.Failure != nil {
				e.public.Status = backend.Failed
			}
		}
		if err := buf.end(&e); err != nil {
			return err
		}
		buf.workflow.int32(n.workflow)
		buf.input.bytes(n.input)
	}
	born, err := b.insertPending(ctx, shard, &buf)
	if err != nil {
		return err
	}
	for _, n := range list {
		out.Outcomes[n.ord].Answer = backend.Duplicate
		if born[n.id] {
			out.Outcomes[n.ord].Answer = backend.Applied
		}
	}
	out.More = true
	return nil
}
