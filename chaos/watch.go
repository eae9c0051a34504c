package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/chaos/process"
	"pulley/engine/oracle"
)

// watch receives the processes' lines: it keeps the history, counts events for the goroutines that wait for some, and passes
// events to the load.
type watch struct {
	load       *load
	orphans    *orphans
	executions *executions

	mu         sync.Mutex
	sources    map[string][]byte // by source: its history; only ever appended to
	counts     map[string]int    // events, by kind
	worked     map[int]bool      // engines with an answered completion
	waiting    []*awaited
	problems   []string    // the first few of the engines
	gauges     map[int]int // goroutines, by engine
	share      uint32      // one of so many instances is in the history
	applied    []int64     // when completions were applied, if the history does not have them all
	progressed int         // applied completions, and ends
	deadlock   int         // statements of engines that were a deadlock's victim
}

type awaited struct {
	kind string
	left int
	done chan struct{}
}

const noEngine = -1

const problemsMax = 20

func newWatch() *watch {
	return &watch{orphans: newOrphans(1), executions: newExecutions(), sources: map[string][]byte{}, counts: map[string]int{}, worked: map[int]bool{}, gauges: map[int]int{}, share: 1}
}

// eventPrefix begins every event's line: the kind is its first field.
const eventPrefix = `{"kind":"`

// handleLine handles a line; it returns its word if it is no event.
func (w *watch) handleLine(engine int, source string, line []byte) process.Word {
	kind, isEvent := bytes.CutPrefix(line, []byte(eventPrefix))
	if !isEvent {
		return w.listen(engine, source, line)
	}
	end := bytes.IndexByte(kind, '"')
	if end < 0 {
		return ""
	}
	w.note(engine, source, string(kind[:end]), line)
	w.orphans.handleEvent(oracle.Kind(kind[:end]), line)
	switch oracle.Kind(kind[:end]) {
	case oracle.Submitted, oracle.Ended, oracle.LookedUp:
		var e oracle.Event
		if json.Unmarshal(line, &e) == nil {
			w.load.handleEvent(e)
		}
	}
	return ""
}

func (w *watch) note(engine int, source, kind string, line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.share == 1 || w.isRecorded(instanceIn(line)) {
		w.sources[source] = append(w.sources[source], line...)
	}
	applied := kind == string(oracle.Answered) && bytes.Contains(line, []byte(appliedText))
	if applied || kind == string(oracle.Ended) {
		w.progressed++
	}
	if w.share > 1 && applied {
		w.applied = append(w.applied, oracle.MachineClock()) // about when it was logged
	}
	w.counts[kind]++
	if kind == string(oracle.Answered) {
		w.worked[engine] = true
	}
	kept := w.waiting[:0]
	for _, a := range w.waiting {
		if a.kind == kind {
			a.left--
		}
		if a.left > 0 {
			kept = append(kept, a)
		} else {
			close(a.done)
		}
	}
	clear(w.waiting[len(kept):])
	w.waiting = kept
}

const (
	appliedText  = `"answer":"applied"`
	instanceText = `"instance":"`
)

func instanceIn(line []byte) string {
	_, rest, found := bytes.Cut(line, []byte(instanceText))
	if !found {
		return ""
	}
	id, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(id)
}

// isRecorded reports whether the history has an instance's events. It has all events of no instance.
func (w *watch) isRecorded(instance string) bool {
	n, err := strconv.ParseUint(instance[:min(8, len(instance))], 16, 32) // ids are random
	return err != nil || uint32(n)%w.share == 0
}

func (w *watch) gauge(engine int) (n int, said bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, said = w.gauges[engine]
	return n, said
}

func (w *watch) listen(engine int, source string, line []byte) process.Word {
	var s process.Message
	if json.Unmarshal(line, &s) != nil {
		return ""
	}
	switch s.Say {
	case process.SayUnsubmitted:
		w.load.unsubmitted(s.ID)
	case process.SayGoroutines:
		w.mu.Lock()
		w.gauges[engine] = s.N
		w.mu.Unlock()
	case process.SayDeadlock:
		w.mu.Lock()
		w.deadlock++
		w.mu.Unlock()
	case process.SayPermitted, process.SayActionBegan, process.SayActionEnded:
		w.executions.note(source, s)
	case process.SayProblem:
		w.problem(fmt.Sprintf("engine %d: %s", engine, s.Text))
	}
	return s.Say
}

func (w *watch) problem(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.problems) < problemsMax {
		w.problems = append(w.problems, text)
	}
}

func (w *watch) lost(engine int, source string) {
	w.load.lost(engine)
	w.executions.leave(source, oracle.MachineClock())
	w.mu.Lock()
	said := w.sources[source]
	w.mu.Unlock()
	w.orphans.leave(said)
}

// awaitEvents waits until n more events of a kind have come and reports whether they have, for at most most.
func (w *watch) awaitEvents(ctx context.Context, kind string, n int, most time.Duration) bool {
	a := &awaited{kind: kind, left: n, done: make(chan struct{})}
	w.mu.Lock()
	w.waiting = append(w.waiting, a)
	w.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-a.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, other := range w.waiting {
		if other == a {
			w.waiting = append(w.waiting[:i], w.waiting[i+1:]...)
			break
		}
	}
	return false
}

func (w *watch) working() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.worked)
}

// progress counts events that bring instances nearer to their ends.
func (w *watch) progress() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.progressed
}

func (w *watch) history() (oracle.History, error) {
	w.mu.Lock()
	sources := maps.Clone(w.sources) // not read under the lock, for which the processes' lines wait
	w.mu.Unlock()
	var parts []oracle.History
	for source, text := range sources {
		part, _, err := oracle.ReadHistory(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("what %s said: %w", source, err)
		}
		parts = append(parts, part)
	}
	return oracle.Merge(parts...), nil
}

func idOf(e oracle.Event) uuid.UUID {
	id, err := uuid.Parse(e.Instance)
	if err != nil {
		return uuid.Nil
	}
	return id
}
