package pool

import (
	"fmt"
	"math/rand/v2"
	"time"

	"pulley/engine/worker"
	"pulley/internal/pause"
)

const (
	pauseLeast  = 100 * time.Millisecond
	startsFirst = 3                // allowed failures while no worker has ever said hello
	lasted      = 10 * time.Second // a longer lifetime is not a failed start

	// exitRefused is the exit status of a worker that cannot work, so that another start would not help.
	exitRefused = 2
)

func (p *Pool) keepAlive(number int) {
	failures, starts := 0, 0 // in a row; a start is a worker without any attempt
	for p.isOpen() {
		w := p.newMember(number)
		begun := time.Now()
		end := w.live()
		switch {
		case !p.isOpen():
			return
		case end.orderly && w.answers > 0:
			failures, starts = 0, 0
			continue
		case w.answers > 0:
			failures, starts = 0, 0
		case w.busy || time.Since(begun) > lasted:
			starts = 0
		default:
			starts++
		}
		failures++
		w.problem(end.why)
		if end.refused || starts >= p.startsMost() {
			if !p.giveUp(end) {
				return
			}
			continue
		}
		if pause.For(p.open, backoff(failures, p.config.PauseMost)) != nil {
			return
		}
	}
}

// backoff grows with successive failures, from 1.
func backoff(failures int, most time.Duration) time.Duration {
	most = min(most, pauseLeast<<min(failures-1, 20))
	return most/2 + rand.N(most/2+1)
}

func (p *Pool) startsMost() int {
	select {
	case <-p.greeted:
		return p.config.Starts
	default:
		return min(p.config.Starts, startsFirst)
	}
}

func (p *Pool) isOpen() bool { return p.open.Err() == nil }

// giveUp counts a process that cannot be started. When none can, attempts fail, until one of them triggers another try. giveUp
// waits for that, and returns false if the pool is closing.
func (p *Pool) giveUp(end ending) bool {
	p.mu.Lock()
	p.gaveUp++
	if p.gaveUp == p.config.Processes {
		p.setBroken(&worker.Error{Type: TypeStart, Message: fmt.Sprintf("no worker of %s can be started: %v", p.config.Name, end.why)})
		p.desk.fail(p.broken)
	}
	p.mu.Unlock()
	again := pause.For(p.open, p.config.PauseMost) == nil && p.awaitReason()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaveUp--
	return again
}

// awaitReason waits while all processes are given up, and no attempt triggers another try. It reports whether the pool is still
// open.
func (p *Pool) awaitReason() bool {
	for {
		p.mu.Lock()
		broken, changed := p.broken, p.changed
		p.mu.Unlock()
		if broken == nil {
			return true
		}
		select {
		case <-p.retry:
			return true
		case <-changed:
		case <-p.open.Done():
			return false
		}
	}
}

// setBroken needs the lock. It wakes the goroutines that wait for a change.
func (p *Pool) setBroken(err error) {
	p.broken = err
	close(p.changed)
	p.changed = make(chan struct{})
}
