package world

import (
	"errors"
	"math"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/plan"
	"pulley/sim/cases"
)

// Process is a simulated engine process; it plays the part of package engine's shell. It outlives its incarnations: after each
// crash another one begins.
type Process struct {
	World       *World
	Index       int
	Incarnation uint32

	alive, stopped, draining, closing bool

	frozen            int64 // the process does nothing until then
	slow              int64 // its messages are slow until then
	disconnectedUntil int64 // it cannot reach the server until then
	missesUntil       int64 // it receives no notifications until then
	rate              int64 // how much too fast its clock is, in parts per million
	since             int64 // when that rate began
	base              int64 // what its clock showed then

	machine *dispatch.Machine
	client  *Client
	inbox   []dispatch.Event
	tasks   []*task
	backlog []*Instance
	pending []*Instance // by ticket; nil: answered
	due     int64       // when the next tick is due; -1: none is scheduled
	ticks   int
	stepped bool

	free []*Conn

	threads     []*thread // in the order in which they began
	back        int64     // pause between a clean stop and the next incarnation
	hasRunnable bool      // a thread may have become ready
}

// forever is longer than any world lasts.
const forever = 1000 * time.Hour

type task struct {
	id       dispatch.TaskID
	task     backend.Task
	hasEnded bool
}

// Now returns the process's clock in ns since Epoch. It never decreases.
func (p *Process) Now() int64 {
	d := p.World.Now - p.since
	return p.base + d + d/1_000_000*p.rate + d%1_000_000*p.rate/1_000_000
}

func (p *Process) wall() time.Time { return Epoch.Add(time.Duration(p.Now())) }

// until returns how long the world takes until the process's clock shows at; at least 1.
func (p *Process) until(at int64) int64 {
	d := at - p.Now()
	if p.rate != 0 {
		d = d*1_000_000/(1_000_000+p.rate) + 1
	}
	return max(d, 1)
}

func (p *Process) drift(ppm int64) { p.base, p.since, p.rate = p.Now(), p.World.Now, ppm }

func (p *Process) begin() {
	w := p.World
	if w.stopping {
		return
	}
	p.Incarnation++
	p.alive, p.stopped, p.draining, p.closing, p.frozen = true, false, false, false, 0
	p.inbox, p.tasks, p.pending, p.free = nil, nil, nil, nil
	p.due, p.stepped = -1, false
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	poll := us(w.PollUS)
	if w.Bug == cases.BugNoPolling {
		poll = forever
	}
	h := newHost(p)
	b, err := w.Store.Open(h)
	if err != nil {
		w.Violate("the case", "%v", err)
		return
	}
	overlap := 0
	if _, ok := b.(backend.Overlapper); ok {
		overlap = w.Batch
	}
	m, err := dispatch.New(dispatch.Config{
		Owner: EngineNames[p.Index], Shards: w.Shards, Slots: w.Slots, Prefetch: w.Prefetch, Fair: w.Fair, Batch: w.Batch, BatchBytes: 1 << 20,
		Committers: w.Committers, Overlap: overlap, Pending: 64, Queue: 64, MaxDeliveries: math.MaxInt, Lease: us(w.LeaseUS), Grace: us(w.LeaseUS),
		Poll: poll, Sweep: us(w.SweepUS), Notify: w.Engines > 1, RetryMin: retryMin, RetryMax: retryMax,
	})
	if err != nil {
		w.Violate("the case", "%v", err)
		return
	}
	p.machine = m
	p.client = h.run(b)
	w.Note(Began, p.Index, int64(p.Incarnation), 0, 0)
	w.after(0, p, func() {})
}

// EngineNames are the names of the processes by index.
var EngineNames = [...]string{"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7"}

// crash ends an incarnation; another starts after back ns. Clients repeat their pending submissions.
func (p *Process) crash(back int64) {
	w := p.World
	w.Note(Died, p.Index, int64(p.Incarnation), 0, 0)
	p.Incarnation++
	p.alive = false
	for _, t := range p.tasks {
		w.Judge.Dropped(p, t.task.Lease)
	}
	for _, c := range w.Server.conns {
		if c.p == p && !c.clientDied {
			c.KnowsBroken, c.clientDied = true, true
			c.reply = reply{}
			w.after(w.Rand.Int64N(NS(2000))+w.detectDelay(), nil, c.hangUp)
		}
	}
	p.reap()
	again := p.backlog
	for _, inst := range p.pending {
		if inst != nil {
			again = append(again, inst)
		}
	}
	p.backlog, p.pending, p.tasks, p.inbox = nil, nil, nil, nil
	for _, inst := range again {
		w.after(w.mean(NS(20_000)), nil, func() { w.submit(inst, w.Rand.IntN(w.Engines)) })
	}
	w.after(back, nil, p.begin)
}

// detectDelay draws how much longer than usual the server takes to notice a client's death; mostly zero.
func (w *World) detectDelay() int64 {
	if w.Rand.IntN(8) == 0 {
		return w.Rand.Int64N(NS(w.LeaseUS))
	}
	return 0
}

