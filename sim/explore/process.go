package explore

import (
	"errors"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/plan"
)

// process is an engine's: what package engine's shell is to the real one. It outlives its lives, of which there is
// another after each death.
type process struct {
	w     *world
	index int
	life  uint32

	alive, stopped, draining, closing bool

	frozen int64 // until when it stands still
	slow   int64 // until when its messages take long
	cutOff int64 // until when the server cannot be reached
	deaf   int64 // until when it hears of no notifications
	rate   int64 // of its clock: parts of a million that it is too fast
	since  int64 // when that began
	base   int64 // what the clock said then

	machine *dispatch.Machine
	client  *hostClient
	inbox   []dispatch.Event
	tasks   []*task
	backlog []*instance
	pending []*instance // by ticket; nil: answered
	due     int64       // for which the next tick is on the calendar; -1: none
	ticks   int
	stepped bool

	free []*conn

	threads []*thread // in the order in which they began
	back    int64     // how long after it has stopped another life begins
	stirred bool      // something has happened by which threads may go on
}

// forever is longer than any world lasts.
const forever = 1000 * time.Hour

// task is an attempt under way.
type task struct {
	id   dispatch.TaskID
	task backend.Task
	over bool
}

// now is the process' clock, which never goes back, in ns since its epoch.
func (p *process) now() int64 {
	d := p.w.now - p.since
	return p.base + d + d/1_000_000*p.rate + d%1_000_000*p.rate/1_000_000
}

func (p *process) wall() time.Time { return epoch.Add(time.Duration(p.now())) }

// until gives how long it is until the clock says something, at least 1.
func (p *process) until(at int64) int64 {
	d := at - p.now()
	if p.rate != 0 {
		d = d*1_000_000/(1_000_000+p.rate) + 1
	}
	return max(d, 1)
}

// drift has the clock go at another rate.
func (p *process) drift(ppm int64) { p.base, p.since, p.rate = p.now(), p.w.now, ppm }

// begin starts a life.
func (p *process) begin() {
	w := p.w
	if w.stopping {
		return // nothing is left to do
	}
	p.life++
	p.alive, p.stopped, p.draining, p.closing, p.frozen = true, false, false, false, 0
	p.inbox, p.tasks, p.pending, p.free = nil, nil, nil, nil
	p.due, p.stepped = -1, false
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	poll := us(w.PollUS)
	if w.Bug == bugNoPolling {
		poll = forever
	}
	m, err := dispatch.New(dispatch.Config{
		Owner: engineNames[p.index], Shards: w.Shards, Slots: w.Slots, Prefetch: w.Prefetch, Batch: w.Batch, BatchBytes: 1 << 20,
		Committers: w.Committers, Pending: 64, Queue: 64, Lease: us(w.LeaseUS), Grace: us(w.LeaseUS),
		Poll: poll, Sweep: us(w.SweepUS), Notify: w.Engines > 1, RetryMin: retryMin, RetryMax: retryMax,
	})
	if err != nil {
		w.violate("the case", "%v", err)
		return
	}
	p.machine = m
	h := newHost(p)
	b, err := w.store.open(h)
	if err != nil {
		w.violate("the case", "%v", err)
		return
	}
	p.client = h.run(b)
	w.note(Began, p.index, int64(p.life), 0, 0)
	w.after(0, p, func() {})
}

// engineNames are those of the processes, by their index.
var engineNames = [...]string{"e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7"}

