package measure

import (
	"context"
	"testing"
	"time"

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
	looker, err := NewLooker(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := looker.Close(); err != nil {
			t.Error(err)
		}
	})
	alone, err := looker.Watch(ctx, "waiter", time.Millisecond, func() error {
		must(other, "SELECT pg_sleep(0.2)")
		return nil
	})
	if err != nil || alone.ForRows != 0 || alone.LongestNS != 0 || alone.Busy == 0 || alone.Busy != alone.Looks {
		t.Errorf("without a wait: %+v, %v", alone, err)
	}
	must(holder, "BEGIN; UPDATE t SET a = 2")
	waited := make(chan error, 1)
	seen, err := looker.Watch(ctx, "waiter", time.Millisecond, func() error {
		go func() {
			_, err := waiter.Exec(ctx, "UPDATE t SET a = 3")
			waited <- err
		}()
		must(other, "SELECT pg_sleep(0.3)")
		must(holder, "COMMIT")
		return <-waited
	})
	// Of three sessions in a transaction one waits, in nearly all of the time.
	if share, ok := seen.Share(); err != nil || !ok || share < 0.15 || share > 0.4 || seen.LongestNS <= 0 {
		t.Errorf("with a wait: %+v, %v", seen, err)
	}
}
