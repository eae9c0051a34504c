package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/dispatch"
	"pulley/engine/oracle"
	"pulley/engine/plan"
	"pulley/engine/reference"
)

// store is what engines call and what the world inspects at the end.
type store interface {
	backend.Backend
	backend.Canceler
	Leftovers(ctx context.Context) (map[string]int, error)
	Check() error
}

var _ store = (*memory.Backend)(nil)

// apply executes a call when it reaches the store. If its sender has died, the call may have been lost.
func (w *world) apply(o *occurrence) {
	dead := o.incarnation != o.engine.incarnation
	who := fmt.Sprintf("e%d.%d", o.engine.index, o.incarnation)
	w.events++
	if dead && w.rng.Uint32()&1 == 0 {
		w.log(who, "apply %d cut off", o.call.ID)
		return
	}
	w.jitter = w.rng.Float64()
	r := w.callStore(o.call)
	r.Call = o.call.ID
	w.log(who, "apply %d outcomes %v ended %d more %t err %v", r.Call, r.Committed.Outcomes, len(r.Committed.Ended), r.Committed.More, r.Err)
	if r.Err == nil {
		w.observe(o.engine, who, o.call, r.Committed)
	}
	if w.cfg.CheckEach {
		w.checkStore()
	}
	if !dead {
		w.at(o.due, occurrence{kind: reply, engine: o.engine, incarnation: o.incarnation, call: o.call, event: r})
	}
}

func (w *world) callStore(c *dispatch.Call) (r dispatch.Reply) {
	ctx := context.Background() // virtual time needs no deadline
	switch c.Op {
	case dispatch.OpSubmit:
		r.Committed, r.Err = w.store.Submit(ctx, c.Submissions, c.Grant)
	case dispatch.OpClaim:
		r.Committed, r.Err = w.store.Claim(ctx, c.Shard, c.Grant)
	case dispatch.OpComplete:
		r.Committed, r.Err = w.store.Complete(ctx, c.Shard, c.Completions, c.Grant)
	case dispatch.OpRenew:
		r.Held, r.Err = w.store.Renew(ctx, c.Shard, c.Leases, c.Grant)
	case dispatch.OpSweep:
		r.Swept, r.Err = w.store.Sweep(ctx, c.Shard)
	case dispatch.OpNotify:
		// The calendar replaces the store's Listen, which would need a goroutine.
	default:
		r.Err = fmt.Errorf("sim: no such call: %s", c.Op)
	}
	return r
}

func (w *world) observe(e *engine, who string, c *dispatch.Call, done backend.Committed) {
	if c.Op == dispatch.OpNotify {
		w.wake(e)
	}
	for i, out := range done.Outcomes {
		if c.Op == dispatch.OpSubmit {
			w.submitted(c.Submissions[i], out)
		} else {
			w.answered(c.Completions[i], out)
		}
	}
	for _, t := range done.Tasks {
		inst := w.byID[t.Lease.Key.Instance]
		if inst == nil || !inst.stored {
			w.violate("I1: %s was given a task of instance %s, which was never taken", who, t.Lease.Key.Instance)
			w.fail(errors.New("the store gives out what was never submitted"))
			continue
		}
		if inst.model != nil {
			inst.model.leased(t.Lease.Key.Run)
		}
		if !w.cfg.Quiet {
			w.log(who, "lease %d %s %d token %d", inst.index, w.runName(inst, t.Lease.Key.Run), t.Attempt, t.Lease.Token)
		}
		if w.cfg.Record {
			ev := w.of(oracle.Leased, inst, t.Lease.Key.Run)
			ev.Token, ev.Attempt = t.Lease.Token, t.Attempt
			w.record(ev)
		}
	}
	for _, end := range done.Ended {
		w.ended(who, end)
	}
}

func (w *world) wake(from *engine) {
	for _, e := range w.engines {
		if e != from && !e.down {
			w.at(w.now+w.latency(), occurrence{kind: notified, engine: e, incarnation: e.incarnation})
		}
	}
}

