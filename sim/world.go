package sim

import (
	"container/heap"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/dispatch"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/scenarios"
)

// epoch is where the clock begins. It may be any time but the zero time, which means none.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// violationsMax bounds the violations that are kept; one bug breaks many runs.
const violationsMax = 100

// Run simulates a world until every instance has ended and every engine has stopped. It returns an error for an invalid
// configuration, a refused instance or a run that did not end. What went wrong in a run that ended is in Result.Violations.
func Run(cfg Config) (*Result, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	w, err := newWorld(cfg)
	if err != nil {
		return nil, err
	}
	defer w.store.Close()
	if err := w.run(); err != nil {
		if w.result.ViolationsTotal > 0 {
			err = fmt.Errorf("%w; before that: %s", err, w.result.Violations[0])
		}
		return nil, fmt.Errorf("sim: seed %d, event %d, at %v: %w", cfg.Seed, w.events, w.now, err)
	}
	return w.finish()
}

type world struct {
	cfg     Config
	rng     *rand.Rand
	program *plan.Program // of the first workload; nil with Jobs
	store   store
	queue   events
	now     time.Duration // since epoch; never decreases
	seq     uint64        // of the last scheduled event
	events  int

	engines     []*engine
	instances   []*instance
	byID        map[uuid.UUID]*instance
	remaining   int // instances that have not ended
	nextArrival int // next instance to arrive in a closed process

	jitter                    float64                   // of the call being applied
	ready                     map[backend.Key]readiness // node runs whose current attempt has not started
	present, waiting, running level                     // instances; ready attempts that count; attempts

	results  map[backend.Lease]*Attempt // of attempts whose fate is open
	result   Result
	hash     hash.Hash
	line     []byte
	err      error
	draining bool
}

type instance struct {
	index    int
	id       uuid.UUID
	workload *scenarios.Workload // nil with Jobs, as is program
	program  *plan.Program
	arrived  time.Duration
	answered bool // the client knows that it is stored
	here     bool
	ended    bool
	endedAt  time.Duration
	stored   bool
	model    *storeModel // nil until it is stored, and with Jobs
}

func newWorld(cfg Config) (*world, error) {
	w := &world{
		cfg:       cfg,
		rng:       rand.New(rand.NewPCG(cfg.Seed, 0x70756c6c6579)),
		byID:      map[uuid.UUID]*instance{},
		ready:     map[backend.Key]readiness{},
		results:   map[backend.Lease]*Attempt{},
		hash:      sha256.New(),
		remaining: cfg.Instances,
	}
	programs, err := w.open()
	if err != nil {
		return nil, err
	}
	for i := range cfg.Engines {
		e := &engine{w: w, index: i, free: make([]int, 0, cfg.Workers)}
		for _, f := range cfg.Faults {
			if f.Engine == i {
				e.faults = append(e.faults, f)
			}
		}
		if err := e.begin(); err != nil {
			return nil, err
		}
		w.engines = append(w.engines, e)
	}
	return w, w.arrivals(programs)
}

func (w *world) open() ([]*plan.Program, error) {
	if len(w.cfg.Jobs) > 0 {
		counted, err := newCounted(w, w.cfg.Jobs)
		w.store = counted
		return nil, err
	}
	var programs []*plan.Program
	compiled := map[*graph.Graph]*plan.Program{}
	for i := range w.cfg.Mix.Workloads {
		g := w.cfg.Mix.Workloads[i].Graph
		if compiled[g] == nil {
			var err error
			if compiled[g], err = plan.Compile(g); err != nil {
				return nil, fmt.Errorf("sim: the workload's graph: %w", err)
			}
		}
		programs = append(programs, compiled[g])
	}
	w.program = programs[0]
	w.store = memory.New(memory.Options{
		Shards: w.cfg.Shards,
		Clock:  w.clock,
		Jitter: func() float64 { return w.jitter },
	})
	return programs, nil
}

func (w *world) arrivals(programs []*plan.Program) error {
	next := w.times()
	closed := w.cfg.closed()
	for i := range w.cfg.Instances {
		at, err := next()
		if err != nil {
			return fmt.Errorf("sim: instance %d: %w", i, err)
		}
		inst := &instance{index: i, arrived: at, id: w.newID()}
		if len(programs) > 0 {
			of := w.cfg.Mix.Order[i%len(w.cfg.Mix.Order)]
			inst.workload, inst.program = &w.cfg.Mix.Workloads[of], programs[of]
		}
		w.instances = append(w.instances, inst)
		w.byID[inst.id] = inst
		if closed == 0 || i < closed {
			w.arrive(inst)
		}
	}
	for _, c := range w.cfg.Cancels {
		inst := w.instances[c.Instance]
		at, err := w.span("the time of a cancel", inst.arrived+c.At)
		if err != nil {
			return fmt.Errorf("sim: %w", err)
		}
		w.at(at, occurrence{kind: cancel, instance: inst})
	}
	for _, e := range w.engines {
		e.deadline = 0 // it begins to look for work
		w.at(0, occurrence{kind: tick, engine: e, incarnation: e.incarnation, tick: e.ticks})
	}
	return nil
}

func (w *world) arrive(inst *instance) {
	e := w.engines[inst.index%len(w.engines)]
	w.at(inst.arrived, occurrence{kind: arrive, engine: e, incarnation: anyIncarnation, instance: inst})
	w.nextArrival = inst.index + 1
}

