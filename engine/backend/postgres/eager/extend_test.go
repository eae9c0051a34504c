package eager

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
)

// TestUnsweptIsNotProlonged has an instance be canceled by a process that dies before it removes what was leased: the
// holder is told, although its row is still there.
func TestUnsweptIsNotProlonged(t *testing.T) {
	w := newWorld(t)
	lease := []backend.Lease{w.launch(sequence)[0].Lease}
	if kept, err := w.b.Extend(w.ctx, 0, lease, backendtest.Granted(0)); err != nil || !kept[0] {
		t.Fatalf("before: held is %v, %v", kept, err)
	}
	w.exec("UPDATE instances SET status = 'canceled', untidy = true, failure = '{}', ended_at = clock_timestamp() WHERE id = $1", lease[0].Key.Instance)
	if kept, err := w.b.Extend(w.ctx, 0, lease, backendtest.Granted(0)); err != nil || kept[0] {
		t.Errorf("a lease of a canceled instance is held: %v, %v", kept, err)
	}
}

// TestProlongationIsNoCircle has leases be prolonged while one transaction has the row of the first, which it takes away, and another
// that of the second, and then wants the first. Who prolongs them waits for one at a time, and has no other meanwhile (D5).
func TestProlongationIsNoCircle(t *testing.T) {
	w := newWorld(t)
	tasks := w.launch(backendtest.Workflow{Name: "pair", Input: `{}`, Want: `[1,2]`, Source: `
fn main(input: [], output: [xs]):
    xs = spread [1, 2]:x -> @echo(value=x)
`})
	first, second := tasks[0].Lease.Token, tasks[1].Lease.Token
	another := first + 1_000_000
	var txs [2]pgx.Tx
	for i, token := range []int64{first, second} {
		tx, err := w.b.store.Pgx().Begin(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(w.ctx) }() // after a commit there is none
		w.within(tx, "SELECT FROM node_ready_state WHERE token = $1 FOR UPDATE", token)
		txs[i] = tx
	}
	w.within(txs[0], "UPDATE node_ready_state SET token = $2 WHERE token = $1", first, another)
	type answer struct {
		kept []bool
		err  error
	}
	prolonged := make(chan answer, 1)
	go func() {
		kept, err := w.b.Extend(w.ctx, 0, []backend.Lease{tasks[0].Lease, tasks[1].Lease}, backendtest.Granted(0))
		prolonged <- answer{kept, err}
	}()
	w.awaitWaitingFor(txs[0])
	if err := txs[0].Commit(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.awaitWaitingFor(txs[1])
	w.within(txs[1], "SELECT FROM node_ready_state WHERE token = $1 FOR UPDATE NOWAIT", another)
	if err := txs[1].Commit(w.ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-prolonged:
		if got.err != nil || got.kept[0] || !got.kept[1] {
			t.Errorf("held is %v, %v; want the second alone", got.kept, got.err)
		}
	case <-w.ctx.Done():
		t.Fatal("the prolongation has not ended")
	}
}

// within makes a statement in a transaction.
func (w *world) within(tx pgx.Tx, sql string, args ...any) {
	w.Helper()
	if _, err := tx.Exec(w.ctx, sql, args...); err != nil {
		w.Fatalf("%s: %v", sql, err)
	}
}

// awaitWaitingFor returns when somebody waits for a transaction.
func (w *world) awaitWaitingFor(tx pgx.Tx) {
	w.Helper()
	for waits := int64(0); waits == 0; {
		waits = w.number("SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))", int64(tx.Conn().PgConn().PID()))
	}
}
