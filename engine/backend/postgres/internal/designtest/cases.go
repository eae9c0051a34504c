package designtest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
	"pulley/internal/pgtest"
)

// Conformance runs the suite of backends, each case in its own schema. held counts what is stored; nil: it is not checked.
func Conformance[B Backend](t *testing.T, design string, open func(testing.TB, postgres.Config) B, held func(B, context.Context) (map[string]int, error)) {
	backendtest.Run(t, func(t *testing.T, opts backendtest.Options) backendtest.Store {
		cfg := SharedConfig(t, design, opts.Shards)
		b := open(t, cfg)
		checker := sync.OnceValue(func() B { return open(t, cfg) }) // many cases need none
		store := backendtest.Store{
			Backend:   b,
			Reopen:    func(t *testing.T) backend.Backend { return open(t, cfg) },
			Leftovers: func(ctx context.Context) (map[string]int, error) { return checker().Leftovers(ctx) },
		}
		if held != nil {
			store.StoredCounts = func(ctx context.Context) (map[string]int, error) { return held(checker(), ctx) }
		}
		return store
	})
}

type deferringClock struct {
	pgstore.Clock
	*backendtest.Background
}

func (k deferringClock) Go(job func()) { k.Keep(job) }

// EndIsAnsweredBeforeTheCleanup runs backendtest.Cleaning. table has the node runs.
func EndIsAnsweredBeforeTheCleanup(t *testing.T, table string, open func(testing.TB, postgres.Config) (Backend, *pgstore.Store)) {
	var n pgtest.Statements
	b, store := open(t, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Shards: 1, Tracer: &n})
	background := &backendtest.Background{}
	store.Clock = deferringClock{store.Clock, background}
	c := backendtest.Cleaning{Backend: b, Background: background, Statements: n.Sent.Load, Leftovers: func() int {
		rows, err := b.Leftovers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return rows[table]
	}, NeedCleanup: func() (marked int) {
		if err := store.Pool.QueryRow(t.Context(), "SELECT count(*) FROM instances WHERE needs_cleanup").Scan(&marked); err != nil {
			t.Fatal(err)
		}
		return marked
	}}
	c.TestEnds(t)
}

// UnsweptIsNotRenewed checks that a lease of a cancelled instance is not renewed while its row still exists, as after a crash
// before the cleanup.
func (w *World) UnsweptIsNotRenewed() {
	w.Helper()
	lease := []backend.Lease{w.Launch(Sequence)[0].Lease}
	if kept, err := w.B.Renew(w.Ctx, 0, lease, backendtest.Granted(0)); err != nil || !kept[0] {
		w.Fatalf("before: held is %v, %v", kept, err)
	}
	w.Exec("UPDATE instances SET status = 'canceled', needs_cleanup = true, failure = '{}', ended_at = clock_timestamp() WHERE id = $1", lease[0].Key.Instance)
	if kept, err := w.B.Renew(w.Ctx, 0, lease, backendtest.Granted(0)); err != nil || kept[0] {
		w.Errorf("a lease of a canceled instance is held: %v, %v", kept, err)
	}
}

// OverdueComesFirst checks that a swept node run with an expired lease comes before all that wait for their first lease, and that
// nothing else changes its place.
func (w *World) OverdueComesFirst() {
	w.Helper()
	lost := w.Launch(Sequence)[0].Lease
	const queued = 3
	for range queued {
		w.Launch(Sequence)
	}
	w.Exec(fmt.Sprintf("UPDATE %s q SET %s, due_at = clock_timestamp() - interval '1 minute' WHERE %s AND instance_id <> $1", w.Design.Table, w.Design.Free, w.Design.Leased), lost.Key.Instance)
	w.Expire()
	sweep := func() {
		if _, err := w.B.Sweep(w.Ctx, 0); err != nil {
			w.Fatal(err)
		}
	}
	sweep()
	sweep() // which has nothing to do
	out, err := w.B.Claim(w.Ctx, 0, backendtest.Granted(1))
	if err != nil || len(out.Tasks) != 1 || out.Tasks[0].Lease.Key != lost.Key || out.Tasks[0].Lease.Token == lost.Token {
		w.Fatalf("behind %d that were queued before its lease ended: %+v, %v; want %+v under another token", queued, out.Tasks, err, lost)
	}
	sweep()
	if out, err = w.B.Claim(w.Ctx, 0, backendtest.Granted(10)); err != nil || len(out.Tasks) != queued {
		w.Errorf("then %+v come, %v; want %d, and not what is leased", out.Tasks, err, queued)
	}
}

