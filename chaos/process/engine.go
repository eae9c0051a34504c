package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/pause"
	"pulley/scenarios"
)

// EngineVariable is set in the environment of a process that is to call Engine.
const EngineVariable = "PULLEY_CHAOS_ENGINE"

// Hooks change an engine: for tests that plant a bug in it, and for programs that have actions of their own.
type Hooks struct {
	Wrap func(Store) Store // wraps the engine's store; nil: not wrapped

	// Workers starts the processes for the actions of a case's program. Nil: no case may have a program.
	Workers func(WorkersConfig) (*Workers, error)
}

// Store is the store of an engine.
type Store interface {
	backend.Backend
	backend.Listener
	backend.Canceler
}

const stopWithin = 10

// setupMax bounds the setup, which mostly is texts of scenarios.
const setupMax = 256 << 20

// Engine is the main function of an engine's process. It reads its setup and orders from in, until in ends, and writes what it
// sees to out. Only chaos.Run can use it.
func Engine(ctx context.Context, in io.Reader, out io.Writer, hooks Hooks) (err error) {
	input := bufio.NewScanner(in)
	input.Buffer(nil, setupMax)
	if !input.Scan() {
		return errors.New("an engine of a chaos run was not told what it is; it is started by pulley chaos")
	}
	var s Setup
	if err := json.Unmarshal(input.Bytes(), &s); err != nil {
		return fmt.Errorf("the first message to an engine of a chaos run: %w", err)
	}
	h, err := newHost(ctx, s, out, hooks)
	if err != nil {
		return err
	}
	defer h.store.Close()
	defer func() { err = errors.Join(err, h.closeWorkers()) }()
	if err := h.engine.Start(ctx); err != nil {
		return err
	}
	h.lines.write(Message{Say: SayReady})
	gauging, stop := context.WithCancel(ctx)
	var gauges sync.WaitGroup
	defer gauges.Wait()
	defer stop()
	if s.Case.Soak {
		gauges.Go(func() { h.gauge(gauging) })
	}
	for input.Scan() {
		var o Order
		if err := json.Unmarshal(input.Bytes(), &o); err != nil {
			return fmt.Errorf("an order of a chaos run: %w", err)
		}
		h.executeOrder(ctx, o)
	}
	stopping, cancel := context.WithTimeout(ctx, stopWithin*s.Case.Call())
	defer cancel()
	err = h.engine.Stop(stopping)
	h.submits.Wait()
	return err
}

type host struct {
	Setup
	lines    *lines
	witness  *witness
	programs []*plan.Program
	inputs   []json.RawMessage
	store    Store
	engine   *engine.Engine
	edges    *edges
	slow     *slowness
	kills    *kills
	workers  []*Workers
	clock    *clock
	repeats  *repeats
	submits  sync.WaitGroup
}

func newHost(ctx context.Context, s Setup, out io.Writer, hooks Hooks) (*host, error) {
	h := &host{Setup: s, lines: &lines{out: out}}
	h.edges = &edges{source: s.Source, deadlocked: func() { h.lines.write(Message{Say: SayDeadlock}) }}
	built, err := s.Case.Build(true)
	if err != nil {
		return nil, err
	}
	compiled := map[*graph.Graph]*plan.Program{}
	for _, w := range built.Workloads {
		if compiled[w.Graph] == nil {
			if compiled[w.Graph], err = plan.Compile(w.Graph); err != nil {
				return nil, err
			}
		}
		h.programs, h.inputs = append(h.programs, compiled[w.Graph]), append(h.inputs, w.Input)
	}
	if err := h.startWorkers(built, hooks.Workers); err != nil {
		return nil, errors.Join(err, h.closeWorkers())
	}
	if err := h.begin(ctx, built, hooks); err != nil {
		return nil, errors.Join(err, h.closeWorkers())
	}
	return h, nil
}

// begin makes the engine and its store, with what can make them misbehave.
func (h *host) begin(ctx context.Context, built *cases.Streams, hooks Hooks) error {
	s := h.Setup
	actions, err := scenarios.Executor(built.Workloads...)
	if err != nil {
		return err
	}
	h.kills = &kills{Executor: actions, kill: h.killWorker, onKilled: h.reportMisbehaved}
	h.slow = &slowness{Executor: h.kills, onSlowed: h.reportMisbehaved}
	h.clock = &clock{onRead: h.reportMisbehaved}
	spec, err := s.Case.Spec()
	if err != nil {
		return err
	}
	if err := h.open(ctx, spec, hooks); err != nil {
		return err
	}
	h.engine, err = engine.New(engine.Config{
		Backend: h.store, Workers: h.executor(), Limits: s.Case.IsLimited(), Fair: s.Case.Fair, Owner: s.Source, Batch: spec.Batch(),
		MaxDeliveries: maxDeliveries,
		Slots:         s.Case.Slots, Lease: s.Case.Lease(), Poll: s.Case.Sweep() / 2, Sweep: s.Case.Sweep(),
		RetryMax: s.Case.Sweep(), CallTimeout: s.Case.Call(), Drain: s.Case.Lease(),
		Clock: h.clock.now, Observer: h.witness.observer(h.problem),
	})
	if err != nil {
		h.store.Close()
	}
	return err
}

