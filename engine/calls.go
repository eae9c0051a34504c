package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/limit"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

func (e *Engine) begin(j job) {
	if j.call != nil {
		e.call(j.call)
		return
	}
	e.execute(j.action, &j.start)
}

func (e *Engine) call(c *dispatch.Call) {
	ctx, cancel := context.WithTimeoutCause(e.work, e.cfg.CallTimeout,
		fmt.Errorf("no answer within the %v of CallTimeout", e.cfg.CallTimeout))
	defer cancel()
	begun, skew := time.Now(), e.skew()
	reply := e.callBackend(ctx, c)
	reply.Call = c.ID
	ev := loopEvent{call: c, reply: &reply}
	if c.Op == dispatch.OpRenew && c.Grant.Lease == e.cfg.Lease && reply.Err == nil {
		ev.ended = e.endedElsewhere(ctx, c.Leases, reply.Held, begun.Add(c.Grant.Lease/2))
	}
	shift(&reply.Committed, skew)
	reply.Err = explain(ctx, reply.Err)
	ev.at = e.cfg.now()
	e.events.put(ev) // the loop reads until the last call has ended
}

// endedElsewhere returns those instances of lost leases that another engine cancelled or completed. Their tasks here are
// cancelled with that cause. The task of any other instance may be another engine's now. The renewal's reply waits for this
// lookup, so the lookup ends at the deadline. If it fails, the leases are merely lost.
func (e *Engine) endedElsewhere(ctx context.Context, leases []backend.Lease, held []bool, deadline time.Time) (ended []backend.Instance) {
	var ids []uuid.UUID
	for i, lease := range leases {
		if i < len(held) && !held[i] && !slices.Contains(ids, lease.Key.Instance) {
			ids = append(ids, lease.Key.Instance)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, errors.New("no answer within half a lease"))
	defer cancel()
	for some := range slices.Chunk(ids, lookupBatch) {
		for _, inst := range e.lookUp(ctx, some, "whose leases were lost, which may be another engine's now") {
			if inst.Status != "" && inst.Status != backend.Running {
				ended = append(ended, inst)
			}
		}
	}
	return ended
}

// skew is how far Clock is from the clock of the leases' ends that the backend returns.
func (e *Engine) skew() time.Duration {
	if e.cfg.Clock == nil {
		return 0
	}
	return time.Until(e.cfg.Clock())
}

// shift takes the skew of the call's begin.
func shift(c *backend.Committed, skew time.Duration) {
	if skew == 0 {
		return
	}
	for i := range c.Tasks {
		c.Tasks[i].Expires = c.Tasks[i].Expires.Add(skew)
	}
	if !c.NextDue.IsZero() {
		c.NextDue = c.NextDue.Add(skew)
	}
}

func (e *Engine) callBackend(ctx context.Context, c *dispatch.Call) (reply dispatch.Reply) {
	b := e.cfg.Backend
	switch c.Op {
	case dispatch.OpSubmit:
		reply.Committed, reply.Err = e.submit(ctx, c.Submissions, c.Grant)
	case dispatch.OpClaim:
		reply.Committed, reply.Err = b.Claim(ctx, c.Shard, c.Grant)
	case dispatch.OpComplete:
		reply.Committed, reply.Err = b.Complete(ctx, c.Shard, c.Completions, c.Grant)
	case dispatch.OpRenew:
		reply.Held, reply.Err = b.Renew(ctx, c.Shard, c.Leases, c.Grant)
	case dispatch.OpSweep:
		reply.Swept, reply.Err = b.Sweep(ctx, c.Shard)
	case dispatch.OpNotify:
		reply.Err = b.(backend.Listener).Notify(ctx) // requested only if the backend is a Listener
	case dispatch.OpLimits: // requested only with Config.Limits
		reply.Limits, reply.Err = backend.TakeLimitTurn(ctx, b.(backend.Limiter), e.cfg.now, e.share, c.Needs, limit.Times{Lease: e.cfg.Lease, Turn: e.cfg.LimitTurn})
		if reply.Err == nil {
			e.unbounded.Store(!reply.Limits.BoundsInstances)
		}
	default:
		reply.Err = fmt.Errorf("engine: no such call: %s", c.Op)
	}
	return reply
}

// submit keeps to limits of instances, once a turn with limits has found some, and before the first turn.
func (e *Engine) submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	store, ok := e.cfg.Backend.(backend.LimitedStore)
	if !e.cfg.Limits || !ok || e.unbounded.Load() {
		return e.cfg.Backend.Submit(ctx, subs, grant)
	}
	return backend.SubmitAdmitted(ctx, store, subs, func(admitted []backend.Submission) (backend.Committed, error) {
		return e.cfg.Backend.Submit(ctx, admitted, grant)
	})
}

