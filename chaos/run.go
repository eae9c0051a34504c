package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/fault/inject"
	"pulley/chaos/process"
	"pulley/chaos/recovery"
	"pulley/chaos/world"
	"pulley/engine/backend"
	"pulley/engine/oracle"
	"pulley/engine/pgserver"
	"pulley/engine/pgserver/pgwire"
	"pulley/internal/pause"
	"pulley/reports/record"
)

// Config is what a run needs besides its case.
type Config struct {
	// Command is a program, with arguments, that calls process.Engine. Not empty.
	Command []string

	// Progress receives progress, a line each, without a newline. Nil: none.
	Progress func(line string)

	// Known is what earlier runs of the backend did at which messages, so that this one reaches others first. It is not changed.
	// Nil: nothing.
	Known *fault.Places

	// covered reports whether exhaustive faults have reached enough messages. Nil: they must reach all.
	covered func(fault.Coverage) bool
}

func (c Config) say(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// Bounds of the phases; those that depend on the case's times are computed from them.
const (
	warmRounds   = 2               // so many instances for each one in flight end before the first fault
	warmPaced    = 4               // in flight for each engine, if there is a rate
	enoughWithin = 4 * time.Minute // between two ends if a number of instances is requested, and until one is cancelled
	whenWithin   = 3 * time.Second // wait for the event at which a fault is to begin
	faultWithin  = 5 * time.Minute // for a fault, beyond its own duration
	livenessSlow = 10              // an instance's own work afterwards, in longest instances before the faults
	sweepWithin  = 2 * time.Minute // for the sweeps at the end
)

type run struct {
	cases.Case
	Config
	world  *world.World
	watch  *watch
	load   *load
	store  backend.Backend // past all wires
	result *Result
	spans  []recovery.Span

	deadlocks  deadlocks
	soak       *soak
	observer   *observer
	longest    time.Duration // time of an instance before the first fault
	steady     int64         // on oracle.MachineClock: begin of the measured load
	closed     int64         // and its end
	faulty     int64         // on the same clock: begin of the faults
	everywhere bool          // the plan is over and exhaustMessages runs
	find       func(kind string) (fault.Kind, error)

	stalls            recovery.Stalls
	recorder          *oracle.Recorder
	disk              *world.Disk
	front             *pgwire.Proxy
	ledger            *fault.Ledger
	unreachedMessages []string // of the baseline, not reached by faults of the plan
	revokes           bool     // leases end with the ownership of a shard
	broken            bool     // a fault or a phase itself failed
	lastMiss          string   // what is said of the last fault that did not happen
	cutShort          bool     // because a fault was ended early
	isLive            bool     // every instance ended within the liveness phase
}

// Run runs a case. It returns an error if there was no run: the case is invalid, there is no server, or ctx has ended. Everything
// found in a run, or that goes wrong in it, is in the result.
func Run(ctx context.Context, c cases.Case, cfg Config) (*Result, error) {
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(cfg.Command) == 0 {
		return nil, errors.New("chaos: no command for the engines' processes")
	}
	starting, cancel := context.WithTimeout(ctx, world.StartWithin)
	defer cancel()
	d, err := world.MountDisk(c)
	if err != nil {
		return nil, err
	}
	server, err := world.OpenServer(starting, c, d, func(line string) { cfg.say("%s", line) })
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	defer func() {
		if err := errors.Join(server.Close(context.WithoutCancel(ctx)), d.Close()); err != nil {
			cfg.say("ending the server: %v", err)
		}
	}()
	r := &run{Case: c, Config: cfg, disk: d, watch: newWatch(), result: newResult(c), find: fault.Find, ledger: fault.NewLedger()}
	r.result.Places = r.ledger.Places
	if cfg.Known != nil {
		r.ledger.Places.Resume(cfg.Known)
	}
	if err := r.perform(ctx, server); err != nil {
		return nil, err
	}
	return r.result, nil
}

// perform runs the phases. Its error is ctx's; all others are in the result.
func (r *run) perform(ctx context.Context, server *pgserver.Server) error {
	spec, err := r.Spec()
	if err != nil {
		return err
	}
	if r.front, err = world.OpenFront(server); err != nil {
		return err
	}
	defer r.front.Close()
	if r.store, err = spec.Open(ctx, process.OpenOptions(r.Case, r.front.DSN(), ownSource, nil)); err != nil {
		return err
	}
	defer r.store.Close()
	if err := r.setLimit(ctx); err != nil {
		return err
	}
	r.revokes = spec.Name() == "journal"
	built, err := r.Build(true)
	if err != nil {
		return err
	}
	r.load = newLoad(r.Case, r.send, func(e oracle.Event) { r.record(e) })
	r.load.of = built.Of
	r.load.cancel = func(engine int, id uuid.UUID) { _ = r.world.SendOrder(engine, process.Order{Cancel: id}) }
	r.watch.load, r.watch.orphans = r.load, newOrphans(r.store.Shards())
	r.watch.share = r.Share()
	r.recorder = oracle.NewRecorder(r, oracle.Recording{Source: ownSource})
	if r.world, err = world.Open(ctx, world.Config{
		Case: r.Case, Command: r.Command, Server: server, Front: r.front, Disk: r.disk, Ledger: r.ledger,
		OnLine: r.watch.handleLine, Lost: r.watch.lost, Due: r.watch.orphans.due, Record: r.record, Say: func(line string) { r.say("%s", line) },
	}); err != nil {
		return err
	}
	defer func() {
		if err := r.world.Close(); err != nil {
			r.say("ending the engines' hosts: %v", err)
		}
	}()
	if kinds := r.lacking(); len(kinds) > 0 {
		return fmt.Errorf("the plan has faults that this world cannot have: %v", kinds)
	}
	r.deadlocks = deadlocks{admin: r.world.Admin}
	err = r.phases(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.broken = true
		r.result.doubt("%v", err)
	}
	return r.judge()
}

func (r *run) lacking() map[string]string {
	var kinds []fault.Kind
	for _, f := range r.Faults {
		if k, err := fault.Find(f.Kind); err == nil {
			kinds = append(kinds, k)
		}
	}
	return r.world.Lacks(kinds)
}

// phases runs the load, the faults, the liveness phase and the inspection. An error says where it ended.
func (r *run) phases(ctx context.Context) error {
	starting, cancel := context.WithTimeout(ctx, world.StartWithin)
	err := r.world.Start(starting)
	cancel()
	if err != nil {
		return err
	}
	loading, stop := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer stop()
	tasks.Go(func() { r.load.run(loading, r.store) })
	tasks.Go(func() { r.stalls.Watch(loading) })
	r.observer = &observer{run: r}
	tasks.Go(func() { r.observer.sampleLoop(loading) })
	r.pacing(ctx)
	if r.Soak {
		r.soak = &soak{run: r, series: map[string]*record.SoakSeries{}}
		tasks.Go(func() { r.soak.sampleLoop(loading) })
	}
	if err := r.warm(ctx); err != nil {
		return err
	}
	r.longest = r.load.slowest()
	if err := r.rehearse(ctx); err != nil {
		return err
	}
	if err := r.faults(ctx); err != nil {
		return err
	}
	if !r.broken {
		if err := r.exhaustMessages(ctx); err != nil {
			return err
		}
	}
	if err := r.enough(ctx); err != nil {
		return err
	}
	if err := r.live(ctx); err != nil {
		return err
	}
	stop()
	tasks.Wait()
	return r.inspect(ctx)
}

func (r *run) timeIsOver() bool {
	return r.WithinMS > 0 && oracle.MachineClock()-r.faulty > int64(r.WithinMS)*int64(time.Millisecond)
}

// overtime is how long a fault may continue after the faults' time.
const overtime = 10 * time.Second

func (r *run) longestFault(f fault.Fault) time.Duration {
	longest := f.Hold() + faultWithin
	if r.WithinMS > 0 && !r.everywhere {
		left := time.Duration(r.WithinMS)*time.Millisecond - time.Duration(oracle.MachineClock()-r.faulty)
		longest = min(longest, max(left, 0)+overtime)
	}
	return longest
}

func (r *run) unbegun(i int) []string {
	var kinds []string
	for _, f := range r.Faults[i:] {
		if r.result.Faults[f.Kind] == 0 && !slices.Contains(kinds, f.Kind) {
			kinds = append(kinds, f.Kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

func (r *run) faults(ctx context.Context) error {
	r.faulty = oracle.MachineClock()
	for i := range r.Faults {
		if r.timeIsOver() {
			if kinds := r.unbegun(i); len(kinds) > 0 {
				r.result.warn("there was no time for %s; a longer --duration has them", strings.Join(kinds, ", "))
			}
			break
		}
		kind, err := r.find(r.Faults[i].Kind)
		if err != nil {
			return err
		}
		r.space(ctx)
		r.deadlocks.readCount(ctx)
		happened, err := r.tryFault(ctx, kind, i)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if late := new(inject.Overtime); errors.As(err, &late) && r.timeIsOver() {
			r.broken, r.cutShort = true, true
			r.result.warn("%s was cut short, since the time of the faults was over; a longer --duration has it", r.Faults[i])
			return nil
		}
		if err != nil { // no further faults, but the load is run to its end
			r.broken = true
			r.result.doubt("fault %d, %s: %v", i+1, r.Faults[i], err)
			return nil
		}
		if !happened && !r.timeIsOver() {
			r.result.doubt("fault %d, %s", i+1, r.lastMiss)
		}
	}
	if r.space(ctx); len(r.Faults) > 0 { // so that recovery can be measured
		r.watch.awaitEvents(ctx, string(oracle.Ended), r.InFlight, r.Lease())
	}
	return nil
}

// tryFault tries a fault of the plan until it happens. If it does not and the machine was slow, calls may have timed out before
// the fault could reach them; then it doubles every time of the case and tries again.
func (r *run) tryFault(ctx context.Context, kind fault.Kind, i int) (happened bool, err error) {
	for growths := 0; ; growths++ {
		begun, f, in := oracle.MachineClock(), r.Faults[i], r.injector()
		if happened, err = in.Inject(ctx, kind, f); happened || err != nil {
			return happened, err
		}
		r.lastMiss = in.Missing(f)
		if !r.stalls.Slow(begun, oracle.MachineClock()) || growths == growthsMax || r.soak != nil || r.timeIsOver() {
			return false, nil
		}
		r.say("fault %d, %s; the machine is slow, and every time of the case is doubled", i+1, r.lastMiss)
		if err := r.asSpan("longer times", func() error { return r.grow(ctx) }); err != nil {
			return false, fmt.Errorf("continuing with longer times: %w", err)
		}
	}
}

// space waits until the next fault may begin, so that the recovery before it can be measured.
func (r *run) space(ctx context.Context) {
	if n := len(r.spans); n > 0 {
		_ = pause.For(ctx, r.Every()-time.Duration(oracle.MachineClock()-r.spans[n-1].Begun))
	}
}

// enough waits until the load has lasted as long, and as many instances have ended, as was asked for.
func (r *run) enough(ctx context.Context) error {
	_ = pause.For(ctx, time.Duration(r.LastMS)*time.Millisecond-time.Duration(oracle.MachineClock()-r.steady))
	for ended, _ := r.load.count(); ended < r.Instances; {
		if !r.watch.awaitEvents(ctx, string(oracle.Ended), 1, enoughWithin) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%d of %d instances ended, and no other within %v", ended, r.Instances, enoughWithin)
		}
		ended, _ = r.load.count()
	}
	for begun := time.Now(); r.Cancel > 0 && !r.load.hasCanceled() && time.Since(begun) < enoughWithin; { // the load continues until one is
		if r.watch.awaitEvents(ctx, string(oracle.Ended), 1, lookupPause); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func (r *run) injector() *inject.Injector {
	return &inject.Injector{
		World: r.world, Ledger: r.ledger, Happened: r.result.Faults, Missed: r.result.Missed, Within: r.longestFault, IsOver: r.timeIsOver, Begin: r.noteFault,
		Await: func(ctx context.Context, w fault.When) { r.watch.awaitEvents(ctx, w.Event, max(1, w.N), whenWithin) },
	}
}

// noteFault records a try of a fault, and the span of one that happens.
func (r *run) noteFault(f fault.Fault) inject.Note {
	s := recovery.Span{Fault: f, Begun: oracle.MachineClock()}
	r.record(oracle.Event{Kind: oracle.FaultBegan, Bad: f.String()})
	if recovery.KillsEngine(f.Kind) {
		s.Killed = r.world.Process(f.Engine).Source()
	}
	var over atomic.Int64
	end := func(out inject.Outcome) {
		r.countStates(f.Kind, out.Failed)
		if !out.Happened {
			return
		}
		s.Over = over.Load()
		r.say("fault: %s, %d times in %d ms", f, out.Count, (s.Over-s.Begun)/int64(time.Millisecond))
		r.spans = append(r.spans, s)
	}
	return inject.Note{Over: func() { over.Store(oracle.MachineClock()) }, End: end}
}

// countStates adds the errors that engines received during a kind of fault.
func (r *run) countStates(kind string, failed map[string]int) {
	if len(failed) > 0 && r.result.States[kind] == nil {
		r.result.States[kind] = map[string]int{}
	}
	for state, n := range failed {
		r.result.States[kind][state] += n
	}
}

func (r *run) inspect(ctx context.Context) error {
	ids := r.load.remaining()
	for begin := 0; begin < len(ids); begin += lookupBatch {
		if err := r.lookUp(ctx, ids[begin:min(len(ids), begin+lookupBatch)]); err != nil {
			return fmt.Errorf("reading the instances at the end: %w", err)
		}
	}
	stopping, cancel := context.WithTimeout(ctx, world.StartWithin)
	defer cancel()
	if err := r.world.Stop(stopping); err != nil {
		r.result.warn("%v", err)
	}
	sweeping, cancel := context.WithTimeout(ctx, sweepWithin)
	defer cancel()
	if !r.deadlocks.readCount(sweeping) {
		r.result.doubt("the server did not say how many deadlocks there were")
	}
	rows, err := r.clear(sweeping)
	if err != nil {
		return err
	}
	r.record(oracle.Event{Kind: oracle.Inspected, Rows: rows})
	return nil
}

// clear sweeps the store until no rows of ended instances are left, and returns what is left. A killed owner may keep a part
// until its lease expires; the next owner follows a sweep later.
func (r *run) clear(ctx context.Context) (left map[string]int, err error) {
	counter, ok := r.store.(interface {
		Leftovers(ctx context.Context) (map[string]int, error)
	})
	if !ok {
		return nil, fmt.Errorf("backend %s does not count what is left", r.Backend)
	}
	for until := time.Now().Add(2*r.Lease() + 2*r.Sweep()); ; {
		for shard := range r.store.Shards() {
			for more := true; more; {
				var swept backend.Swept
				if err := insist(ctx, func() (err error) { swept, err = r.store.Sweep(ctx, shard); return err }); err != nil {
					return nil, fmt.Errorf("sweeping shard %d at the end: %w", shard, err)
				}
				more = swept.More
			}
		}
		if err = insist(ctx, func() (err error) { left, err = counter.Leftovers(ctx); return err }); err != nil {
			return nil, fmt.Errorf("counting what is left at the end: %w", err)
		}
		if total(left) == 0 || time.Now().After(until) {
			return left, nil
		}
		_ = pause.For(ctx, r.Sweep()) // the next sweep reports the end of ctx
	}
}

func total(rows map[string]int) (n int) {
	for _, r := range rows {
		n += r
	}
	return n
}

func (r *run) lookUp(ctx context.Context, ids []uuid.UUID) error {
	ctx, cancel := context.WithTimeout(ctx, sweepWithin)
	defer cancel()
	var found []backend.Instance
	if err := insist(ctx, func() (err error) { found, err = r.store.Lookup(ctx, ids); return err }); err != nil {
		return err
	}
	r.recordLookups(ids, found)
	return nil
}

// insistTries bounds the tries of the run's own store calls at the end, with insistPause in between.
const (
	insistTries = 20
	insistPause = 50 * time.Millisecond
)

// insist retries a call of the run's own store: a fault may have ended all of its connections, which it notices one by one.
func insist(ctx context.Context, ask func() error) error {
	for try := 1; ; try++ {
		err := ask()
		if err == nil || try == insistTries || ctx.Err() != nil {
			return err
		}
		_ = pause.For(ctx, insistPause)
	}
}

func (r *run) send(engine int, s process.Submission) error {
	return r.world.SendOrder(engine, process.Order{Submit: &s})
}

const ownSource = "chaos"

// Write implements io.Writer for the run's own recorder, which writes whole lines.
func (r *run) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		r.watch.handleLine(noEngine, ownSource, line)
	}
	return len(text), nil
}

func (r *run) record(events ...oracle.Event) { r.recorder.Record(events...) }
