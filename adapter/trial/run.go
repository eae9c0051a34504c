package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"pulley/adapter/host"
	"pulley/adapter/judge"
	"pulley/adapter/protocol"
	"pulley/chaos/fault"
	"pulley/engine/pgserver"
	"pulley/internal/pause"
)

// Config is what a run needs besides its case.
type Config struct {
	// OpenServer starts a Postgres for a run, which closes it. Its role must be allowed to make databases.
	OpenServer func(ctx context.Context) (*pgserver.Server, error)

	// Progress receives progress, a line each, concurrently. Nil: none.
	Progress func(line string)

	// Log receives what processes write besides messages, concurrently. Nil: nobody.
	Log func(process int, line string)
}

// Bounds of the phases.
const (
	startWithin    = 2 * time.Minute
	closeWithin    = time.Minute
	warmEnds       = 2                // so many instances for each process end before the first fault
	faultWithin    = 2 * time.Minute  // for a fault, beyond its own duration
	endsEvery      = 2 * time.Second  // between two looks at open instances at the end
	resubmitWithin = 30 * time.Second // for what is unanswered to be submitted again
)

type run struct {
	Case
	config  Config
	world   *world
	history *history
	load    *load
	result  *Result

	mu       sync.Mutex
	hello    *protocol.Hello
	promised protocol.Promises

	planned  []fault.Fault // those of the case that can happen
	injected int           // faults so far
	hit      time.Time     // the end of the last one that happened
}

// Run runs a case. It returns an error if there was no run: the case is invalid, there is no server, the adapter cannot work here
// or run the workloads, or ctx has ended.
func Run(ctx context.Context, c Case, cfg Config) (_ *Result, err error) {
	c = c.withDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	server, err := cfg.OpenServer(ctx)
	if err != nil {
		return nil, err
	}
	r := &run{Case: c, config: cfg, history: newHistory(c.Processes), result: newResult(c)}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		err = errors.Join(err, r.world.close(closing), server.Close(closing))
	}()
	if r.world, err = openWorld(ctx, r, server); err != nil {
		return nil, err
	}
	starting, cancel := context.WithTimeout(ctx, startWithin)
	err = r.world.start(starting)
	cancel()
	if err != nil {
		return nil, err
	}
	if err := r.plan(); err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := r.phases(ctx); ctx.Err() != nil {
		return nil, context.Cause(ctx)
	} else if err != nil {
		r.result.doubt("%v", err)
	}
	r.result.LastedMS = time.Since(begun).Milliseconds()
	r.conclusion()
	return r.result, nil
}

// plan draws the faults if the case has only their kinds: how long they last depends on what the system promises with the settings.
func (r *run) plan() error {
	if len(r.Kinds) > 0 {
		kinds, err := fault.Select(r.Kinds)
		if err != nil {
			return err
		}
		r.Faults, r.Kinds = Draw(r.Seed, kinds, r.Processes, time.Duration(r.LastMS)*time.Millisecond, r.recovers()), nil
		r.result.Case = r.Case
	}
	r.planned = r.Faults
	return r.Validate()
}

// greet takes an adapter's hello: it refuses workloads that the system cannot run, and returns the settings.
func (r *run) greet(h *protocol.Hello) (map[string]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.Workloads {
		if missing := r.Workloads[i].Missing(h.Shapes); len(missing) > 0 {
			return nil, fmt.Errorf("%s cannot run the workload %s: it has no %v", h.System, r.Workloads[i].Name, missing)
		}
	}
	r.hello = h
	return host.Settings(h, r.Settings)
}

func (r *run) promises() protocol.Promises {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.promised
}

// promise takes what the system promises with the run's settings.
func (r *run) promise(p protocol.Promises) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.promised = p
}

// recovers is how long the system may take to continue the work of a dead process.
func (r *run) recovers() time.Duration {
	ms := cmp.Or(r.promises().RecoversMS, r.RecoversMS)
	return cmp.Or(time.Duration(ms)*time.Millisecond, recoversDefault)
}

