package world

import (
	"context"
	"errors"
	"iter"
	"runtime/debug"
	"slices"

	"pulley/internal/pgstore"
	"pulley/sim/db"
)

// thread is a coroutine that runs a design's real code. It runs only when the world resumes it, and nothing else runs at that
// time. When its process dies, its job is unwound and the thread is reused.
type thread struct {
	p           *Process
	incarnation uint32
	job         func()
	next        func() (struct{}, bool)
	stop        func()
	yield       func(struct{}) bool
	killed      bool

	waiting bool
	wait    int // number of the current wait; signals for earlier waits are ignored

	// What can end the wait without a signal: a receive from one of these channels, or the end of the context. Nil is not waited
	// for.
	from [2]<-chan struct{}
	ctx  context.Context
	got  int // what ended the wait: index of a channel, timedOut or overdue

	signalled bool // the awaited operation has ended, with err
	err       error
}

// Values of thread.got that are no index of a channel.
const (
	timedOut = pgstore.TimedOut // the span has passed
	overdue  = pgstore.Ended    // the context has ended
)

// Spare is what a world leaves to the next one: idle threads and the memory of its calendar.
type Spare struct {
	threads  []*thread
	calendar calendar
}

// reuseCalendar returns an empty calendar in the last world's memory.
func (s *Spare) reuseCalendar() calendar {
	c := s.calendar
	s.calendar = calendar{}
	clear(c.entries)
	return calendar{heap: c.heap[:0], entries: c.entries[:0], free: c.free[:0]}
}

// Release ends the idle threads.
func (s *Spare) Release() {
	for _, t := range s.threads {
		t.stop()
	}
	s.threads = nil
}

// errKilled unwinds a thread whose process has died.
var errKilled = errors.New("the process is dead")

// begins runs a job in a thread of the process, as a step of its own.
func (p *Process) begins(job func()) {
	w := p.World
	w.after(0, p, func() {
		var t *thread
		if n := len(w.spare.threads); n > 0 {
			t, w.spare.threads = w.spare.threads[n-1], w.spare.threads[:n-1]
		} else {
			t = &thread{}
			t.next, t.stop = iter.Pull(t.body)
		}
		t.p, t.incarnation, t.job = p, p.Incarnation, job
		p.threads = append(p.threads, t)
		t.run()
	})
}

func (t *thread) body(yield func(struct{}) bool) {
	t.yield = yield
	for again := true; again; again = yield(struct{}{}) {
		t.work()
	}
}

func (t *thread) work() {
	whole := false
	defer func() {
		t.job = nil
		if whole {
			return
		}
		if cause := recover(); cause != errKilled {
			t.p.World.panicked(cause)
		}
	}()
	t.job()
	whole = true
}

// panicked records that a design's code panicked, which would end an engine's whole process (I12).
func (w *World) panicked(cause any) {
	if w.Trace != nil {
		w.Trace.Say(string(debug.Stack()))
	}
	w.Violate("I12", "a call panics: %v", cause)
}

// run resumes the thread until it waits or its job is done.
func (t *thread) run() {
	w, p := t.p.World, t.p
	before := w.running
	w.running, p.hasRunnable = t, true
	t.next()
	w.running = before
	if t.job == nil {
		p.threads = slices.DeleteFunc(p.threads, func(o *thread) bool { return o == t })
		t.release(w)
	}
}

func (t *thread) release(w *World) {
	t.p, t.ctx, t.err, t.from = nil, nil, nil, [2]<-chan struct{}{}
	w.spare.threads = append(w.spare.threads, t)
}

func (t *thread) kill() {
	w := t.p.World
	before := w.running
	w.running, t.killed = t, true
	t.next()
	w.running, t.killed = before, false
	t.wait++
	t.release(w)
}

func (t *thread) begin(ctx context.Context) int {
	t.wait++
	t.ctx, t.signalled, t.err = ctx, false, nil
	return t.wait
}

// signal tells the thread that the operation it awaits has ended. It returns false if the thread no longer is in that wait.
func (t *thread) signal(wait int, err error) bool {
	switch {
	case t.wait != wait:
		return false
	case !t.signalled:
		t.signalled, t.err = true, err
		if t.waiting {
			t.run()
		}
	}
	return true
}

