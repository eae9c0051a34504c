package backendtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/memory"
)

// mutantVariable names the planted bug of TestSubject; unset, there is none.
const mutantVariable = "BACKENDTEST_MUTANT"

type mutant struct {
	name  string
	catch string
	plant func(*bug)
	store func(*backendtest.Store) // changes the access to the store, if the bug is there
}

// bug wraps a backend; each hook that is set replaces the call, and may call the real one.
type bug struct {
	backend.Backend
	submit   func(context.Context, []backend.Submission, backend.Grant) (backend.Committed, error)
	claim    func(context.Context, int, backend.Grant) (backend.Committed, error)
	complete func(context.Context, int, []backend.Completion, backend.Grant) (backend.Committed, error)
	extend   func(context.Context, int, []backend.Lease, backend.Grant) ([]bool, error)
	lookup   func(context.Context, []uuid.UUID) ([]backend.Instance, error)
	cancel   func(context.Context, []uuid.UUID, string) ([]backend.Instance, error)
	after    func(*backend.Committed) // changes every call's result
	shut     func()

	mu     sync.Mutex
	newest map[backend.Key]int64
	tasks  []backend.Task
}

func (b *bug) Submit(ctx context.Context, subs []backend.Submission, g backend.Grant) (backend.Committed, error) {
	if b.submit != nil {
		return b.changed(b.submit(ctx, subs, g))
	}
	return b.changed(b.Backend.Submit(ctx, subs, g))
}

func (b *bug) Claim(ctx context.Context, shard int, g backend.Grant) (backend.Committed, error) {
	if b.claim != nil {
		return b.changed(b.claim(ctx, shard, g))
	}
	return b.changed(b.Backend.Claim(ctx, shard, g))
}

func (b *bug) Complete(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
	if b.complete != nil {
		return b.changed(b.complete(ctx, shard, cs, g))
	}
	return b.changed(b.Backend.Complete(ctx, shard, cs, g))
}

func (b *bug) Renew(ctx context.Context, shard int, leases []backend.Lease, g backend.Grant) ([]bool, error) {
	if b.extend != nil {
		return b.extend(ctx, shard, leases, g)
	}
	return b.Backend.Renew(ctx, shard, leases, g)
}

func (b *bug) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	if b.lookup != nil {
		return b.lookup(ctx, ids)
	}
	return b.Backend.Lookup(ctx, ids)
}

func (b *bug) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	if b.cancel != nil {
		return b.cancel(ctx, ids, reason)
	}
	return b.Backend.(backend.Canceler).Cancel(ctx, ids, reason)
}

func (b *bug) Close() {
	if b.shut != nil {
		b.shut()
		return
	}
	b.Backend.Close()
}

func (b *bug) Listen(ctx context.Context, wake func()) error {
	return b.Backend.(backend.Listener).Listen(ctx, wake)
}

func (b *bug) Notify(ctx context.Context) error { return b.Backend.(backend.Listener).Notify(ctx) }

func (b *bug) changed(out backend.Committed, err error) (backend.Committed, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.newest == nil {
		b.newest = map[backend.Key]int64{}
	}
	for _, t := range out.Tasks {
		b.newest[t.Lease.Key] = t.Lease.Token
		b.tasks = append(b.tasks, t)
	}
	if err == nil && b.after != nil {
		b.after(&out)
	}
	return out, err
}

