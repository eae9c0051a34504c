package systems

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
	"pulley/adapter/workload"
	"pulley/bench/histogram"
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
}

// Run is what a load found.
type Run struct {
	Elapsed  time.Duration   // from the first submission to the last end
	Spans    []int64         // of instances, in nanoseconds, in the order of ends
	Hops     *histogram.Hist // empty unless tasks were reported
	CPU      *record.CPU     // of the processes and the server; nil if unknown
	Repeated int             // executions of tasks; 0 unless tasks were reported
	Fairness *float64        // the longest mean wait of a client by the shortest; nil with one
	Problems []string        // why the run counts for nothing; empty: it counts
	Notes    []string
}

// batchMax bounds the instances of a submission.
const batchMax = 100

// submitters of each process: so many batches of it have no answer at once.
const submitters = 8

type closedRun struct {
	fleet   *Fleet
	load    Closed
	tracker *Tracker

	idle chan int      // clients without an instance
	over chan struct{} // closed when all have ended, or the run has failed
	end  sync.Once
	next atomic.Int64

	mu     sync.Mutex
	run    Run
	total  int   // tasks of the ended instances
	client []int // by instance
	waited []time.Duration
	count  []int // instances by client
}

// RunClosed starts the processes, puts the load on, and stops them. An error says why there was no run: it may be the system's,
// such as more slots than it has connections for. Problems of a run are in its record.
func (f *Fleet) RunClosed(ctx context.Context, load Closed, processors measure.Processors) (*Run, error) {
	r := &closedRun{
		fleet: f, load: load, idle: make(chan int, load.InFlight), over: make(chan struct{}),
		client: make([]int, load.Instances), waited: make([]time.Duration, load.InFlight), count: make([]int, load.InFlight),
	}
	for i := range load.InFlight {
		r.idle <- i
	}
	if err := f.Start(ctx, load.Slots, load.Report); err != nil {
		return nil, err
	}
	before := processors.ReadOf(f.Pids())
	r.tracker = f.Track(load.Graphs, load.Report, load.Instances, r.ended)
	r.drive(ctx)
	f.End(r.tracker)
	r.run.CPU = processors.ReadOf(f.Pids()).Since(before)
	if err := f.Stop(context.WithoutCancel(ctx)); err != nil && ctx.Err() == nil {
		r.fail(fmt.Errorf("the processes did not stop in order: %w", err))
	}
	return r.conclude(), nil
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
	}
	all.Go(func() {
		if err := r.fleet.Watch(ctx, r.tracker); err != nil {
			r.fail(err)
		}
	})
	select {
	case <-r.over:
	case <-ctx.Done():
		r.fail(context.Cause(ctx))
	}
}

func (r *closedRun) submitAll(ctx context.Context, p *host.Process) {
	for {
		batch := r.take(ctx)
		if len(batch) == 0 {
			return
		}
		if err := r.fleet.submit(ctx, p, r.tracker, batch); err != nil && ctx.Err() == nil {
			r.fail(err)
			return
		}
	}
}

// take waits for idle clients, and returns an instance for each. Empty: there are no more, or the run is over.
func (r *closedRun) take(ctx context.Context) (batch []int) {
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
		r.mu.Lock()
		r.client[i] = one
		r.mu.Unlock()
		if batch = append(batch, i); len(batch) == batchMax {
			return batch
		}
		select {
		case one = <-r.idle:
		default:
			return batch
		}
	}
}

// ended is called by the tracker.
func (r *closedRun) ended(i int, at time.Duration, wrong error) {
	if wrong != nil {
		r.fail(wrong)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	span := at - r.tracker.instances[i].Sent // under the tracker's lock
	r.run.Spans = append(r.run.Spans, int64(span))
	r.run.Elapsed = at
	r.waited[r.client[i]] += span
	r.count[r.client[i]]++
	r.total += r.load.Graphs.Of(i).Executions()
	if len(r.run.Spans) == r.load.Instances {
		r.finish()
		return
	}
	r.idle <- r.client[i] // has room for each client
}

func (r *closedRun) finish() { r.end.Do(func() { close(r.over) }) }

// fail notes why the run counts for nothing, and ends it.
func (r *closedRun) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.run.Problems) < notesMax {
		r.run.Problems = append(r.run.Problems, fmt.Sprintf("%v; %d of %d instances had ended", err, len(r.run.Spans), r.load.Instances))
	}
	r.finish()
}

func (r *closedRun) conclude() *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &r.run
	out.Hops, out.Notes = r.tracker.hops, r.tracker.Notes()
	if again := r.tracker.executions - r.total; len(out.Problems) == 0 && again > 0 {
		out.Repeated = again
		out.Notes = append(out.Notes, fmt.Sprintf("%d executions of tasks were repeated", again))
	}
	out.Fairness = measure.WaitRatio(r.waited, r.count)
	return out
}

// Submit submits instances of a tracker's run to a process, and returns when it has accepted them. Process is its number.
func (f *Fleet) Submit(ctx context.Context, process int, t *Tracker, instances []int) error {
	return f.submit(ctx, f.processes[process], t, instances)
}

func (f *Fleet) submit(ctx context.Context, p *host.Process, t *Tracker, instances []int) error {
	batch := make([]protocol.Instance, len(instances))
	for n, i := range instances {
		batch[n] = t.Send(i)
	}
	if err := p.Submit(ctx, batch); err != nil {
		return fmt.Errorf("submitting: %w", err)
	}
	t.Store(instances...)
	return nil
}

// Watch returns an error when a process ends, and nil when ctx does. When no instance has ended for long it asks the store for
// ends: the process that knew of one may not tell.
func (f *Fleet) Watch(ctx context.Context, t *Tracker) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	died := errors.New("a process ended")
	for _, p := range f.processes {
		watching.Go(func() {
			select {
			case <-p.Done():
				cancel(fmt.Errorf("%w: number %d, with %v", died, p.Number(), p.State()))
			case <-ctx.Done():
			}
		})
	}
	tick := time.NewTicker(f.unheard)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); errors.Is(cause, died) {
				return cause
			}
			return nil
		case <-tick.C:
		}
		if err := f.askUnheard(ctx, t); err != nil && ctx.Err() == nil {
			return fmt.Errorf("looking for ends: %w", err)
		}
	}
}

func (f *Fleet) askUnheard(ctx context.Context, t *Tracker) error {
	ids := t.openSince(time.Now().Add(-f.unheard))
	if len(ids) == 0 {
		return nil
	}
	states, err := f.processes[0].Look(ctx, ids)
	now := time.Now()
	for _, s := range states {
		if s.Status == protocol.Completed || s.Status == protocol.Failed {
			t.note("an end was not reported, and was found in the store")
			t.observe(protocol.Response{Kind: protocol.KindEnded, Instance: s.ID, Status: s.Status, Value: s.Value, Message: s.Message}, now)
		}
	}
	return err
}

func (f *Fleet) observeBy(observe func(protocol.Response, time.Time)) {
	f.observing.Lock()
	defer f.observing.Unlock()
	f.observe = observe
}
