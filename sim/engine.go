package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/graph"
	"pulley/engine/oracle"
	"pulley/engine/plan"
	"pulley/scenarios"
)

// engine is a process in the world: what package engine's loop is to the real one. It outlives its
// process, of which there is another one after a crash.
type engine struct {
	w           *world
	index       int
	incarnation int // of the process, from 1
	machine     *dispatch.Machine
	batch       []dispatch.Event

	backlog []*instance                   // submissions that the machine has no room for, in order
	pending map[dispatch.Ticket]*instance // that have no answer yet
	tickets dispatch.Ticket               // the last one given
	running map[dispatch.TaskID]*attempt  // tasks under way
	free    []int                         // workers without work, a heap; for the schedule only, the machine counts on its own
	name    string                        // of the process

	ticks    int           // numbers deadlines; an event with another number is of one that was moved
	deadline time.Duration // for which there is an event; never: none

	eventCount int     // events so far, in all lives
	faults     []Fault // to come
	frozen     time.Duration
	down       bool
	stopped    bool
}

// attempt is a task under way.
type attempt struct {
	id        dispatch.TaskID
	task      backend.Task
	record    *Attempt
	cancelled bool // it was cancelled
}

func (e *engine) String() string { return e.name }

// begin starts a process.
func (e *engine) begin() error {
	e.rename()
	cfg := e.w.cfg.Dispatch
	cfg.Owner = e.String()
	m, err := dispatch.New(cfg)
	if err != nil {
		return fmt.Errorf("sim: %w", err)
	}
	e.machine, e.batch, e.down = m, nil, false
	e.pending = map[dispatch.Ticket]*instance{}
	e.running = map[dispatch.TaskID]*attempt{}
	e.ticks, e.deadline = e.ticks+1, never
	e.free = make([]int, e.w.cfg.Workers)
	for i := range e.free {
		e.free[i] = i // in ascending order, which is a heap
	}
	return nil
}

// rename begins another life.
func (e *engine) rename() {
	e.incarnation++
	e.name = fmt.Sprintf("e%d.%d", e.index, e.incarnation)
}

// queueEvent notes an event for the next step.
func (e *engine) queueEvent(o *occurrence) {
	e.eventCount++
	switch o.kind {
	case arrive:
		e.w.log(e.String(), "arrive %d %s", o.instance.index, o.instance.id)
		e.backlog = append(e.backlog, o.instance)
	case tick:
		e.w.log(e.String(), "tick")
	case restart:
		e.w.log(e.String(), "restart")
		if err := e.begin(); err != nil {
			e.w.fail(err)
		}
	case notified:
		e.w.log(e.String(), "woken")
		e.batch = append(e.batch, dispatch.Notified{})
	case done:
		e.ended(o)
	case reply:
		e.w.log(e.String(), "reply %d", o.call.ID)
		e.batch = append(e.batch, o.event)
	case drain:
		e.w.log(e.String(), "drain")
		e.batch = append(e.batch, o.event)
	}
}

// applyFault lets the next fault happen if its time has come, and says whether the engine is gone or
// stands still. Events that it was told of in the same moment are lost or delayed with it.
func (e *engine) applyFault() bool {
	for i, f := range e.faults {
		if e.eventCount < f.After || e.w.draining {
			continue
		}
		e.faults = slices.Delete(e.faults, i, i+1)
		e.w.result.Faults++
		e.w.log(e.String(), "%s for %d", f.Kind, f.For)
		if f.Kind == Crash {
			e.crash(f.For)
			return true
		}
		e.frozen = e.w.now + f.For
		e.ticks++
		e.deadline = e.frozen // it decides on what it has been told when it goes on
		e.w.at(e.frozen, occurrence{kind: tick, engine: e, incarnation: e.incarnation, tick: e.ticks})
		return true
	}
	return false
}

// crash ends the process. Its clients try again with the next one.
func (e *engine) crash(after time.Duration) {
	for _, id := range slices.Sorted(maps.Keys(e.running)) {
		e.close(e.running[id], Lost)
	}
	var again []*instance
	for ticket := dispatch.Ticket(1); ticket <= e.tickets; ticket++ {
		if inst, ok := e.pending[ticket]; ok {
			again = append(again, inst)
		}
	}
	e.backlog = append(again, e.backlog...)
	e.down, e.batch, e.deadline = true, nil, never
	e.rename() // nothing that was under way finds it
	e.w.at(e.w.now+after, occurrence{kind: restart, engine: e, incarnation: e.incarnation})
}

