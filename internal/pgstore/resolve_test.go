package pgstore

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver"
	"pulley/internal/pgtest"
)

func TestWasCommitted(t *testing.T) {
	ctx := limited(t)
	server := pgtest.Exclusive(t)
	s, err := Open(ctx, postgres.Config{DSN: server.DSN(), Schema: pgtest.Schema(t), Connections: 2}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	life := s.mustLive(t)
	done, undone := s.transaction(t, true), s.transaction(t, false)
	for xid, want := range map[string]bool{done: true, undone: false} {
		if took, err := s.WasCommitted(ctx, life, xid); err != nil || took != want {
			t.Errorf("transaction %s was committed: %t, %v; want %t", xid, took, err, want)
		}
	}
	if err := server.Stop(ctx, pgserver.StopImmediate); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for _, xid := range []string{done, undone, "999999999"} {
		for err = nil; err == nil || !strings.Contains(err.Error(), "has crashed"); {
			var took bool
			if took, err = s.WasCommitted(ctx, life, xid); err == nil || ctx.Err() != nil { // otherwise an old connection
				t.Fatalf("transaction %s of before the crash was committed: %t, %v; want an error that says why nobody knows", xid, took, err)
			}
		}
		if Poisoned(err) {
			t.Errorf("%v is held for the fault of the data", err)
		}
	}
	again := s.mustLive(t)
	if again == life {
		t.Error("the server has the life of before its crash")
	}
	if took, err := s.WasCommitted(ctx, again, s.transaction(t, true)); err != nil || !took {
		t.Errorf("after the crash a transaction was committed: %t, %v; want it to be", took, err)
	}
}

func (s *Store) mustLive(t *testing.T) string {
	t.Helper()
	life, err := s.Incarnation(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return life
}

func (s *Store) transaction(t *testing.T, commit bool) (xid string) {
	t.Helper()
	ctx := limited(t)
	tx, err := s.Pgx().Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.QueryRow(ctx, "SELECT pg_current_xact_id()::text").Scan(&xid); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "UPDATE store SET shards = shards"); err != nil {
		t.Fatal(err)
	}
	end := pgx.Tx.Rollback
	if commit {
		end = pgx.Tx.Commit
	}
	if err := end(tx, ctx); err != nil {
		t.Fatal(err)
	}
	return xid
}
