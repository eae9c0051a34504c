package engine_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/pgtest"
)

// placeOrder stores an order together with the instance that ships it: both, or neither.
func placeOrder(ctx context.Context, db *pgx.Conn, store *push.Backend, shipping *plan.Program, order int) (uuid.UUID, error) {
	tx, err := db.Begin(ctx)
	if err != nil {
		return uuid.Nil, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing, after a commit
	if _, err := tx.Exec(ctx, "INSERT INTO orders (number) VALUES ($1)", order); err != nil {
		return uuid.Nil, err
	}
	number := strconv.Itoa(order)
	id := backend.IDOfKey("order " + number) // the id of pulley submit --key 'order 17'
	outcomes, err := store.SubmitTx(ctx, tx, []backend.Submission{{ID: id, Program: shipping, Input: json.RawMessage(`{"order": ` + number + `}`)}})
	if err != nil {
		return uuid.Nil, err
	}
	if outcomes[0].Answer == backend.Refused {
		return uuid.Nil, outcomes[0].Err
	}
	return id, tx.Commit(ctx)
}

const shippingText = `fn main(input: [order], output: [shipped]):
    shipped = @ship(order=order)
    return shipped
`

type shop struct {
	*testing.T
	store    *push.Backend
	db       *pgx.Conn
	schema   string
	shipping *plan.Program
}

func openShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{T: t, schema: pgtest.Schema(t)}
	dsn := pgtest.DSN(t)
	var err error
	if s.store, err = push.Open(t.Context(), push.Config{Store: postgres.Config{DSN: dsn, Schema: s.schema, Application: s.schema}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.store.Close)
	if s.db, err = pgx.Connect(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close(context.WithoutCancel(t.Context())) })
	if s.shipping, err = plan.CompileText("shipping.ir", []byte(shippingText), ir.Limits{}); err != nil {
		t.Fatal(err)
	}
	s.exec("CREATE TEMPORARY TABLE orders (number int PRIMARY KEY)")
	return s
}

func (s *shop) exec(sql string, args ...any) {
	s.Helper()
	if _, err := s.db.Exec(s.Context(), sql, args...); err != nil {
		s.Fatal(err)
	}
}

func (s *shop) status(id uuid.UUID) backend.Status {
	s.Helper()
	found, err := s.store.Lookup(s.Context(), []uuid.UUID{id})
	if err != nil {
		s.Fatal(err)
	}
	return found[0].Status
}

