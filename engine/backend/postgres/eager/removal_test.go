package eager

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/internal/pgstore"
)

// TestRemovalIsNoCircle checks that a completion that removes an instance's rows does not wait for a transaction that holds the
// row of a completed run and waits for the instance's last run (D5).
func TestRemovalIsNoCircle(t *testing.T) {
	w := newWorld(t)
	before := w.Deadlocks()
	tasks := w.Launch(backendtest.Workflow{Name: "pair", Input: `{}`, Want: `[1,2]`, Source: `
fn main(input: [], output: [xs]):
    xs = spread [1, 2]:x -> @echo(value=x)
`})
	w.Complete(backendtest.Ran(tasks[0]))
	tx, err := w.b.store.Pgx().Begin(w.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(w.Ctx) }() // unless committed
	lock := func(token int64) error {
		_, err := tx.Exec(w.Ctx, "SELECT FROM node_ready_state WHERE token = $1 FOR UPDATE", token)
		return err
	}
	if err := lock(tasks[0].Lease.Token); err != nil {
		t.Fatal(err)
	}
	other := make(chan error, 1)
	var once sync.Once
	b := On(w.watched(func(events []Applied) {
		if events[0].Plan.End == nil {
			return
		}
		once.Do(func() { // the completion holds its row by now
			go func() { other <- errors.Join(lock(tasks[1].Lease.Token), tx.Commit(context.WithoutCancel(w.Ctx))) }()
			w.awaitWaiting(tx)
		})
	}))
	out, err := b.Complete(w.Ctx, 0, []backend.Completion{backendtest.Ran(tasks[1])}, backendtest.Granted(0))
	if err != nil || backendtest.Answers(out) != "applied" || len(out.Ended) != 1 {
		t.Errorf("the last completion: %s (%v), and %d ends; want it applied, and one", backendtest.Answers(out), err, len(out.Ended))
	}
	select {
	case err := <-other:
		if err != nil {
			t.Errorf("who waited: %v", err)
		}
	case <-w.Ctx.Done():
		t.Fatal("nobody has waited")
	}
	w.Finish()
	if n := w.Deadlocks() - before; n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

func (w *world) watched(applies func([]Applied)) *pgstore.Store {
	s := w.b.store
	return pgstore.On(pgstore.Host{
		Pool: watchedPool{s.Pool, applies}, Clock: pgstore.Machine{}, Schema: s.Schema, Name: "watched", Shards: s.Shards(),
	})
}

type watchedPool struct {
	pgstore.Pool
	applies func([]Applied)
}

func (p watchedPool) Acquire(ctx context.Context) (pgstore.Conn, error) {
	c, err := p.Pool.Acquire(ctx)
	return watchedConn{c, p.applies}, err
}

type watchedConn struct {
	pgstore.Conn
	applies func([]Applied)
}

func (c watchedConn) Applies(events any) { c.applies(events.([]Applied)) }

func (w *world) awaitWaiting(tx pgx.Tx) {
	w.Helper()
	for waits := int64(0); waits == 0; {
		waits = w.Number("SELECT count(*) FROM pg_locks WHERE pid = $1 AND NOT granted", int64(tx.Conn().PgConn().PID()))
	}
}
