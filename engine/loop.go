package engine

import (
	"context"
	"sync"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
)

// eventsAtOnce bounds the batch for which the loop takes further submissions before it decides.
const eventsAtOnce = 512

type loopEvent struct {
	done  dispatch.Done // valid if call is nil
	call  *dispatch.Call
	reply *dispatch.Reply
	ended []backend.Instance // instances that the call found ended elsewhere
	at    time.Time          // when the reply came
}

// eventQueue holds at most one event for each running task and call. A sender never waits.
type eventQueue struct {
	mu       sync.Mutex
	pending  []loopEvent
	spare    []loopEvent   // the slice that the loop has emptied
	nonEmpty chan struct{} // one place: the queue was empty before
}

func newEventQueue() *eventQueue { return &eventQueue{nonEmpty: make(chan struct{}, 1)} }

func (m *eventQueue) put(ev loopEvent) {
	m.mu.Lock()
	m.pending = append(m.pending, ev)
	first := len(m.pending) == 1
	m.mu.Unlock()
	if first {
		select {
		case m.nonEmpty <- struct{}{}:
		default: // the loop has not seen the last signal yet
		}
	}
}

// drain's result is valid until the next call.
func (m *eventQueue) drain() []loopEvent {
	clear(m.spare)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending, m.spare = m.spare[:0], m.pending
	return m.spare
}

// loop owns the machine. Only its goroutine decides, and it blocks on nothing but events.
type loop struct {
	*Engine
	startEnded <-chan struct{} // closed with Start's context; nil once seen
	batch      []dispatch.Event
	incoming   int
	actions    actions
	pending    map[dispatch.Ticket]*submission // not answered yet
	draining   bool
	cut        bool // the end of Start's context began the drain
	stopped    bool
}

func newLoop(ctx context.Context, e *Engine) *loop {
	return &loop{
		Engine:     e,
		startEnded: ctx.Done(),
		actions:    actions{pages: map[dispatch.TaskID]*actionPage{}},
		pending:    map[dispatch.Ticket]*submission{},
	}
}

func (l *loop) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := l.cfg.now()
		for _, c := range l.machine.Step(now, l.batch...) {
			l.do(c)
		}
		l.idle.Store(l.machine.Idle())
		if l.stopped {
			return
		}
		clear(l.batch)
		l.batch, l.incoming = l.batch[:0], 0
		if next := l.machine.Next(); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(next.Sub(now))
		}
		l.wait(timer)
	}
}

// submissions returns the channel of submissions while the machine has capacity. A draining machine answers at once, so it
// always has.
func (l *loop) submissions() chan *submission {
	if l.draining || l.machine.SubmitCapacity() > l.incoming {
		return l.submits
	}
	return nil
}

func (l *loop) wait(timer *time.Timer) {
	select {
	case <-l.events.nonEmpty:
	case sub := <-l.submissions():
		l.handleSubmission(sub)
	case ticket := <-l.forgets:
		l.forget(ticket)
	case inst := <-l.ends:
		l.batch = append(l.batch, dispatch.Ended{Instances: []backend.Instance{inst}})
	case <-l.notified:
		l.batch = append(l.batch, dispatch.Notified{})
	case until := <-l.drains:
		l.drainUntilThen(until)
	case <-l.startEnded:
		l.startEnded, l.cut = nil, !l.draining
		l.drainUntilThen(l.cfg.now().Add(l.cfg.Drain))
	case <-timer.C:
	}
	events := l.events.drain() // valid until the step is over
	for i := range events {
		l.handle(&events[i])
	}
	for len(l.batch) < eventsAtOnce {
		select {
		case sub := <-l.submissions():
			l.handleSubmission(sub)
		default:
			return
		}
	}
}

func (l *loop) drainUntilThen(until time.Time) {
	l.draining = true
	l.endScheduling()
	l.batch = append(l.batch, dispatch.Drain{Until: until})
}

func (l *loop) handleSubmission(sub *submission) {
	l.incoming++
	l.pending[sub.ticket] = sub
	l.batch = append(l.batch, dispatch.Submit{Ticket: sub.ticket, Submission: sub.sub})
}

func (l *loop) forget(ticket dispatch.Ticket) {
	if _, ok := l.pending[ticket]; ok {
		delete(l.pending, ticket)
		l.batch = append(l.batch, dispatch.Forget{Ticket: ticket})
	}
}

func (l *loop) handle(ev *loopEvent) {
	if ev.call == nil {
		l.batch = append(l.batch, &ev.done)
		if action := l.actions.get(ev.done.Task); action != nil {
			action.cancel(nil)
			l.actions.remove(ev.done.Task)
		}
		return
	}
	if len(ev.ended) > 0 { // before the reply, in which their leases are merely lost
		l.batch = append(l.batch, dispatch.Ended{Instances: ev.ended})
	}
	l.batch = append(l.batch, *ev.reply)
	if ev.call.Op == dispatch.OpComplete {
		l.cfg.Observer.answered(ev.call.Completions, ev.reply.Committed, ev.reply.Err, ev.at)
	}
	l.cfg.Observer.committed(ev.reply.Committed, ev.at)
	if len(ev.reply.Committed.Ended) > 0 {
		signalOnce(l.freed)
	}
	for _, inst := range ev.reply.Committed.Ended {
		l.waits.deliver(inst)
	}
}

// do executes a command; it starts a goroutine for what takes time.
func (l *loop) do(command dispatch.Command) {
	switch c := command.(type) {
	case dispatch.Call:
		l.pool.run(job{call: &c})
	case *dispatch.Start:
		l.pool.run(job{start: *c, action: l.actions.add(l.work, c.ID)})
	case dispatch.Cancel:
		if action := l.actions.get(c.ID); action != nil {
			action.cancel(c.Cause)
		}
		if c.Instead != nil && l.cfg.Observer.Offered != nil {
			l.cfg.Observer.Offered(*c.Instead, l.cfg.now())
		}
	case dispatch.Failed:
		if l.cfg.Observer.Offered != nil {
			l.cfg.Observer.Offered(c.Completion, l.cfg.now())
		}
	case dispatch.Answer:
		l.answer(c)
	case dispatch.Report:
		l.cfg.Observer.problem(c.Err)
	case dispatch.Stopped:
		l.stopped = true
	}
}

func (l *loop) answer(c dispatch.Answer) {
	sub, ok := l.pending[c.Ticket]
	if !ok {
		return
	}
	delete(l.pending, c.Ticket)
	if c.Err == nil && c.Outcome.Answer == backend.Applied {
		l.waits.submitted(sub.sub.ID, l.cfg.now())
		if l.cfg.Observer.Submitted != nil {
			l.cfg.Observer.Submitted(sub.sub.ID, l.cfg.now())
		}
	}
	sub.answer <- c // never blocks: one place
}
