package dispatch_test

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/dispatch"
	"pulley/engine/ir"
	"pulley/engine/limit"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

// limitWorld has engines that share a store in virtual time, and a history of their attempts.
type limitWorld struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Time
	events  futures
	order   int
	store   *memory.Backend
	engines []*limitEngine
	history []limit.Attempt
	done    map[string]int // attempts in it, by action
	slots   int            // of each engine, which also holds so many ready
	takes   func(action string) time.Duration
	ended   int
}

type future struct {
	at    time.Time
	order int
	run   func()
}

type futures []future

func (h futures) Len() int { return len(h) }
func (h futures) Less(i, j int) bool {
	return cmp.Or(h[i].at.Compare(h[j].at), cmp.Compare(h[i].order, h[j].order)) < 0
}
func (h futures) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *futures) Push(x any)   { *h = append(*h, x.(future)) }
func (h *futures) Pop() any {
	last := len(*h) - 1
	f := (*h)[last]
	*h = (*h)[:last]
	return f
}

func (w *limitWorld) after(d time.Duration, run func()) {
	w.order++
	heap.Push(&w.events, future{w.now.Add(d), w.order, run})
}

func (w *limitWorld) runUntil(over func() bool) {
	w.t.Helper()
	for steps := 0; !over(); steps++ {
		if len(w.events) == 0 || steps > 20_000_000 {
			w.t.Fatalf("at %v nothing is left to do: %d instances ended", w.now, w.ended)
		}
		f := heap.Pop(&w.events).(future)
		if f.at.After(w.now) {
			w.now = f.at
		}
		f.run()
	}
}

// limitEngine is a machine and what a shell does for it. Its clock is ahead or behind.
type limitEngine struct {
	*limitWorld
	id      string
	m       *dispatch.Machine
	ahead   time.Duration
	running map[dispatch.TaskID]*limit.Attempt
	dead    bool
	frozen  time.Time // events wait until then
	renewed time.Time // last turn
	timer   int
}

const (
	limitLease = 2 * time.Second
	limitTurn  = 100 * time.Millisecond
)

func (w *limitWorld) addEngine() *limitEngine {
	cfg := dispatch.Config{
		Owner: fmt.Sprint("e", len(w.engines)), Shards: w.store.Shards(), Slots: w.slots, Prefetch: w.slots, Batch: 100, BatchBytes: 1 << 20, Committers: 2, Pending: 100, Queue: 100,
		MaxDeliveries: 50, Lease: limitLease, Poll: 50 * time.Millisecond, Sweep: time.Second, LimitTurn: limitTurn, RetryMin: 10 * time.Millisecond, RetryMax: 200 * time.Millisecond,
	}
	m, err := dispatch.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	e := &limitEngine{limitWorld: w, id: cfg.Owner, m: m, running: map[dispatch.TaskID]*limit.Attempt{}, ahead: time.Duration(w.rng.Int64N(int64(time.Hour)))}
	w.engines = append(w.engines, e)
	w.after(0, func() { e.step() })
	return e
}

func (e *limitEngine) clock() time.Time { return e.now.Add(e.ahead) }

// later runs something of the engine, unless it is dead; while it is frozen, that waits.
func (e *limitEngine) later(d time.Duration, run func()) {
	e.after(d, func() {
		switch {
		case e.dead:
		case e.frozen.After(e.now):
			e.later(e.frozen.Sub(e.now), run)
		default:
			run()
		}
	})
}

func (e *limitEngine) step(events ...dispatch.Event) {
	for _, c := range e.m.Step(e.clock(), events...) {
		switch c := c.(type) {
		case dispatch.Call:
			e.call(c)
		case *dispatch.Start:
			e.start(*c)
		case dispatch.Cancel:
			e.end(c.ID)
			e.later(time.Microsecond, func() { e.step(dispatch.Done{Task: c.ID, Result: json.RawMessage("0")}) })
		}
	}
	if err := e.m.Check(); err != nil {
		e.t.Fatal(err)
	}
	e.timer++
	if next := e.m.Next(); !next.IsZero() {
		timer := e.timer
		e.later(next.Sub(e.clock()), func() {
			if e.timer == timer {
				e.step()
			}
		})
	}
}

func (e *limitEngine) start(s dispatch.Start) {
	attempt := &limit.Attempt{Action: s.Task.Action, Start: e.now}
	e.running[s.ID] = attempt
	e.later(e.takes(s.Task.Action), func() {
		if e.running[s.ID] != attempt {
			return
		}
		e.end(s.ID)
		e.step(dispatch.Done{Task: s.ID, Result: json.RawMessage("0")})
	})
}

