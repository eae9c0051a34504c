package check

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"pulley/adapter/protocol"
	"pulley/internal/clip"
)

// ledger holds what the processes of a run reported, and finds what no report may be. What needs all reports is in judge.go: two
// processes' pipes are read in any order.
type ledger struct {
	*kit

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced at each report, and at each end of a process
	instances map[string]*instance
	order     []string          // ids, in the order of their first starts
	tokens    map[string]string // whose it is
	workers   map[int]*worker
	longest   time.Duration // of a task of the workload long
}

// worker is a process that works.
type worker struct {
	slots   int
	report  protocol.Report
	working []*execution // started and not finished
	most    int          // of those at once
}

// instance is one that was submitted.
type instance struct {
	id       string
	workload *protocol.Workload
	sums     map[taskKey]int64
	killed   bool // a process that may have worked on it was killed
	quiet    bool // only its end is reported
	ended    *protocol.Response
	endCame  string // the line of ended
	tasks    map[taskKey]*task
}

// task is what was reported of a task of an instance.
type task struct {
	executions []*execution
	values     map[string]bool // that finished executions gave
}

// execution is a started task.
type execution struct {
	instance string
	key      taskKey
	attempt  int
	inputs   map[string]string
	at       time.Time
	failed   bool
}

func newLedger(k *kit) *ledger {
	return &ledger{
		kit: k, changed: make(chan struct{}), instances: map[string]*instance{}, tokens: map[string]string{}, workers: map[int]*worker{},
	}
}

// add registers an instance that will be submitted.
func (l *ledger) add(id string, w *protocol.Workload) *instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := &instance{id: id, workload: w, sums: sums(w), tasks: map[taskKey]*task{}}
	l.instances[id] = i
	return i
}

// hush notes that nothing but the ends of instances is reported.
func (l *ledger) hush(ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.instances[id].quiet = true
	}
}

// open registers a process that begins to work.
func (l *ledger) open(number, slots int, report protocol.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers[number] = &worker{slots: slots, report: report}
}

// poke wakes those that wait.
func (l *ledger) poke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake()
}

func (l *ledger) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits until a condition holds, which it calls with the lock held, and reports whether it does.
func (l *ledger) await(ctx context.Context, within time.Duration, holds func() bool) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		l.mu.Lock()
		ok, changed := holds(), l.changed
		l.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// observe takes a report.
func (l *ledger) observe(number int, r protocol.Response, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.wake()
	i, w := l.instances[r.Instance], l.workers[number]
	if i == nil || w == nil {
		return // an answer; the host refuses reports of unknown instances
	}
	if r.Kind == protocol.KindEnded {
		l.ended(i, &r)
		return
	}
	if w.report == protocol.ReportEnds {
		l.find(Finding{
			Check: "report ends", Expected: "no other reports than ended", Came: show(&r),
			Advice: "with the report ends of open, write neither started nor finished nor failed",
		})
		return
	}
	k := taskKey{r.Task, max(1, r.Round)}
	if i.workload.Repeat > 1 && r.Round == 0 {
		l.find(Finding{Check: "rounds", Expected: "the round in reports of a workload with repeat", Came: show(&r), Advice: "write round, from 1, in started, finished and failed"})
		return
	}
	t := i.tasks[k]
	if t == nil {
		t = &task{values: map[string]bool{}}
		i.tasks[k] = t
	}
	switch r.Kind {
	case protocol.KindStarted:
		l.started(i, t, w, &execution{instance: i.id, key: k, attempt: r.Attempt, inputs: r.Inputs, at: at}, &r)
	case protocol.KindFinished, protocol.KindFailed:
		if e := l.finishes(w, k, &r); e != nil {
			l.finished(i, t, e, &r, at)
		}
	}
}

func (l *ledger) started(i *instance, t *task, w *worker, e *execution, r *protocol.Response) {
	if !slices.Contains(l.order, i.id) {
		l.order = append(l.order, i.id)
	}
	if e.attempt < 0 {
		l.find(Finding{Check: "attempts", Expected: "attempts from 1, or 0 if the system does not count them", Came: show(r), Advice: "write the number that the system gives"})
	}
	again := slices.ContainsFunc(t.executions, func(o *execution) bool { return o.attempt == e.attempt })
	if l.kit.hello.Promises.Execution == protocol.AtMostOnce && again {
		l.find(Finding{
			Check: "execution", Expected: "no attempt that starts twice, as the promise execution at-most-once says", Came: "a second start: " + show(r),
			Advice: "promise at-least-once, or make it so",
		})
	}
	want := inputsOf(i.workload, e.key)
	if !maps.EqualFunc(want, e.inputs, func(taskKey, string) bool { return true }) {
		l.find(Finding{
			Check: "inputs", Expected: "an input for each task that the task needs, and no other", Came: fmt.Sprintf("%s, which needs %s", show(r), list(slices.Collect(maps.Keys(want)))),
			Advice: "give started the values of the needed tasks, as the system handed them to the task; a later round's tasks without needs have the last round's result as the input \"\"",
		})
	}
	t.executions = append(t.executions, e)
	w.working = append(w.working, e)
	w.most = max(w.most, len(w.working))
	if len(w.working) > w.slots {
		l.find(Finding{
			Check: "slots", Expected: fmt.Sprintf("at most %d tasks at work in a process, as open says", w.slots), Came: fmt.Sprintf("%d that have started and not finished", len(w.working)),
			Advice: "start no more tasks than there are slots, and write finished before the slot is free",
		})
	}
}

