package backendtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

// Options describe the store that a case needs.
type Options struct {
	Shards int // of the new, empty store; at least one
}

// Store is a backend under test, with access to its store beyond the contract.
type Store struct {
	// Backend is the backend under test; the suite closes it.
	Backend backend.Backend

	// Reopen returns another backend on the same store, as for another process; the suite closes it. It is required, and also
	// called after Backend was closed.
	Reopen func(t *testing.T) backend.Backend

	// Leftovers counts, by kind (a table's name), what the store holds for ended instances, without their results. It is
	// required.
	Leftovers func(ctx context.Context) (map[string]int, error)

	// StoredCounts counts, by kind, what the store holds for running instances; values appended to lists count as the kind
	// Appended, or not at all. Nil: the suite does not check that rounds of a loop leave nothing.
	StoredCounts func(ctx context.Context) (map[string]int, error)

	// Advance moves the store's clock forward. Nil: the clock is real time.
	Advance func(d time.Duration)

	// Timeout bounds every case. Zero: fifteen minutes, for a busy machine. A case always ends before go test's -timeout, so that
	// it can report what it waited for.
	Timeout time.Duration
}

// Appended is the kind, in Store.StoredCounts, of values appended to lists: only they may grow with the rounds of a loop.
const Appended = "appended"

// Open makes a new, empty store for a case.
type Open func(t *testing.T, opts Options) Store

// Leases for cases in which a lease must not expire, and in which it must. No case depends on the short one still being held.
const (
	longLease  = time.Hour
	shortLease = 20 * time.Millisecond
)

// Run checks a backend against the contract, each case in a subtest with its own store. Cases run in parallel, since most of them
// mostly wait.
func Run(t *testing.T, open Open) {
	for _, group := range [][]testCase{submitCases, claimCases, deliveryCases, completeCases, leaseCases, storeCases, languageCases, errorCases, cancelCases, scheduleCases, limitCases, signalCases, driveCases} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(start(t, open, c.shards))
			})
		}
	}
	t.Run("workflows", func(t *testing.T) {
		t.Parallel()
		r := start(t, open, 3) // they share a store and must not disturb each other
		if r.Advance == nil && !depth.Night() {
			r.runTogether(Workflows())
			return
		}
		for _, w := range Workflows() {
			t.Run(w.Name, func(t *testing.T) { w.run(r.in(t)) })
		}
	})
}

type testCase struct {
	name   string
	shards int // zero: one
	run    func(*rig)
}

type rig struct {
	*testing.T
	Store
	ctx    context.Context
	b      backend.Backend
	shards int
}

func start(t *testing.T, open Open, shards int) *rig {
	t.Helper()
	shards = max(shards, 1)
	s := open(t, Options{Shards: shards})
	t.Cleanup(s.Backend.Close)
	if s.Timeout <= 0 {
		s.Timeout = 15 * time.Minute
	}
	if got := s.Backend.Shards(); got != shards {
		t.Fatalf("the store has %d shards; %d were asked for", got, shards)
	}
	r := &rig{Store: s, b: s.Backend, shards: shards}
	return r.in(t)
}

func (r *rig) in(t *testing.T) *rig {
	t.Helper()
	sub := *r
	sub.T = t
	ctx, cancel := depth.Within(context.Background(), t, r.Timeout)
	t.Cleanup(cancel)
	sub.ctx = ctx
	return &sub
}

func (r *rig) reopen() backend.Backend {
	r.Helper()
	b := r.Reopen(r.T)
	r.Cleanup(b.Close)
	return b
}

func grant(n int) backend.Grant {
	return backend.Grant{Owner: "suite", Max: n, Lease: longLease}
}

func brief(n int) backend.Grant {
	return backend.Grant{Owner: "suite", Max: n, Lease: shortLease}
}

// MustCompile compiles a program's text, or fails the test.
func MustCompile(t testing.TB, src string) *plan.Program {
	t.Helper()
	p, err := plan.CompileText("test.ir", []byte(src), ir.Limits{})
	if err != nil {
		t.Fatalf("compiling the program: %v\n%s", err, src)
	}
	return p
}

func mustPlan(t testing.TB, g *graph.Graph) *plan.Program {
	t.Helper()
	p, err := plan.Compile(g)
	if err != nil {
		t.Fatalf("planning graph %s: %v", g.Name, err)
	}
	return p
}

func submission(p *plan.Program, input string) backend.Submission {
	return backend.Submission{ID: uuid.New(), Program: p, Input: json.RawMessage(input)}
}

func (r *rig) submit(g backend.Grant, subs ...backend.Submission) backend.Committed {
	r.Helper()
	out, err := insist(subs, g, func(subs []backend.Submission, g backend.Grant) (backend.Committed, error) {
		return r.b.Submit(r.ctx, subs, g)
	})
	if err != nil {
		r.Fatalf("Submit: %v", err)
	}
	return out
}

// insist makes a call, and repeats it for members answered Again, with the combined result.
func insist[T any](members []T, g backend.Grant, call func([]T, backend.Grant) (backend.Committed, error)) (backend.Committed, error) {
	all := backend.Committed{Outcomes: make([]backend.Outcome, len(members))}
	open := make([]int, len(members)) // without a final answer
	for i := range open {
		open[i] = i
	}
	for first := true; first || len(open) > 0; first = false {
		batch := make([]T, len(open))
		for i, at := range open {
			batch[i] = members[at]
		}
		out, err := call(batch, g)
		if err == nil && (len(out.Outcomes) != len(batch) || len(out.Tasks) > g.Max) {
			err = fmt.Errorf("%d outcomes for %d members, and %d tasks for a grant of %d",
				len(out.Outcomes), len(batch), len(out.Tasks), g.Max)
		}
		if err != nil {
			return all, err
		}
		g.Max -= len(out.Tasks)
		all.Tasks, all.Ended = append(all.Tasks, out.Tasks...), append(all.Ended, out.Ended...)
		all.More, all.NextDue = out.More, out.NextDue
		var again []int
		for i, o := range out.Outcomes {
			if all.Outcomes[open[i]] = o; o.Answer == backend.Again {
				again = append(again, open[i])
			}
		}
		open = again
	}
	return all, nil
}

