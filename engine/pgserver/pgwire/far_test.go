package pgwire_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/pgserver/pgwire"
	"pulley/internal/pgtest"
)

// TestFarServer puts a server at a distance. No answer comes sooner than the distance allows, concurrent sends share it, every
// round trip is counted, and large values arrive unchanged.
func TestFarServer(t *testing.T) {
	pgtest.VerifyNoLeaks(t)
	dsn := pgtest.DSN(t)
	const away = 3 * time.Millisecond
	p, err := pgwire.ListenFar(dsn, away)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	if p.RoundTrips() == 0 {
		t.Error("the start of a connection is no round trip")
	}
	const queries = 20
	before, begun := p.RoundTrips(), time.Now()
	for range queries {
		if _, err := conn.Exec(ctx, "SELECT 1"); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begun); took < queries*away {
		t.Errorf("%d queries took %v; they cannot come sooner than after %v", queries, took, queries*away)
	}
	if n := p.RoundTrips() - before; n != queries {
		t.Errorf("%d round trips of %d queries", n, queries)
	}

	var batch pgx.Batch
	for range queries {
		batch.Queue("SELECT 1")
	}
	before = p.RoundTrips()
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
		t.Fatal(err)
	}
	if n := p.RoundTrips() - before; n > 2 { // to prepare the statement, and to run it
		t.Errorf("%d round trips of a batch", n)
	}

	large := strings.Repeat("0123456789", 300_000)
	var back string
	before = p.RoundTrips()
	if err := conn.QueryRow(ctx, "SELECT $1::text", large).Scan(&back); err != nil || back != large {
		t.Errorf("3 MB did not come back as they were sent: %d bytes, %v", len(back), err)
	}
	if n := p.RoundTrips() - before; n > 2 { // in however many parts it was sent
		t.Errorf("%d round trips of a large value", n)
	}
}

func TestFarServerGoes(t *testing.T) {
	p, err := pgwire.ListenFar(pgtest.DSN(t), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())"); err == nil {
		t.Error("a session that was ended answers")
	}
	other, err := pgx.Connect(ctx, p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	sleeping := make(chan error, 1)
	go func() {
		_, err := other.Exec(ctx, "SELECT pg_sleep(600)")
		sleeping <- err
	}()
	p.Close()
	if err := <-sleeping; err == nil {
		t.Error("a query came back from a proxy that is closed")
	}
	for _, wrong := range []time.Duration{-1, time.Hour} {
		if _, err := pgwire.ListenFar(p.DSN(), wrong); err == nil {
			t.Errorf("a round trip of %v is taken", wrong)
		}
	}
}
