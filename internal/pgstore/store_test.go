package pgstore

import (
	"context"
	"embed"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var nothing embed.FS

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

type unbounded struct {
	queries int
	list    []string
}

func (u *unbounded) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	u.queries++
	if _, ends := ctx.Deadline(); !ends {
		u.list = append(u.list, q.SQL)
	}
	return ctx
}

func (u *unbounded) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestOpenEnds(t *testing.T) {
	var u unbounded
	s, err := Open(context.Background(), postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Connections: 2, Tracer: &u}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if u.queries == 0 || len(u.list) > 0 {
		t.Errorf("of %d queries, these have no deadline: %q", u.queries, u.list)
	}
}

// A paused engine may be in the midst of a transaction: its locks stop others only for a while.
func TestAPausedTransactionEnds(t *testing.T) {
	ctx := limited(t)
	s, err := Open(ctx, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Connections: 2}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var idle string
	if err := s.Pool.QueryRow(ctx, "SELECT current_setting('idle_in_transaction_session_timeout')").Scan(&idle); err != nil || idle != "10s" {
		t.Errorf("a transaction may wait for its engine for %q: %v", idle, err)
	}
}

func TestOpenTogether(t *testing.T) {
	ctx := limited(t)
	cfg := postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Shards: 3, Connections: 2}
	stores := make([]*Store, 8)
	var opening sync.WaitGroup
	for i := range stores {
		opening.Go(func() {
			s, err := Open(ctx, cfg, nothing)
			if err != nil {
				t.Errorf("opening together: %v", err)
				return
			}
			stores[i] = s
		})
	}
	opening.Wait()
	for _, s := range stores {
		if s != nil {
			defer s.Close()
		}
	}
	if t.Failed() {
		return
	}
	run := func() (names string) {
		if err := stores[0].Pool.QueryRow(ctx, "SELECT string_agg(name || run_at, ' ') FROM migrations").Scan(&names); err != nil {
			t.Fatal(err)
		}
		return names
	}
	before := run()
	cfg.Shards = 0
	again, err := Open(ctx, cfg, nothing)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Shards() != 3 || run() != before {
		t.Errorf("opened again: %d shards, migrations %s; want 3 and %s", again.Shards(), run(), before)
	}
	var timeout string
	if err := again.Pool.QueryRow(ctx, "SHOW statement_timeout").Scan(&timeout); err != nil || timeout != "1min" {
		t.Errorf("statement_timeout is %s (%v); want a minute", timeout, err)
	}
	cfg.Shards = 5
	if s, err := Open(ctx, cfg, nothing); err == nil || !strings.Contains(err.Error(), "was set up with 3 shards, not 5") {
		t.Errorf("other shards: %v, %v", s, err)
	}
	if err := postgres.DropSchema(ctx, cfg.DSN, cfg.Schema); err != nil {
		t.Error(err)
	}
}

func TestOpenRefused(t *testing.T) {
	ctx := limited(t)
	dsn := pgtest.DSN(t)
	with := func(parameter string) string {
		if strings.Contains(dsn, "?") {
			return dsn + "&" + parameter
		}
		return dsn + "?" + parameter
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	role := pgtest.Schema(t)
	if _, err := conn.Exec(ctx, "CREATE ROLE "+pgx.Identifier{role}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg  postgres.Config
		want string
	}{
		"malformed":      {postgres.Config{DSN: "postgres://u:hunter2@h:port/db"}, "check the DSN"},
		"unreachable":    {postgres.Config{DSN: "postgres://u:hunter2@127.0.0.1:1/db?sslmode=disable"}, "check that the server runs"},
		"no database":    {postgres.Config{DSN: with("dbname=no_such_database")}, "create the database"},
		"no right":       {postgres.Config{DSN: with("role=" + role)}, "the role lacks a right"},
		"read-only":      {postgres.Config{DSN: with("default_transaction_read_only=on")}, "connect to the primary"},
		"too few":        {postgres.Config{DSN: dsn, Connections: 1}, "choose 2 or more"},
		"no such shards": {postgres.Config{DSN: dsn, Shards: -1}, "choose from 1"},
	} {
		c.cfg.Schema = pgtest.Schema(t)
		s, err := Open(ctx, c.cfg, nothing)
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", name)
			continue
		}
		text := err.Error()
		if strings.Count(text, c.want) != 1 || strings.Contains(text, "\n") || strings.Contains(text, "hunter2") || !strings.HasPrefix(text, "postgres: ") {
			t.Errorf("%s: %q; want one line with %q, once", name, text, c.want)
		}
	}
	if _, err := Open(ctx, postgres.Config{DSN: dsn}, nothing); err == nil || !strings.Contains(err.Error(), "no schema") {
		t.Errorf("without a schema: %v", err)
	}
}

func TestListen(t *testing.T) {
	ctx := limited(t)
	cfg := postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Connections: 2}
	hearer, err := Open(ctx, cfg, nothing)
	if err != nil {
		t.Fatal(err)
	}
	defer hearer.Close()
	speaker, err := Open(ctx, cfg, nothing)
	if err != nil {
		t.Fatal(err)
	}
	defer speaker.Close()
	listening, stop := context.WithCancel(ctx)
	defer stop()
	woken, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- hearer.Listen(listening, func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
	}()
	for heard := false; !heard; { // until the listener listens
		if err := speaker.Notify(ctx); err != nil {
			t.Fatal(err)
		}
		select {
		case <-woken:
			heard = true
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			t.Fatal("nobody was woken")
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the end of the context: %v", err)
	}
}