// waitSignal blocks until the thread is signalled or ready.
func (t *thread) waitSignal() {
	if t.killed {
		panic(errKilled)
	}
	t.waiting = true
	whole := t.yield(struct{}{})
	t.waiting = false
	if !whole || t.killed {
		panic(errKilled)
	}
}

func (t *thread) ready() bool {
	for i, c := range t.from {
		if c == nil {
			break
		}
		select {
		case <-c:
			t.got = i
			return true
		default:
		}
	}
	if t.ctx != nil && t.ctx.Err() != nil {
		t.got = overdue
		return true
	}
	return false
}

// isStale implements actor: the timeout of an earlier wait is stale.
func (t *thread) isStale(wait int) bool { return t.wait != wait }

func (t *thread) do(int) {
	t.got = timedOut
	t.run()
}

// pause waits for a receive from a channel, the end of a span of the process's clock or the end of the context. It returns which
// came: the channel's index, timedOut or overdue. A negative span has no end.
func (p *Process) pause(ctx context.Context, span int64, from ...<-chan struct{}) int {
	w := p.World
	t := w.running
	wait := t.begin(ctx)
	t.from = [2]<-chan struct{}{}
	if copy(t.from[:], from) < len(from) {
		panic("world: nothing waits for so many channels")
	}
	if !t.ready() {
		if span >= 0 {
			w.put(w.Now+p.until(p.Now()+span), p, t, wait)
		}
		t.waitSignal()
		if span >= 0 && t.got != timedOut {
			w.queue.noteCancelled()
		}
	}
	t.wait++
	t.from = [2]<-chan struct{}{}
	return t.got
}

// resumeThreads resumes the threads whose wait another thread of the process has ended.
func (p *Process) resumeThreads() {
	for p.hasRunnable {
		p.hasRunnable = false
		for _, t := range p.threads {
			if t.waiting && t.ready() {
				t.run()
				break
			}
		}
	}
}

func (p *Process) reap() {
	threads := p.threads
	p.threads = nil
	for _, t := range threads {
		t.kill()
	}
}

// ErrEnded is the error of a wait whose context has ended.
var ErrEnded = errors.New("the context has ended")

// Await begins an operation in the current thread and waits until it ends or the context does. If the context ends first, late
// receives the operation's error.
func (p *Process) Await(ctx context.Context, begin func(end func(error)), late func(error)) error {
	t := p.World.running
	wait := t.begin(ctx)
	begin(func(err error) {
		if !t.signal(wait, err) {
			late(err)
		}
	})
	return t.ended()
}

func (p *Process) connection(ctx context.Context) (*Conn, error) {
	if c := p.pooled(); c != nil {
		return c, nil
	}
	var at *Conn
	err := p.Await(ctx, func(end func(error)) {
		p.Connect(func(c *Conn, err error) {
			at = c
			end(err)
		})
	}, func(err error) {
		if err == nil {
			at.Release()
		}
	})
	return at, err
}

func (p *Process) exchange(ctx context.Context, c *Conn, batch []db.Statement) error {
	t := p.World.running
	c.request(batch, reply{t: t, wait: t.begin(ctx)})
	if p.World.Trace != nil {
		p.World.Trace.Say(Names(batch))
	}
	return t.ended()
}

func (t *thread) ended() error {
	if !t.signalled {
		t.waitSignal()
	}
	t.wait++
	if !t.signalled {
		return ErrEnded
	}
	return t.err
}

// within is a context with a deadline on a process's clock.
type within struct {
	context.Context // the parent
	p               *Process
	err             error
}

// within makes such a context. The caller ends it with cancel, which is idempotent.
func (p *Process) within(ctx context.Context, span int64) *within {
	c := &within{Context: ctx, p: p}
	p.World.put(p.World.Now+p.until(p.Now()+span), p, c, 0)
	return c
}

// Done implements context.Context. It panics: simulated code waits only in calls of its host.
func (c *within) Done() <-chan struct{} { panic("world: a simulated context has no channel") }

func (c *within) Err() error {
	if c.err != nil {
		return c.err
	}
	return c.Context.Err()
}

func (c *within) isStale(int) bool { return c.err != nil }

func (c *within) do(int) { c.err, c.p.hasRunnable = context.DeadlineExceeded, true }

func (c *within) cancel() {
	if c.err == nil {
		c.err, c.p.hasRunnable = context.Canceled, true
		c.p.World.queue.noteCancelled()
	}
}
