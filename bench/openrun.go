package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pulley/bench/load"
	"pulley/bench/measure"
	"pulley/bench/stages"
	"pulley/internal/pause"
	"pulley/reports/record"
)

// openRunning is a run on a testbed. One goroutine sends what is due and never waits. For each batch, a goroutine per engine
// submits the engine's share. One goroutine receives.
type openRunning struct {
	bed      *Testbed
	submitTo OpenRun
	pacer    *load.Pacer
	times    []time.Duration // nil: closed arrivals
	end      time.Duration
	span     time.Duration
	carrier  carrier

	began    time.Time
	ctx      context.Context // for submissions; ends with the run
	senders  sync.WaitGroup
	sent     atomic.Int64
	ended    atomic.Int64
	dropped  atomic.Int64
	inFlight atomic.Int64
	wake     chan struct{}

	mu    sync.Mutex
	wrong []string
	notes []string // of the goroutine that runs
}

// closedMax bounds the instances of a run of a closed process. A run that reaches it early is invalid.
const closedMax = 500_000

const wrongMax = 5

func newOpenRunning(t *Testbed, o OpenRun) (*openRunning, error) {
	r := &openRunning{bed: t, submitTo: o, end: o.WarmUp + o.Measure}
	inFlight, instances := t.spec.InFlight, closedMax
	if o.Arrivals.Open() {
		var err error
		if r.times, err = load.NewSchedule(o.Arrivals, r.end, o.Seed); err != nil {
			return nil, err
		}
		instances = len(r.times)
		r.pacer = load.NewPacer(r.times, inFlight)
	} else {
		inFlight = o.Arrivals.InFlight()[0]
		r.pacer = load.NewClosedPacer(inFlight, r.end, instances)
		r.wake = make(chan struct{}, 1)
	}
	r.span = load.Span(o.Measure, r.end)
	if t.fleet != nil {
		r.carrier = newFleetCarrier(t, instances)
		return r, nil
	}
	w := newWatch(t.batch, instances, inFlight)
	w.shared = true
	w.stages = stages.New(r.span, int((r.end+r.span-1)/r.span), r.stagesEvery())
	r.carrier = &engineCarrier{bed: t, watch: w}
	return r, nil
}

// stagesPerS is the approximate bound of node runs per second with recorded stages: recording one costs a microsecond.
const stagesPerS = 20_000

// stagesEvery returns n if every n-th instance's stages are recorded.
func (r *openRunning) stagesEvery() int {
	rate := float64(len(r.times)) / r.end.Seconds()
	return 1 + int(rate*float64(r.bed.spec.Case.Workload.Nodes)/stagesPerS)
}

// run puts the load on and returns what became of every instance, along with ctx's cause if ctx ends during the measurement.
// Afterwards only engines may still work, on instances that have not ended.
func (r *openRunning) run(ctx context.Context) (*load.Run, error) {
	var stop context.CancelFunc
	r.ctx, stop = context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer r.senders.Wait()
	defer stop()

	before := r.bed.used()
	idle := make(chan struct{}, 1)
	r.began = r.carrier.begin(func(wrong error) { r.receive(wrong, idle) })
	clock := load.SystemClock{Began: r.began}
	defer r.carrier.end()
	helpers.Go(func() {
		if err := r.carrier.watchOver(r.ctx); err != nil {
			r.complain(err)
		}
	})
	waits := r.watchWaits(clock)
	if r.submitTo.Progress != nil {
		helpers.Go(func() { r.notify(r.ctx, clock) })
	}
	pace, err := load.Drive(ctx, r.pacer, clock, r, r.wake)
	if err == nil {
		err = clock.Until(ctx, r.end, nil)
	}
	cpu := r.bed.used().Since(before)
	if err == nil {
		err = r.drain(ctx, idle)
	}
	drained, asked := clock.Now(), time.Duration(0)
	stop()
	waited := waits()
	r.senders.Wait()
	if err != nil {
		asked = r.end
		if !r.cut(drained) {
			return nil, err
		}
	}
	found := &load.Run{
		Requests: r.requests(), Closed: r.times == nil, Steady: r.steady(), WarmUp: r.submitTo.WarmUp, Auto: !r.submitTo.WarmUpFixed, End: r.end, Drained: drained,
		Span: r.span, Asked: asked, Percentile: r.submitTo.Percentile, Pace: pace, Cores: cores(), CPU: cpu, Limits: r.submitTo.Limits, Stages: r.carrier.stages(), Waits: waited,
	}
	for _, o := range r.submitTo.Objectives {
		found.Objectives = append(found.Objectives, record.LoadObjective{Percentile: o.Percentile, MostNS: int64(o.Most)})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	found.Wrong = append(r.wrong, r.carrier.doubts()...)
	return found, err
}

// cut returns false if nothing was measured yet.
func (r *openRunning) cut(now time.Duration) bool {
	if r.times != nil {
		r.times = r.times[:r.pacer.Handled()]
	}
	r.end = min(r.end, now)
	return r.end > r.submitTo.WarmUp
}

func (r *openRunning) InFlight() int { return int(r.inFlight.Load()) }

// Send implements load.Target. Engines take turns, instance by instance. An engine's share of a batch is stored in as few
// transactions as its bounds allow.
func (r *openRunning) Send(b load.Batch) {
	r.dropped.Add(int64(b.Dropped))
	if b.Count == 0 {
		return
	}
	r.inFlight.Add(int64(b.Count))
	r.sent.Add(int64(b.Count))
	n := r.carrier.parts()
	for first := b.First; first < b.First+min(b.Count, n); first++ {
		r.senders.Go(func() { r.submit(first%n, first, b.First+b.Count, n) })
	}
}

// submit submits every so many-th instance in [first, last) to an engine or a process. It returns when the store has them.
func (r *openRunning) submit(part, first, last, every int) {
	var instances []int
	for i := first; i < last; i += every {
		instances = append(instances, i)
	}
	if err := r.carrier.submit(r.ctx, part, instances); err != nil && r.ctx.Err() == nil {
		r.complain(err)
	}
}

func (r *openRunning) complain(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wrong) < wrongMax {
		r.wrong = append(r.wrong, err.Error())
	}
}

