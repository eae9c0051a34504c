package systems

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
	"pulley/adapter/workload"
	"pulley/bench/measure"
	"pulley/reports/record"
)

// Closed is a load that keeps a number of instances in flight.
type Closed struct {
	Graphs    *workload.Mix
	Instances int // at least 1
	InFlight  int // at least 1
	Slots     int // of each process
	Report    protocol.Report

	// Unheard is for how long no instance ends before the store is asked. Zero: 15 s.
	Unheard time.Duration
}

// Run is what a load found.
type Run struct {
	Began      time.Time
	Elapsed    time.Duration // from the first submission to the last end
	Spans      []int64       // of instances, in nanoseconds, in the order of ends
	Hops       *measure.Hist // empty unless tasks were reported
	CPU        *record.CPU   // of the processes and the server; nil if unknown
	Executions int           // of tasks; 0 unless tasks were reported
	Fairness   *float64      // the longest mean wait of a client by the shortest; nil with one
	Problems   []string      // why the run counts for nothing; empty: it counts
	Notes      []string
}

// batchMax bounds the instances of a submission.
const batchMax = 100

// submitters of each process: so many batches of it have no answer at once.
const submitters = 8

const unheardDefault = 15 * time.Second

type closedRun struct {
	fleet *Fleet
	load  Closed
	began time.Time
	sums  []int64 // by graph
	prior string  // of ids
	total int     // tasks of all instances

	idle chan int      // clients without an instance
	over chan struct{} // closed when all have ended, or the run has failed
	end  sync.Once
	next atomic.Int64

	mu        sync.Mutex
	instances []instance
	run       Run
	ended     int
	finished  time.Duration
	lastEnd   time.Time
	waited    []time.Duration // by client
	count     []int
}

type instance struct {
	client    int
	submitted time.Duration // 0: not yet
	ended     bool
	value     string
	tasks     map[taskRound]time.Time // finished; nil unless reported
}

type taskRound struct {
	task  string
	round int
}

const problemsMax = 5

// RunClosed starts the processes, puts the load on, and stops them. An error says why there was no run: it may be the system's,
// such as more slots than it has connections for. Problems of a run are in its record.
func (f *Fleet) RunClosed(ctx context.Context, load Closed, processors measure.Processors) (_ *Run, err error) {
	r := &closedRun{
		fleet: f, load: load, prior: "r" + strconv.FormatInt(time.Now().UnixNano(), 36) + "-", idle: make(chan int, load.InFlight), over: make(chan struct{}),
		instances: make([]instance, load.Instances), waited: make([]time.Duration, load.InFlight), count: make([]int, load.InFlight),
	}
	r.run.Hops, r.run.Spans = measure.NewHist(), make([]int64, 0, load.Instances)
	for _, g := range load.Graphs.Graphs {
		r.sums = append(r.sums, g.Sum())
	}
	for i := range load.InFlight {
		r.idle <- i
	}
	if err := f.Start(ctx, load.Slots, load.Report); err != nil {
		return nil, err
	}
	f.observeBy(r.observe)
	defer f.observeBy(nil)
	r.began = time.Now()
	r.run.Began, r.lastEnd = r.began, r.began
	before := processors.ReadOf(f.Pids())
	r.drive(ctx)
	r.run.CPU = processors.ReadOf(f.Pids()).Since(before)
	if stopped := f.Stop(context.WithoutCancel(ctx)); stopped != nil && ctx.Err() == nil {
		r.fail("the processes did not stop in order: %v", stopped)
	}
	return r.conclude(), nil
}

func (f *Fleet) observeBy(observe func(protocol.Response, time.Time)) {
	f.observing.Lock()
	defer f.observing.Unlock()
	f.observe = observe
}

// drive submits until all instances have ended.
func (r *closedRun) drive(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for _, p := range r.fleet.processes {
		for range min(submitters, r.load.InFlight) {
			all.Go(func() { r.submitAll(ctx, p) })
		}
		all.Go(func() {
			select {
			case <-p.Done():
				r.fail("process %d ended: %v", p.Number(), p.State())
			case <-ctx.Done():
			}
		})
	}
	all.Go(func() { r.askUnheard(ctx) })
	select {
	case <-r.over:
	case <-ctx.Done():
		r.fail("%d of %d instances had ended: %v", r.endedNow(), r.load.Instances, context.Cause(ctx))
	}
}

func (r *closedRun) endedNow() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

func (r *closedRun) submitAll(ctx context.Context, p *host.Process) {
	for {
		batch := r.take(ctx)
		if len(batch) == 0 {
			return
		}
		if err := p.Submit(ctx, batch); err != nil && ctx.Err() == nil {
			r.fail("submitting: %v", err)
			return
		}
	}
}

// take waits for idle clients, and returns an instance for each. Empty: there are no more, or the run is over.
func (r *closedRun) take(ctx context.Context) (batch []protocol.Instance) {
	var one int
	select {
	case one = <-r.idle:
	case <-r.over:
		return nil
	case <-ctx.Done():
		return nil
	}
	for {
		i := int(r.next.Add(1)) - 1
		if i >= r.load.Instances {
			return batch
		}
		batch = append(batch, r.submit(i, one))
		if len(batch) == batchMax {
			return batch
		}
		select {
		case one = <-r.idle:
		default:
			return batch
		}
	}
}

func (r *closedRun) submit(i, client int) protocol.Instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	in := &r.instances[i]
	in.client, in.submitted = client, max(time.Since(r.began), 1)
	if r.load.Report == protocol.ReportTasks {
		in.tasks = map[taskRound]time.Time{}
	}
	return protocol.Instance{ID: r.prior + strconv.Itoa(i), Workload: r.load.Graphs.Of(i).Name}
}