// finishes returns the execution that a report ends, and frees its slot.
func (l *ledger) finishes(w *worker, k taskKey, r *protocol.Response) *execution {
	at := slices.IndexFunc(w.working, func(e *execution) bool { return e.instance == r.Instance && e.key == k && e.attempt == r.Attempt })
	if at < 0 {
		l.find(Finding{
			Check: "started before finished", Expected: "started with the same instance, task, attempt and round before " + string(r.Kind), Came: show(r),
			Advice: "write started before the task does anything, and the same attempt in both",
		})
		return nil
	}
	e := w.working[at]
	w.working = slices.Delete(w.working, at, at+1)
	return e
}

func (l *ledger) finished(i *instance, t *task, e *execution, r *protocol.Response, at time.Time) {
	spec := i.workload.Task(e.key.name)
	if i.workload.Name == wlLong {
		l.longest = max(l.longest, at.Sub(e.at))
	}
	if r.Kind == protocol.KindFailed {
		e.failed = true
		if spec.Fails == 0 {
			l.find(Finding{Check: "retries", Expected: "failed only of tasks with fails", Came: show(r), Advice: "let no other task fail"})
		}
		return
	}
	t.values[r.Value] = true
	l.checkValue(i, e.key, r.Value, show(r))
	if len(r.Value) < spec.Bytes {
		l.find(Finding{
			Check: "large values", Expected: fmt.Sprintf("values of at least %d bytes, as the task's bytes says", spec.Bytes), Came: fmt.Sprintf("one of %d: %s", len(r.Value), show(r)),
			Advice: "write spaces after the token until the value has so many bytes",
		})
	}
	v, err := protocol.ParseValue(r.Value)
	if err != nil {
		return // checkValue has it
	}
	if v.Token == "" {
		l.find(Finding{Check: "tokens", Expected: "a token in each value", Came: show(r), Advice: "write the process number, the process's start time and a counter, such as 0.1732622400123.17"})
		return
	}
	if other, taken := l.tokens[v.Token]; taken {
		l.find(Finding{
			Check: "tokens", Expected: "a token that no other execution has", Came: "that of " + other + " again: " + show(r),
			Advice: "make the token of the process number, the process's start time and a counter, so that each execution has its own",
		})
	}
	l.tokens[v.Token] = fmt.Sprintf("task %s of %s", e.key, i.id)
}

// checkValue checks that a value is one, and what it was computed from.
func (l *ledger) checkValue(i *instance, k taskKey, value, shown string) {
	v, err := protocol.ParseValue(value)
	switch {
	case err != nil:
		l.find(Finding{Check: "values", Expected: "a value of the form SUM:TOKEN and spaces", Came: shown + ", where " + err.Error(), Advice: "write it so; docs/adapter.md has the form"})
	case v.Sum != i.sums[k]:
		l.find(Finding{
			Check: "sums", Expected: "the SUM (add of the task + the SUMs of its inputs) mod 1,000,000,007",
			Came:   fmt.Sprintf("%s, where it is %d", shown, i.sums[k]),
			Advice: "compute it from the inputs that the system handed to the task",
		})
	}
}

func (l *ledger) ended(i *instance, r *protocol.Response) {
	if before := i.ended; before != nil {
		if before.Status != r.Status || before.Value != r.Value {
			l.find(Finding{
				Check: "ends", Expected: "one end of an instance, the same in each report", Came: fmt.Sprintf("%s after %s", show(r), i.endCame),
				Advice: "report an end when it is durable: nothing may change it any more",
			})
		}
		return
	}
	kept := *r
	kept.Raw = nil
	i.ended, i.endCame = &kept, show(r)
	switch mustFail := givesUp(i.workload, l.kit.hello); {
	case mustFail && r.Status != protocol.Failed:
		l.find(Finding{
			Check: "retries", Expected: fmt.Sprintf("failed as the end of an instance whose task fails %d times, as the promise attempts says", l.kit.hello.Promises.Attempts), Came: show(r),
			Advice: "let the attempts fail that should, and promise how many the system makes",
		})
	case !mustFail && r.Status == protocol.Failed && !i.mayFail(l.kit.hello):
		l.find(Finding{Check: "ends", Expected: "instances that complete", Came: fmt.Sprintf("%s (workload %s)", show(r), i.workload.Name), Advice: "its message should say why; tasks fail only if their fails says so"})
	case r.Status == protocol.Completed:
		l.checkValue(i, lastOf(i.workload), r.Value, show(r))
	}
}

// mayFail reports whether an instance may fail because a process was killed.
func (i *instance) mayFail(h *protocol.Hello) bool {
	return i.killed && h.Promises.Execution != protocol.AtLeastOnce
}

// free forgets what a process had at work, which is no more.
func (l *ledger) free(number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.workers[number]; w != nil {
		w.working = nil
	}
}

// cameMost bounds what findings have of a line, in characters.
const cameMost = 240

// show is the line of a report as it came, shortened. What did not come as a line of its own is shown as one.
func show(r *protocol.Response) string {
	line := r.Raw
	if line == nil {
		var err error
		if line, err = r.Line(); err != nil {
			return err.Error()
		}
	}
	line = line[:min(len(line), utf8.UTFMax*cameMost)]
	return clip.Runes(strings.ToValidUTF8(string(bytes.TrimSpace(line)), "\uFFFD"), cameMost)
}

func shorten(value string) string {
	if len(value) > 60 {
		return fmt.Sprintf("%s… (%d bytes)", strings.TrimRight(value[:60], " "), len(value))
	}
	return value
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	for i, name := range names {
		if name == "" {
			names[i] = `""`
		}
	}
	return strings.Join(names, ", ")
}
