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

// watch hears what the processes say while they say it: it keeps the history, counts its events for whoever
// waits for some, and tells the load of what concerns it.
type watch struct {
	load    *load
	orphans *orphans

	mu        sync.Mutex
	sources   map[string][]byte // histories, by who wrote them; only ever appended to
	counts    map[string]int    // events, by kind
	worked    map[int]bool      // engines that had a completion answered
	waiting   []*awaited
	problems  []string    // the first few of the engines
	gauges    map[int]int // goroutines, by engine
	share     uint32      // of so many instances one is kept in the history
	applied   []int64     // when completions were, where the history does not have them all
	recovered int         // completions that were applied, and ends
	deadlock  int         // statements of the engines that were victims of one
}

// awaited is somebody who waits for events.
type awaited struct {
	kind string
	left int
	done chan struct{}
}

// noEngine stands for the run itself.
const noEngine = -1

// problemsMax bounds what is repeated of the engines' complaints.
const problemsMax = 20

func newWatch() *watch {
	return &watch{orphans: newOrphans(1), sources: map[string][]byte{}, counts: map[string]int{}, worked: map[int]bool{}, gauges: map[int]int{}, share: 1}
}

// eventPrefix begins every event's line: the kind is its first field.
const eventPrefix = `{"kind":"`

// handleLine takes a line, and gives what it says if it is no event.
func (w *watch) handleLine(engine int, source string, line []byte) process.Word {
	kind, isEvent := bytes.CutPrefix(line, []byte(eventPrefix))
	if !isEvent {
		return w.listen(engine, line)
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
		w.recovered++
	}
	if w.share > 1 && applied {
		w.applied = append(w.applied, oracle.MachineClock()) // about when it was said
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

// What is looked for in the line of an event.
const (
	appliedText  = `"answer":"applied"`
	instanceText = `"instance":"`
)

// instanceIn is the instance that an event's line is about; "" for none.
func instanceIn(line []byte) string {
	_, rest, found := bytes.Cut(line, []byte(instanceText))
	if !found {
		return ""
	}
	id, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(id)
}

// isRecorded says whether the history has the events of an instance. It has all that are about none.
func (w *watch) isRecorded(instance string) bool {
	n, err := strconv.ParseUint(instance[:min(8, len(instance))], 16, 32) // ids are random
	return err != nil || uint32(n)%w.share == 0
}

// gauge is what an engine said last about its goroutines.
func (w *watch) gauge(engine int) (n int, said bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, said = w.gauges[engine]
	return n, said
}

// listen takes a saying.
func (w *watch) listen(engine int, line []byte) process.Word {
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

// lost says that an engine's process has ended.
func (w *watch) lost(engine int, source string) {
	w.load.lost(engine)
	w.mu.Lock()
	said := w.sources[source]
	w.mu.Unlock()
	w.orphans.leave(said)
}

// awaitEvents waits until n more events of a kind have come, for so long at most, and says whether they came.
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

// working is how many engines have had a completion answered.
func (w *watch) working() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.worked)
}

// progress counts what has brought instances nearer to their ends. It changes whenever one goes on.
func (w *watch) progress() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.recovered
}

// history gives everything that was said, in the order of its times.
func (w *watch) history() (oracle.History, error) {
	w.mu.Lock()
	sources := maps.Clone(w.sources) // it is not read under the lock: who says something waits for that
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

// idOf reads an instance's id in an event.
func idOf(e oracle.Event) uuid.UUID {
	id, err := uuid.Parse(e.Instance)
	if err != nil {
		return uuid.Nil
	}
	return id
}
