package engine

import (
	"sync"

	"pulley/engine/dispatch"
)

const idleMax = 256

// pool starts each job at once on a goroutine that it reuses: one that has run a task has the stack for the next. No job waits
// for another's end, so the callers bound the number of goroutines.
//
// While jobs are queued, one goroutine is starting, and wakes the next when it takes its job. So as many goroutines as there
// are processors run a thousand instant jobs, and if one blocks, another continues.
type pool struct {
	do       func(job)
	mu       sync.Mutex
	nonEmpty sync.Cond
	queue    []job // not taken yet, newest last
	head     int
	starting bool // a goroutine was woken or started and has not read the queue yet
	idle     int
	closed   bool
	running  sync.WaitGroup
}

type job struct {
	call   *dispatch.Call
	start  dispatch.Start
	action *actionContext // the task's; nil: a call, or no job
}

func (j *job) none() bool { return j.call == nil && j.action == nil }

func newPool(do func(job)) *pool {
	p := &pool{do: do}
	p.nonEmpty.L = &p.mu
	return p
}

// run must not be called after close.
func (p *pool) run(j job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, j)
	p.wake()
}

// wake ensures that a goroutine comes if jobs are queued. The lock must be held.
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

// work executes jobs until the pool is closed or enough goroutines are idle. A job may end its goroutine, so no queued job
// relies on a running one.
func (p *pool) work() {
	for j := p.next(true); !j.none(); j = p.next(false) {
		p.do(j)
	}
}

// next waits for a job; without one the goroutine must end. woken: the goroutine was started or woken for a job.
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

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.nonEmpty.Broadcast()
	p.running.Wait()
}
