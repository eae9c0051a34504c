package world

import (
	"context"
	"errors"
	"iter"
	"runtime/debug"
	"slices"

	"pulley/engine/backend/postgres"
	"pulley/sim/db"
)

// thread is code that waits where it stands, as the real code of a design does. It runs only when the world has it run,
// and nothing else does meanwhile: it is a coroutine. One that waits when its process dies is unwound, and has another job
// then.
type thread struct {
	p           *Process
	incarnation uint32
	job         func()
	next        func() (struct{}, bool)
	stop        func()
	yield       func(struct{}) bool
	killed      bool // it is being unwound

	waiting bool
	wait    int // of its waits, the present one: what belongs to an earlier comes too late

	// What it waits for beside being told: something from one of these, or the end of a context; nil: not for that.
	from [2]<-chan struct{}
	ctx  context.Context
	got  int // from which it came: its place, rested, or overdue

	signalled bool // what it waits for has ended,
	err       error
}

// What a wait ended by, beside the place of a channel.
const (
	timedOut = postgres.TimedOut // its time
	overdue  = postgres.Ended    // the end of its context
)

// Spare is what one world leaves to the next: threads without a job, and the memory of its calendar.
type Spare struct {
	threads  []*thread
	calendar calendar
}

// reuseCalendar gives the memory of the last world's calendar, for an empty one.
func (s *Spare) reuseCalendar() calendar {
	c := s.calendar
	s.calendar = calendar{}
	clear(c.entries)
	return calendar{heap: c.heap[:0], entries: c.entries[:0], free: c.free[:0]}
}

// Release ends the threads.
func (s *Spare) Release() {
	for _, t := range s.threads {
		t.stop()
	}
	s.threads = nil
}

// errKilled unwinds a thread whose process has died.
var errKilled = errors.New("the process is dead")

// begin has a process run something as a thread of its own, from the next moment on.
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

// body does one job after the other.
func (t *thread) body(yield func(struct{}) bool) {
	t.yield = yield
	for again := true; again; again = yield(struct{}{}) {
		t.work()
	}
}

// work does a job, or as much of it as is done when its process dies.
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

// panicked notes that code of a design panics, which takes all with it that an engine runs (I12).
func (w *World) panicked(cause any) {
	if w.Trace != nil {
		w.Trace.Say(string(debug.Stack()))
	}
	w.Violate("I12", "a call panics: %v", cause)
}

// run lets the thread go on until it waits or is done.
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

// release puts a thread without a job aside.
func (t *thread) release(w *World) {
	t.p, t.ctx, t.err, t.from = nil, nil, nil, [2]<-chan struct{}{}
	w.spare.threads = append(w.spare.threads, t)
}

// kill unwinds a thread that waits.
func (t *thread) kill() {
	w := t.p.World
	before := w.running
	w.running, t.killed = t, true
	t.next()
	w.running, t.killed = before, false
	t.wait++
	t.release(w)
}

// begin begins a wait, and gives its number.
func (t *thread) begin(ctx context.Context) int {
	t.wait++
	t.ctx, t.signalled, t.err = ctx, false, nil
	return t.wait
}

// signal tells a thread in one of its waits that what it waits for has ended, and says whether it waits still.
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

// waitSignal waits until it is told, or ready.
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

// ready says whether a thread can go on without being told.
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

// isStale implements actor: the end of a pause has no object once the wait, whose number it is, is over.
func (t *thread) isStale(wait int) bool { return t.wait != wait }

// do implements actor: a pause is over.
func (t *thread) do(int) {
	t.got = timedOut
	t.run()
}

// pause waits until something comes from a channel, and gives which; or until a span of the process' clock is over, or the context
// has ended. A span below zero has no end.
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

// resumeThreads lets those threads go on whose wait is over because of what others of the process did.
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

// reap ends the threads of a process that is dead, or of a world that is over.
func (p *Process) reap() {
	threads := p.threads
	p.threads = nil
	for _, t := range threads {
		t.kill()
	}
}

// ErrEnded is the error of a wait whose context has ended.
var ErrEnded = errors.New("the context has ended")

// Await begins something in the thread at hand and waits until that tells its end, or the context has ended: then what
// it comes to is told to late.
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

// connection gives a connection to the thread at hand, unless the context ends before.
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

// exchange makes a round trip in the thread at hand, unless the context ends before.
func (p *Process) exchange(ctx context.Context, c *Conn, batch []db.Statement) error {
	t := p.World.running
	c.request(batch, reply{t: t, wait: t.begin(ctx)})
	if p.World.Trace != nil {
		p.World.Trace.Say(Names(batch))
	}
	return t.ended()
}

// ended waits for the end of what the thread has begun.
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

// within is a context that ends after a time on the clock of a process.
type within struct {
	context.Context // that it is within
	p               *Process
	err             error
}

// within makes one. It is to be ended by cancel, which can be repeated.
func (p *Process) within(ctx context.Context, span int64) *within {
	c := &within{Context: ctx, p: p}
	p.World.put(p.World.Now+p.until(p.Now()+span), p, c, 0)
	return c
}

// Done implements context.Context: nobody may ask for it, since whoever waits here waits for the world.
func (c *within) Done() <-chan struct{} { panic("world: a simulated context has no channel") }

// Err implements context.Context.
func (c *within) Err() error {
	if c.err != nil {
		return c.err
	}
	return c.Context.Err()
}

// isStale implements actor.
func (c *within) isStale(int) bool { return c.err != nil }

// do implements actor: its time is over.
func (c *within) do(int) { c.err, c.p.hasRunnable = context.DeadlineExceeded, true }

// cancel ends it.
func (c *within) cancel() {
	if c.err == nil {
		c.err, c.p.hasRunnable = context.Canceled, true
		c.p.World.queue.noteCancelled()
	}
}