func (p *Process) queueEvent(ev dispatch.Event) { p.inbox = append(p.inbox, ev) }

func (p *Process) step() {
	p.resumeThreads()
	if !p.alive || p.stopped || p.closing {
		return
	}
	if len(p.inbox) == 0 && len(p.backlog) == 0 && p.stepped && (p.due < 0 || p.Now() < p.due) {
		return
	}
	for again := true; again; {
		p.submitArrived()
		p.stepped = true
		for _, c := range p.machine.Step(p.wall(), p.inbox...) {
			p.execute(c)
		}
		clear(p.inbox)
		p.inbox = p.inbox[:0]
		again = !p.stopped && len(p.backlog) > 0 && p.machine.SubmitCapacity() > 0
	}
	next := int64(-1)
	if at := p.machine.Next(); !at.IsZero() && !p.stopped {
		next = int64(at.Sub(Epoch))
	}
	if next == p.due {
		return
	}
	if p.due > p.Now() {
		p.World.queue.noteCancelled()
	}
	p.due = next
	p.ticks++
	if next >= 0 {
		p.tick()
	}
}

func (p *Process) tick() { p.World.put(p.World.Now+p.until(p.due), p, p, p.ticks) }

// isStale implements actor: it reports whether the deadline has changed since.
func (p *Process) isStale(number int) bool { return number != p.ticks }

// do implements actor. It schedules another tick if the clock has not reached the deadline, because its rate changed.
func (p *Process) do(int) {
	if p.Now() < p.due {
		p.tick()
	}
}

// submitArrived passes to the machine as many submissions as it accepts.
func (p *Process) submitArrived() {
	n := min(len(p.backlog), p.machine.SubmitCapacity())
	for _, inst := range p.backlog[:n] {
		p.pending = append(p.pending, inst)
		p.queueEvent(dispatch.Submit{Ticket: dispatch.Ticket(len(p.pending)), Submission: backend.Submission{
			ID: inst.ID, Program: p.World.Workload.Compiled, Input: p.World.Workload.Input,
		}})
	}
	p.backlog = p.backlog[n:]
}

func (p *Process) execute(c dispatch.Command) {
	w := p.World
	switch c := c.(type) {
	case dispatch.Call:
		p.call(c)
	case *dispatch.Start:
		p.start(c)
	case dispatch.Cancel:
		p.stop(c)
	case dispatch.Answer:
		p.answer(c)
	case dispatch.Report:
		w.Result.Counts.Problems++
		w.Note(Reports, p.Index, 0, 0, 0)
		if w.Trace != nil {
			w.Trace.Say(c.Err.Error())
		}
	case dispatch.Stopped:
		w.Note(Stopped, p.Index, int64(p.Incarnation), 0, 0)
		p.closing = true
		p.client.close(func() {
			if p.stopped = true; !w.stopping {
				w.after(0, nil, func() { p.crash(p.back) })
			}
		})
	}
}

func (p *Process) call(c dispatch.Call) {
	w := p.World
	id, op, completions := c.ID, opNumber(c.Op), c.Completions
	w.Note(Calls, p.Index, int64(id), int64(op), int64(c.Shard))
	end := func(r dispatch.Reply) {
		r.Call = id
		w.Note(Answers, p.Index, int64(id), int64(op), ErrorCode(r.Err))
		if r.Err != nil && w.Trace != nil {
			w.Trace.Say(r.Err.Error())
		}
		w.Judge.Reply(p, completions, r)
		p.queueEvent(r)
	}
	committed := func(out backend.Committed, err error) { end(dispatch.Reply{Committed: out, Err: err}) }
	switch c.Op {
	case dispatch.OpSubmit:
		p.client.submit(c.Submissions, c.Grant, committed)
	case dispatch.OpClaim:
		p.client.claim(c.Shard, c.Grant, committed)
	case dispatch.OpComplete:
		w.Judge.Offered(c.Completions)
		if w.Bug == cases.BugAcknowledged {
			committed(early(len(c.Completions)), nil)
			committed = func(backend.Committed, error) {}
			c.Grant.Max = 0 // nobody would run the leased tasks
		}
		p.client.complete(c.Shard, c.Completions, c.Grant, committed)
	case dispatch.OpRenew:
		p.client.renew(c.Shard, c.Leases, c.Grant, func(held []bool, err error) { end(dispatch.Reply{Held: held, Err: err}) })
	case dispatch.OpSweep:
		p.client.sweep(c.Shard, func(swept backend.Swept, err error) { end(dispatch.Reply{Swept: swept, Err: err}) })
	case dispatch.OpNotify:
		p.client.notify(func(err error) { end(dispatch.Reply{Err: err}) })
	}
}

// early plants a bug: it answers completions before they are committed.
func early(completions int) backend.Committed {
	out := backend.Committed{More: true}
	for range completions {
		out.Outcomes = append(out.Outcomes, backend.Outcome{Answer: backend.Applied})
	}
	return out
}

