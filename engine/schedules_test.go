package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/schedule"
	"pulley/engine/worker"
	"pulley/internal/depth"
	"pulley/internal/pause"
)

// schedulesFor is how long the engines of TestSchedulesOfKilledProcesses work.
var schedulesFor = depth.Of(6*time.Second, time.Minute)

func compileAnswer(t testing.TB) *plan.Program {
	t.Helper()
	p, err := plan.CompileText("answer.ir", []byte("fn main(input: [x], output: [y]):\n    y = x + 1\n"), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func addSchedule(ctx context.Context, t testing.TB, store backend.Backend, name string, spec schedule.Spec) backend.Schedule {
	t.Helper()
	times, err := schedule.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := backend.Schedule{ID: uuid.New(), Name: name, Program: compileAnswer(t), Input: json.RawMessage(`{"x": 41}`), Times: times}
	if err := store.(backend.Scheduler).AddSchedule(ctx, s, false); err != nil {
		t.Fatal(err)
	}
	return s
}

// openInChild opens the store that the environment names, in a child process; nil: this is none.
func openInChild(t *testing.T, lease time.Duration) backend.Backend {
	t.Helper()
	dsn := os.Getenv(childEnv)
	if dsn == "" {
		return nil
	}
	spec, err := designs.Parse(os.Getenv(designEnv))
	if err != nil {
		t.Fatal(err)
	}
	store, err := spec.Open(t.Context(), designs.OpenOptions{DSN: dsn, Schema: os.Getenv(schemaEnv), Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// runInChild runs an engine until the process' input ends.
func runInChild(t *testing.T, cfg engine.Config) {
	t.Helper()
	cfg.Observer.Problem = func(err error) { fmt.Fprintln(os.Stderr, err) }
	e, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Error(err)
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// childRunning is a child process that runs a test on the site's store.
func (s *site) childRunning(test string) *exec.Cmd {
	cmd := exec.CommandContext(s.ctx, os.Args[0], "-test.run=^"+test+"$", "-test.timeout=30m")
	cmd.Env = append(os.Environ(), childEnv+"="+s.dsn, schemaEnv+"="+s.schema, designEnv+"="+s.design.String())
	cmd.Stderr = os.Stderr
	return cmd
}

// The child process fires schedules until its input ends.
func TestChildSchedules(t *testing.T) {
	store := openInChild(t, time.Second)
	if store == nil {
		return
	}
	none, err := worker.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	runInChild(t, engine.Config{
		Backend: store, Workers: none, Lease: time.Second, Schedules: true, SchedulePoll: 200 * time.Millisecond,
	})
}

// Three processes share schedules of a second and less; two of them are killed. The database has one instance for each tick.
func TestSchedulesOfKilledProcesses(t *testing.T) {
	list := designs.Durable()
	if !depth.Night() {
		list = list[:1] // all have the same schedules; the suite of package backendtest runs for each
	}
	on(t, list, schedulesSurviveKills)
}

func schedulesSurviveKills(t *site) {
	store := t.open()
	scheduler := store.(backend.Scheduler)
	var all []backend.Schedule
	for i := range 30 {
		all = append(all, addSchedule(t.ctx, t, store, fmt.Sprint("schedule-", i), schedule.Spec{
			Every: time.Duration(100+30*i) * time.Millisecond, Jitter: time.Duration(i%3) * 40 * time.Millisecond, Overlap: schedule.Allow,
			CatchUp: schedule.All, CatchUpMax: 10_000,
		}))
	}
	first := map[uuid.UUID]time.Time{} // ticks
	before, begun, err := scheduler.Schedules(t.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range before {
		first[s.ID] = s.State.Next
	}
	var children []*exec.Cmd
	var inputs []io.WriteCloser
	for range 3 {
		cmd, stdin := startSchedules(t)
		children, inputs = append(children, cmd), append(inputs, stdin)
	}
	for i, part := range []time.Duration{3, 2} {
		await(t, scheduler, func(all []backend.StoredSchedule, now time.Time) bool {
			return fired(all) > 100 && now.Sub(begun) > schedulesFor/part
		})
		if err := children[i].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = children[i].Wait() // it was killed
	}
	await(t, scheduler, func(all []backend.StoredSchedule, _ time.Time) bool {
		for _, s := range all {
			if s.State.LastTick.Before(begun.Add(schedulesFor)) {
				return false
			}
		}
		return true
	})
	for _, s := range all { // so that the engine that is left carries out what it decided, and decides no more, before it is stopped
		pauseSchedule(t, scheduler, s.Name)
	}
	await(t, scheduler, func(all []backend.StoredSchedule, _ time.Time) bool {
		return !slices.ContainsFunc(all, func(s backend.StoredSchedule) bool { return len(s.State.Start) > 0 })
	})
	if err := inputs[2].Close(); err != nil {
		t.Fatal(err)
	}
	if err := children[2].Wait(); err != nil {
		t.Errorf("the engine that was left: %v", err)
	}
	countInstances(t, store, all, first)
}

// pauseSchedule pauses one that engines change concurrently.
func pauseSchedule(t *site, scheduler backend.Scheduler, name string) {
	t.Helper()
	for range pause.Tries(t.ctx, time.Millisecond) {
		found, now, err := scheduler.Schedules(t.ctx, name)
		if err != nil || len(found) != 1 {
			t.Fatalf("%d schedules, %v", len(found), err)
		}
		s := found[0]
		st := s.Times.Pause(s.State)
		saved, err := scheduler.SaveSchedules(t.ctx, []backend.ScheduleSave{{ID: s.ID, Version: s.Version, State: st, Wake: s.Times.Wake(s.ID, st, now)}})
		if err != nil {
			t.Fatal(err)
		}
		if saved[0] {
			return
		}
	}
	t.Fatalf("%s was not paused: %v", name, context.Cause(t.ctx))
}

// countInstances counts from the database.
func countInstances(t *site, store backend.Backend, all []backend.Schedule, first map[uuid.UUID]time.Time) {
	t.Helper()
	states, _, err := store.(backend.Scheduler).Schedules(t.ctx)
	if err != nil {
		t.Fatal(err)
	}
	total, writes := 0, 0
	for _, s := range states {
		var ids []uuid.UUID
		for tick := first[s.ID]; !tick.After(s.State.LastTick); tick = tick.Add(s.Times.Spec().Every) {
			ids = append(ids, schedule.FiringID(s.ID, tick))
		}
		if s.State.Fired != int64(len(ids)) || s.State.Skipped != 0 || len(s.State.Start) != 0 {
			t.Errorf("%s: %d ticks fired, %d of them are not carried out, and %d were skipped; it had %d ticks", s.Name, s.State.Fired, len(s.State.Start), s.State.Skipped, len(ids))
		}
		found, err := store.Lookup(t.ctx, ids)
		if err != nil {
			t.Fatal(err)
		}
		for i, inst := range found {
			if inst.Status != backend.Completed || string(inst.Result) != "42" {
				t.Fatalf("%s: the instance of tick %d of %d is %q, %s", s.Name, i+1, len(ids), inst.Status, inst.Result)
			}
		}
		total += len(ids)
		writes += int(s.Version)
	}
	var rows int
	if err := t.conn.QueryRow(t.ctx, "SELECT count(*) FROM instances").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if rows != total {
		t.Errorf("there are %d instances for %d ticks", rows, total)
	}
	depth.Done(t, "schedules=%d ticks=%d instances=%d writes=%d", len(all), total, rows, writes)
}

func fired(all []backend.StoredSchedule) (n int64) {
	for _, s := range all {
		n += s.State.Fired
	}
	return n
}

func await(t *site, scheduler backend.Scheduler, done func([]backend.StoredSchedule, time.Time) bool) {
	t.Helper()
	for range pause.Tries(t.ctx, 20*time.Millisecond) {
		all, now, err := scheduler.Schedules(t.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if done(all, now) {
			return
		}
	}
	t.Fatal("the schedules did not fire in time")
}

func startSchedules(t *site) (*exec.Cmd, io.WriteCloser) {
	t.Helper()
	cmd := t.childRunning("TestChildSchedules")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stdin
}

// An engine on memory fires schedules and cancels instances of earlier ticks. What it has not done when it stops, others find soon.
func TestSchedulesInMemory(t *testing.T) {
	ctx, cancel := depth.Within(t.Context(), t, hazardDeadline)
	defer cancel()
	store := memory.New(memory.Options{Shards: 2})
	defer store.Close()
	ends := make(chan backend.Instance, 1000)
	e := hangingEngine(t, store, engine.Observer{
		Ended:   func(inst backend.Instance, _ time.Time) { ends <- inst },
		Problem: func(err error) { t.Error(err) },
	})
	addHanging(ctx, t, store, schedule.Cancel) // the engine finds it by polling
	for range 3 {
		select {
		case inst := <-ends:
			if inst.Status != backend.Canceled || !strings.Contains(inst.Failure.Message, "a later tick") {
				t.Errorf("an instance whose successor was due is %+v", inst)
			}
		case <-ctx.Done():
			t.Fatal("no instance was canceled")
		}
	}
	stopping, done := context.WithCancel(ctx)
	done() // at once: the last instance never ends
	_ = e.Stop(stopping)
	<-e.Done()
	all, _, err := store.Schedules(ctx)
	if err != nil {
		t.Fatal(err)
	}
	left := len(all[0].State.Start) + len(all[0].State.Cancel)
	if soon := all[0].State.LastFired.Add(2 * time.Second); left > 0 && all[0].Wake.After(soon) {
		t.Errorf("after the stop the schedule is due at %v, and its state is %+v", all[0].Wake, all[0].State)
	}
}

// hangingEngine starts an engine with schedules, whose only action, hang, ends with its context.
func hangingEngine(t *testing.T, store backend.Backend, o engine.Observer) *engine.Engine {
	t.Helper()
	hang, err := worker.NewRegistry(worker.Action{Name: "hang", Run: func(ctx context.Context, _ worker.Call) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{Backend: store, Workers: hang, Schedules: true, SchedulePoll: 10 * time.Millisecond, Observer: o})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e
}

// addHanging stores a schedule, as often as one may be, of a workflow that hangs.
func addHanging(ctx context.Context, t *testing.T, store backend.Scheduler, overlap schedule.Overlap) {
	t.Helper()
	program, err := plan.CompileText("hang.ir", []byte("fn main(input: [], output: [y]):\n    y = @hang()\n"), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	times, err := schedule.Compile(schedule.Spec{Every: schedule.EveryMin, Overlap: overlap})
	if err != nil {
		t.Fatal(err)
	}
	s := backend.Schedule{ID: uuid.New(), Name: "hang", Program: program, Input: json.RawMessage("{}"), Times: times}
	if err := store.AddSchedule(ctx, s, false); err != nil {
		t.Fatal(err)
	}
}

// An engine that stops while it carries out a firing reports no problem: another one carries it out.
func TestStopWhileSchedulesFire(t *testing.T) {
	for name, atOnce := range map[string]bool{"at once": true, "draining": false} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := depth.Within(t.Context(), t, hazardDeadline)
			defer cancel()
			var e *engine.Engine
			stopping, stopNow := context.WithCancel(ctx)
			defer stopNow()
			fired := make(chan struct{}, 1000)
			memory := memory.New(memory.Options{Shards: 2})
			defer memory.Close()
			store := &firingStore{Backend: memory, decided: func(n int) {
				if fired <- struct{}{}; n < 2 { // the first instance keeps a draining engine from its end
					return
				}
				if atOnce {
					stopNow()
				}
				go func() { _ = e.Stop(stopping) }()
				for accepts(ctx, e) {
					runtime.Gosched()
				}
			}}
			e = hangingEngine(t, store, engine.Observer{Problem: func(err error) { t.Error(err) }})
			addHanging(ctx, t, store, schedule.Allow)
			for range 2 {
				select {
				case <-fired:
				case <-ctx.Done():
					t.Fatal("the schedule did not fire")
				}
			}
			stopNow()
			<-e.Done()
		})
	}
}

// accepts reports whether an engine does not say that it stops.
func accepts(ctx context.Context, e *engine.Engine) bool {
	p, err := plan.CompileText("no.ir", []byte("fn main(input: [], output: [y]):\n    y = 1\n"), ir.Limits{})
	if err == nil {
		_, err = e.Submit(ctx, engine.SubmitRequest{Program: p})
	}
	return err == nil
}

// firingStore calls decided with the number of decided firings so far, from 1, once they are stored.
type firingStore struct {
	*memory.Backend
	n       int
	decided func(n int)
}

func (s *firingStore) SaveSchedules(ctx context.Context, saves []backend.ScheduleSave) ([]bool, error) {
	saved, err := s.Backend.SaveSchedules(ctx, saves)
	if len(saves) > 0 && len(saves[0].State.Start) > 0 {
		s.n++
		s.decided(s.n)
	}
	return saved, err
}

// plain is a backend without schedules.
type plain struct{ backend.Backend }

func TestSchedulesNeedABackendThatHasThem(t *testing.T) {
	store := memory.New(memory.Options{})
	defer store.Close()
	none, err := worker.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	_, err = engine.New(engine.Config{Backend: plain{store}, Workers: none, Schedules: true})
	if want := "Schedules is set, and backend engine_test.plain has none; use another one"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