// Slope fits y = c·x^slope.
func Slope(xs, ys []float64) float64 {
	var n, sx, sy, sxx, sxy float64
	for i := range xs {
		x, y := math.Log(xs[i]), math.Log(ys[i])
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// LostLeases checks that what a lost commit made ready can be claimed at once, before the leases expire that nobody knows. fresh
// returns a backend behind the proxy of the cut.
func (w *World) LostLeases(p *pgtest.Proxy, c pgtest.Cut, fresh func() backend.Backend) {
	w.Helper()
	lost := 0
	for c = c.At(1); c.K <= messagesMax; c = c.At(c.K + 1) {
		through := fresh()
		if _, err := w.B.Claim(w.Ctx, 0, backendtest.Granted(leasesMax)); err != nil { // left by the call that was cut off
			w.Fatal(err)
		}
		task := w.Launch(Sequence)[0]
		p.Set(c)
		out, err := through.Complete(w.Ctx, 0, Ran(task), backendtest.Granted(10))
		if !p.Unset() {
			break
		}
		if err != nil || len(out.Tasks) > 0 {
			continue
		}
		lost++
		claimed, err := w.B.Claim(w.Ctx, 0, backendtest.Granted(10))
		if err != nil || !out.More || len(claimed.Tasks) != 1 ||
			claimed.Tasks[0].Lease.Key.Instance != task.Lease.Key.Instance || claimed.Tasks[0].Deliveries != 1 {
			w.Fatalf("%s: More is %t, and %d tasks are to be claimed (%v); want the one that was made ready, at its first delivery", c, out.More, len(claimed.Tasks), err)
		}
	}
	if lost == 0 {
		w.Error("inconclusive: no commit was lost after it was applied")
	}
}

// CancelledInOneCall completes the runs of CaughtTwice together, in an order; one cancels the others. It checks that the handler
// runs once and that repeated completions are stale, and returns the answers.
func (w *World) CancelledInOneCall(order []int) (answers string) {
	w.Helper()
	tasks := w.Launch(CaughtTwice)
	var cs []backend.Completion
	for _, i := range order {
		cs = append(cs, backendtest.Ran(tasks[i]))
	}
	out := w.Complete(cs...)
	if answers = backendtest.Answers(out); len(out.Tasks) != 1 || out.Tasks[0].Action != "double" {
		w.Errorf("%s, and %d tasks; want the handler's", answers, len(out.Tasks))
	}
	if again := backendtest.Answers(w.CompleteTasks(tasks...)); again != "stale stale stale" {
		w.Errorf("offered again: %s; want stale", again)
	}
	return answers
}

// CancelRaces has several processes complete the branches of failing spreads, in small concurrent batches. It checks that one
// error of each spread is caught, that there is no deadlock (D5), and that no rows are left. end closes the processes, so that
// their counters are complete.
func (w *World) CancelRaces(processes []backend.Backend, end func()) {
	w.Helper()
	before := w.Deadlocks()
	rec, err := backendtest.Drive(w.Ctx, processes[0], w.Instances(backendtest.Races, 30), backendtest.DriveConfig{Peers: processes[1:], Workers: 8, Max: 20, Seed: 5})
	if err != nil {
		w.Fatal(err)
	}
	if err := rec.Check(); err != nil {
		w.Error(err)
	}
	end()
	if n := w.Deadlocks() - before; n != 0 {
		w.Errorf("%d deadlocks", n)
	}
}

// EndLooksForOthers checks that an instance that fails alone takes all its rows along, and that one with a sibling in the queue
// needs cleanup. A lock on the sibling's row keeps the cleanup from removing it.
func (w *World) EndLooksForOthers(b backend.Backend) {
	w.Helper()
	for others, wf := range map[bool]backendtest.Workflow{false: FailsAlone, true: Failing} {
		tasks := w.Launch(wf)
		failed := FailureOf(tasks)
		release := w.holdRows(tasks, failed)
		out, err := b.Complete(w.Ctx, 0, []backend.Completion{backendtest.Ran(failed)}, backendtest.Granted(9))
		if err != nil || backendtest.Answers(out) != "applied" || len(out.Ended) != 1 {
			w.Fatalf("%s, %+v, %v; want it applied, and the end", backendtest.Answers(out), out.Ended, err)
		}
		id := failed.Lease.Key.Instance
		var needsCleanup bool
		if err := w.Querier.QueryRow(w.Ctx, "SELECT needs_cleanup FROM instances WHERE id = $1", id).Scan(&needsCleanup); err != nil {
			w.Fatal(err)
		}
		if rows := strings.Count(w.Dump(id), "\n"); needsCleanup != others || (rows > 0) != others {
			w.Errorf("others at work: %t; the instance needs cleanup: %t, with these rows:\n%s", others, needsCleanup, w.Dump(id))
		}
		release()
		w.Forget(id)
	}
	w.Finish()
}

func (w *World) holdRows(tasks []backend.Task, but backend.Task) (release func()) {
	w.Helper()
	conn, err := pgx.Connect(w.Ctx, w.Cfg.DSN)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = conn.Close(context.WithoutCancel(w.Ctx)) })
	do := func(sql string, args ...any) {
		w.Helper()
		if _, err := conn.Exec(w.Ctx, sql, args...); err != nil {
			w.Fatal(err)
		}
	}
	do("BEGIN")
	for _, t := range tasks {
		if t.Lease.Token != but.Lease.Token {
			do("SELECT FROM "+pgx.Identifier{w.Cfg.Schema, w.Design.Table}.Sanitize()+" WHERE token = $1 FOR KEY SHARE", t.Lease.Token)
		}
	}
	return func() { do("COMMIT") }
}

