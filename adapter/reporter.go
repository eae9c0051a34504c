package adapter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pulley/adapter/protocol"
)

// ErrScripted is the failure of an attempt that was to fail. The system makes another attempt.
var ErrScripted = errors.New("the attempt was to fail")

// Execution is one attempt at a task, as the system handed it to a worker.
type Execution struct {
	Instance string
	Workload string
	Task     string
	Round    int // from 1; zero if the workload has no rounds
	Attempt  int // from 1, as the system counts; zero if it does not count

	// Inputs are the values of the needed tasks, by task: what the system kept, not what the adapter remembers.
	Inputs map[string]string
}

// Reporter tells pulley what happens. It is safe for concurrent use. Each method returns when its lines are written: what a process
// did not write before it was killed has not happened for the judge. While System.Open is at work, Execute and Ended wait for its end.
type Reporter struct {
	out       *writer
	workloads map[string]*protocol.Workload
	tasks     bool   // whether tasks are reported, not only ends
	token     string // the part of tokens that is the process's own
	count     atomic.Int64
	opened    chan struct{} // is closed when open is answered, before which no task or end is reported

	mu       sync.Mutex
	failures map[taskKey]int // of tasks that have not succeeded here, and whose attempts the system does not count
}

// taskKey names a task of an instance.
type taskKey struct {
	instance, task string
	round          int
}

// begin prepares the reports of a session. It is called before the system works.
func (r *Reporter) begin(process int, report protocol.Report) {
	r.tasks = report != protocol.ReportEnds
	r.token = strconv.Itoa(process) + "." + strconv.FormatInt(time.Now().UnixNano(), 10) + "."
}

// Execute does everything of a task: it reports that the task started, works as long as the workload says, and reports its value and
// returns it. Call it once per attempt, in a slot.
//
// The error is ErrScripted if the attempt was to fail, and the cause of ctx if that ended: then nothing more is reported of the
// execution, and for pulley it stays at work as long as the process lives. So end ctx only when the process ends, and not when a
// lease is lost. Any other error is a mistake, such as a missing input; Execute reports it as a problem.
func (r *Reporter) Execute(ctx context.Context, e Execution) (value string, err error) {
	defer func() {
		if err != nil && !errors.Is(err, ErrScripted) && ctx.Err() == nil {
			r.Problem(err)
		}
	}()
	select {
	case <-r.opened:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	w := r.workloads[e.Workload]
	if w == nil {
		return "", fmt.Errorf("instance %q has the workload %q, which setup did not have", e.Instance, e.Workload)
	}
	t := w.Task(e.Task)
	if t == nil {
		return "", fmt.Errorf("the workload %q has no task %q", e.Workload, e.Task)
	}
	if err := r.task(protocol.Response{Kind: protocol.KindStarted, Inputs: e.Inputs}, e); err != nil {
		return "", err
	}
	if err := sleep(ctx, time.Duration(t.MS*float64(time.Millisecond))); err != nil {
		return "", err
	}
	if r.fails(t, e) {
		return "", errors.Join(ErrScripted, r.task(protocol.Response{Kind: protocol.KindFailed, Message: ErrScripted.Error()}, e))
	}
	value, err = protocol.Compute(t, e.Inputs, r.token+strconv.FormatInt(r.count.Add(1), 10))
	if err != nil {
		return "", fmt.Errorf("instance %q: %w", e.Instance, err)
	}
	return value, r.task(protocol.Response{Kind: protocol.KindFinished, Value: value}, e)
}

// fails reports whether an attempt is one that the workload lets fail. If the system does not count attempts, those of this process
// are counted.
func (r *Reporter) fails(t *protocol.Task, e Execution) bool {
	if t.Fails == 0 || e.Attempt > 0 {
		return t.Fails > 0 && e.Attempt <= t.Fails
	}
	key := taskKey{e.Instance, e.Task, e.Round}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failures[key] >= t.Fails {
		delete(r.failures, key)
		return false
	}
	r.failures[key]++
	return true
}

// task reports an event of an execution.
func (r *Reporter) task(m protocol.Response, e Execution) error {
	if !r.tasks {
		return nil
	}
	m.Instance, m.Task, m.Attempt, m.Round = e.Instance, e.Task, e.Attempt, e.Round
	return r.out.send(m)
}

// Ended reports that an instance has ended durably: completed with a value, or failed with a message. Several processes may.
func (r *Reporter) Ended(instance string, status protocol.Status, valueOrMessage string) {
	<-r.opened
	m := protocol.Response{Kind: protocol.KindEnded, Instance: instance, Status: status}
	if status == protocol.Completed {
		m.Value = valueOrMessage
	} else {
		m.Message = valueOrMessage
	}
	if err := r.out.send(m); err != nil {
		r.Problem(fmt.Errorf("the end of %q cannot be reported: %w", instance, err))
	}
}

// Problem reports something that went wrong, and that the system will retry. Nil is no problem.
func (r *Reporter) Problem(err error) {
	if err != nil {
		_ = r.out.send(protocol.Response{Kind: protocol.KindProblem, Message: oneLine(err)}) // a broken pipe ends the session
	}
}

// oneLine is an error's text in one line.
func oneLine(err error) string {
	var parts []string
	for part := range strings.Lines(err.Error()) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