func (e *limitEngine) end(id dispatch.TaskID) {
	if a := e.running[id]; a != nil {
		a.End = e.now
		e.history = append(e.history, *a)
		e.done[a.Action]++
		delete(e.running, id)
	}
}

// kill ends the engine, and with it its attempts.
func (e *limitEngine) kill() {
	e.dead = true
	for id := range e.running {
		e.end(id)
	}
}

// freeze stops an engine for a time. What others see of its attempts ends with their permits.
func (e *limitEngine) freeze(d time.Duration) {
	e.frozen = e.now.Add(d)
	permitted := e.renewed.Add(limitLease)
	if e.frozen.Before(permitted) {
		return
	}
	e.after(max(permitted.Sub(e.now), 0), func() {
		for id := range e.running {
			e.end(id)
		}
	})
}

func (e *limitEngine) call(c dispatch.Call) {
	way := time.Duration(e.rng.ExpFloat64() * float64(time.Millisecond))
	e.later(way, func() {
		ctx, reply := context.Background(), dispatch.Reply{Call: c.ID}
		switch c.Op {
		case dispatch.OpClaim:
			reply.Committed, reply.Err = e.store.Claim(ctx, c.Shard, c.Grant)
		case dispatch.OpComplete:
			reply.Committed, reply.Err = e.store.Complete(ctx, c.Shard, c.Completions, c.Grant)
		case dispatch.OpRenew:
			reply.Held, reply.Err = e.store.Renew(ctx, c.Shard, c.Leases, c.Grant)
		case dispatch.OpLimits:
			reply.Limits, reply.Err = backend.TakeLimitTurn(ctx, &flaky{e.store, e.rng}, e.clock, e.id, c.Needs, limit.Times{Lease: limitLease, Turn: limitTurn})
			reply.Limits.Asked = reply.Limits.Asked.Add(-way)
			if reply.Err == nil {
				e.renewed = e.now
			}
		}
		for i := range reply.Committed.Tasks {
			reply.Committed.Tasks[i].Expires = reply.Committed.Tasks[i].Expires.Add(e.ahead - 2*way)
			if since := &reply.Committed.Tasks[i].Since; !since.IsZero() {
				*since = since.Add(e.ahead)
			}
		}
		if !reply.Committed.NextDue.IsZero() {
			reply.Committed.NextDue = reply.Committed.NextDue.Add(e.ahead)
		}
		e.limitWorld.ended += len(reply.Committed.Ended)
		back := time.Duration(e.rng.ExpFloat64() * float64(time.Millisecond))
		e.later(back, func() {
			reply.Limits.Answered = e.clock()
			e.step(reply)
		})
	})
}

// flaky is a store of limits that others save to between an engine's two calls, and that loses answers.
type flaky struct {
	*memory.Backend
	rng *rand.Rand
}

func (f *flaky) SaveLimits(ctx context.Context, saves []backend.LimitSave) ([]bool, error) {
	switch f.rng.IntN(300) {
	case 0, 3, 4, 5:
		return make([]bool, len(saves)), nil
	case 1, 6, 7:
		return nil, errors.New("no connection")
	case 2:
		_, _ = f.Backend.SaveLimits(ctx, saves)
		return nil, errors.New("the answer is lost")
	}
	return f.Backend.SaveLimits(ctx, saves)
}

func newLimitWorld(t *testing.T, seed uint64, shards int) *limitWorld {
	w := &limitWorld{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), done: map[string]int{}, slots: 32}
	w.store = memory.New(memory.Options{Shards: shards, Clock: func() time.Time { return w.now }})
	t.Cleanup(w.store.Close)
	return w
}

func (w *limitWorld) submit(text string, n int) {
	w.t.Helper()
	p, err := plan.CompileText("main.ir", []byte(text), ir.Limits{})
	if err != nil {
		w.t.Fatal(err)
	}
	for range n {
		w.submitProgram(p)
	}
}

func (w *limitWorld) submitProgram(p *plan.Program) {
	w.t.Helper()
	id := uuid.UUID{}
	for i := range id {
		id[i] = byte(w.rng.Uint32())
	}
	if _, err := w.store.Submit(w.t.Context(), []backend.Submission{{ID: id, Program: p, Input: json.RawMessage("{}")}}, backend.Grant{Owner: "test"}); err != nil {
		w.t.Fatal(err)
	}
}

