package trial

import (
	"slices"
	"sync"
	"time"

	"pulley/adapter/judge"
	"pulley/adapter/protocol"
)

// history collects the entries of a run. It is safe for concurrent use.
type history struct {
	mu           sync.Mutex
	begun        time.Time
	incarnations []int // the current one, by process
	last         int   // number of the last incarnation
	entries      []judge.Entry
	finished     int             // executions of tasks
	ended        map[string]bool // instances
	unknown      map[string]bool // instances that the store did not have when it was asked last
	changed      chan struct{}   // closed at the next entry that shows work
	worked       time.Time       // of the last such entry
	progressed   time.Time       // when the system itself last did something
}

func newHistory(processes int) *history {
	now := time.Now()
	return &history{begun: now, worked: now, progressed: now, incarnations: make([]int, processes), ended: map[string]bool{}, unknown: map[string]bool{}, changed: make(chan struct{})}
}

// incarnate gives a process, which is about to be started, a number of its own.
func (h *history) incarnate(process int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.incarnations[process] = h.last
}

// note adds an entry, with its time and, if it has none, the current incarnation of its process.
func (h *history) note(e judge.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(e, time.Now())
}

func (h *history) add(e judge.Entry, at time.Time) {
	e.AtNS = int64(at.Sub(h.begun))
	if e.Incarnation == 0 {
		e.Incarnation = h.incarnations[e.Process]
	}
	h.entries = append(h.entries, e)
	switch e.Kind {
	case judge.Finished:
		h.finished++
	case judge.Ended:
		h.ended[e.Instance] = true
	case judge.Looked:
		for _, s := range e.States {
			h.unknown[s.ID] = s.Status == protocol.Unknown
			if s.Status == protocol.Completed || s.Status == protocol.Failed {
				h.ended[s.ID] = true
			}
		}
	}
	switch e.Kind {
	case judge.Asked, judge.Looked, judge.Problem, judge.Unanswered, judge.Waited:
		return
	}
	h.worked = at
	switch e.Kind {
	case judge.Submitted, judge.Started, judge.Finished, judge.Failed, judge.Ended:
		h.progressed = at
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// kinds maps what adapters write to entries.
var kinds = map[protocol.Kind]judge.Kind{
	protocol.KindSubmitted: judge.Submitted, protocol.KindError: judge.Refused, protocol.KindStates: judge.Looked, protocol.KindStarted: judge.Started,
	protocol.KindFinished: judge.Finished, protocol.KindFailed: judge.Failed, protocol.KindEnded: judge.Ended, protocol.KindProblem: judge.Problem,
}

// observe notes a message of a process.
func (h *history) observe(process int, r protocol.Response, at time.Time) {
	kind, known := kinds[r.Kind]
	if !known {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(judge.Entry{
		Kind: kind, Process: process, Batch: r.Batch, States: r.States, Instance: r.Instance, Task: r.Task, Attempt: r.Attempt, Round: r.Round,
		Inputs: r.Inputs, Value: r.Value, Status: r.Status, Message: r.Message,
	}, at)
}

// hasEnded reports whether an instance is known to have ended.
func (h *history) hasEnded(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended[id]
}

// countEnded returns the number of ended instances, and a channel that closes when something happens.
func (h *history) countEnded() (n int, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ended), h.changed
}

// countFinished returns how many executions of tasks have finished.
func (h *history) countFinished() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.finished
}

// idle returns for how long nothing has happened.
func (h *history) idle() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.worked)
}

// still returns for how long the system has done nothing, whatever was done to it.
func (h *history) still() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.progressed)
}

// take returns all entries.
func (h *history) take() []judge.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.entries)
}

// incarnationOf returns the current incarnation of a process.
func (h *history) incarnationOf(process int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.incarnations[process]
}

// isUnknown reports whether the store's last word is that it does not have an instance.
func (h *history) isUnknown(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unknown[id]
}
