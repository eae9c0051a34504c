package engine

import (
	"sync"

	"pulley/engine/dispatch"
)

// idleMax bounds how many goroutines of a pool wait for work that may not come.
const idleMax = 256

// pool does jobs, each at once, on goroutines that it uses again: one that has run a task has the stack that
// the next one needs. What is handed over never waits for another's end, so that the number of goroutines is
// bounded by those who hand over, as the machine's is.
//
// While jobs are queued one goroutine is on its way to them, and wakes the next when it takes its own. So a
// thousand jobs that take no time are done by those few goroutines that the processors run, and as soon as
// one blocks, another goes on.
type pool struct {
	do       func(job)
	mu       sync.Mutex
	nonEmpty sync.Cond
	queue    []job // that no goroutine has taken yet, newest last
	head     int
	starting bool // a goroutine was woken or begun and has not looked at the queue yet
	idle     int  // goroutines that wait
	closed   bool
	running  sync.WaitGroup
}

// job is a command to begin: a call, or else the start of a task.
type job struct {
	call   *dispatch.Call
	start  dispatch.Start
	action *actionContext // of the task; nil: there is no job
}

// none says that there is no job.
func (j *job) none() bool { return j.call == nil && j.action == nil }

func newPool(do func(job)) *pool {
	p := &pool{do: do}
	p.nonEmpty.L = &p.mu
	return p
}

// run begins a job. It must not be called after close.
func (p *pool) run(j job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, j)
	p.wake()
}

// wake sees that a goroutine comes if something is queued. The lock must be held.
func (p *pool) wake() {
	if p.starting || len(p.queue) == p.head {
		return
	}
	p.starting = true
	if p.idle > 0 {
		p.nonEmpty.Signal()
		return
	}
	p.running.Go(p.work)
}

// work does what is there, and waits for more, until the pool is closed or enough others wait. A job may end
// the goroutine: nothing that is queued counts on one that runs.
func (p *pool) work() {
	for j := p.next(true); !j.none(); j = p.next(false) {
		p.do(j)
	}
}

// next waits for the next job; one that is nothing: this goroutine is to end. It was woken for this, or has
// just done another.
func (p *pool) next(woken bool) job {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if woken {
			p.starting = false
		}
		if len(p.queue) > p.head {
			break
		}
		if p.closed || p.idle >= idleMax {
			return job{}
		}
		p.idle++
		p.nonEmpty.Wait()
		p.idle--
		woken = true
	}
	j := p.queue[p.head]
	p.queue[p.head] = job{}
	if p.head++; p.head == len(p.queue) {
		p.queue, p.head = p.queue[:0], 0
	}
	p.wake()
	return j
}

// close lets the goroutines that wait end, and waits for the others.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.nonEmpty.Broadcast()
	p.running.Wait()
}
