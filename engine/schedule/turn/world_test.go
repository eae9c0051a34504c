package turn_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/schedule"
	"pulley/engine/schedule/turn"
)

// world is engines that take turns with the schedules of one store, in virtual time. A seed decides who takes the next step, how
// long that takes, who is killed, and which answers are lost.
type world struct {
	t         *testing.T
	random    *rand.Rand
	now       time.Time
	store     *memory.Backend
	engines   []*engine
	instances map[uuid.UUID]*instance
	running   map[uuid.UUID][]*instance // by schedule; some have ended

	lasts  func(turn.Firing) time.Duration // how long an instance runs
	losing int                             // of so many calls that write, one fails, before or after it is applied; zero: none
	slow   time.Duration                   // the longest step

	steps, kills, lost, stalls int
}

type engine struct {
	turn    *turn.Turn
	steps   int // of the turn
	claimed time.Time
	wakes   time.Time // of its next step
	stalled bool      // it stands still, and wakes late
}

type instance struct {
	firing        turn.Firing
	started, ends time.Time
	canceled      bool
}

const (
	lease = 10 * time.Second
	poll  = time.Minute
)

func newWorld(t *testing.T, seed uint64, now time.Time) *world {
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), now: now, instances: map[uuid.UUID]*instance{}, running: map[uuid.UUID][]*instance{},
		lasts: func(turn.Firing) time.Duration { return 0 }, slow: 50 * time.Millisecond,
	}
	w.store = memory.New(memory.Options{Clock: func() time.Time { return w.now }})
	t.Cleanup(w.store.Close)
	return w
}

func (w *world) add(name string, spec schedule.Spec) backend.Schedule {
	w.t.Helper()
	times, err := schedule.Compile(spec)
	if err != nil {
		w.t.Fatal(err)
	}
	var id uuid.UUID
	for i := range id {
		id[i] = byte(w.random.Uint32())
	}
	s := backend.Schedule{ID: id, Name: name, Program: program(w.t), Input: []byte("{}"), Times: times}
	if err := w.store.AddSchedule(w.t.Context(), s, false); err != nil {
		w.t.Fatal(err)
	}
	return s
}