// The end reaches the loop even if the action ends its goroutine.
func (e *Engine) execute(ctx *actionContext, start *dispatch.Start) {
	done, returned := dispatch.Done{Task: start.ID}, false
	defer func() {
		if !returned {
			done.Failure = &plan.Failure{
				Type: worker.TypePanic, Message: fmt.Sprintf("action %s ended its goroutine instead of returning", start.Task.Action), Action: start.Task.Action,
			}
		}
		if worker.IsDeath(done.Failure) {
			done.Died, done.RetryPause = true, redeliveryPause(start.Task.Deliveries, rand.Float64())
		}
		if e.cfg.Observer.Offered != nil && !done.Died && !done.Returned && !errors.Is(ctx.why(), dispatch.ErrOverdue) {
			e.cfg.Observer.Offered(backend.Completion{
				Lease: start.Task.Lease, Program: start.Task.Program, Attempt: start.Task.Attempt, Result: done.Result, Failure: done.Failure,
			}, e.cfg.now())
		}
		e.events.put(loopEvent{done: done}) // the loop reads until the last task has ended
	}()
	if e.cfg.Observer.Started != nil {
		e.cfg.Observer.Started(start.Task, e.cfg.now())
	}
	if e.cfg.Signals && start.Task.Action == worker.WaitSignal {
		done.Result, done.Failure, done.Returned = e.waitSignal(ctx, start.Task)
		returned = true
		return
	}
	done.Result, done.Failure = e.cfg.Workers.Execute(ctx, start.Task)
	returned = true
}

// Bounds of the pause before a redelivery after the death of a worker that this engine survived.
const (
	redeliveryPauseMin = 100 * time.Millisecond
	redeliveryPauseMax = 30 * time.Second
)

// redeliveryPause doubles the pause with each delivery, and takes between a half and all of it: attempts that died together do
// not return together. random is from 0 to 1.
func redeliveryPause(deliveries int, random float64) time.Duration {
	rest := redeliveryPauseMin
	for i := 1; i < deliveries && rest < redeliveryPauseMax; i++ {
		rest *= 2
	}
	rest = min(rest, redeliveryPauseMax)
	return rest/2 + time.Duration(random*float64(rest/2))
}

// signalOnce puts a value into a channel of one place, unless one is there.
func signalOnce(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// listen wakes the loop when another engine makes work ready. A failed listen is retried until the engine ends; polling
// remains.
func (e *Engine) listen(l backend.Listener) {
	wake := func() {
		signalOnce(e.notified)
		signalOnce(e.wakes)
	}
	pause := e.cfg.RetryMin
	for {
		begun := time.Now()
		err := l.Listen(e.background, wake)
		if e.background.Err() != nil {
			return
		}
		if err == nil {
			err = fmt.Errorf("the backend ended it")
		}
		if time.Since(begun) > e.cfg.RetryMax {
			pause = e.cfg.RetryMin // listening had worked for a while
		}
		e.cfg.Observer.problem(fmt.Errorf("listening for other engines' work, tried again in %v: %w", pause, err))
		if !e.pause(pause) {
			return
		}
		pause = min(2*pause, e.cfg.RetryMax)
		wake() // a notification may have been missed
	}
}

func (e *Engine) pause(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.background.Done():
		return false
	}
}