const limitedProgram = `
fn main(input: [], output: [x]):
    x = @%s()
`

// Four engines share limits, and every eight seconds one is killed or frozen. They exceed neither limit, use what they may, and let other actions pass.
func TestLimitsHoldAcrossEngines(t *testing.T) {
	few, often := limit.Limit{Name: "few", Actions: []string{"a"}, Concurrency: 7}, limit.Limit{Name: "often", Actions: []string{"b", "b2"}, Rate: limit.Rate{Starts: 100, Per: time.Second}}
	for seed := range uint64(depth.Of(4, 40)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newLimitWorld(t, seed, 1+int(seed)%3)
			for _, l := range []limit.Limit{few, often} {
				if err := w.store.SetLimit(t.Context(), l); err != nil {
					t.Fatal(err)
				}
			}
			w.takes = func(action string) time.Duration {
				return map[string]time.Duration{"a": 40 * time.Millisecond, "b": 20 * time.Millisecond, "b2": time.Millisecond, "c": 5 * time.Millisecond}[action] * time.Duration(50+w.rng.IntN(100)) / 100
			}
			const a, b, c = 3000, 2000, 4000
			w.submit(fmt.Sprintf(limitedProgram, "a"), a)
			w.submit(fmt.Sprintf(limitedProgram, "b"), b)
			w.submit(fmt.Sprintf(limitedProgram, "b2"), b/2)
			w.submit(fmt.Sprintf(limitedProgram, "c"), c)
			for range 4 {
				w.addEngine()
			}
			least := 0.96
			if faulty := seed%4 != 0; faulty {
				w.fault(8 * time.Second)
				least = 0.93
			}
			w.runUntil(func() bool { return w.ended == a+b+b/2+c })
			for _, l := range []limit.Limit{few, often} {
				if err := l.Check(w.history); err != nil {
					t.Error(err)
				}
			}
			last := w.lastEnd("c")
			t.Logf("%d engines; all done after %v, the free action after %v; the rate is %.3f of the limit, concurrency %.3f", len(w.engines), w.lastEnd("a", "b", "b2"), last, often.Kept(w.whileWorkLasts("b", "b2")), w.busy("a")/7)
			if kept := often.Kept(w.whileWorkLasts("b", "b2")); kept < least {
				t.Errorf("%.3f of the rate was used", kept)
			}
			if busy := w.busy("a") / 7; busy < 0.8 {
				t.Errorf("%.3f of the permits were used", busy)
			}
			if last > w.lastEnd("b", "b2")/3 {
				t.Errorf("an action without a limit took %v beside limits that took %v", last, w.lastEnd("b", "b2"))
			}
		})
	}
}

// fault kills an engine, or freezes it, about once in a period, and starts another one.
func (w *limitWorld) fault(period time.Duration) {
	w.after(time.Duration(float64(period)*(0.5+w.rng.Float64())), func() {
		e := w.engines[w.rng.IntN(len(w.engines))]
		switch {
		case e.dead:
		case w.rng.IntN(2) == 0:
			e.kill()
			w.after(100*time.Millisecond, func() { w.addEngine() })
		default:
			e.freeze(time.Duration(w.rng.Int64N(int64(2 * limitLease))))
		}
		w.fault(period)
	})
}

func (w *limitWorld) lastEnd(actions ...string) (last time.Duration) {
	begin := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for _, a := range w.history {
		if slices.Contains(actions, a.Action) {
			last = max(last, a.End.Sub(begin))
		}
	}
	return last
}

// whileWorkLasts returns the first nine tenths of the attempts of actions: the last ones wait for the leases of engines that were killed.
func (w *limitWorld) whileWorkLasts(actions ...string) []limit.Attempt {
	some := slices.DeleteFunc(slices.Clone(w.history), func(a limit.Attempt) bool { return !slices.Contains(actions, a.Action) })
	slices.SortFunc(some, func(a, b limit.Attempt) int { return a.Start.Compare(b.Start) })
	return some[:len(some)*9/10]
}

// busy is how many attempts of an action run on average.
func (w *limitWorld) busy(action string) float64 {
	var sum time.Duration
	some := w.whileWorkLasts(action)
	for _, a := range some {
		sum += a.End.Sub(a.Start)
	}
	return sum.Seconds() / some[len(some)-1].Start.Sub(some[0].Start).Seconds()
}
