package pgbouncer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/postgres"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/depth"
	"pulley/internal/pgbouncer"
	"pulley/internal/pgdial"
	"pulley/internal/pgtest"
)

const faultsSource = `fn main(input: [count], output: [total]):
    all = spread range(count):i -> @work(i=i)
    return sum(all)
`

// patience bounds a test that waits for engines.
const patience = 3 * time.Minute

// faultsWorld is an engine on a store behind a pooler, and counts its actions.
type faultsWorld struct {
	*testing.T
	ctx     context.Context
	direct  string
	schema  string
	bouncer *pgbouncer.Bouncer
	store   backend.Backend
	engine  *engine.Engine
	begun   atomic.Int64
	reached map[int64]chan struct{} // closed when so many actions have begun
}

func newFaultsWorld(t *testing.T, w way, spec designs.Spec, at ...int64) *faultsWorld {
	t.Helper()
	ctx, cancel := depth.Within(context.Background(), t, patience)
	t.Cleanup(cancel)
	f := &faultsWorld{T: t, ctx: ctx, direct: pgtest.DSN(t), schema: pgtest.Schema(t), reached: map[int64]chan struct{}{}}
	for _, n := range at {
		f.reached[n] = make(chan struct{})
	}
	f.bouncer = w.start(t, f.direct, 20)
	f.store = f.open(spec, designs.OpenOptions{PoolMode: w.told})
	f.engine = f.start(f.store)
	return f
}

func (f *faultsWorld) open(spec designs.Spec, o designs.OpenOptions) backend.Backend {
	f.Helper()
	o.DSN, o.Schema, o.Application, o.Connections, o.Lease = f.bouncer.DSN(databaseOf(f, f.direct)), f.schema, f.schema, 4, time.Second
	b, err := spec.Open(f.ctx, o)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(b.Close)
	return b
}

func (f *faultsWorld) start(b backend.Backend) *engine.Engine {
	f.Helper()
	actions, err := worker.NewRegistry(worker.Action{Name: "work", Run: func(_ context.Context, call worker.Call) (any, error) {
		var args struct {
			I int `json:"i"`
		}
		if err := call.Bind(&args); err != nil {
			return nil, err
		}
		if reached := f.reached[f.begun.Add(1)]; reached != nil {
			close(reached)
		}
		return args.I, nil
	}})
	if err != nil {
		f.Fatal(err)
	}
	e, err := engine.New(engine.Config{Backend: b, Workers: actions, Slots: 8, Lease: 3 * time.Second})
	if err != nil {
		f.Fatal(err)
	}
	if err := e.Start(f.ctx); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := e.Stop(f.ctx); err != nil && !errors.Is(err, engine.ErrNotRunning) {
			f.Errorf("the engine does not stop: %v", err)
		}
	})
	return e
}

func (f *faultsWorld) submit(on *engine.Engine, count int) uuid.UUID {
	f.Helper()
	p, err := plan.CompileText("faults.ir", []byte(faultsSource), ir.Limits{})
	if err != nil {
		f.Fatal(err)
	}
	id, err := on.Submit(f.ctx, engine.SubmitRequest{Program: p, Input: json.RawMessage(fmt.Sprintf(`{"count": %d}`, count))})
	if err != nil {
		f.Fatal(err)
	}
	return id
}

func (f *faultsWorld) await(n int64) {
	f.Helper()
	select {
	case <-f.reached[n]:
	case <-f.ctx.Done():
		f.Fatalf("%d actions have begun; %d are waited for", f.begun.Load(), n)
	}
}

func (f *faultsWorld) ends(on *engine.Engine, id uuid.UUID, count int) {
	f.Helper()
	got, err := on.Wait(f.ctx, id)
	if err != nil {
		f.Fatal(err)
	}
	if want := fmt.Sprint(count * (count - 1) / 2); got.Status != backend.Completed || string(got.Result) != want {
		f.Errorf("the instance is %s with %s (%v); want completed with %s", got.Status, got.Result, got.Failure, want)
	}
}

// cut ends the server processes of the engine's connections, and returns how many.
func (f *faultsWorld) cut() (n int) {
	f.Helper()
	conn, err := pgx.Connect(f.ctx, f.direct)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = conn.Close(f.ctx) }()
	const end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = left($1, 63)"
	if err := conn.QueryRow(f.ctx, end, f.schema).Scan(&n); err != nil {
		f.Fatal(err)
	}
	return n
}