// die ends a life; another begins later. What its clients wait for they ask again.
func (p *process) die(back int64) {
	w := p.w
	w.note(Died, p.index, int64(p.life), 0, 0)
	p.life++
	p.alive = false
	for _, t := range p.tasks {
		w.judge.dropped(p, t.task.Lease)
	}
	for _, c := range w.server.conns {
		if c.p == p && !c.dead {
			c.told, c.dead = true, true
			c.reply = reply{}
			w.after(w.rng.Int64N(us(2000))+w.patience(), nil, c.hangUp)
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
		w.after(w.mean(us(20_000)), nil, func() { w.submit(inst, w.rng.IntN(w.Engines)) })
	}
	w.after(back, nil, p.begin)
}

// patience is how long a server takes to notice that a client is gone, beyond moments: seldom long.
func (w *world) patience() int64 {
	if w.rng.IntN(8) == 0 {
		return w.rng.Int64N(us(w.LeaseUS))
	}
	return 0
}

// tell notes an event for the next step.
func (p *process) tell(ev dispatch.Event) { p.inbox = append(p.inbox, ev) }

// step has the machine decide, and begins what it says.
func (p *process) step() {
	p.stir()
	if !p.alive || p.stopped || p.closing {
		return
	}
	if len(p.inbox) == 0 && len(p.backlog) == 0 && p.stepped && (p.due < 0 || p.now() < p.due) {
		return
	}
	for again := true; again; {
		p.feed()
		p.stepped = true
		for _, c := range p.machine.Step(p.wall(), p.inbox...) {
			p.obey(c)
		}
		clear(p.inbox)
		p.inbox = p.inbox[:0]
		again = !p.stopped && len(p.backlog) > 0 && p.machine.Room() > 0
	}
	next := int64(-1)
	if at := p.machine.Next(); !at.IsZero() && !p.stopped {
		next = int64(at.Sub(epoch))
	}
	if next == p.due {
		return
	}
	if p.due > p.now() {
		p.w.queue.calledOff()
	}
	p.due = next
	p.ticks++
	if next >= 0 {
		p.tick()
	}
}

// tick has the process decide at its deadline, unless that is moved before.
func (p *process) tick() { p.w.put(p.w.now+p.until(p.due), p, p, p.ticks) }

// off implements actor: a deadline that was moved is none.
func (p *process) off(number int) bool { return number != p.ticks }

// do implements actor: a deadline has come, or is to come still, if the clock's rate was changed.
func (p *process) do(int) {
	if p.now() < p.due {
		p.tick()
	}
}

// feed hands over as many submissions as the machine takes.
func (p *process) feed() {
	n := min(len(p.backlog), p.machine.Room())
	for _, inst := range p.backlog[:n] {
		p.pending = append(p.pending, inst)
		p.tell(dispatch.Submit{Ticket: dispatch.Ticket(len(p.pending)), Submission: backend.Submission{
			ID: inst.id, Program: p.w.load.compiled, Input: p.w.load.Input,
		}})
	}
	p.backlog = p.backlog[n:]
}

// obey begins what a command says.
func (p *process) obey(c dispatch.Command) {
	w := p.w
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
		w.result.Counts.Problems++
		w.note(Reports, p.index, 0, 0, 0)
		if w.trace != nil {
			w.trace.say(c.Err.Error())
		}
	case dispatch.Stopped:
		w.note(Stopped, p.index, int64(p.life), 0, 0)
		p.closing = true
		p.client.close(func() {
			if p.stopped = true; !w.stopping {
				w.after(0, nil, func() { p.die(p.back) })
			}
		})
	}
}

// call makes a call of the design.
func (p *process) call(c dispatch.Call) {
	w := p.w
	w.note(Calls, p.index, int64(c.ID), int64(opNumber(c.Op)), int64(c.Shard))
	end := func(r dispatch.Reply) {
		r.Call = c.ID
		w.note(Answers, p.index, int64(c.ID), int64(opNumber(c.Op)), code(r.Err))
		if r.Err != nil && w.trace != nil {
			w.trace.say(r.Err.Error())
		}
		w.judge.reply(p, &c, &r)
		p.tell(r)
	}
	committed := func(out backend.Committed, err error) { end(dispatch.Reply{Committed: out, Err: err}) }
	switch c.Op {
	case dispatch.OpSubmit:
		p.client.submit(c.Submissions, c.Grant, committed)
	case dispatch.OpClaim:
		p.client.claim(c.Shard, c.Grant, committed)
	case dispatch.OpComplete:
		w.judge.offered(c.Completions)
		if w.Bug == bugAcknowledged {
			committed(early(len(c.Completions)), nil)
			committed = func(backend.Committed, error) {}
			c.Grant.Max = 0 // nobody would run it
		}
		p.client.complete(c.Shard, c.Completions, c.Grant, committed)
	case dispatch.OpExtend:
		p.client.extend(c.Shard, c.Leases, c.Grant, func(held []bool, err error) { end(dispatch.Reply{Held: held, Err: err}) })
	case dispatch.OpSweep:
		p.client.sweep(c.Shard, func(swept backend.Swept, err error) { end(dispatch.Reply{Swept: swept, Err: err}) })
	case dispatch.OpNotify:
		p.client.notify(func(err error) { end(dispatch.Reply{Err: err}) })
	}
}

// early is a bug: the answer to completions before they are committed.
func early(completions int) backend.Committed {
	out := backend.Committed{More: true}
	for range completions {
		out.Outcomes = append(out.Outcomes, backend.Outcome{Answer: backend.Applied})
	}
	return out
}

func opNumber(op dispatch.Op) int {
	for i, o := range [...]dispatch.Op{dispatch.OpSubmit, dispatch.OpClaim, dispatch.OpComplete, dispatch.OpExtend, dispatch.OpSweep, dispatch.OpNotify} {
		if o == op {
			return i
		}
	}
	return -1
}

