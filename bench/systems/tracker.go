package systems

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"pulley/adapter/protocol"
	"pulley/adapter/workload"
	"pulley/bench/histogram"
)

// Tracker follows the instances of one run on a fleet: it gives them ids, checks how they end, and notes when. It is safe for
// concurrent use.
type Tracker struct {
	graphs *workload.Mix
	report protocol.Report
	ended  func(i int, at time.Duration, wrong error)
	began  time.Time
	prior  string  // of ids
	sums   []int64 // by graph

	mu         sync.Mutex
	instances  []tracked
	lastEnd    time.Duration
	hops       *histogram.Hist
	executions int
	notes      []string
	over       bool
}

// Times are what became of an instance, since the begin of its run. Zero is not yet.
type Times struct{ Sent, Stored, Ended time.Duration }

type tracked struct {
	Times
	value string
	tasks map[taskRound]time.Time // finished; nil unless reported
}

type taskRound struct {
	task  string
	round int
}

// notesMax bounds what is kept of each kind.
const notesMax = 5

// Track begins a run on the fleet, of so many instances at most. ended is called once for each instance that ends, with what is
// wrong with that; one call is made at a time, and it must not call the tracker. The caller ends the tracker.
func (f *Fleet) Track(graphs *workload.Mix, report protocol.Report, instances int, ended func(i int, at time.Duration, wrong error)) *Tracker {
	now := time.Now()
	t := &Tracker{
		graphs: graphs, report: report, ended: ended, began: now, prior: "r" + strconv.FormatInt(now.UnixNano(), 36) + "-",
		instances: make([]tracked, instances), hops: histogram.New(),
	}
	for _, g := range graphs.Graphs {
		t.sums = append(t.sums, g.Sum())
	}
	f.observeBy(t.observe)
	return t
}

// End ends the run: later reports are nobody's.
func (f *Fleet) End(t *Tracker) {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	f.observeBy(nil)
}

// Began is when the run began.
func (t *Tracker) Began() time.Time { return t.began }

// Send notes that an instance is about to be submitted, and returns it.
func (t *Tracker) Send(i int) protocol.Instance {
	t.mu.Lock()
	defer t.mu.Unlock()
	in := &t.instances[i]
	in.Sent = t.since(time.Now())
	if t.report == protocol.ReportTasks {
		in.tasks = map[taskRound]time.Time{}
	}
	return protocol.Instance{ID: t.id(i), Workload: t.graphs.Of(i).Name}
}

// Store notes that instances were accepted.
func (t *Tracker) Store(instances ...int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.since(time.Now())
	for _, i := range instances {
		t.instances[i].Stored = now
	}
}

// Times returns what became of an instance so far. One that ended before the answer to its submission was stored then.
func (t *Tracker) Times(i int) Times {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.instances[i].Times
	if found.Ended > 0 && (found.Stored == 0 || found.Stored > found.Ended) {
		found.Stored = found.Ended
	}
	return found
}

// Notes are what processes reported as problems, and what else is worth knowing; some of each.
func (t *Tracker) Notes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.notes...)
}

// since is never zero.
func (t *Tracker) since(at time.Time) time.Duration { return max(at.Sub(t.began), 1) }

func (t *Tracker) id(i int) string { return t.prior + strconv.Itoa(i) }

// openSince returns the ids of the open instances if none has ended since then.
func (t *Tracker) openSince(then time.Time) (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lastEnd > then.Sub(t.began) {
		return nil
	}
	for i := range t.instances {
		if in := &t.instances[i]; in.Sent > 0 && in.Ended == 0 {
			ids = append(ids, t.id(i))
		}
	}
	return ids
}

// observe takes what a process reports. What is of an earlier run on the store is ignored.
func (t *Tracker) observe(report protocol.Response, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if report.Kind == protocol.KindProblem && !t.over {
		t.noteLocked("a process reported: " + report.Message)
	}
	number, ours := strings.CutPrefix(report.Instance, t.prior)
	i, err := strconv.Atoi(number)
	if !ours || err != nil || i < 0 || i >= len(t.instances) {
		return
	}
	switch in := &t.instances[i]; report.Kind {
	case protocol.KindStarted:
		t.started(i, in, &report, at)
	case protocol.KindFinished:
		if in.tasks != nil {
			in.tasks[taskRound{report.Task, report.Round}] = at
			t.executions++
		}
	case protocol.KindEnded:
		if in.Ended == 0 || in.value != report.Value {
			wrong := t.judge(i, in, &report)
			in.Ended, in.value, in.tasks = t.since(at), report.Value, nil
			t.lastEnd = in.Ended
			t.ended(i, in.Ended, wrong)
		}
	}
}

// started records the hop of a task that needs others: in the first round those of the graph, later also the last round's result.
func (t *Tracker) started(i int, in *tracked, report *protocol.Response, at time.Time) {
	if in.tasks == nil {
		return
	}
	graph := t.graphs.Of(i)
	task := graph.Task(report.Task)
	if task == nil {
		return
	}
	var last time.Time
	for _, need := range task.Needs {
		if end := in.tasks[taskRound{need, report.Round}]; end.After(last) {
			last = end
		}
	}
	if len(task.Needs) == 0 && report.Round > 1 {
		last = in.tasks[taskRound{graph.Result, report.Round - 1}]
	}
	if !last.IsZero() {
		t.hops.Record(max(at.Sub(last), 0))
	}
}

// judge returns what is wrong with an end.
func (t *Tracker) judge(i int, in *tracked, report *protocol.Response) error {
	graph := t.graphs.Of(i)
	want := t.sums[t.graphs.Order[i%len(t.graphs.Order)]]
	value, err := protocol.ParseValue(report.Value)
	switch {
	case in.Ended > 0:
		return fmt.Errorf("instance %s ended twice, with %.80q and %.80q", report.Instance, in.value, report.Value)
	case report.Status != protocol.Completed:
		return fmt.Errorf("instance %s of %s ended as %s: %s", report.Instance, graph.Name, report.Status, report.Message)
	case err != nil:
		return fmt.Errorf("instance %s of %s: %w", report.Instance, graph.Name, err)
	case value.Sum != want:
		return fmt.Errorf("instance %s of %s: the sum is %d, not %d", report.Instance, graph.Name, value.Sum, want)
	case in.tasks != nil && len(in.tasks) < graph.Executions():
		return fmt.Errorf("instance %s of %s ended, and %d of its %d tasks were executed", report.Instance, graph.Name, len(in.tasks), graph.Executions())
	}
	return nil
}

func (t *Tracker) note(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noteLocked(text)
}

func (t *Tracker) noteLocked(text string) {
	if len(t.notes) < notesMax {
		t.notes = append(t.notes, text)
	}
}