// followed lets the next instance of a closed process arrive.
func (w *world) followed() {
	if w.cfg.closed() > 0 && w.nextArrival < len(w.instances) {
		inst := w.instances[w.nextArrival]
		inst.arrived = w.now
		w.arrive(inst)
	}
}

// times returns an iterator over arrival times; zeros for a closed process, whose times are not known yet.
func (w *world) times() func() (time.Duration, error) {
	switch a := w.cfg.Arrivals; {
	case w.cfg.closed() > 0:
		return func() (time.Duration, error) { return 0, nil }
	case a != nil:
		sequence, first := a.Start(rand.New(rand.NewPCG(w.cfg.Seed, 0x617272697665))), time.Duration(-1)
		return func() (time.Duration, error) {
			at, ok := sequence.Next()
			if first < 0 {
				first = at
			}
			if !ok || at-first > longest {
				return 0, fmt.Errorf("%s brings no more instances; take fewer", a)
			}
			return at - first, nil
		}
	}
	var at time.Duration
	began := false
	return func() (time.Duration, error) {
		if !began {
			began = true
			return 0, nil
		}
		between, err := w.span("the time between two submissions", w.cfg.Between(w.rng))
		if err != nil {
			return 0, err
		}
		if at += between; at > longest {
			return 0, fmt.Errorf("it arrives after %v; the world lasts a hundred years", at)
		}
		return at, nil
	}
}

func (w *world) newID() uuid.UUID {
	var id uuid.UUID
	for taken := true; taken; _, taken = w.byID[id] {
		for i := range id {
			id[i] = byte(w.rng.Uint32())
		}
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	}
	return id
}

func (w *world) clock() time.Time { return epoch.Add(w.now) }

// span checks a duration from a configured function.
func (w *world) span(what string, d time.Duration) (time.Duration, error) {
	if d < 0 || d > longest-w.now {
		return 0, fmt.Errorf("%s is %v; give one that is not negative and ends within a hundred years", what, d)
	}
	return d, nil
}

func (w *world) latency() time.Duration {
	d, err := w.span("the latency of a call", w.cfg.Latency(w.rng))
	if err != nil {
		w.fail(err)
	}
	return d
}

func (w *world) run() error {
	for w.err == nil && !w.isDone() {
		if len(w.queue) == 0 {
			return errors.New("nothing is to happen any more, and " + w.unfinished())
		}
		o := heap.Pop(&w.queue).(*occurrence)
		w.now = o.at
		w.deliver(o)
		if w.events > w.cfg.EventsMax {
			return fmt.Errorf("more than EventsMax = %d events, and %s", w.cfg.EventsMax, w.unfinished())
		}
		if w.remaining == 0 && !w.draining {
			w.drain()
		}
	}
	return w.err
}

// deliver passes an event to its engine. Events wait while the engine is frozen; events for an ended incarnation are dropped, but
// its call in flight may still reach the store.
func (w *world) deliver(o *occurrence) {
	e := o.engine
	if o.kind == arrive && !o.instance.here {
		o.instance.here = true
		w.present.enter(w.now)
	}
	switch o.kind {
	case apply:
		w.apply(o)
		return
	case cancel:
		w.cancel(o.instance)
		return
	}
	if e.stopped || o.incarnation != anyIncarnation && o.incarnation != e.incarnation {
		return
	}
	if until := e.frozen; w.now < until {
		w.at(until, *o)
		return
	}
	if e.down && o.kind != restart {
		if o.kind == arrive {
			e.backlog = append(e.backlog, o.instance) // the client retries until an engine accepts
		}
		return
	}
	if o.kind == tick {
		if o.tick != e.ticks {
			return // a newer deadline has replaced it
		}
		e.ticks++
		e.deadline = never
	}
	w.events++
	e.queueEvent(o)
	if e.applyFault() {
		return
	}
	if next := w.queue.peek(); next != nil && next.at == w.now && next.isCurrent(e) && w.rng.Uint32()&1 == 0 {
		return // the loop receives both together
	}
	e.step()
}

func (w *world) isDone() bool {
	if w.remaining > 0 {
		return false
	}
	for _, e := range w.engines {
		if !e.stopped {
			return false
		}
	}
	return true
}

func (w *world) drain() {
	w.draining = true
	for _, e := range w.engines {
		if e.down {
			e.stopped = true // it holds nothing
			continue
		}
		w.at(w.now, occurrence{kind: drain, engine: e, incarnation: e.incarnation, event: dispatch.Drain{Until: w.clock()}})
	}
}

func (w *world) unfinished() string {
	for _, inst := range w.instances {
		if !inst.ended {
			return fmt.Sprintf("%d of %d instances have not ended (I9), the first of them number %d", w.remaining, len(w.instances), inst.index)
		}
	}
	return "engines have not stopped"
}

func (w *world) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *world) violate(format string, args ...any) {
	w.result.ViolationsTotal++
	if len(w.result.Violations) < violationsMax {
		w.result.Violations = append(w.result.Violations, fmt.Sprintf("%v: ", w.now)+fmt.Sprintf(format, args...))
	}
}

func (w *world) log(who string, format string, args ...any) {
	if w.cfg.Quiet {
		return
	}
	w.line = fmt.Appendf(w.line[:0], "%d %s ", w.now, who)
	w.line = append(fmt.Appendf(w.line, format, args...), '\n')
	_, _ = w.hash.Write(w.line) // a hash never fails
	if w.cfg.Trace == nil {
		return
	}
	if _, err := w.cfg.Trace.Write(w.line); err != nil {
		w.fail(fmt.Errorf("writing the trace: %w", err))
	}
}
