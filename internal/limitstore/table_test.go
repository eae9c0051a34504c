package limitstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pulley/engine/backend/postgres"
	"pulley/engine/limit"
	"pulley/internal/pgstore"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Without a store, as on a simulated host, calls fail and say so.
func TestTableWithoutAStore(t *testing.T) {
	ctx := t.Context()
	var b LimitTable
	_, removed := b.RemoveLimit(ctx, "x")
	_, _, listed := b.Limits(ctx)
	_, saved := b.SaveLimits(ctx, nil)
	for _, err := range []error{b.SetLimit(ctx, limit.Limit{}), removed, listed, saved} {
		if !errors.Is(err, errNoStore) {
			t.Errorf("got %v", err)
		}
	}
}

// A limit that this version cannot read is an error that names it; nothing is taken for unlimited.
func TestUnreadableLimit(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	store, err := pgstore.Open(ctx, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t)}, fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := store.Pool.Exec(ctx, `INSERT INTO limits (name, spec) VALUES ('later', '{"actions": 7}')`); err != nil {
		t.Fatal(err)
	}
	if _, _, err := On(store).Limits(ctx); err == nil || !strings.Contains(err.Error(), "limit later: it is not as this version of pulley writes it") {
		t.Errorf("got %v", err)
	}
}