func (s *shop) begin() pgx.Tx {
	s.Helper()
	tx, err := s.db.Begin(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return tx
}

// awaitListener waits until the engine listens: it then has an advisory lock on that connection.
func (s *shop) awaitListener(ctx context.Context) {
	s.Helper()
	for listens := false; !listens; {
		err := s.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE l.locktype = 'advisory' AND l.granted AND a.application_name = $1)`, s.schema).Scan(&listens)
		if err != nil {
			s.Fatal(err)
		}
	}
}

// An engine that polls once an hour ships the order at once: the commit notifies it, although it is of the same store.
func TestSubmitTxWakesEnginesWithTheCommit(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	actions, err := worker.NewRegistry(worker.Action{Name: "ship", Run: func(_ context.Context, call worker.Call) (any, error) {
		var args struct {
			Order int `json:"order"`
		}
		return "shipped", call.Bind(&args)
	}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{Backend: s.store, Workers: actions, Poll: time.Hour, Sweep: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	s.awaitListener(ctx)
	for order := range 3 {
		id, err := placeOrder(ctx, s.db, s.store, s.shipping, order)
		if err != nil {
			t.Fatal(err)
		}
		in, err := e.Wait(ctx, id)
		if err != nil || string(in.Result) != `"shipped"` {
			t.Fatalf("order %d: %+v, %v", order, in, err)
		}
	}
	if _, err := placeOrder(ctx, s.db, s.store, s.shipping, 2); err == nil {
		t.Error("the order was placed twice")
	}
}

func TestSubmitTxIsOfTheCallersTransaction(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	sub := func() backend.Submission {
		return backend.Submission{ID: uuid.New(), Program: s.shipping, Input: json.RawMessage(`{"order": 1}`)}
	}
	s.exec("SET search_path = pg_temp, public; SET lock_timeout = '7s'")
	kept, undone, ended := sub(), sub(), sub()
	ended.Program, _ = plan.CompileText("short.ir", []byte("fn main(input: [order], output: [x]):\n    x = spread order:o -> @ship(order=o)\n    return x\n"), ir.Limits{})
	ended.Input = json.RawMessage(`{"order": []}`)
	wrong := sub()
	wrong.Input = json.RawMessage(`{}`)

	tx := s.begin()
	outcomes, err := s.store.SubmitTx(t.Context(), tx, []backend.Submission{kept, wrong, kept, ended})
	if err != nil || outcomes[0].Answer != backend.Applied || outcomes[1].Answer != backend.Refused || outcomes[2].Answer != backend.Duplicate || outcomes[3].Answer != backend.Applied {
		t.Fatalf("%+v, %v", outcomes, err)
	}
	if again, err := s.store.SubmitTx(t.Context(), tx, []backend.Submission{kept}); err != nil || again[0].Answer != backend.Duplicate {
		t.Errorf("again: %+v, %v", again, err)
	}
	var path, locks string
	if err := tx.QueryRow(t.Context(), "SELECT current_setting('search_path'), current_setting('lock_timeout')").Scan(&path, &locks); err != nil || path != "pg_temp, public" || locks != "7s" {
		t.Errorf("the caller's settings are %q and %q, %v", path, locks, err)
	}
	if got := s.status(kept.ID); got != "" {
		t.Errorf("before the commit the instance is %q", got)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[uuid.UUID]backend.Status{kept.ID: backend.Running, ended.ID: backend.Completed, wrong.ID: ""} {
		if got := s.status(id); got != want {
			t.Errorf("after the commit an instance is %q, want %q", got, want)
		}
	}

	tx = s.begin()
	if _, err := s.store.SubmitTx(t.Context(), tx, []backend.Submission{undone}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.status(undone.ID); got != "" {
		t.Errorf("after a rollback the instance is %q", got)
	}
	var rows int
	for _, table := range []string{"queue", "readiness", "inbox", "elements"} {
		if err := s.db.QueryRow(t.Context(), "SELECT count(*) FROM "+pgx.Identifier{s.schema, table}.Sanitize()+" WHERE instance_id = $1", undone.ID).Scan(&rows); err != nil || rows != 0 {
			t.Errorf("after a rollback %s has %d rows, %v", table, rows, err)
		}
	}
}

func TestSubmitTxRefusals(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	for _, design := range designs.All() {
		if design.Name() == "push" {
			continue
		}
		store, err := design.Open(t.Context(), designs.OpenOptions{DSN: dsn, Schema: pgtest.SchemaOf(t, design.String())})
		if err != nil {
			t.Fatal(err)
		}
		_, err = designs.SubmitTx(t.Context(), store, nil, nil)
		store.Close()
		if err == nil || !strings.HasPrefix(err.Error(), "backend "+design.Name()+" stores no instances in a transaction of others; submit after its commit") {
			t.Errorf("%s: %v", design, err)
		}
	}
	s := openShop(t)
	other, err := push.Open(t.Context(), push.Config{Store: postgres.Config{DSN: dsn, Schema: pgtest.SchemaOf(t, "push")}})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	simple, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	simple.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(t.Context(), simple)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := designs.SubmitTx(t.Context(), s.store, tx, nil); err == nil || !strings.Contains(err.Error(), "simple protocol") {
		t.Errorf("simple protocol: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.exec("DROP SCHEMA " + pgx.Identifier{s.schema}.Sanitize() + " CASCADE")
	mine := s.begin()
	_, err = s.store.SubmitTx(t.Context(), mine, []backend.Submission{})
	if err == nil || !strings.Contains(err.Error(), "has no schema "+s.schema) {
		t.Errorf("another database: %v", err)
	}
	if _, err := mine.Exec(t.Context(), "INSERT INTO orders (number) VALUES (1)"); err != nil {
		t.Errorf("the transaction cannot continue: %v", err)
	}
	if err := mine.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}