// mutants are the planted bugs. None is in a release.
var mutants = []mutant{
	{name: "token ignored", catch: "complete/reclaimed_by_another", plant: ignoreToken},
	{name: "stale completion acknowledged", catch: "complete/repeated", plant: func(b *bug) {
		b.after = answer(backend.Stale, backend.Applied)
	}},
	{name: "duplicate submission acknowledged", catch: "submit/duplicate", plant: func(b *bug) {
		b.after = answer(backend.Duplicate, backend.Applied)
	}},
	{name: "grant exceeded", catch: "submit/grant_is_a_maximum", plant: func(b *bug) {
		b.claim = func(ctx context.Context, shard int, g backend.Grant) (backend.Committed, error) {
			g.Max++
			return b.Backend.Claim(ctx, shard, g)
		}
	}},
	{name: "last in, first out", catch: "claim/maximum_and_order", plant: func(b *bug) {
		b.after = func(out *backend.Committed) { slices.Reverse(out.Tasks) }
	}},
	{name: "work left over not told", catch: "submit/grant_is_a_maximum", plant: func(b *bug) {
		b.after = func(out *backend.Committed) { out.More = false }
	}},
	{name: "due time not told", catch: "claim/retry_is_due", plant: func(b *bug) {
		b.after = func(out *backend.Committed) { out.NextDue = time.Time{} }
	}},
	{name: "leased task never reclaimed", catch: "claim/expired_lease", plant: func(b *bug) {
		b.submit = func(ctx context.Context, subs []backend.Submission, g backend.Grant) (backend.Committed, error) {
			g.Lease = 1 << 62
			return b.Backend.Submit(ctx, subs, g)
		}
	}},
	{name: "lost lease counted as an attempt", catch: "claim/expired_lease", plant: func(b *bug) {
		b.after = func(out *backend.Committed) {
			for i := range out.Tasks {
				if len(b.tasks) > 3 {
					out.Tasks[i].Attempt++
				}
			}
		}
	}},
	{name: "lost lease not counted as a delivery", catch: "deliveries/leases_that_ran_out_count", plant: func(b *bug) {
		b.after = func(out *backend.Committed) {
			for i := range out.Tasks {
				out.Tasks[i].Deliveries = 1
			}
		}
	}},
	{name: "deliveries of a retry counted on", catch: "deliveries/retries_begin_anew", plant: func(b *bug) {
		b.after = func(out *backend.Committed) {
			for i := range out.Tasks {
				out.Tasks[i].Deliveries += out.Tasks[i].Attempt - 1
			}
		}
	}},
	{name: "given back counts as delivered", catch: "deliveries/a_lease_that_is_given_back_does_not_count", plant: func(b *bug) {
		b.extend = func(ctx context.Context, shard int, leases []backend.Lease, g backend.Grant) ([]bool, error) {
			g.Lease = max(g.Lease, time.Nanosecond)
			return b.Backend.Renew(ctx, shard, leases, g)
		}
	}},
	{name: "leased twice at once", catch: "claim/concurrent_claimers_share", plant: func(b *bug) {
		b.after = func(out *backend.Committed) {
			if len(b.tasks) > 50 && len(out.Tasks) > 0 {
				out.Tasks[0] = b.tasks[3]
			}
		}
	}},
	{name: "lease kept in words only", catch: "renew/kept_and_lost", plant: func(b *bug) {
		b.extend = func(_ context.Context, _ int, leases []backend.Lease, _ backend.Grant) ([]bool, error) {
			return slices.Repeat([]bool{true}, len(leases)), nil
		}
	}},
	{name: "extension forgotten", catch: "renew/keeps_the_lease", plant: func(b *bug) {
		b.extend = func(_ context.Context, _ int, leases []backend.Lease, _ backend.Grant) ([]bool, error) {
			return slices.Repeat([]bool{true}, len(leases)), nil
		}
	}},
	{name: "instances in any order", catch: "lookup/order_and_unknown", plant: func(b *bug) {
		b.lookup = func(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
			out, err := b.Backend.Lookup(ctx, ids)
			slices.Reverse(out)
			return out, err
		}
	}},
	{name: "one bad completion fails the batch", catch: "complete/mixed_batch", plant: failBatch},
	{name: "batch dropped after its first member", catch: "complete/two_open_a_barrier", plant: func(b *bug) {
		b.complete = func(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
			out, err := b.Backend.Complete(ctx, shard, cs[:min(1, len(cs))], g)
			for len(out.Outcomes) < len(cs) {
				out.Outcomes = append(out.Outcomes, backend.Outcome{Answer: backend.Applied})
			}
			return out, err
		}
	}},
	{name: "end not told", catch: "complete/applied", plant: func(b *bug) {
		b.after = func(out *backend.Committed) { out.Ended = nil }
	}},
	{name: "end told twice", catch: "complete/element_order", plant: func(b *bug) {
		b.complete = func(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
			out, err := b.Backend.Complete(ctx, shard, cs, g)
			if id := cs[0].Lease.Key.Instance; err == nil {
				out.Ended = append(out.Ended, backend.Instance{ID: id, Status: backend.Completed})
			}
			return out, err
		}
	}},
	{name: "element index ignored", catch: "workflows/spread", plant: swapResults},
	{name: "numbers through floats", catch: "workflows/integers_stay_integers", plant: func(b *bug) {
		b.after = func(out *backend.Committed) {
			for i := range out.Tasks {
				out.Tasks[i].Args = throughFloat(out.Tasks[i].Args)
			}
		}
	}},
	{name: "dead context ignored", catch: "context/a_call_that_is_cut_off", plant: func(b *bug) {
		b.complete = func(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
			return b.Backend.Complete(context.WithoutCancel(ctx), shard, cs, g)
		}
	}},
	{name: "closed and still there", catch: "close/ends_the_calls", plant: func(b *bug) { b.shut = func() {} }},
	{name: "rows left behind", catch: "complete/applied", store: func(s *backendtest.Store) {
		s.Leftovers = func(context.Context) (map[string]int, error) { return map[string]int{"queue": 1}, nil }
	}},
	{name: "nothing survives", catch: "reopen/continues", store: func(s *backendtest.Store) {
		s.Reopen = func(*testing.T) backend.Backend { return memory.New(memory.Options{}) }
	}},
	{name: "deaf listener", catch: "listen/is_woken", store: func(s *backendtest.Store) {
		s.Reopen = func(*testing.T) backend.Backend { return memory.New(memory.Options{}) }
	}},
}

func ignoreToken(b *bug) {
	b.complete = func(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
		cs = slices.Clone(cs)
		b.mu.Lock()
		for i := range cs {
			if token, ok := b.newest[cs[i].Lease.Key]; ok {
				cs[i].Lease.Token = token
			}
		}
		b.mu.Unlock()
		return b.Backend.Complete(ctx, shard, cs, g)
	}
}