// executor is what the engine executes actions with.
func (h *host) executor() worker.Executor {
	if !h.Case.IsLimited() {
		return h.slow
	}
	return &executions{Executor: h.slow, clock: h.clock, say: h.lines.write}
}

// maxDeliveries is unlimited, because faults determine how often attempts are delivered, and actions kill no engine.
const maxDeliveries = 1_000_000_000

func (h *host) open(ctx context.Context, spec designs.Spec, hooks Hooks) error {
	options := OpenOptions(h.Case, h.DSN, h.Source, h.edges)
	options.Problem = h.problem
	opened, err := spec.Open(ctx, options)
	if err != nil {
		return err
	}
	store, ok := opened.(Store)
	if !ok {
		opened.Close()
		return fmt.Errorf("backend %s cannot listen, or cancel", spec)
	}
	if hooks.Wrap != nil {
		store = hooks.Wrap(store)
	}
	h.witness = newWitness(store, h.Case.Lease(), h.lines, h.Source)
	h.repeats = newRepeats(h.witness, h.Case.Seed+uint64(h.Index), h.reportMisbehaved)
	h.store = h.repeats
	limiter, ok := store.(backend.Limiter) // a planted bug may be one
	if !ok {
		limiter, ok = opened.(backend.Limiter)
	}
	if ok {
		ordering := orderingStore{h.repeats, &permits{Limiter: limiter, lease: h.Case.Lease(), say: h.lines.write}}
		h.store = ordering
		if _, ok := opened.(backend.Overlapper); ok {
			h.store = overlappingStore{ordering}
		}
	}
	return nil
}

const gaugeEvery = time.Second

func (h *host) gauge(ctx context.Context) {
	for range pause.Tries(ctx, gaugeEvery) {
		h.lines.write(Message{Say: SayGoroutines, N: runtime.NumGoroutine()})
	}
}

func (h *host) reportMisbehaved() { h.lines.write(Message{Say: SayMisbehaved}) }

func (h *host) problem(err error) { h.lines.write(Message{Say: SayProblem, Text: err.Error()}) }

func (h *host) executeOrder(ctx context.Context, o Order) {
	if o.Submit != nil {
		h.submits.Go(func() { h.submit(ctx, *o.Submit) })
	}
	if o.Cancel != uuid.Nil {
		h.submits.Go(func() { h.cancel(ctx, o.Cancel) })
	}
	if o.Fault != nil {
		h.edges.arm(o.Fault.Die)
		h.clock.jump(time.Duration(o.Fault.JumpMS) * time.Millisecond)
		h.slow.set(time.Duration(o.Fault.SlowMS) * time.Millisecond)
		h.repeats.set(o.Fault.Repeat)
		h.kills.set(o.Fault.KillWorker)
	}
}

// cancel tries once. If the outcome is unknown, the instance may continue to its own end.
func (h *host) cancel(ctx context.Context, id uuid.UUID) {
	ctx, cancel := context.WithTimeout(ctx, h.Case.Call())
	defer cancel()
	if _, err := h.engine.Cancel(ctx, id, "by chance"); err != nil {
		h.problem(err)
	}
}

// submit submits an instance. At most as many run at once as instances are in flight.
func (h *host) submit(ctx context.Context, s Submission) {
	ctx, cancel := context.WithTimeout(ctx, 2*h.Case.Call())
	defer cancel()
	_, err := h.engine.Submit(ctx, engine.SubmitRequest{ID: s.ID, Program: h.programs[s.Workload], Input: h.inputs[s.Workload], Priority: s.Priority})
	if err != nil {
		h.lines.write(Message{Say: SayUnsubmitted, ID: s.ID, Text: err.Error()})
	}
}

// OpenOptions returns how a case's store is opened; tracer may be nil.
func OpenOptions(c cases.Case, dsn, who string, tracer pgx.QueryTracer) designs.OpenOptions {
	return designs.OpenOptions{
		DSN: dsn, Application: Application(who), Lease: c.Lease(), Tracer: tracer,
	}
}

// Application returns the application_name of a process's sessions.
func Application(who string) string { return fault.Application + " " + who }