func (c Config) say(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

func (r *run) log(process int, line string) {
	if r.config.Log != nil {
		r.config.Log(process, line)
	}
}

// misbehaved notes a mistake of the adapter; one that the protocol does not forgive ends the process.
func (r *run) misbehaved(process int, m *host.Misbehaviour) (mayContinue bool) {
	if m.Harmless {
		return true
	}
	r.result.doubt("process %d: %v", process, m)
	return false
}

// phases runs the load, the faults and the end. An error says where it stopped.
func (r *run) phases(ctx context.Context) error {
	r.load = newLoad(r)
	loading, stop := context.WithCancel(ctx)
	var submitters sync.WaitGroup
	defer submitters.Wait()
	defer stop()
	for _, p := range r.world.places {
		submitters.Go(func() { r.load.submitAll(loading, p) })
	}
	submitters.Go(func() { r.lookOpen(loading) })
	begun := time.Now()
	if err := r.awaitEnds(ctx, warmEnds*r.Processes); err != nil {
		return fmt.Errorf("before the first fault: %w", err)
	}
	r.result.Before = r.quiet(ctx, "before")
	disturbed := r.disturb(ctx)
	if disturbed == nil && r.QuietMS > 0 {
		disturbed = r.revive(ctx)
		_ = pause.For(ctx, r.recovers())
		r.result.After = r.quiet(ctx, "after")
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_ = pause.For(ctx, time.Duration(r.LastMS)*time.Millisecond-time.Since(begun))
	r.load.stop()
	if err := errors.Join(disturbed, r.revive(ctx)); err != nil {
		return err
	}
	for until := time.Now().Add(resubmitWithin); r.load.hasUnanswered() && time.Now().Before(until) && ctx.Err() == nil; {
		_ = pause.For(ctx, submitPause)
	}
	stop()
	submitters.Wait()
	if err := r.awaitAll(ctx); err != nil {
		return err
	}
	if err := r.lookAll(ctx, r.load.ids()); err != nil {
		return err
	}
	r.stopAll(ctx)
	return nil
}

// awaitEnds waits until n more instances have ended.
func (r *run) awaitEnds(ctx context.Context, n int) error {
	first, _ := r.history.countEnded()
	for {
		now, changed := r.history.countEnded()
		if now >= first+n {
			return nil
		}
		timer := time.NewTimer(r.longest())
		select {
		case <-changed:
		case <-timer.C:
			timer.Stop()
			return fmt.Errorf("%d instances ended, and then nothing happened for %v", now, r.longest())
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		timer.Stop()
	}
}

// longest is for how long nothing at all may happen while there is work.
func (r *run) longest() time.Duration {
	return time.Duration(judge.WaitMS(r.promises(), r.Workloads)) * time.Millisecond
}

// revive starts the processes that ended and were not started again.
func (r *run) revive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for _, p := range r.world.places {
		if p.working() != nil {
			continue
		}
		if err := p.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		select {
		case <-p.Exited():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := p.Start(ctx); err != nil {
			return fmt.Errorf("process %d does not start again: %w", p.number, err)
		}
	}
	return nil
}

// awaitAll waits until every instance has ended, or nothing at all has happened for too long, which it notes.
func (r *run) awaitAll(ctx context.Context) error {
	for ctx.Err() == nil {
		var open []string
		for _, id := range r.load.ids() {
			if !r.history.hasEnded(id) && !r.history.isUnknown(id) {
				open = append(open, id)
			}
		}
		if len(open) == 0 {
			return nil
		}
		if idle := r.history.idle(); idle > r.longest() {
			r.config.say("%d instances are open, and nothing has happened for %v", len(open), idle.Round(time.Second))
			r.history.note(judge.Entry{Kind: judge.Waited, WaitedMS: float64(idle.Milliseconds())})
			return nil
		}
		if err := r.lookAll(ctx, open); err != nil {
			return err
		}
		_ = pause.For(ctx, endsEvery)
		if err := r.revive(ctx); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// stopAll stops every process in order. How it ends there is for package check to find.
func (r *run) stopAll(ctx context.Context) {
	for _, p := range r.world.places {
		if err := p.Stop(ctx); err != nil {
			r.result.warn("process %d did not stop in order: %v", p.number, err)
		}
	}
}

// conclusion judges the history.
func (r *run) conclusion() {
	places := r.world.ledger.Places.Coverage()
	r.result.Coverage = &places
	r.mu.Lock()
	r.result.Hello = r.hello
	r.mu.Unlock()
	h := &judge.History{
		Promises: r.promises(), Workloads: r.Workloads, Report: protocol.ReportTasks, Processes: r.Processes, Slots: r.Slots, Entries: r.history.take(),
	}
	r.result.History, r.result.Verdict = h, judge.Judge(h)
}
