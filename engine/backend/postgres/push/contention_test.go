package push

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/internal/pgstore"
)

// TestMoved checks that no completion by the owner is stale while a renewal changes its row (I3).
func TestMoved(t *testing.T) {
	t.Run("once", func(t *testing.T) {
		w := newWorld(t)
		tasks := append(w.Launch(designtest.Sequence), w.Launch(designtest.Joining)...)
		var cs []backend.Completion
		for _, task := range tasks {
			cs = append(cs, backendtest.Ran(task))
		}
		tx, err := w.direct.store.Pgx().Begin(w.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(w.Ctx, "UPDATE queue SET due_at = due_at + interval '1 minute'"); err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		var out backend.Committed
		go func() {
			var err error
			out, err = w.through.Complete(w.Ctx, 0, cs, backendtest.Granted(9))
			answered <- err
		}()
		if !w.waits(answered, 1) {
			t.Error("inconclusive: the completions did not wait for their rows")
		}
		if err := tx.Commit(w.Ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-answered; err != nil || backendtest.Answers(out) != "applied applied applied" || len(out.Tasks) != 2 {
			t.Errorf("%s with %d tasks, %v; want all applied, and what follows", backendtest.Answers(out), len(out.Tasks), err)
		}
		w.finish()
	})
	t.Run("hammered", func(t *testing.T) {
		w := newWorld(t)
		wide := designtest.Fanned
		wide.Input, wide.Want = `{"n": 80}`, doubles(80)
		tasks := w.Launch(wide)
		var leases []backend.Lease
		for _, task := range tasks {
			leases = append(leases, task.Lease)
		}
		stop, cancel := context.WithCancel(w.Ctx)
		var extending, completing sync.WaitGroup
		for range 2 {
			extending.Go(func() {
				for stop.Err() == nil {
					if _, err := w.through.Renew(w.Ctx, 0, leases, backendtest.Granted(0)); err != nil {
						t.Errorf("Extend: %v", err)
						return
					}
				}
			})
		}
		for g := range 4 {
			completing.Go(func() {
				for i := g; i < len(tasks); i += 4 {
					out, err := w.direct.Complete(w.Ctx, 0, []backend.Completion{backendtest.Ran(tasks[i])}, backendtest.Granted(1))
					if err != nil || backendtest.Answers(out) != "applied" {
						t.Errorf("I3: the holder of a lease is answered %s, %v", backendtest.Answers(out), err)
					}
				}
			})
		}
		completing.Wait()
		cancel()
		extending.Wait()
		w.finish()
	})
}

func doubles(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprint(2 * i)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func TestNoDeadlock(t *testing.T) {
	w := newWorld(t)
	before := w.Deadlocks()
	cfg := w.cuttable()
	peers := []backend.Backend{open(t, cfg), open(t, cfg), open(t, cfg)}
	var subs []backend.Submission
	for _, wf := range backendtest.Workflows() {
		if wf.Failure == "" && (wf.Build != nil || strings.Contains(wf.Source, "spread")) {
			subs = append(subs, w.Instances(wf, 4)...)
		}
	}
	if len(subs) < 40 {
		t.Fatalf("inconclusive: %d instances", len(subs))
	}
	rec, err := backendtest.Drive(w.Ctx, w.through, subs, backendtest.DriveConfig{Peers: peers, Workers: 6, Max: 50, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Check(); err != nil {
		t.Error(err)
	}
	for _, b := range peers {
		b.Close()
	}
	w.finish() // ends the sessions, so that their counters are complete
	if n := w.Deadlocks() - before; n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

// TestCommitsLockInOrder checks that a commit and a check of leases do not deadlock (D5). The completions are not in key order,
// and both transactions stop at a row in the middle. The engine orders a commit's queue rows, the statement its counters.
func TestCommitsLockInOrder(t *testing.T) {
	w := newWorld(t)
	before := w.Deadlocks()
	tasks := w.numbered(designtest.Sequence, 8)
	var leases []backend.Lease
	var cs []backend.Completion
	for _, task := range tasks {
		leases, cs = append(leases, task.Lease), append(cs, backendtest.Ran(task))
	}
	slices.Reverse(cs)
	tx, err := w.direct.store.Pgx().Begin(w.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(w.Ctx, "SELECT FROM queue WHERE instance_id = $1 FOR UPDATE", leases[4].Key.Instance); err != nil {
		t.Fatal(err)
	}
	var held pgstore.Leases
	for i, l := range leases {
		held.Add(int32(i), l)
	}
	looked, completed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := w.through.store.HeldLeases(w.Ctx, queue, 0, &held)
		looked <- err
	}()
	first := w.waits(looked, 1)
	go func() {
		out, err := w.through.Complete(w.Ctx, 0, cs, backendtest.Granted(0))
		if got := backendtest.Answers(out); err == nil && strings.Count(got, "applied") != len(cs) {
			err = fmt.Errorf("answered %s", got)
		}
		completed <- err
	}()
	if !w.waits(completed, 2) || !first {
		t.Error("inconclusive: the two did not meet")
	}
	if err := tx.Commit(w.Ctx); err != nil {
		t.Fatal(err)
	}
	if a, b := <-looked, <-completed; a != nil || b != nil {
		t.Errorf("the look: %v; the completions: %v", a, b)
	}
	w.finish() // ends the sessions, so that their counters are complete
	if n := w.Deadlocks() - before; n != 0 {
		t.Errorf("D5: %d deadlocks between a commit and a look at leases", n)
	}
}

var nested = backendtest.Workflow{Name: "nested", Input: `{}`, Want: `[6,6,8]`, Source: `
fn pair(input: [], output: [s]):
    a, b = parallel:
        @double(value=1)
        @double(value=2)
    s = a + b

fn main(input: [], output: [r]):
    p, c, d = parallel:
        pair()
        @double(value=3)
        @double(value=4)
    r = [p, c, d]
`}

// TestLaterRoundsLockInOrder has two processes complete runs of the same two instances. Each fills the inner join of one,
// continues at its outer join, and arrives at the outer join of the other. Both stop when each holds what the other wants next.
// It checks that there is no deadlock (D5), and that all is applied.
func TestLaterRoundsLockInOrder(t *testing.T) {
	for name, there := range map[string]bool{"counters that are there": true, "new counters": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.Deadlocks()
			var calls [2][]backend.Completion
			for i := range 2 {
				of := map[string]backend.Task{}
				for _, task := range w.Launch(nested) {
					of[string(task.Args)] = task
				}
				w.Complete(backendtest.Ran(of[`{"value":1}`]))
				if there {
					w.Complete(backendtest.Ran(of[`{"value":4}`]))
				}
				calls[i] = append(calls[i], backendtest.Ran(of[`{"value":2}`]))
				calls[1-i] = append(calls[1-i], backendtest.Ran(of[`{"value":3}`]))
			}
			w.completeInACircle(calls)
			w.finish() // ends the sessions, so that their counters are complete
			if n := w.Deadlocks() - before; n != 0 {
				t.Errorf("D5: %d deadlocks between transactions that continue", n)
			}
		})
	}
}

// TestLaterRoundsWaitInOrder checks that a completion whose later round finds a counter locked is retried, locks that first, and
// waits without a lock timeout.
func TestLaterRoundsWaitInOrder(t *testing.T) {
	w := newWorld(t)
	of := map[string]backend.Task{}
	for _, task := range w.Launch(nested) {
		of[string(task.Args)] = task
	}
	w.Complete(backendtest.Ran(of[`{"value":1}`]), backendtest.Ran(of[`{"value":4}`]))
	tx, err := w.direct.store.Pgx().Begin(w.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(w.Ctx) }() // unless committed
	if _, err := tx.Exec(w.Ctx, "SELECT FROM readiness WHERE required = 3 FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		out, err := w.through.Complete(w.Ctx, 0, []backend.Completion{backendtest.Ran(of[`{"value":2}`])}, backendtest.Granted(0))
		if got := backendtest.Answers(out); err == nil && got != "applied" {
			err = fmt.Errorf("answered %s", got)
		}
		answered <- err
	}()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for first := false; !first; {
		select {
		case err := <-answered:
			t.Fatalf("it did not wait for the counter first: %v", err)
		case <-tick.C:
		}
		if err := w.direct.store.Pool.QueryRow(w.Ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query = $1 AND application_name = left($2, 63))`, lockCountersSQL, w.cuttable().Application).Scan(&first); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(w.Ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	w.finish()
}

func (w *world) completeInACircle(calls [2][]backend.Completion) {
	w.Helper()
	release := w.stopAt("AFTER INSERT OR UPDATE ON readiness FOR EACH STATEMENT")
	cfg := w.cuttable()
	var completing sync.WaitGroup
	for _, call := range calls {
		b := open(w.T, cfg)
		completing.Go(func() {
			defer b.Close()
			out, err := b.Complete(w.Ctx, 0, call, backendtest.Granted(0))
			for pgstore.Contended(err) { // on a slow machine a lock may outlast all tries
				out, err = b.Complete(w.Ctx, 0, call, backendtest.Granted(0))
			}
			if got := backendtest.Answers(out); err != nil || got != "applied applied" {
				w.Errorf("answered %s, %v", got, err)
			}
		})
	}
	w.stopped(2)
	release()
	completing.Wait()
}

func (w *world) stopAt(trigger string) (release func()) {
	w.Helper()
	conn, err := w.direct.store.Pool.Acquire(w.Ctx)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(conn.Release)
	w.Exec(`CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_advisory_xact_lock_shared(hashtext(TG_TABLE_SCHEMA));
		RETURN NEW;
	END $$`)
	w.Exec("CREATE TRIGGER stop " + trigger + " EXECUTE FUNCTION stop()")
	lock := func(sql string) {
		w.Helper()
		if _, err := conn.Exec(w.Ctx, sql); err != nil {
			w.Fatal(err)
		}
	}
	lock("SELECT pg_advisory_lock(hashtext(current_schema()))")
	return func() { lock("SELECT pg_advisory_unlock(hashtext(current_schema()))") }
}

func (w *world) stopped(sessions int) {
	w.Helper()
	w.Eventually("not all have been stopped", `SELECT count(*) = $2 FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event = 'advisory' AND application_name = left($1, 63)`, w.cuttable().Application, sessions)
}

// TestFailingBesideSiblings has instances fail while siblings complete and sweeps run, and checks that no rows of them are left,
// and that running instances are not touched (I10, I12).
func TestFailingBesideSiblings(t *testing.T) {
	const instances = 200
	w := newWorld(t)
	wf := backendtest.Workflow{Name: "siblings", Input: `{}`, Failure: "Bad", Source: `
fn main(input: [], output: [r]):
    a, b, c, d, e = parallel:
        @double(value=1)
        @double(value=2)
        @fail(type="Bad", message="no")
        @items(count=3)
        @double(value=3)
    f = @sum(values=[a, b, e])
    r = @echo(value=f)
`}
	living := w.Launch(designtest.Joining)
	w.Complete(backendtest.Ran(living[0]))
	stored := w.Dump(living[0].Lease.Key.Instance)
	started := w.Submit(w.Instances(wf, instances)...)
	tasks := [2][]backend.Task{}
	for i, task := range started {
		tasks[i%2] = append(tasks[i%2], task)
	}
	stop, cancel := context.WithCancel(w.Ctx)
	var sweeping, completing sync.WaitGroup
	sweeping.Go(func() {
		for stop.Err() == nil {
			if _, err := w.direct.Sweep(w.Ctx, 0); err != nil {
				t.Errorf("Sweep: %v", err)
				return
			}
		}
	})
	for g, b := range []*Backend{w.direct, w.through} {
		completing.Go(func() { w.race(b, tasks[g], uint64(g)) })
	}
	completing.Wait()
	cancel()
	sweeping.Wait()
	w.Clean()
	if got := w.Dump(living[0].Lease.Key.Instance); got != stored {
		t.Errorf("an instance that lives was changed from\n%s\nto\n%s", stored, got)
	}
	w.Eventually("an instance still needs cleanup", "SELECT NOT EXISTS (SELECT FROM instances WHERE needs_cleanup)")
	w.finish()
}

func (w *world) race(b *Backend, tasks []backend.Task, seed uint64) {
	rng := rand.New(rand.NewPCG(7, seed))
	for len(tasks) > 0 {
		n := min(1+rng.IntN(4), len(tasks))
		var cs []backend.Completion
		for _, task := range tasks[:n] {
			cs = append(cs, backendtest.Ran(task))
		}
		tasks = tasks[n:]
		rng.Shuffle(n, func(i, j int) { cs[i], cs[j] = cs[j], cs[i] })
		out, err := b.Complete(w.Ctx, 0, cs, backendtest.Granted(0))
		if err != nil {
			w.Errorf("Complete: %v", err)
			return
		}
		for _, o := range out.Outcomes {
			if o.Answer != backend.Applied && o.Answer != backend.Stale {
				w.Errorf("a completion is answered %s (%v)", o.Answer, o.Err)
			}
		}
	}
}