// CancelledAfterClaim cancels node runs between their claim and the reading of their arguments, whose values have changed by
// then. It checks that the claim does not return them. claiming is the design's, for an owner.
func (w *World) CancelledAfterClaim(store *pgstore.Store, claiming func(owner string) pgstore.Claiming) {
	w.Helper()
	claim := func(between func()) []backend.Task {
		by := claiming("another")
		by.Values = &behindClaim{by.Values, between}
		out, err := store.Claim(w.Ctx, 0, backend.Grant{Owner: "another", Max: 10, Lease: time.Minute}, by)
		if err != nil {
			w.Fatal(err)
		}
		return out.Tasks
	}
	out, err := w.B.Submit(w.Ctx, w.Instances(referring, 1), backendtest.Granted(1))
	if err != nil || len(out.Tasks) != 1 {
		w.Fatalf("%d tasks, %v; want one", len(out.Tasks), err)
	}
	if got := claim(func() {}); len(got) != 2 || len(got[0].Args) < 1280 {
		w.Fatalf("before anything is cancelled: %+v; want two", got)
	}
	w.Exec(fmt.Sprintf("UPDATE %s SET due_at = clock_timestamp() WHERE token > $1", w.Design.Table), out.Tasks[0].Lease.Token)
	var handler []backend.Task
	if got := claim(func() { handler = w.CompleteTasks(out.Tasks[0]).Tasks }); len(got) != 0 {
		w.Errorf("behind it: %+v; want none", got)
	}
	w.CompleteTasks(handler[0])
	w.Finish()
}

type behindClaim struct {
	pgstore.Values
	do func()
}

func (v *behindClaim) Need(instance uuid.UUID, number int32, slots []plan.Slot) {
	v.do()
	v.do = func() {}
	v.Values.Need(instance, number, slots)
}