// TestReconnects ends server processes behind the pooler, and the pooler, while an instance runs.
func TestReconnects(t *testing.T) {
	count := depth.Of(120, 1500)
	for _, c := range cells() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			first, second := int64(count/4), int64(count/2)
			f := newFaultsWorld(t, c.way, c.spec, first, second)
			id := f.submit(f.engine, count)
			f.await(first)
			if f.cut() == 0 {
				t.Error("no server process was there to be ended")
			}
			f.await(second)
			if err := f.bouncer.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := f.bouncer.Start(f.ctx); err != nil {
				t.Fatal(err)
			}
			f.ends(f.engine, id, count)
		})
	}
}

// TestPolls checks that an engine finds what another one has stored, without notifications, and says once that there are none.
func TestPolls(t *testing.T) {
	for _, spec := range designs.Durable() {
		t.Run(spec.String(), func(t *testing.T) {
			t.Parallel()
			f := newFaultsWorld(t, way{mode: "transaction"}, spec)
			var told atomic.Int64
			other := f.start(f.open(spec, designs.OpenOptions{Problem: func(err error) {
				if strings.Contains(err.Error(), "--direct-dsn") {
					told.Add(1)
				}
			}}))
			for range 3 {
				f.ends(f.engine, f.submit(other, 10), 10)
			}
			if err := other.Stop(f.ctx); err != nil {
				t.Error(err)
			}
			if n := told.Load(); n != 1 {
				t.Errorf("it says %d times that there are no notifications; want once", n)
			}
		})
	}
}

// TestRefusals checks that what cannot work is refused in one line that says what to do.
func TestRefusals(t *testing.T) {
	direct := pgtest.DSN(t)
	through := map[string]string{}
	for _, mode := range []string{"session", "transaction", "statement"} {
		through[mode] = way{mode: mode}.start(t, direct, 10).DSN(databaseOf(t, direct))
	}
	elsewhere, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere.Path = "/template1"
	for _, c := range []struct {
		name string
		o    designs.OpenOptions
		want string
	}{
		{name: "sessions of a pooler of transactions", o: designs.OpenOptions{DSN: through["transaction"], PoolMode: postgres.PoolSession}, want: "does not pool sessions"},
		{name: "a pooler of statements", o: designs.OpenOptions{DSN: through["statement"]}, want: "the designs need transactions"},
		{name: "settings at the start", o: designs.OpenOptions{DSN: through["session"], PoolMode: postgres.PoolNone}, want: "leave the pool mode out"},
		{name: "a direct DSN through a pooler", o: designs.OpenOptions{DSN: through["transaction"], DirectDSN: through["session"]}, want: "leads through a pooler, too"},
		{name: "a direct DSN of another database", o: designs.OpenOptions{DSN: through["transaction"], DirectDSN: elsewhere.String()}, want: "another server or database"},
		{name: "an unknown mode", o: designs.OpenOptions{DSN: direct, PoolMode: "statement"}, want: "choose detect, none, session or transaction"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec, err := designs.Parse("push")
			if err != nil {
				t.Fatal(err)
			}
			c.o.Schema = pgtest.Schema(t)
			b, err := spec.Open(t.Context(), c.o)
			if err == nil {
				b.Close()
				t.Fatal("it is opened")
			}
			if text := err.Error(); !strings.Contains(text, c.want) || strings.Contains(text, "\n") {
				t.Errorf("it says %q; want a line with %q", text, c.want)
			}
		})
	}
}

func detected(t *testing.T, dsn string) string {
	t.Helper()
	link, conn, err := pgdial.Open(t.Context(), postgres.Config{DSN: dsn, Schema: "none"}, func(context.Context, *pgx.Conn) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
	text := string(link.Mode())
	if link.TracksNames() {
		text += ", tracked"
	}
	return text
}

// TestDetects checks what a store takes a connection for.
func TestDetects(t *testing.T) {
	direct := pgtest.DSN(t)
	if got := detected(t, direct); got != "none" {
		t.Errorf("a direct connection is taken for %s", got)
	}
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			want := "transaction"
			if w.prepared > 0 {
				want = "transaction, tracked"
			}
			b := w.start(t, direct, 10)
			if got := detected(t, b.DSN(databaseOf(t, direct))); got != want { // sessions are not told from transactions
				t.Errorf("it is taken for %s, not %s", got, want)
			}
		})
	}
}
