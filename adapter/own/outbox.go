package own

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/adapter"
	"pulley/adapter/protocol"
	"pulley/engine/backend"
)

// problemsMost bounds the problems that wait; more are counted. Ends have no bound but that of instances in flight.
const problemsMost = 100

// outbox keeps what an engine says until the reporter has it: an engine's observer must be quick, and pulley may be slow to read.
type outbox struct {
	mu       sync.Mutex
	news     sync.Cond
	ends     []backend.Instance
	problems []error
	dropped  int                  // problems
	failing  map[uuid.UUID]string // ids of instances that are about to fail
	closed   bool
}

func newOutbox() *outbox {
	o := &outbox{failing: map[uuid.UUID]string{}}
	o.news.L = &o.mu
	return o
}

// ended is the observer of ends.
func (o *outbox) ended(in backend.Instance, _ time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends = append(o.ends, in)
	o.news.Signal()
}

// problem is the observer of problems.
func (o *outbox) problem(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.problems) == problemsMost {
		o.dropped++
		return
	}
	o.problems = append(o.problems, err)
	o.news.Signal()
}

// expectFailure notes the id of an instance whose end has none.
func (o *outbox) expectFailure(instance uuid.UUID, id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failing[instance] = id
}

// close lets pass return once everything is passed.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.news.Signal()
}

// pass passes everything to the reporter until the outbox is closed.
func (o *outbox) pass(to *adapter.Reporter) {
	for {
		ends, problems, more := o.take()
		for _, s := range ends {
			if s.Status == protocol.Completed {
				to.Ended(s.ID, s.Status, s.Value)
			} else {
				to.Ended(s.ID, s.Status, s.Message)
			}
		}
		for _, p := range problems {
			to.Problem(p)
		}
		if !more {
			return
		}
	}
}

// take waits for something to report; more is false at the end.
func (o *outbox) take() (ends []protocol.State, problems []error, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.ends) == 0 && len(o.problems) == 0 && !o.closed {
		o.news.Wait()
	}
	for _, in := range o.ends {
		s := stateOf(in)
		if s.ID == "" {
			s.ID = o.failing[in.ID]
			delete(o.failing, in.ID)
		}
		if s.ID != "" { // of others look tells
			ends = append(ends, s)
		}
	}
	problems = o.problems
	if o.dropped > 0 {
		problems = append(problems, fmt.Errorf("%d more problems came at the same time", o.dropped))
	}
	o.ends, o.problems, o.dropped = nil, nil, 0
	return ends, problems, !o.closed
}