// receive counts an instance that has ended. It signals idle whenever none is in flight.
func (r *openRunning) receive(wrong error, idle chan<- struct{}) {
	if wrong != nil {
		r.complain(wrong)
	}
	r.ended.Add(1)
	left := r.inFlight.Add(-1)
	if r.wake != nil {
		signal(r.wake)
	}
	if left == 0 {
		signal(idle)
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (r *openRunning) drain(ctx context.Context, idle <-chan struct{}) error {
	deadline := time.NewTimer(r.submitTo.Drain)
	defer deadline.Stop()
	for r.inFlight.Load() > 0 {
		select {
		case <-idle:
		case <-deadline.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (r *openRunning) requests() []load.Request {
	n := len(r.times)
	if r.times == nil {
		n = int(r.sent.Load())
	}
	out := make([]load.Request, n)
	for i := range out {
		out[i] = r.carrier.request(i)
		if out[i].Intended = out[i].Sent; r.times != nil {
			out[i].Intended = r.times[i]
		}
	}
	slices.SortFunc(out, func(a, b load.Request) int { return cmp.Compare(a.Intended, b.Intended) }) // a closed process may send out of order
	return out
}

// steadyWithin is the greatest relative difference between rates of parts of the measured phase at which the rate counts as
// constant.
const steadyWithin = 0.01

func (r *openRunning) steady() bool {
	if r.times == nil {
		return true
	}
	const parts = 16
	least, most := math.Inf(1), 0.0
	for i := range parts {
		part := func(i int) time.Duration { return r.submitTo.WarmUp + r.submitTo.Measure*time.Duration(i)/parts }
		rate := r.submitTo.Arrivals.MeanRate(part(i), part(i+1))
		least, most = min(least, rate), max(most, rate)
	}
	return most-least <= steadyWithin*most
}

// inFlightMost bounds the open instances.
func (r *openRunning) inFlightMost() int {
	if r.times == nil {
		return r.submitTo.Arrivals.InFlight()[0]
	}
	return r.bed.spec.InFlight
}

const progressEvery = time.Second

func (r *openRunning) notify(ctx context.Context, clock load.Clock) {
	for range pause.Ticks(ctx, progressEvery) {
		now := clock.Now()
		r.submitTo.Progress(OpenProgress{
			Elapsed: now, End: r.end, Sent: int(r.sent.Load()), Ended: int(r.ended.Load()), Dropped: int(r.dropped.Load()),
			InFlight: int(r.inFlight.Load()), InFlightMost: r.inFlightMost(), Draining: now > r.end,
		})
	}
}

var _ load.Target = (*openRunning)(nil)

// waitsEvery is the pause between samples of what the store's sessions wait for. A sample takes about a millisecond of one session,
// so that all cost a hundredth of a processor.
const waitsEvery = 100 * time.Millisecond

// watchWaits samples the store's sessions in the background until the arrivals end. The returned function waits for the last sample
// and returns what they waited for; nil without a server. Samples that fail are a note, not a fault of the run: the load does not
// depend on them.
func (r *openRunning) watchWaits(clock load.Clock) func() *load.Waits {
	if !r.bed.spec.NeedsPostgres() {
		return func() *load.Waits { return nil }
	}
	waits := load.NewWaits(waitsEvery, r.span, r.end)
	ctx, stop := context.WithTimeout(r.ctx, r.end-clock.Now())
	ended := make(chan error, 1)
	go func() { ended <- r.sampleWaits(ctx, clock, waits) }()
	return func() *load.Waits {
		stop()
		if err := <-ended; err != nil {
			r.notes = append(r.notes, fmt.Sprintf("what the store's sessions waited for is known only in part: %v", err))
		}
		return waits
	}
}

func (r *openRunning) sampleWaits(ctx context.Context, clock load.Clock, waits *load.Waits) error {
	sampler, prefix := r.bed.runner.sampler, application
	if r.bed.fleet != nil {
		dsn, err := r.bed.fleet.Database()
		if err != nil {
			return err
		}
		if sampler, err = measure.NewActivitySampler(ctx, dsn); err != nil {
			return err
		}
		defer sampler.Close() //nolint:errcheck // its session ends either way
		prefix = ""
	}
	began := time.Now().Add(-clock.Now())
	return sampler.WatchEvents(context.WithoutCancel(ctx), prefix, waitsEvery,
		func(l measure.Look) { waits.Add(l.At.Sub(began), l.Took, l.Sessions) },
		func() error { <-ctx.Done(); return nil })
}