func failBatch(b *bug) {
	b.complete = func(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
		for _, c := range cs {
			if c.Program == nil {
				return backend.Committed{}, errors.New("transaction rolled back")
			}
		}
		return b.Backend.Complete(ctx, shard, cs, g)
	}
}

func swapResults(b *bug) {
	b.complete = func(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
		cs = slices.Clone(cs)
		if len(cs) > 1 {
			cs[0].Result, cs[1].Result = cs[1].Result, cs[0].Result
		}
		return b.Backend.Complete(ctx, shard, cs, g)
	}
}

func answer(from, to backend.Answer) func(*backend.Committed) {
	return func(out *backend.Committed) {
		for i := range out.Outcomes {
			if out.Outcomes[i].Answer == from {
				out.Outcomes[i].Answer = to
			}
		}
	}
}

func throughFloat(v json.RawMessage) json.RawMessage {
	var any any
	if json.Unmarshal(v, &any) != nil {
		return v
	}
	out, err := json.Marshal(any)
	if err != nil {
		return v
	}
	return out
}

type virtual struct {
	mu  sync.Mutex
	now time.Time
}

func (c *virtual) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *virtual) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func subject(m mutant) backendtest.Open {
	return func(t *testing.T, opts backendtest.Options) backendtest.Store {
		c := &virtual{now: time.Unix(1_000_000, 0)}
		o := memory.Options{Shards: opts.Shards, Clock: c.Now}
		real := memory.New(o)
		planted := &bug{}
		wrap := func(b backend.Backend) backend.Backend {
			if m.plant == nil {
				return b
			}
			w := planted
			if w.Backend != nil {
				w = &bug{}
			}
			w.Backend = b
			m.plant(w)
			return w
		}
		s := backendtest.Store{
			Backend:      wrap(real),
			Reopen:       func(*testing.T) backend.Backend { return wrap(real.Open(o)) },
			Leftovers:    real.Open(o).Leftovers,
			StoredCounts: real.Open(o).StoredCounts,
			Advance:      c.Advance,
		}
		if m.name != "" {
			s.Timeout = time.Second
		}
		if m.store != nil {
			m.store(&s)
		}
		return s
	}
}

// TestSubject runs the suite on the memory backend, with the planted bug that the environment names.
func TestSubject(t *testing.T) {
	var m mutant
	if name := os.Getenv(mutantVariable); name != "" {
		all := slices.Concat(mutants, languageMutants)
		i := slices.IndexFunc(all, func(m mutant) bool { return m.name == name })
		if i < 0 {
			t.Fatalf("%s: there is no mutant %q", mutantVariable, name)
		}
		m = all[i]
	}
	backendtest.Run(t, subject(m))
}

// everyVariable makes TestEverySubject run all planted bugs.
const everyVariable = "BACKENDTEST_MUTANTS"

// TestEverySubject is the child process of the test below; otherwise it does nothing. It runs, with each planted bug, the case
// that must catch it.
func TestEverySubject(t *testing.T) {
	if os.Getenv(everyVariable) == "" {
		return
	}
	for _, m := range slices.Concat(mutants, languageMutants) {
		if inWorkflows(m) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			open, caught := subject(m), t.Name()+"/"+m.catch
			backendtest.Run(t, func(t *testing.T, opts backendtest.Options) backendtest.Store {
				if t.Name() != caught {
					t.SkipNow()
				}
				return open(t, opts)
			})
		})
	}
}

// inWorkflows reports whether one of the workflows catches a bug. They share a store, so only the command line can choose among
// them.
func inWorkflows(m mutant) bool { return strings.HasPrefix(m.catch, "workflows/") }

// TestMutants runs every planted bug in other processes: the case for it must fail.
func TestMutants(t *testing.T) {
	every := runSubject(t, "^TestEverySubject$", everyVariable+"=all")
	for _, m := range slices.Concat(mutants, languageMutants) {
		t.Run(m.name, func(t *testing.T) {
			pattern := "^TestSubject$/^" + strings.ReplaceAll(m.catch, "/", "$/^") + "$"
			out, caught := every, "--- FAIL: TestEverySubject/"+strings.ReplaceAll(m.name, " ", "_")+"/"+m.catch+" ("
			if inWorkflows(m) {
				out, caught = runSubject(t, pattern, mutantVariable+"="+m.name), "--- FAIL: TestSubject/"+m.catch+" ("
			}
			if !strings.Contains(out, caught) {
				t.Errorf("the bug was not caught by %s\nto repeat: %s='%s' go test ./engine/backend/backendtest -run '%s'", m.catch, mutantVariable, m.name, pattern)
			}
		})
	}
	if t.Failed() {
		t.Log(every)
	}
}

func runSubject(t *testing.T, pattern, variable string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run="+pattern, "-test.v")
	cmd.Env = append(os.Environ(), variable)
	out, err := cmd.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		t.Errorf("with planted bugs, %s gives %v\n%s", pattern, err, out)
	}
	if strings.Contains(string(out), "panic:") {
		t.Errorf("the suite panicked:\n%s", out)
	}
	return string(out)
}