// askUnheard looks for ends in the store when none has been reported for long: the process that knew of one may not tell.
func (r *closedRun) askUnheard(ctx context.Context) {
	unheard := cmp.Or(r.load.Unheard, unheardDefault)
	tick := time.NewTicker(unheard)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.over:
			return
		case <-ctx.Done():
			return
		}
		ids := r.openSince(time.Now().Add(-unheard))
		if len(ids) == 0 {
			continue
		}
		states, err := r.fleet.processes[0].Look(ctx, ids)
		if err != nil && ctx.Err() == nil {
			r.fail("looking for ends: %v", err)
		}
		now := time.Now()
		for _, s := range states {
			if s.Status == protocol.Completed || s.Status == protocol.Failed {
				r.note("an end was not reported, and was found in the store")
				r.observe(protocol.Response{Kind: protocol.KindEnded, Instance: s.ID, Status: s.Status, Value: s.Value, Message: s.Message}, now)
			}
		}
	}
}

// openSince returns the open instances if none has ended since then.
func (r *closedRun) openSince(then time.Time) (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lastEnd.After(then) {
		return nil
	}
	for i := range r.instances {
		if in := &r.instances[i]; in.submitted > 0 && !in.ended {
			ids = append(ids, r.prior+strconv.Itoa(i))
		}
	}
	return ids
}

func (r *closedRun) observe(report protocol.Response, at time.Time) {
	if report.Instance == "" {
		if report.Kind == protocol.KindProblem && !r.isOver() {
			r.note("a process reported: " + report.Message)
		}
		return
	}
	number, ours := strings.CutPrefix(report.Instance, r.prior)
	i, err := strconv.Atoi(number)
	if !ours || err != nil || i < 0 || i >= len(r.instances) {
		return // of an earlier run on the store
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch in := &r.instances[i]; report.Kind {
	case protocol.KindStarted:
		r.started(i, in, &report, at)
	case protocol.KindFinished:
		if in.tasks != nil {
			in.tasks[taskRound{report.Task, report.Round}] = at
			r.run.Executions++
		}
	case protocol.KindEnded:
		r.endInstance(i, in, &report, at)
	}
}

// started records the hop of a task that needs others: in the first round those of the graph, later also the last round's result.
func (r *closedRun) started(i int, in *instance, report *protocol.Response, at time.Time) {
	if in.tasks == nil {
		return
	}
	graph := r.load.Graphs.Of(i)
	task := graph.Task(report.Task)
	if task == nil {
		return
	}
	var last time.Time
	for _, need := range task.Needs {
		if t := in.tasks[taskRound{need, report.Round}]; t.After(last) {
			last = t
		}
	}
	if len(task.Needs) == 0 && report.Round > 1 {
		last = in.tasks[taskRound{graph.Result, report.Round - 1}]
	}
	if !last.IsZero() {
		r.run.Hops.Record(max(at.Sub(last), 0))
	}
}

// endInstance checks an end. Several processes may report it.
func (r *closedRun) endInstance(i int, in *instance, report *protocol.Response, at time.Time) {
	if in.ended {
		if in.value != report.Value {
			r.failLocked("instance %s ended twice, with %.80q and %.80q", report.Instance, in.value, report.Value)
		}
		return
	}
	graph := r.load.Graphs.Of(i)
	want := r.sums[r.load.Graphs.Order[i%len(r.load.Graphs.Order)]]
	value, err := protocol.ParseValue(report.Value)
	switch {
	case report.Status != protocol.Completed:
		r.failLocked("instance %s of %s ended as %s: %s", report.Instance, graph.Name, report.Status, report.Message)
	case err != nil:
		r.failLocked("instance %s of %s: %v", report.Instance, graph.Name, err)
	case value.Sum != want:
		r.failLocked("instance %s of %s: the sum is %d, not %d", report.Instance, graph.Name, value.Sum, want)
	case in.tasks != nil && len(in.tasks) < graph.Executions():
		r.failLocked("instance %s of %s ended, and %d of its %d tasks were executed", report.Instance, graph.Name, len(in.tasks), graph.Executions())
	}
	in.ended, in.value, in.tasks = true, report.Value, nil
	r.lastEnd, r.finished = at, at.Sub(r.began)
	span := max(r.finished-in.submitted, 0)
	r.run.Spans = append(r.run.Spans, int64(span))
	r.waited[in.client] += span
	r.count[in.client]++
	r.total += graph.Executions()
	if r.ended++; r.ended == len(r.instances) {
		r.finish()
		return
	}
	r.idle <- in.client // has room for each client
}

func (r *closedRun) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

func (r *closedRun) finish() { r.end.Do(func() { close(r.over) }) }

func (r *closedRun) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failLocked(format, args...)
}

func (r *closedRun) failLocked(format string, args ...any) {
	if len(r.run.Problems) < problemsMax && r.ended < len(r.instances) {
		r.run.Problems = append(r.run.Problems, fmt.Sprintf(format, args...))
	}
	r.finish()
}

func (r *closedRun) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.run.Notes) < problemsMax {
		r.run.Notes = append(r.run.Notes, text)
	}
}

func (r *closedRun) conclude() *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &r.run
	out.Elapsed = r.finished
	if again := out.Executions - r.total; r.load.Report == protocol.ReportTasks && again > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d executions of tasks were repeated", again))
	}
	var least, most time.Duration
	for i, n := range r.count {
		if n == 0 {
			continue
		}
		mean := r.waited[i] / time.Duration(n)
		if least == 0 || mean < least {
			least = mean
		}
		most = max(most, mean)
	}
	if r.load.InFlight > 1 && least > 0 {
		ratio := float64(most) / float64(least)
		out.Fairness = &ratio
	}
	return out
}