func opNumber(op dispatch.Op) int {
	for i, o := range [...]dispatch.Op{dispatch.OpSubmit, dispatch.OpClaim, dispatch.OpComplete, dispatch.OpRenew, dispatch.OpSweep, dispatch.OpNotify} {
		if o == op {
			return i
		}
	}
	return -1
}

func (p *Process) start(c *dispatch.Start) {
	w := p.World
	t := &task{id: c.ID, task: c.Task}
	p.tasks = append(p.tasks, t)
	run := c.Task.Lease.Key.Run
	inst := w.InstanceOf(c.Task.Lease.Key.Instance)
	w.Note(Starts, p.Index, int64(inst.Index), int64(run.Node), c.Task.Lease.Token)
	w.MixText(string(run.Path))
	w.MixText(string(c.Task.Args))
	w.Judge.Started(p, inst, &c.Task)
	w.after(w.mean(NS(w.ServiceUS)), p, func() { p.end(t) })
}

func (p *Process) end(t *task) {
	if t.hasEnded {
		return
	}
	p.leave(t)
	c := &t.task
	result, failure := p.World.Workload.Act(c.Action, c.Args, c.Attempt)
	if failure != nil {
		f := *failure
		f.Action, f.Pos = c.Action, c.Program.Graph().Nodes[c.Lease.Key.Run.Node].Pos
		failure = &f
	}
	p.World.Note(Done, p.Index, int64(t.id), 0, 0)
	p.queueEvent(&dispatch.Done{Task: t.id, Result: result, Failure: failure})
}

func (p *Process) leave(t *task) {
	t.hasEnded = true
	for i, o := range p.tasks {
		if o == t {
			p.tasks = append(p.tasks[:i], p.tasks[i+1:]...)
			break
		}
	}
	p.World.Judge.Dropped(p, t.task.Lease)
}

// stop cancels a task, which returns a little later.
func (p *Process) stop(c dispatch.Cancel) {
	for _, t := range p.tasks {
		if t.id != c.ID {
			continue
		}
		p.leave(t)
		lost := int64(0)
		if errors.Is(c.Cause, dispatch.ErrLeaseLost) {
			lost = 1
		}
		p.World.Note(Disconnected, p.Index, int64(t.id), lost, 0)
		p.World.after(p.World.mean(NS(200)), p, func() {
			p.queueEvent(&dispatch.Done{Task: t.id, Failure: &plan.Failure{Type: "Cancelled", Message: "cancelled", Action: t.task.Action}})
		})
		return
	}
}

func (p *Process) answer(c dispatch.Answer) {
	w := p.World
	inst := p.pending[c.Ticket-1]
	p.pending[c.Ticket-1] = nil
	w.Note(Answered, p.Index, int64(inst.Index), boolean(c.Err != nil), 0)
	switch {
	case c.Err != nil:
		w.after(w.mean(NS(20_000)), nil, func() { w.submit(inst, w.Rand.IntN(w.Engines)) })
	case c.Outcome.Answer == backend.Refused:
		w.Violate("I12", "instance %d was refused: %v", inst.Index, c.Outcome.Err)
	case !inst.Stored:
		w.Violate("I8", "instance %d was answered %s, and is not stored", inst.Index, c.Outcome.Answer)
	default:
		inst.acknowledged = true
	}
}

func boolean(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// drain stops an engine. Its tasks may run for within ns more.
func (p *Process) drain(within int64) {
	if !p.alive || p.draining {
		return
	}
	p.draining = true
	w := p.World
	w.after(0, p, func() { p.queueEvent(dispatch.Drain{Until: p.wall().Add(time.Duration(within))}) })
}

// submit hands an instance to an engine, or tries another one later.
func (w *World) submit(inst *Instance, engine int) {
	if inst.acknowledged {
		return
	}
	p := w.engines[engine%len(w.engines)]
	if !p.alive || p.frozen > w.Now || p.stopped || p.draining {
		w.after(w.mean(NS(20_000)), nil, func() { w.submit(inst, w.Rand.IntN(w.Engines)) })
		return
	}
	w.Note(Submits, p.Index, int64(inst.Index), 0, 0)
	p.backlog = append(p.backlog, inst)
	w.after(0, p, func() {})
}

// cancel has some engine cancel an instance, and repeats that until it has ended.
func (w *World) cancel(inst *Instance) {
	again := func() { w.after(w.mean(NS(30_000)), nil, func() { w.cancel(inst) }) }
	p := w.engines[w.Rand.IntN(len(w.engines))]
	if inst.Ended {
		return
	}
	if !p.alive || p.frozen > w.Now || p.draining || !inst.Stored {
		again()
		return
	}
	inst.Canceled = true
	w.Note(Cancels, p.Index, int64(inst.Index), 0, 0)
	life := p.Incarnation
	p.client.cancel(inst, func(err error) {
		if err == nil && !inst.Ended {
			w.Violate("I7", "instance %d was canceled, and runs", inst.Index)
		}
	})
	w.after(NS(500_000), nil, func() {
		if p.Incarnation != life || !inst.Ended {
			w.cancel(inst)
		}
	})
}
