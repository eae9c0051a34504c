package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/pgtest"
)

// withServer stops the tests' database before the check for leaks.
type withServer struct{ m *testing.M }

func (w withServer) Run() int { return pgtest.Run(w.m) }

const patience = 15 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(withServer{m}) }

func compile(t testing.TB, src string) *plan.Program {
	t.Helper()
	p, err := plan.CompileText("test.ir", []byte(src), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func fanOut(t testing.TB) *plan.Program {
	t.Helper()
	return compile(t, `fn main(input: [count], output: [total]):
    all = @items(count=count)
    doubled = spread all:one -> @double(value=one)
    total = @sum(values=doubled)
    return total
`)
}

func chain(t testing.TB, n int) *plan.Program {
	t.Helper()
	src := "fn main(input: [x], output: [x]):\n"
	for range n {
		src += "    x = @add(a=x, b=1)\n"
	}
	return compile(t, src+"    return x\n")
}

func registry(t testing.TB, more map[string]worker.Func) *worker.Registry {
	t.Helper()
	r, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	for name, fn := range more {
		if err := r.Register(name, fn); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func memoryBackend(t testing.TB, shards int) *memory.Backend {
	t.Helper()
	b := memory.New(memory.Options{Shards: shards})
	t.Cleanup(b.Close)
	return b
}

func start(t testing.TB, cfg Config) *Engine {
	t.Helper()
	if cfg.Workers == nil {
		cfg.Workers = registry(t, nil)
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	kept := context.WithoutCancel(t.Context()) // t.Context ends before Cleanup
	if err := e.Start(kept); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, e) })
	return e
}

func stop(t testing.TB, e *Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		t.Errorf("stopping the engine: %v", err)
	}
}

func run(t testing.TB, e *Engine, p *plan.Program, input string) backend.Instance {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	id, err := e.Submit(ctx, SubmitRequest{Program: p, Input: json.RawMessage(input)})
	if err != nil {
		t.Fatal(err)
	}
	inst, err := e.Wait(ctx, id)
	if err != nil {
		t.Fatalf("waiting for the end of an instance: %v", err)
	}
	return inst
}

func wantResult(t testing.TB, inst backend.Instance, want string) {
	t.Helper()
	if inst.Status != backend.Completed || string(inst.Result) != want {
		t.Errorf("instance %s is %s with %s (failure %+v), want %s", inst.ID, inst.Status, inst.Result, inst.Failure, want)
	}
}

type tally struct {
	leased   map[backend.Lease]int
	started  map[backend.Lease]int
	applied  map[backend.Key]int
	ended    map[uuid.UUID]int
	answers  map[backend.Answer]int
	problems []string
	submits  int
	commits  int
	biggest  int
}

// ledger keeps a tally. Engines write at any time, so tests read copies.
type ledger struct {
	mu   sync.Mutex
	sums tally
}

func newLedger() *ledger {
	return &ledger{sums: tally{
		leased: map[backend.Lease]int{}, started: map[backend.Lease]int{}, applied: map[backend.Key]int{},
		ended: map[uuid.UUID]int{}, answers: map[backend.Answer]int{},
	}}
}

func (l *ledger) note(change func(*tally)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.sums)
}

func (l *ledger) look() tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.sums
	seen.leased, seen.started, seen.applied = maps.Clone(seen.leased), maps.Clone(seen.started), maps.Clone(seen.applied)
	seen.ended, seen.answers, seen.problems = maps.Clone(seen.ended), maps.Clone(seen.answers), slices.Clone(seen.problems)
	return seen
}

// close stops the engines first: an engine may report to its observer after it has answered.
func (l *ledger) close(t testing.TB, engines ...*Engine) tally {
	t.Helper()
	for _, e := range engines {
		stop(t, e)
	}
	return l.look()
}

func (l *ledger) observer() Observer {
	return Observer{
		Submitted: func(uuid.UUID, time.Time) { l.note(func(s *tally) { s.submits++ }) },
		Leased:    func(t backend.Task, _ time.Time) { l.note(func(s *tally) { s.leased[t.Lease]++ }) },
		Started:   func(t backend.Task, _ time.Time) { l.note(func(s *tally) { s.started[t.Lease]++ }) },
		Answered: func(c backend.Completion, out backend.Outcome, err error, _ time.Time) {
			l.note(func(s *tally) {
				s.answers[out.Answer]++
				if err == nil && out.Answer == backend.Applied {
					s.applied[c.Lease.Key]++
				}
			})
		},
		Committed: func(n int, _ time.Time) { l.note(func(s *tally) { s.commits++; s.biggest = max(s.biggest, n) }) },
		Ended:     func(inst backend.Instance, _ time.Time) { l.note(func(s *tally) { s.ended[inst.ID]++ }) },
		Problem:   func(err error) { l.note(func(s *tally) { s.problems = append(s.problems, err.Error()) }) },
	}
}

// Each node run must be applied once, each token started once, and each instance ended once. The programs here have no retries,
// which apply a run more than once.
func (s tally) check(t testing.TB) {
	t.Helper()
	for lease, n := range s.started {
		if n != 1 || s.leased[lease] != 1 {
			t.Errorf("%+v was leased %d times and started %d times", lease, s.leased[lease], n)
		}
	}
	for key, n := range s.applied {
		if n != 1 {
			t.Errorf("%d completions of %+v were applied", n, key)
		}
	}
	for id, n := range s.ended {
		if n != 1 {
			t.Errorf("instance %s ended %d times", id, n)
		}
	}
}

type troubled struct {
	backend.Backend
	mu     sync.Mutex
	rand   *rand.Rand
	before float64 // chance that a call fails without effect
	after  float64 // chance that a call is executed and its answer lost
	broken bool
	faults int
}

var errTrouble = errors.New("connection refused")

func (b *troubled) fault(chance float64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken || b.rand.Float64() < chance {
		b.faults++
		return true
	}
	return false
}

func (b *troubled) breakDown() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = true
}

func (b *troubled) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faults
}

func trouble[T any](b *troubled, call func() (T, error)) (T, error) {
	var none T
	if b.fault(b.before) {
		return none, errTrouble
	}
	out, err := call()
	if err == nil && b.fault(b.after) {
		return none, fmt.Errorf("%w: connection lost", backend.ErrUnknown)
	}
	return out, err
}

func (b *troubled) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	return trouble(b, func() (backend.Committed, error) { return b.Backend.Submit(ctx, subs, grant) })
}

func (b *troubled) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	return trouble(b, func() (backend.Committed, error) { return b.Backend.Claim(ctx, shard, grant) })
}

func (b *troubled) Complete(ctx context.Context, shard int, done []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	return trouble(b, func() (backend.Committed, error) { return b.Backend.Complete(ctx, shard, done, grant) })
}

func (b *troubled) Renew(ctx context.Context, shard int, leases []backend.Lease, grant backend.Grant) ([]bool, error) {
	return trouble(b, func() ([]bool, error) { return b.Backend.Renew(ctx, shard, leases, grant) })
}

func (b *troubled) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	return trouble(b, func() (backend.Swept, error) { return b.Backend.Sweep(ctx, shard) })
}

func (b *troubled) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	return trouble(b, func() ([]backend.Instance, error) { return b.Backend.Lookup(ctx, ids) })
}
