package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pulley/chaos/check"
	"pulley/chaos/fault"
	"pulley/engine/backend"
	"pulley/engine/pgserver"
)

// Config is what a run needs beside its case.
type Config struct {
	// Command is the program, with its arguments, whose main function is Engine. Not empty.
	Command []string

	// Progress hears of what goes on, a line each, without a newline. Nil: nobody does.
	Progress func(line string)
}

func (c Config) say(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// Bounds of the phases. What depends on the case's own times is worked out from them.
const (
	warmRounds   = 2                // so many instances for each that is in flight end before the first fault
	warmWithin   = time.Minute      // and have so long for it
	triesMost    = 4                // of a fault whose moment does not come
	whenWithin   = 3 * time.Second  // how long an event is waited for that a fault is to begin at
	faultWithin  = 2 * time.Minute  // of one fault, beyond its own time
	livenessSlow = 10               // so many times the longest instance before the faults is an instance's own work afterwards
	livenessMin  = 3 * time.Second  // and never less than this
	sweepWithin  = 30 * time.Second // of the sweeping at the end
)

// run is a run under way.
type run struct {
	Case
	Config
	world  *world
	watch  *watch
	load   *load
	store  backend.Backend // past all wires
	result *Result
	spans  []span // of the faults that happened
	find   func(kind string) (fault.Kind, error)

	recorder *check.Recorder
	places   *fault.Places
	revokes  bool // the store's leases die with the owner of a shard
}

// span is when a fault was.
type span struct {
	fault       fault.Fault
	begun, over int64 // on check.MachineClock
}

// Run runs a case. An error means that there was no run: the case is not valid, there is no server, or ctx
// has ended. Everything that a run finds, or that goes wrong once it has begun, is in the result.
func Run(ctx context.Context, c Case, cfg Config) (*Result, error) {
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(cfg.Command) == 0 {
		return nil, errors.New("chaos: no command for the engines' processes")
	}
	starting, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	server, err := openServer(starting, c.Engines, func(line string) { cfg.say("%s", line) })
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := server.Close(context.WithoutCancel(ctx)); err != nil {
			cfg.say("ending the server: %v", err)
		}
	}()
	r := &run{Case: c, Config: cfg, watch: newWatch(), result: newResult(c), find: fault.Find, places: fault.NewPlaces()}
	if err := r.perform(ctx, server); err != nil {
		return nil, err
	}
	return r.result, nil
}

