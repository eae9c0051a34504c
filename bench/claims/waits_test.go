package claims

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"pulley/engine/pgserver/pgtest"
)

// TestWaitsAreSeen has one session wait for another's row, and one that waits for nothing.
func TestWaitsAreSeen(t *testing.T) {
	ctx := t.Context()
	dsn := pgtest.DSN(t)
	connect := func() *pgx.Conn {
		cfg, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		cfg.RuntimeParams["application_name"] = "waiter"
		conn, err := pgx.ConnectConfig(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
		return conn
	}
	holder, waiter, other := connect(), connect(), connect()
	must := func(conn *pgx.Conn, sql string) {
		t.Helper()
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	must(holder, "CREATE TABLE t AS SELECT 1 AS a")
	alone, err := watchWaits(ctx, dsn, "waiter", func() error {
		must(other, "SELECT pg_sleep(0.2)")
		return nil
	})
	if err != nil || alone.waiting != 0 || alone.longest != 0 || alone.busy == 0 || alone.busy != alone.samples || alone.share() != 0 || alone.perTransaction() != 0 {
		t.Errorf("without a wait: %+v, %v", alone, err)
	}
	must(holder, "BEGIN; UPDATE t SET a = 2")
	waited := make(chan error, 1)
	seen, err := watchWaits(ctx, dsn, "waiter", func() error {
		go func() {
			_, err := waiter.Exec(ctx, "UPDATE t SET a = 3")
			waited <- err
		}()
		must(other, "SELECT pg_sleep(0.3)")
		must(holder, "COMMIT")
		return <-waited
	})
	// Of three sessions one waits, in nearly all of the time.
	if err != nil || seen.share() < 0.15 || seen.share() > 0.4 || seen.perTransaction() > 1 || seen.longest <= 0 {
		t.Errorf("with a wait: %+v, %v", seen, err)
	}
}
