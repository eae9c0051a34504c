package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/cmd/pulley/stored"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/metrics"
	"pulley/engine/pgserver"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/engine/worker/pool"
	"pulley/internal/pause"
	"pulley/internal/plural"
	"pulley/python"
)

type workCmd struct {
	File string `arg:"" optional:"" name:"file" help:"A FILE.py, whose actions are run, as pulley run FILE.py runs them. Default: only the built-in actions, and those of --actions."`
	actionsFlag
	console.StoreFlags
	Workers   int `default:"64" placeholder:"N" help:"Actions that run at once. Default: 64."`
	Processes int `placeholder:"N" help:"Processes of Python that run the actions of a FILE.py. Default: one for each CPU, at most 8."`
	actionsLimits
	IdleExit  time.Duration `placeholder:"TIME" help:"End when there was nothing to do for so long, such as 30s. Default: continue until interrupted."`
	Drain     time.Duration `default:"30s" placeholder:"TIME" help:"How long actions at work may continue after the first interruption. Default: 30s."`
	Retention console.Age   `placeholder:"TIME" help:"Delete instances that ended longer ago, in small transactions, such as 30d; 1m or more. Default: keep them."`
	Fair      bool          `help:"Let workflows take turns, and instances, where more waits than workers can do. Give it to all engines of a schema. Default: what became ready first starts first."`
	Schedules bool          `default:"true" negatable:"" help:"Start the instances of the schema's schedules, too: pulley schedule. Default: yes."`
	metricsFlags
	spanFlags
	FailUnknown bool `help:"Let attempts of actions that this process does not have fail as UnknownAction. Default: they are left to others that have them."`
	Verbose     bool `short:"v" help:"Tell on standard error what actions write there."`
}

func (workCmd) Help() string {
	return "It runs the actions of instances that others submit to the schema, such as pulley run or a program that embeds the engine, beside any number of others " +
		"that do so, and starts the instances of the schema's schedules. What needs an action that it does not have is left to others that have it, so that processes of several versions work side by side: it says so, and pulley why does. With --fail-unknown, such an attempt fails as UnknownAction.\n\n" +
		"With --spans, a collector of OpenTelemetry gets a trace of each instance, with a span for each attempt. Its id is the instance's, without dashes. OpenTelemetry's variables hold as well, such as OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.\n\n" +
		"Interrupted, it takes nothing more, lets actions at work continue for --drain, and leaves the rest to others, as a kill does when the leases end. A second " +
		"interruption ends it at once. Where the database cannot be reached, it continues trying, and says so.\n\n" +
		"The actions of a FILE.py run in processes of Python, which all end with the command. It is the file that counts, whichever of its workflows is submitted.\n\n" +
		"Exit status: 0 after --idle-exit; 2 if it cannot begin; 130 after Ctrl-C.\n\n" + actionsHelp +
		"\nExamples:\n\n  pulley work flow.py --dsn postgres://me@localhost/work\n  pulley work --actions actions.yaml --dsn postgres://me@localhost/work --idle-exit 1m"
}

func (r *workCmd) Run(c *console.Console) error {
	spec, err := r.check()
	if err != nil {
		return err
	}
	ctx, stop := console.Interruptible()
	defer stop()
	var workers *console.PythonWorkers
	if r.File != "" {
		if workers, err = console.StartWorkersOf(ctx, r.File, workersConfig(c, r.Processes, r.Workers)); err != nil {
			return console.Ended(ctx, err)
		}
	}
	own, err := r.open(nil, workers, r.logger(c))
	if err != nil {
		return err
	}
	defer func() {
		if err := own.close(); err != nil {
			c.Say("pulley: ending the actions: %v", err)
		}
	}()
	return r.work(ctx, c, spec, own)
}