// step has the machine decide, and begins what it says.
func (e *engine) step() {
	for again := true; again; {
		e.submitArrived()
		for _, c := range e.machine.Step(e.w.clock(), e.batch...) {
			e.do(c)
		}
		e.batch = e.batch[:0]
		again = !e.stopped && len(e.backlog) > 0 && e.machine.SubmitCapacity() > 0
	}
	next := never
	if at := e.machine.Next(); !at.IsZero() && !e.stopped {
		next = max(at.Sub(epoch), e.w.now)
	}
	if next == e.deadline {
		return
	}
	e.ticks, e.deadline = e.ticks+1, next
	if next != never {
		e.w.at(next, occurrence{kind: tick, engine: e, incarnation: e.incarnation, tick: e.ticks})
	}
}

// submitArrived hands over as many submissions as the machine takes.
func (e *engine) submitArrived() {
	n := min(len(e.backlog), e.machine.SubmitCapacity())
	for _, inst := range e.backlog[:n] {
		e.tickets++
		e.pending[e.tickets] = inst
		e.batch = append(e.batch, dispatch.Submit{Ticket: e.tickets, Submission: backend.Submission{
			ID: inst.id, Program: inst.program, Input: inst.input(),
		}})
	}
	e.backlog = slices.Delete(e.backlog, 0, n)
}

// do begins what a command says.
func (e *engine) do(c dispatch.Command) {
	switch c := c.(type) {
	case dispatch.Call:
		e.call(c)
	case *dispatch.Start:
		e.start(*c)
	case dispatch.Cancel:
		e.cancel(c)
	case dispatch.Answer:
		e.answer(c)
	case dispatch.Report:
		e.w.log(e.String(), "report %v", c.Err)
		e.w.result.Problems++
	case dispatch.Stopped:
		e.w.log(e.String(), "stopped")
		e.stopped = true
	}
}

// call sends a call on its way. The store carries it out at some moment before the answer arrives.
func (e *engine) call(c dispatch.Call) {
	w := e.w
	w.log(e.String(), "call %d %s shard %d max %d", c.ID, c.Op, c.Shard, c.Grant.Max)
	w.result.count(c.Op)
	for _, done := range c.Completions {
		if !w.cfg.Record {
			break
		}
		if key := done.Lease.Key; w.byID[key.Instance].program.Graph().Nodes[key.Run.Node].Kind == graph.Sleep {
			ev := w.of(oracle.Offered, w.byID[key.Instance], key.Run) // the machine's own: no attempt of it ends in the world
			ev.Token, ev.Attempt = done.Lease.Token, done.Attempt
			w.record(ev)
		}
	}
	latency := w.latency()
	reached := w.now
	if latency > 0 {
		reached += time.Duration(w.rng.Int64N(int64(latency) + 1))
	}
	w.at(reached, occurrence{kind: apply, engine: e, incarnation: e.incarnation, call: &c, due: w.now + latency})
}

// start begins an attempt. What it will return is known now, and told when its time is over.
func (e *engine) start(c dispatch.Start) {
	w := e.w
	key := c.Task.Lease.Key
	inst := w.byID[key.Instance]
	ready := w.waited(key)
	if len(e.free) == 0 {
		w.fail(fmt.Errorf("%s starts more tasks than it has slots", e))
		return
	}
	if w.cfg.Record {
		ev := w.of(oracle.Started, inst, key.Run)
		ev.Token, ev.Attempt, ev.Action, ev.Args = c.Task.Lease.Token, c.Task.Attempt, c.Task.Action, c.Task.Args
		w.record(ev)
	}
	if !w.cfg.Quiet {
		w.log(e.String(), "start %d %d %s %d token %d %s", c.ID, inst.index, w.runName(inst, key.Run), c.Task.Attempt, c.Task.Lease.Token, c.Task.Args)
	}
	takes, end, err := w.work(inst, c)
	if err != nil {
		w.fail(fmt.Errorf("node %s: %w", w.nodeName(inst, key.Run.Node), err))
		return
	}
	a := &attempt{id: c.ID, task: c.Task, record: &Attempt{
		Instance: inst.index, Node: w.nodeName(inst, key.Run.Node), Path: key.Run.Path, Attempt: c.Task.Attempt,
		Engine: e.index, Worker: pop(&e.free), Ready: ready, Start: w.now,
	}}
	e.running[c.ID] = a
	w.running.enter(w.now)
	w.results[c.Task.Lease] = a.record
	w.at(w.now+takes, occurrence{kind: done, engine: e, incarnation: e.incarnation, attempt: a, event: end})
}