// start runs a task.
func (p *process) start(c *dispatch.Start) {
	w := p.w
	t := &task{id: c.ID, task: c.Task}
	p.tasks = append(p.tasks, t)
	run := c.Task.Lease.Key.Run
	inst := w.instanceOf(c.Task.Lease.Key.Instance)
	w.note(Starts, p.index, int64(inst.index), int64(run.Node), c.Task.Lease.Token)
	w.mixText(string(run.Path))
	w.mixText(string(c.Task.Args))
	w.judge.started(p, inst, &c.Task)
	w.after(w.mean(us(w.ServiceUS)), p, func() { p.end(t) })
}

// end is when a task's time is over.
func (p *process) end(t *task) {
	if t.over {
		return
	}
	p.leave(t)
	c := &t.task
	result, failure := p.w.load.act(c.Action, c.Args, c.Attempt)
	if failure != nil {
		f := *failure
		f.Action, f.Pos = c.Action, c.Program.Graph().Nodes[c.Lease.Key.Run.Node].Pos
		failure = &f
	}
	p.w.note(Done, p.index, int64(t.id), 0, 0)
	p.tell(&dispatch.Done{Task: t.id, Result: result, Failure: failure})
}

func (p *process) leave(t *task) {
	t.over = true
	for i, o := range p.tasks {
		if o == t {
			p.tasks = append(p.tasks[:i], p.tasks[i+1:]...)
			break
		}
	}
	p.w.judge.dropped(p, t.task.Lease)
}

// stop cuts a task off, which gives in at once or, as some do, later.
func (p *process) stop(c dispatch.Cancel) {
	for _, t := range p.tasks {
		if t.id != c.ID {
			continue
		}
		p.leave(t)
		lost := int64(0)
		if errors.Is(c.Cause, dispatch.ErrLeaseLost) {
			lost = 1
		}
		p.w.note(CutOff, p.index, int64(t.id), lost, 0)
		p.w.after(p.w.mean(us(200)), p, func() {
			p.tell(&dispatch.Done{Task: t.id, Failure: &plan.Failure{Type: "Cancelled", Message: "cancelled", Action: t.task.Action}})
		})
		return
	}
}

// answer tells the client.
func (p *process) answer(c dispatch.Answer) {
	w := p.w
	inst := p.pending[c.Ticket-1]
	p.pending[c.Ticket-1] = nil
	w.note(Answered, p.index, int64(inst.index), boolean(c.Err != nil), 0)
	switch {
	case c.Err != nil:
		w.after(w.mean(us(20_000)), nil, func() { w.submit(inst, w.rng.IntN(w.Engines)) })
	case c.Outcome.Answer == backend.Refused:
		w.violate("I12", "instance %d was refused: %v", inst.index, c.Outcome.Err)
	case !inst.taken:
		w.violate("I8", "instance %d was answered %s, and is not stored", inst.index, c.Outcome.Answer)
	default:
		inst.known = true
	}
}

func boolean(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// drain has an engine stop, within a time for the tasks at hand.
func (p *process) drain(within int64) {
	if !p.alive || p.draining {
		return
	}
	p.draining = true
	w := p.w
	w.after(0, p, func() { p.tell(dispatch.Drain{Until: p.wall().Add(time.Duration(within))}) })
}

// submit is a client's that hands an instance to an engine, or waits until one listens.
func (w *world) submit(inst *instance, engine int) {
	if inst.known {
		return
	}
	p := w.engines[engine%len(w.engines)]
	if !p.alive || p.frozen > w.now || p.stopped || p.draining {
		w.after(w.mean(us(20_000)), nil, func() { w.submit(inst, w.rng.IntN(w.Engines)) })
		return
	}
	w.note(Submits, p.index, int64(inst.index), 0, 0)
	p.backlog = append(p.backlog, inst)
	w.after(0, p, func() {})
}

// cancel is a client's that wants an instance to end: through some engine, until that has answered.
func (w *world) cancel(inst *instance) {
	again := func() { w.after(w.mean(us(30_000)), nil, func() { w.cancel(inst) }) }
	p := w.engines[w.rng.IntN(len(w.engines))]
	if inst.ended {
		return
	}
	if !p.alive || p.frozen > w.now || p.draining || !inst.taken {
		again()
		return
	}
	inst.canceled = true
	w.note(Cancels, p.index, int64(inst.index), 0, 0)
	life := p.life
	p.client.cancel(inst, func(err error) {
		if err == nil && !inst.ended {
			w.violate("I7", "instance %d was canceled, and runs", inst.index)
		}
	})
	w.after(us(500_000), nil, func() {
		if p.life != life || !inst.ended {
			w.cancel(inst)
		}
	})
}