func (r *workCmd) check() (designs.Spec, error) {
	spec, err := designs.Parse(r.Backend)
	if err != nil {
		return spec, err
	}
	if r.File != "" {
		if err := checkActionsFile(r.File); err != nil {
			return spec, err
		}
	}
	switch {
	case !spec.NeedsPostgres():
		return spec, fmt.Errorf("backend %s keeps nothing that others could submit; choose another backend", spec)
	case len(r.Schema) > stored.SchemaMax:
		return spec, fmt.Errorf("--schema %s: Postgres would cut the name short; choose one of at most %d bytes", r.Schema, stored.SchemaMax)
	case r.Workers < 1 || r.Workers > 100_000:
		return spec, fmt.Errorf("--workers %d: choose from 1 to 100000", r.Workers)
	case r.Processes < 0 || r.Processes > pool.ProcessesMax:
		return spec, errProcesses(r.Processes)
	case r.Processes > 0 && r.File == "":
		return spec, errNoPython
	case r.MaxDeliveries < 1:
		return spec, errDeliveries(r.MaxDeliveries)
	case r.spanFlags.check() != nil:
		return spec, r.spanFlags.check()
	case r.metricsFlags.check() != nil:
		return spec, r.metricsFlags.check()
	case r.IdleExit < 0:
		return spec, fmt.Errorf("--idle-exit %s: choose a time that is not negative, such as 30s", r.IdleExit)
	case r.Retention != 0 && r.Retention.Duration() < time.Minute:
		return spec, fmt.Errorf("--retention %s: choose 1m or more, such as 30d", r.Retention)
	case r.Drain < 0 || r.Drain > 24*time.Hour:
		return spec, fmt.Errorf("--drain %s: choose a time up to 24h; 0s cancels what is at work", r.Drain)
	}
	r.Schema = cmp.Or(r.Schema, stored.SchemaOf(spec))
	return spec, nil
}

func checkActionsFile(name string) error {
	switch file, class, is := python.SplitTarget(name); {
	case !is:
		return fmt.Errorf("%s: pulley work takes a FILE.py, whose actions it runs; for other programs, write --actions FILE.yaml", name)
	case class != "":
		return fmt.Errorf("%s: pulley work runs all actions of a file, whichever workflow calls them; write %s", name, file)
	}
	return nil
}

func (r *workCmd) logger(c *console.Console) func(action, line string) {
	if !r.Verbose {
		return nil
	}
	return func(action, line string) { c.Say("@%s: %s", action, console.OneLine(line)) }
}

func (r *workCmd) work(ctx context.Context, c *console.Console, spec designs.Spec, own *ownActions) error {
	opening, cancel := context.WithTimeoutCause(ctx, stored.OpenTimeout, stored.ErrSlow)
	defer cancel()
	server, err := pgserver.Open(opening, pgserver.Options{DSN: r.DSN, Schema: r.Schema, Ways: []pgserver.Way{pgserver.WayDSN}})
	if err != nil {
		return console.Ended(ctx, err)
	}
	defer func() { _ = server.Close(context.Background()) }() // it was not started here
	watch := newWorkWatch(c.Say)
	o := designs.OpenOptions{DSN: server.DSN(), Schema: r.Schema, Application: "pulley work", Problem: watch.problem}
	if err := r.Apply(&o); err != nil {
		return err
	}
	store, err := spec.Open(opening, o)
	if err != nil {
		return console.Ended(ctx, err)
	}
	defer store.Close()
	if _, ok := store.(backend.TurnTaker); r.Fair && !ok {
		return fmt.Errorf("--fair: backend %s takes no turns; push and journal do", spec)
	}
	drain := r.Drain
	if drain == 0 {
		drain = -1
	}
	numbers := metrics.New()
	workers, observer := numbers.Workers(watch.around(own.registry)), numbers.Observer(watch.observer())
	owner := engine.OwnerOfProcess()
	endMetrics, err := r.metricsFlags.start(ctx, c, owner, numbers)
	if err != nil {
		return err
	}
	defer endMetrics()
	recorder, err := r.startRecorder(ctx, c, owner, store)
	if err != nil {
		return err
	}
	if recorder != nil {
		workers, observer = recorder.Workers(workers), recorder.Observer(observer)
		defer closeSpans(c, recorder)
	}
	_, limits := store.(backend.Limiter)
	e, err := engine.New(engine.Config{
		Backend: store, Workers: workers, Owner: owner, Slots: r.Workers, Prefetch: -1, Batch: spec.Batch(), CallTimeout: stored.CallTimeout, Drain: drain,
		Grace: own.grace(), MaxDeliveries: r.MaxDeliveries, Limits: limits, Fair: r.Fair, Signals: own.takesSignals(store), LeaveUnknown: !r.FailUnknown, Schedules: r.Schedules, Retention: r.Retention.Duration(), Observer: observer,
	})
	if err != nil {
		return err
	}
	if err := e.Start(context.Background()); err != nil {
		return err
	}
	c.Say("pulley: working on schema %s of %s, with %s at once", r.Schema, server.Describe(), plural.Of(r.Workers, "action"))
	notifyManager(c, daemon.SdNotifyReady)
	idle := watch.awaitEnd(ctx, r.IdleExit, e.Idle)
	notifyManager(c, daemon.SdNotifyStopping)
	stopping, cancelStop := context.WithTimeout(context.Background(), r.Drain+stopTimeout)
	defer cancelStop()
	err = e.Stop(stopping)
	c.Say("pulley: %s", watch.sum())
	if err != nil {
		c.Say("pulley: ending the engine: %v", err)
	}
	if idle {
		return nil
	}
	return console.Ended(ctx, context.Cause(ctx))
}