// work gives how long an attempt takes and how it ends, by the rules of the engine's executors: a
// timeout that passes is a failure, whatever the action would have returned.
func (w *world) work(inst *instance, c dispatch.Start) (time.Duration, dispatch.Done, error) {
	end := dispatch.Done{Task: c.ID}
	takes, err := w.cfg.Service(w.rng, c.Task)
	if err == nil {
		takes, err = w.span("its service time", takes)
	}
	if err != nil || inst.program == nil {
		return takes, end, err
	}
	node := inst.program.Graph().Nodes[c.Task.Lease.Key.Run.Node]
	if node.Timeout > 0 && takes > node.Timeout {
		takes = node.Timeout
		end.Failure = &plan.Failure{Type: "Timeout", Message: fmt.Sprintf("action %s took longer than its timeout of %v", node.Action, node.Timeout)}
	} else {
		end.Result, end.Failure = actOf(w.cfg.Act, inst.workload)(c.Task.Action, c.Task.Args, c.Task.Attempt)
	}
	if end.Failure != nil {
		failure := *end.Failure
		failure.Action, failure.Pos = c.Task.Action, node.Pos
		end.Failure, end.Result = &failure, nil
	}
	return takes, end, nil
}

// actOf is what stands for the workers of a workload: its own actions, if nothing else does.
func actOf(act Act, w *scenarios.Workload) Act {
	if act != nil {
		return act
	}
	return func(action string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
		return w.Calls().Instant().Execute(context.Background(), backend.Task{Action: action, Args: args, Attempt: attempt})
	}
}

// input is that of the instance's workload.
func (i *instance) input() json.RawMessage {
	if i.workload == nil {
		return nil
	}
	return i.workload.Input
}

// ended takes an attempt's end to the machine.
func (e *engine) ended(o *occurrence) {
	a, end := o.attempt, o.event.(dispatch.Done)
	if a.cancelled {
		return
	}
	key := a.task.Lease.Key
	if !e.w.cfg.Quiet {
		what := string(end.Result)
		if end.Failure != nil {
			what = end.Failure.String()
		}
		e.w.log(e.String(), "done %d %s", end.Task, what)
	}
	if e.w.cfg.Record {
		ev := e.w.of(oracle.Offered, e.w.byID[key.Instance], key.Run)
		ev.Token, ev.Attempt = a.task.Lease.Token, a.task.Attempt
		e.w.record(ev)
	}
	e.close(a, Unanswered) // so far
	e.batch = append(e.batch, end)
}

// cancel cuts an attempt off. It gives in at once, as a well-behaved action does.
func (e *engine) cancel(c dispatch.Cancel) {
	a, ok := e.running[c.ID]
	if !ok {
		return // it has ended in this very moment
	}
	e.w.log(e.String(), "cancel %d %v", c.ID, c.Cause)
	a.cancelled = true
	fate := Dropped
	if errors.Is(c.Cause, dispatch.ErrLeaseLost) {
		fate = Lost
	}
	e.close(a, fate)
	end := dispatch.Done{Task: c.ID, Failure: &plan.Failure{Type: "Cancelled", Message: c.Cause.Error(), Action: a.task.Action}}
	removed := &attempt{id: c.ID, task: a.task, record: a.record}
	e.w.at(e.w.now, occurrence{kind: done, engine: e, incarnation: e.incarnation, attempt: removed, event: end})
}

// close takes an attempt off its slot and into the schedule.
func (e *engine) close(a *attempt, fate Fate) {
	if e.running[a.id] != a {
		return // cut off before, and counted then
	}
	delete(e.running, a.id)
	push(&e.free, a.record.Worker)
	a.record.End, a.record.Fate = e.w.now, fate
	e.w.running.leave(e.w.now, a.record.Start)
	e.w.result.Schedule = append(e.w.result.Schedule, a.record)
}

// answer tells the client.
func (e *engine) answer(c dispatch.Answer) {
	inst := e.pending[c.Ticket]
	delete(e.pending, c.Ticket)
	e.w.log(e.String(), "answer %d %s %v", inst.index, c.Outcome.Answer, c.Err)
	switch {
	case c.Err != nil && !e.w.draining:
		e.w.fail(fmt.Errorf("instance %d was not taken: %w", inst.index, c.Err))
	case c.Err == nil && c.Outcome.Answer == backend.Refused:
		e.w.fail(fmt.Errorf("instance %d was refused: %w", inst.index, c.Outcome.Err))
	case c.Err == nil && !inst.answered:
		inst.answered = true
		e.w.record(e.w.about(oracle.Submitted, inst))
	}
}