func program(t *testing.T) *plan.Program {
	t.Helper()
	p, err := plan.CompileText("test.ir", []byte("fn main(input: [], output: [x]):\n    x = 1\n"), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var errLost = errors.New("the call failed")

// loses reports whether a call fails.
func (w *world) loses() bool {
	if w.losing == 0 || w.random.IntN(w.losing) > 0 {
		return false
	}
	w.lost++
	return true
}

// lossy is the store, whose calls fail before or after they are applied.
type lossy struct {
	*memory.Backend
	w *world
}

func (l lossy) ClaimSchedules(ctx context.Context, most int, lease time.Duration) (backend.ClaimedSchedules, error) {
	if l.w.loses() {
		return backend.ClaimedSchedules{}, errLost
	}
	out, err := l.Backend.ClaimSchedules(ctx, most, lease)
	if err == nil && len(out.Schedules) > 0 && l.w.loses() {
		return backend.ClaimedSchedules{}, errLost
	}
	return out, err
}

func (l lossy) SaveSchedules(ctx context.Context, saves []backend.ScheduleSave) ([]bool, error) {
	if l.w.loses() {
		return nil, errLost
	}
	saved, err := l.Backend.SaveSchedules(ctx, saves)
	if err == nil && l.w.loses() {
		return nil, errLost
	}
	return saved, err
}

// Start implements turn.Instances.
func (w *world) Start(_ context.Context, firings []turn.Firing) []error {
	errs := make([]error, len(firings))
	for i, f := range firings {
		if w.instances[f.ID] == nil {
			one := &instance{firing: f, started: w.now, ends: w.now.Add(w.lasts(f))}
			w.instances[f.ID] = one
			w.begin(one)
		}
		if w.loses() {
			errs[i] = errLost
		}
	}
	return errs
}

// begin checks that instances overlap only if they may.
func (w *world) begin(one *instance) {
	id := one.firing.Schedule.ID
	w.running[id] = slices.DeleteFunc(w.running[id], func(other *instance) bool { return !other.ends.After(w.now) })
	spec := one.firing.Schedule.Times.Spec()
	if spec.Overlap != schedule.Allow && len(w.running[id]) > 0 {
		w.t.Errorf("%+v: tick %v started while %v ran", spec, one.firing.Tick, w.running[id][0].firing.Tick)
	}
	w.running[id] = append(w.running[id], one)
}

// Cancel implements turn.Instances.
func (w *world) Cancel(_ context.Context, ids []uuid.UUID) error {
	for _, id := range ids {
		if one := w.instances[id]; one != nil && one.ends.After(w.now) {
			one.ends, one.canceled = w.now, true
		}
	}
	if w.loses() {
		return errLost
	}
	return nil
}

// Lookup implements turn.Instances.
func (w *world) Lookup(_ context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	found := make([]backend.Instance, len(ids))
	for i, id := range ids {
		found[i].ID = id
		if one := w.instances[id]; one != nil {
			found[i].Status = backend.Completed
			if one.ends.After(w.now) {
				found[i].Status = backend.Running
			}
		}
	}
	return found, nil
}

// open starts an engine.
func (w *world) open() { w.engines = append(w.engines, &engine{wakes: w.now}) }

// kill ends an engine in the midst of a turn, if it is in one.
func (w *world) kill(e *engine) {
	w.kills++
	w.engines = slices.DeleteFunc(w.engines, func(other *engine) bool { return other == e })
}

// runUntil lets engines take steps until a time, at which none has anything to do. each is called before each step.
func (w *world) runUntil(end time.Time, each func(e *engine)) {
	w.t.Helper()
	for {
		var ready []*engine
		next := end
		for _, e := range w.engines {
			if !e.wakes.After(w.now) {
				ready = append(ready, e)
			} else if e.wakes.Before(next) {
				next = e.wakes
			}
		}
		if len(ready) == 0 {
			if next.After(w.now) { // else the last step ended after the end
				w.now = next
			}
			if !next.Before(end) {
				return
			}
			continue
		}
		e := ready[w.random.IntN(len(ready))]
		if each != nil {
			if each(e); !slices.Contains(w.engines, e) {
				continue
			}
		}
		w.step(e)
	}
}

func (w *world) step(e *engine) {
	if e.turn == nil {
		e.turn = turn.New(turn.Config{Store: lossy{w.store, w}, Instances: w, Schedules: 64, Ticks: 100, Lease: lease, RetryPause: time.Second})
		e.steps, e.claimed = 0, w.now
	}
	e.stalled = false
	over, err := e.turn.Step(w.t.Context())
	if err != nil && !errors.Is(err, errLost) {
		w.t.Fatal(err)
	}
	w.steps++
	e.steps++
	if w.slow > 0 {
		w.now = w.now.Add(time.Duration(w.random.Int64N(int64(w.slow))))
	}
	switch {
	case over && err != nil:
		e.wakes, e.turn = w.now.Add(time.Second), nil
	case over:
		e.wakes, e.turn = e.claimed.Add(e.turn.Pause(poll)), nil
	case w.losing > 0 && w.random.IntN(100) == 0 && w.othersWork(e):
		e.wakes = w.now.Add(time.Duration(w.random.ExpFloat64() * float64(20*lease)))
		e.stalled = true
		w.stalls++
	}
}

// othersWork reports whether an engine may stand still, or be killed for good: ticks that are late may be decided together.
func (w *world) othersWork(but *engine) bool {
	return slices.ContainsFunc(w.engines, func(e *engine) bool { return e != but && !e.stalled })
}

// states returns where the schedules stand, by id.
func (w *world) states() map[uuid.UUID]schedule.State {
	w.t.Helper()
	all, _, err := w.store.Schedules(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	states := map[uuid.UUID]schedule.State{}
	for _, s := range all {
		states[s.ID] = s.State
	}
	return states
}

func (w *world) String() string {
	return fmt.Sprintf("instances=%d steps=%d kills=%d stalls=%d failed-calls=%d", len(w.instances), w.steps, w.kills, w.stalls, w.lost)
}