// perform goes through the phases. An error is ctx's; every other is in the result.
func (r *run) perform(ctx context.Context, server *pgserver.Server) error {
	spec, err := r.spec()
	if err != nil {
		return err
	}
	if r.store, err = spec.Open(ctx, openOptions(r.Case, server.DSN(), ownSource, nil)); err != nil {
		return err
	}
	defer r.store.Close()
	r.revokes = spec.Name() == "journal"
	r.load = newLoad(r.Case, r.send, func(e check.Event) { r.record(e) })
	r.watch.load = r.load
	r.recorder = check.NewRecorder(r, check.Recording{Source: ownSource})
	if r.world, err = r.openWorld(server); err != nil {
		return err
	}
	defer r.world.close()
	if kinds := r.lacking(); len(kinds) > 0 {
		return fmt.Errorf("the plan has faults that this world cannot have: %v", kinds)
	}
	broken := r.phases(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if broken != nil {
		r.result.doubt("%v", broken)
	}
	return r.judge()
}

// Lacking says of each kind that a run on this machine cannot have, why not. It starts a server to find out, if
// it has to.
func Lacking(ctx context.Context, kinds []fault.Kind, log func(string)) (map[string]string, error) {
	if !slices.ContainsFunc(kinds, func(k fault.Kind) bool { return k.Lacks != nil }) {
		return map[string]string{}, nil
	}
	server, err := openServer(ctx, 1, log)
	if err != nil {
		return nil, err
	}
	w := &world{server: server}
	return lacking(w, kinds), server.Close(context.WithoutCancel(ctx))
}

func lacking(w *world, kinds []fault.Kind) map[string]string {
	out := map[string]string{}
	for _, k := range kinds {
		if k.Lacks == nil {
			continue
		}
		if why := k.Lacks(w); why != "" {
			out[k.Name] = why
		}
	}
	return out
}

// lacking is for the kinds of the plan.
func (r *run) lacking() map[string]string {
	var kinds []fault.Kind
	for _, f := range r.Faults {
		if k, err := fault.Find(f.Kind); err == nil {
			kinds = append(kinds, k)
		}
	}
	return lacking(r.world, kinds)
}

// phases has the load, the faults, the liveness phase and the inspection. An error says where it ended.
func (r *run) phases(ctx context.Context) error {
	starting, cancel := context.WithTimeout(ctx, startWithin)
	err := r.world.start(starting)
	cancel()
	if err != nil {
		return err
	}
	loading, stop := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer stop()
	tasks.Go(func() { r.load.run(loading, r.store) })
	if err := r.warm(ctx); err != nil {
		return err
	}
	if err := r.faults(ctx); err != nil {
		return err
	}
	if err := r.live(ctx); err != nil {
		return err
	}
	stop()
	tasks.Wait()
	return r.inspect(ctx)
}

// warm waits until enough instances have ended and every engine has worked.
func (r *run) warm(ctx context.Context) error {
	want := warmRounds * r.InFlight
	for begun := time.Now(); ; {
		ended, _ := r.load.count()
		if ended >= want && r.watch.working() == r.Engines {
			r.say("load: %d instances have ended", ended)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if time.Since(begun) > warmWithin {
			return fmt.Errorf("the load before the first fault was not there: %d of %d instances ended and %d of %d engines worked within %v",
				ended, want, r.watch.working(), r.Engines, warmWithin)
		}
		r.watch.await(ctx, string(check.Answered), 1, lookEvery)
	}
}

// faults injects the plan.
func (r *run) faults(ctx context.Context) error {
	for i, f := range r.Faults {
		kind, err := r.find(f.Kind)
		if err != nil {
			return err
		}
		happened := false
		for try := 0; try < triesMost && !happened; try++ {
			if happened, err = r.inject(ctx, kind, f); err != nil {
				return fmt.Errorf("fault %d, %s: %w", i+1, f, err)
			}
			if !happened {
				f.K = max(1, f.K/2) // its moment may be too far off
			}
		}
		if !happened {
			r.result.doubt("fault %d, %s, did not happen in %d tries", i+1, f, triesMost)
		}
	}
	if len(r.Faults) > 0 { // so that recovery can be seen
		r.watch.await(ctx, string(check.Ended), r.InFlight, r.lease())
	}
	return nil
}

// inject waits for a fault's moment, and has it happen.
func (r *run) inject(ctx context.Context, kind fault.Kind, f fault.Fault) (happened bool, err error) {
	pause(ctx, time.Duration(f.When.AfterMS)*time.Millisecond)
	if f.When.Event != "" {
		r.watch.await(ctx, f.When.Event, max(1, f.When.N), whenWithin)
	}
	injecting, cancel := context.WithTimeout(ctx, f.Hold()+faultWithin)
	defer cancel()
	s := span{fault: f, begun: check.MachineClock()}
	r.record(check.Event{Kind: check.Struck, Bad: f.String()})
	var count atomic.Int64
	err = kind.Inject(injecting, r.world, f, func() {
		s.over = check.MachineClock()
		count.Add(1)
	})
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, fault.ErrMissed):
		r.result.Missed[f.Kind]++
		return false, nil
	case err != nil:
		return false, err
	}
	r.say("fault: %s, %d times in %d ms", f, count.Load(), (s.over-s.begun)/int64(time.Millisecond))
	r.result.Faults[f.Kind] += int(count.Load())
	r.spans = append(r.spans, s)
	return true, nil
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// live waits until every instance has ended, for as long as that may take (I9).
func (r *run) live(ctx context.Context) error {
	begun := time.Now()
	longest := time.Duration(0)
	if history, err := r.watch.history(); err == nil {
		longest = longestBefore(history, r.firstFault())
	}
	bound := r.lease() + 2*r.sweep() + r.call() + max(livenessMin, livenessSlow*longest)
	r.load.close()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-r.load.idle:
		r.result.LivenessMS = time.Since(begun).Milliseconds()
		r.say("liveness: all instances have ended, after %d ms", r.result.LivenessMS)
	case <-timer.C:
		_, open := r.load.count()
		r.result.LivenessMS = bound.Milliseconds()
		r.say("liveness: %d instances have not ended after %v", open, bound)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// firstFault is when the first fault began; now where there was none.
func (r *run) firstFault() int64 {
	if len(r.spans) == 0 {
		return check.MachineClock()
	}
	return r.spans[0].begun
}

// inspect reads every instance, stops the engines, sweeps, and counts what is left.
func (r *run) inspect(ctx context.Context) error {
	ids := r.load.ids()
	for begin := 0; begin < len(ids); begin += lookBatch {
		if err := r.look(ctx, ids[begin:min(len(ids), begin+lookBatch)]); err != nil {
			return fmt.Errorf("reading the instances at the end: %w", err)
		}
	}
	stopping, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := r.world.stop(stopping); err != nil {
		r.result.warn("%v", err)
	}
	sweeping, cancel := context.WithTimeout(ctx, sweepWithin)
	defer cancel()
	for shard := range r.store.Shards() {
		for more := true; more; {
			swept, err := r.store.Sweep(sweeping, shard)
			if err != nil {
				return fmt.Errorf("sweeping shard %d at the end: %w", shard, err)
			}
			more = swept.More
		}
	}
	counter, ok := r.store.(interface {
		Leftovers(ctx context.Context) (map[string]int, error)
	})
	if !ok {
		return fmt.Errorf("backend %s does not count what is left", r.Backend)
	}
	rows, err := counter.Leftovers(sweeping)
	if err != nil {
		return fmt.Errorf("counting what is left at the end: %w", err)
	}
	r.record(check.Event{Kind: check.Inspected, Rows: rows})
	return nil
}

func (r *run) look(ctx context.Context, ids []uuid.UUID) error {
	ctx, cancel := context.WithTimeout(ctx, sweepWithin)
	defer cancel()
	found, err := r.store.Lookup(ctx, ids)
	if err != nil {
		return err
	}
	for i, in := range found {
		in.ID = ids[i] // of an unknown one too
		r.record(instanceEvent(check.Looked, in))
	}
	return nil
}

// send asks an engine for a submission.
func (r *run) send(engine int, s submission) error {
	p := r.world.engines[engine].process()
	if !p.alive() {
		return errGone
	}
	return p.tell(order{Submit: &s})
}

// ownSource is the source of what the run itself records.
const ownSource = "chaos"

// Write implements io.Writer, for the run's own recorder, which writes whole lines.
func (r *run) Write(text []byte) (int, error) {
	for line := range bytes.Lines(text) {
		r.watch.hear(noEngine, ownSource, line)
	}
	return len(text), nil
}

// record writes events of the run's own.
func (r *run) record(events ...check.Event) { r.recorder.Record(events...) }