// notifyManager tells the state to a service manager that waits for it, as systemd does for a unit of type notify.
func notifyManager(c *console.Console, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		c.Say("pulley: telling the service manager %s: %v", state, err)
	}
}

// workWatch is safe for concurrent use.
type workWatch struct {
	print func(format string, args ...any)

	mu           sync.Mutex
	running      int
	done, failed int
	ended        int // instances, in transactions of this engine
	purged       int // old instances
	latest       time.Time

	printed   string
	printedAt time.Time
}

func newWorkWatch(say func(string, ...any)) *workWatch {
	return &workWatch{print: say, latest: time.Now()}
}

func (w *workWatch) observer() engine.Observer {
	return engine.Observer{
		Submitted: func(uuid.UUID, time.Time) { w.note(func() {}) },
		Leased:    func(backend.Task, time.Time) { w.note(func() {}) },
		Offered: func(c backend.Completion, _ time.Time) {
			w.note(func() {
				w.done++
				if c.Failure != nil {
					w.failed++
				}
			})
		},
		Committed: func(int, time.Time) { w.note(func() {}) },
		Ended:     func(backend.Instance, time.Time) { w.note(func() { w.ended++ }) },
		Purged: func(p backend.Purged, _ time.Time) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.purged += p.Completed + p.Failed + p.Canceled
		},
		Problem: w.problem,
	}
}

// around counts executing attempts. An engine's observer cannot: an attempt may fail without having run, and one whose worker died is
// not offered.
func (w *workWatch) around(actions worker.Executor) worker.Executor {
	return worker.Wrap(actions, func(ctx context.Context, task backend.Task, next worker.Executor) (json.RawMessage, *plan.Failure) {
		w.note(func() { w.running++ })
		defer w.note(func() { w.running-- })
		return next.Execute(ctx, task)
	})
}

func (w *workWatch) note(what func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	what()
	w.latest = time.Now()
}

// problemPause is how long a repeated problem is not reported again.
const problemPause = 10 * time.Second

func (w *workWatch) problem(err error) {
	w.mu.Lock()
	text := err.Error()
	again := text == w.printed && time.Since(w.printedAt) < problemPause
	if !again {
		w.printed, w.printedAt = text, time.Now()
	}
	w.mu.Unlock()
	if !again {
		w.print("pulley: %s", text)
	}
}

// awaitEnd waits until nothing was done for the idle time by an engine that finds nothing to do, and reports whether that ended it.
// With idle 0, only ctx ends it.
func (w *workWatch) awaitEnd(ctx context.Context, idle time.Duration, findsNothing func() bool) bool {
	if idle == 0 {
		<-ctx.Done()
		return false
	}
	for {
		left := w.idleLeft(idle, findsNothing())
		if left <= 0 {
			return true
		}
		if pause.For(ctx, min(left, idleLook)) != nil {
			return false
		}
	}
}

// idleLook is the pause between two looks at an engine that may be idle.
const idleLook = 20 * time.Millisecond

// idleLeft returns how long nothing may still be done until work ends.
func (w *workWatch) idleLeft(idle time.Duration, findsNothing bool) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running > 0 || !findsNothing {
		w.latest = time.Now()
	}
	return idle - time.Since(w.latest)
}

func (w *workWatch) sum() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprintf("%s done, %d of them failed; %s ended", plural.Of(w.done, "attempt"), w.failed, plural.Of(w.ended, "instance"))
	if w.purged > 0 {
		text += fmt.Sprintf("; %s deleted", plural.Of(w.purged, "old instance"))
	}
	return text
}
