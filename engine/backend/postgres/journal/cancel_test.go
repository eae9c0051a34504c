package journal

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/internal/journalstore"
	"pulley/internal/pgstore"
)

// TestCancelAfterAnOwner cancels in a shard whose owner's lease has expired while a transaction of that owner still changes the
// instance. The statement finds a newer row than it sees, and must end it.
func TestCancelAfterAnOwner(t *testing.T) {
	w := newWorld(t, 1)
	first := w.open()
	w.launch(first, sequence)
	id := w.subs[0].ID
	kill(first)
	b := w.open()
	if _, err := b.store.Pool.Exec(w.ctx, "UPDATE shards SET owner = NULL, expires_at = clock_timestamp()"); err != nil {
		t.Fatal(err)
	}

	owner, err := pgstore.Connect(w.ctx, w.cfg.Store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close(w.ctx) }()
	for _, sql := range []string{"BEGIN", "SELECT FROM shards FOR KEY SHARE", "UPDATE instances SET pending = false"} {
		if _, err := owner.Exec(w.ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan error, 1)
	var found []backend.Instance
	go func() {
		var err error
		found, err = b.Cancel(w.ctx, []uuid.UUID{id, id}, "enough")
		got <- err
	}()
	for until := time.Now().Add(5 * time.Minute); ; {
		var waiting int
		err := owner.QueryRow(w.ctx, "SELECT count(*)::int FROM pg_locks WHERE NOT granted AND pg_blocking_pids(pid) @> ARRAY[pg_backend_pid()]").Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
		if waiting > 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the cancel does not wait for the owner")
		}
	}
	if _, err := owner.Exec(w.ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	for _, in := range found {
		if in.Status != backend.Canceled {
			t.Errorf("canceled, and it is %s", in.Status)
		}
	}
}

type missing struct {
	journalstore.Pool
	tries int
}

func (m *missing) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if sql != cancelFreeSQL {
		return m.Pool.QueryRow(ctx, sql, args...)
	}
	if m.tries++; m.tries == 1 {
		return m.Pool.QueryRow(ctx, "SELECT 1, 1")
	}
	return m.Pool.QueryRow(ctx, "SELECT 1/0, 0")
}

// TestCancelPartly checks that the outcome is unknown if a cancel fails after its first try ended a part of the instances.
func TestCancelPartly(t *testing.T) {
	w := newWorld(t, 1)
	b := w.open()
	b.store.Pool = &missing{Pool: b.store.Pool}
	if _, err := b.Cancel(w.ctx, []uuid.UUID{uuid.New()}, "enough"); !backend.IsUnknown(err) {
		t.Errorf("the error is %v; want one that leaves open what happened", err)
	}
}
