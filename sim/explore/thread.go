package explore

import (
	"context"
	"errors"
	"iter"
	"slices"
)

// thread is code that waits where it stands, as the real code of a design does. It runs only when the world has it run,
// and nothing else does meanwhile: it is a coroutine. One that waits when its process dies is unwound.
type thread struct {
	p     *process
	life  uint32
	job   func()
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool

	parked bool
	wait   int         // of its waits, the present one: what belongs to an earlier comes too late
	ready  func() bool // while it waits: whether it can go on without being told; nil: it is told
}

// errKilled unwinds a thread whose process has died.
var errKilled = errors.New("the process is dead")

// begin has a process run something as a thread of its own, from the next moment on.
func (p *process) begins(job func()) {
	w := p.w
	w.after(0, p, func() {
		var t *thread
		if n := len(w.idle); n > 0 {
			t, w.idle = w.idle[n-1], w.idle[:n-1]
		} else {
			t = &thread{}
			t.next, t.stop = iter.Pull(t.body)
		}
		t.p, t.life, t.job = p, p.life, job
		p.threads = append(p.threads, t)
		t.run()
	})
}

// body does one job after the other.
func (t *thread) body(yield func(struct{}) bool) {
	t.yield = yield
	for t.work() && yield(struct{}{}) {
	}
}

func (t *thread) work() (whole bool) {
	defer func() {
		if whole {
			return
		}
		if cause := recover(); cause != errKilled {
			panic(cause)
		}
	}()
	t.job()
	t.job = nil
	return true
}

// run lets the thread go on until it waits or is done.
func (t *thread) run() {
	w, p := t.p.w, t.p
	before := w.running
	w.running, p.stirred = t, true
	t.next()
	w.running = before
	if t.job == nil {
		p.threads = slices.DeleteFunc(p.threads, func(o *thread) bool { return o == t })
		w.idle = append(w.idle, t)
	}
}

// park waits until run is called.
func (t *thread) park(ready func() bool) {
	t.parked, t.ready = true, ready
	if !t.yield(struct{}{}) {
		panic(errKilled)
	}
	t.parked, t.ready = false, nil
}

// stir lets those threads go on whose wait is over because of what others of the process did.
func (p *process) stir() {
	for p.stirred {
		p.stirred = false
		for i := 0; i < len(p.threads); i++ {
			if t := p.threads[i]; t.parked && t.ready != nil && t.ready() {
				t.run()
				break
			}
		}
	}
}

// reap ends the threads of a process that is dead, or of a world that is over.
func (p *process) reap() {
	threads := p.threads
	p.threads = nil
	for _, t := range threads {
		t.stop()
	}
}

// errEnded is the error of a wait whose context has ended.
var errEnded = errors.New("the context has ended")

// await begins something in the thread at hand and waits until that tells its end, or the context has ended: then what
// it comes to is told to late.
func (p *process) await(ctx context.Context, begin func(end func(error)), late func(error)) error {
	t := p.w.running
	t.wait++
	wait, over := t.wait, false
	var err error
	begin(func(e error) {
		switch {
		case t.wait != wait:
			late(e)
		case !over:
			err, over = e, true
			if t.parked {
				t.run()
			}
		}
	})
	if !over {
		t.park(func() bool { return ctx.Err() != nil })
	}
	t.wait++
	if !over {
		return errEnded
	}
	return err
}
