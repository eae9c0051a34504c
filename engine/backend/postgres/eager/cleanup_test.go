package eager

import (
	"context"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver/pgtest"
	"pulley/engine/plan"
)

// sent counts the statements that go to the server.
type sent struct {
	mu sync.Mutex
	n  int
}

func (s *sent) add() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
}

func (s *sent) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

func (s *sent) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (s *sent) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) { s.add() }
func (s *sent) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (s *sent) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { s.add() }
func (s *sent) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// keeping is a clock that keeps what is to go on in the background until it is asked for it.
type keeping struct {
	postgres.Clock
	jobs []func()
}

func (k *keeping) Go(job func()) { k.jobs = append(k.jobs, job) }

func (k *keeping) run() {
	for len(k.jobs) > 0 {
		job := k.jobs[0]
		k.jobs = k.jobs[1:]
		job()
	}
}

// TestEndIsAnsweredBeforeTheCleanup ends instances of different sizes by a failure. A completion sends the same number of
// statements whatever is left of its instance, which goes in the background (I10), or by a
// sweep, where the background does not come to it.
func TestEndIsAnsweredBeforeTheCleanup(t *testing.T) {
	ctx := t.Context()
	var n sent
	b := open(t, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Shards: 1, Tracer: &n})
	clock := &keeping{Clock: b.store.Clock}
	b.store.Clock = clock
	p := fanned.Program(t)
	fail := func(input string) (statements int) {
		out, err := b.Submit(ctx, []backend.Submission{{ID: uuid.New(), Program: p, Input: []byte(input)}}, backendtest.Granted(1))
		if err != nil {
			t.Fatal(err)
		}
		c := backend.Completion{Lease: out.Tasks[0].Lease, Program: p, Attempt: 1, Failure: &plan.Failure{Type: "Bad"}}
		before := n.count()
		out, err = b.Complete(ctx, 0, []backend.Completion{c}, backendtest.Granted(0))
		if err != nil || backendtest.Answers(out) != "applied" || len(out.Ended) != 1 {
			t.Fatalf("%s, %d ended (%v); want one applied that ends its instance", backendtest.Answers(out), len(out.Ended), err)
		}
		return n.count() - before
	}
	left := func() int {
		rows, err := b.Leftovers(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return rows["node_ready_state"]
	}
	fail(`{"n": 2}`) // which finds out for whom it leases
	small, large := fail(`{"n": 2}`), fail(`{"n": 2000}`)
	if small != large || small == 0 {
		t.Errorf("the end of a small instance takes %d statements, that of a large one %d", small, large)
	}
	if left() < 2000 {
		t.Fatalf("%d rows are left; want those of the large instance, or this shows nothing", left())
	}
	clock.run()
	if rows := left(); rows > 0 {
		t.Errorf("%d rows are left after the cleanup in the background", rows)
	}
	fail(`{"n": 50}`)
	if left() < 49 {
		t.Fatalf("%d rows are left; want those of the last instance, or this shows nothing", left())
	}
	if _, err := b.Sweep(ctx, 0); err != nil || left() > 0 {
		t.Errorf("%d rows are left after a sweep (%v)", left(), err)
	}
	clock.run() // it comes late
	var untidy int
	if err := b.store.Pool.QueryRow(ctx, "SELECT count(*) FROM instances WHERE untidy").Scan(&untidy); err != nil || untidy > 0 {
		t.Errorf("%d instances are still said to be untidy (%v)", untidy, err)
	}
}