func (w *world) submitted(sub backend.Submission, out backend.Outcome) {
	inst := w.byID[sub.ID]
	switch {
	case out.Answer == backend.Duplicate && !inst.stored:
		w.violate("I8: instance %d is a duplicate, and was never taken", inst.index)
	case out.Answer != backend.Applied:
	case inst.stored:
		w.violate("I1: instance %d was taken twice", inst.index)
	case w.program == nil:
		inst.stored = true
	default:
		inst.stored, inst.model = true, newStoreModel(w, inst, inst.program)
		inst.model.start(sub.Input)
	}
}

// answered notes the outcome of a completion. A completion that is offered again, because its first answer was lost, stays
// applied.
func (w *world) answered(c backend.Completion, out backend.Outcome) {
	inst := w.byID[c.Lease.Key.Instance]
	var ev oracle.Event
	if w.cfg.Record {
		ev = w.of(oracle.Answered, inst, c.Lease.Key.Run)
		ev.Token, ev.Attempt = c.Lease.Token, c.Attempt
	}
	fate := Stale
	switch out.Answer {
	case backend.Applied:
		if !inst.stored {
			w.violate("I8: a completion of instance %d was applied, and the instance never taken", inst.index)
			return
		}
		fate, ev.Answer = Applied, oracle.AnswerApplied
		if inst.model == nil {
			break
		}
		if ev.Again = inst.model.complete(c, w.jitter); !ev.Again {
			ev.Error = errorOf(c.Failure)
		}
	case backend.Stale:
		ev.Answer = oracle.AnswerStale
	case backend.Refused:
		fate, ev.Answer = Refused, oracle.AnswerRefused
	default:
		return // it is offered again
	}
	w.record(ev)
	if record := w.results[c.Lease]; record != nil && record.Fate == Unanswered {
		record.Fate = fate
		delete(w.results, c.Lease) // its fate is decided
	}
}

// ended notes that a commit ended an instance. Its duration ends at this moment.
func (w *world) ended(who string, end backend.Instance) {
	inst := w.byID[end.ID]
	if inst == nil || !inst.stored || inst.ended {
		w.violate("I7: instance %s ended, and was not running", end.ID)
		return
	}
	inst.ended, inst.endedAt = true, w.now
	if inst.model != nil {
		inst.model.ended(end)
	}
	w.remaining--
	w.present.leave(w.now, inst.arrived)
	w.log(who, "end %d %s %s", inst.index, end.Status, end.Result)
	w.result.latencies = append(w.result.latencies, w.now-inst.arrived)
	w.result.Makespan = w.now
	w.record(w.endOf(oracle.Ended, inst, end))
	w.followed()
}

// retryCancel is when a client retries to cancel an instance that is not stored yet.
const retryCancel = 100 * time.Millisecond

func (w *world) cancel(inst *instance) {
	const who, reason = "client", "its client wants it no more"
	w.events++
	w.record(w.about(oracle.Canceling, inst))
	got, err := w.store.Cancel(context.Background(), []uuid.UUID{inst.id}, reason)
	if err != nil {
		w.fail(err)
		return
	}
	w.log(who, "cancel %d %s", inst.index, got[0].Status)
	switch {
	case got[0].Status == "":
		w.at(w.now+retryCancel, occurrence{kind: cancel, instance: inst})
	case inst.ended:
		inst.model.ended(got[0])
	default:
		inst.model.cancel(reason)
		w.ended(who, got[0])
	}
}

func (w *world) checkStore() {
	if err := w.store.Check(); err != nil {
		w.violate("the store is inconsistent: %v", err)
	}
}

func errorOf(f *plan.Failure) *reference.Error {
	if f == nil {
		return nil
	}
	return &reference.Error{Type: f.Type, Message: f.Message, Action: f.Action, Pos: f.Pos}
}