func (r *rig) launch(src, input string, g backend.Grant) (uuid.UUID, []backend.Task) {
	r.Helper()
	sub := submission(MustCompile(r, src), input)
	out := r.submit(g, sub)
	r.answers(out, backend.Applied)
	return sub.ID, out.Tasks
}

func (r *rig) several(src, input string, n int) (uuid.UUID, []backend.Task) {
	r.Helper()
	id, tasks := r.launch(src, input, grant(n))
	if len(tasks) != n {
		r.Fatalf("%d tasks; want %d", len(tasks), n)
	}
	return id, tasks
}

func (r *rig) submitOne(src, input string, g backend.Grant) backend.Task {
	r.Helper()
	_, tasks := r.launch(src, input, g)
	if len(tasks) != 1 {
		r.Fatalf("%d tasks were granted at the start; want one", len(tasks))
	}
	return tasks[0]
}

func (r *rig) claim(shard int, g backend.Grant) backend.Committed {
	r.Helper()
	out, err := r.b.Claim(r.ctx, shard, g)
	if err != nil {
		r.Fatalf("Claim: %v", err)
	}
	if out.Outcomes != nil {
		r.Fatalf("Claim: %d outcomes; want nil", len(out.Outcomes))
	}
	if len(out.Tasks) > g.Max {
		r.Fatalf("Claim: %d tasks; the grant was for %d", len(out.Tasks), g.Max)
	}
	return out
}

// eventually claims from shard 0 until it gets tasks, and moves the clock if it can.
func (r *rig) eventually(g backend.Grant) []backend.Task {
	r.Helper()
	for {
		if out := r.claim(0, g); len(out.Tasks) > 0 {
			return out.Tasks
		}
		pause(r.ctx, 2*time.Millisecond, r.Advance)
	}
}

func (r *rig) complete(g backend.Grant, completions ...backend.Completion) backend.Committed {
	r.Helper()
	return r.completeOn(r.b, g, completions...)
}

func (r *rig) applied(g backend.Grant, completions ...backend.Completion) backend.Committed {
	r.Helper()
	out := r.complete(g, completions...)
	r.answers(out, slices.Repeat([]backend.Answer{backend.Applied}, len(completions))...)
	return out
}

func (r *rig) completeOn(b backend.Backend, g backend.Grant, completions ...backend.Completion) backend.Committed {
	r.Helper()
	out, err := r.offer(b, g, completions)
	if err != nil {
		r.Fatalf("Complete: %v", err)
	}
	return out
}

// offer is completeOn with an error, for any goroutine.
func (r *rig) offer(b backend.Backend, g backend.Grant, completions []backend.Completion) (backend.Committed, error) {
	shard := 0
	if len(completions) > 0 {
		shard = backend.ShardOf(completions[0].Lease.Key.Instance, r.shards)
	}
	return insist(completions, g, func(cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
		return b.Complete(r.ctx, shard, cs, g)
	})
}

func (r *rig) answers(out backend.Committed, want ...backend.Answer) {
	r.Helper()
	if len(out.Outcomes) != len(want) {
		r.Fatalf("%d outcomes; want %d", len(out.Outcomes), len(want))
	}
	for i, o := range out.Outcomes {
		if o.Answer != want[i] {
			r.Fatalf("outcome %d is %q (%v); want %q", i, o.Answer, o.Err, want[i])
		}
		if (o.Answer == backend.Refused) != (o.Err != nil) {
			r.Fatalf("outcome %d is %q with the error %v; a refusal has one, nothing else does", i, o.Answer, o.Err)
		}
	}
}

func done(t backend.Task, result string) backend.Completion {
	return backend.Completion{Lease: t.Lease, Program: t.Program, Attempt: t.Attempt, Result: json.RawMessage(result)}
}

func failed(t backend.Task, typ string) backend.Completion {
	return backend.Completion{
		Lease: t.Lease, Program: t.Program, Attempt: t.Attempt,
		Failure: &plan.Failure{Type: typ, Message: "made to fail"},
	}
}

func (r *rig) instance(id uuid.UUID) backend.Instance {
	r.Helper()
	found, err := r.b.Lookup(r.ctx, []uuid.UUID{id})
	if err != nil {
		r.Fatalf("Lookup: %v", err)
	}
	if len(found) != 1 {
		r.Fatalf("Lookup: %d instances for one id", len(found))
	}
	return found[0]
}

func (r *rig) completed(id uuid.UUID, want string) {
	r.Helper()
	if got := r.instance(id); got.Status != backend.Completed || string(got.Result) != want {
		r.Fatalf("instance %s; want it completed with %s", describe(got), want)
	}
}

func (r *rig) clean() {
	r.Helper()
	for shard := range r.shards {
		for more := true; more; {
			swept, err := r.b.Sweep(r.ctx, shard)
			if err != nil {
				r.Fatalf("Sweep: %v", err)
			}
			more = swept.More
		}
	}
	left, err := r.Leftovers(r.ctx)
	if err != nil {
		r.Fatalf("Leftovers: %v", err)
	}
	for kind, n := range left {
		if n != 0 {
			r.Errorf("I10: %d %s are left for instances that ended", n, kind)
		}
	}
}
