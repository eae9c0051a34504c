package schedulestore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/internal/pgstore"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Without a store, as on a simulated host, calls fail and say so.
func TestTableWithoutAStore(t *testing.T) {
	ctx := t.Context()
	var b Table
	_, removed := b.RemoveSchedule(ctx, "x")
	_, _, listed := b.Schedules(ctx)
	_, claimed := b.ClaimSchedules(ctx, 1, time.Second)
	_, saved := b.SaveSchedules(ctx, nil)
	for _, err := range []error{b.AddSchedule(ctx, backend.Schedule{}, false), removed, listed, claimed, saved} {
		if !errors.Is(err, errNoStore) {
			t.Errorf("got %v", err)
		}
	}
}

func TestDueIsNeverEarly(t *testing.T) {
	at := time.Date(2026, 5, 1, 0, 0, 0, 1_500, time.UTC)
	if got := dueAt(at); got.Nanosecond() != 2_000 {
		t.Errorf("%v is stored as %v", at, got)
	}
	if got := dueAt(at.Truncate(time.Microsecond)); got.Nanosecond() != 1_000 {
		t.Errorf("a whole microsecond is stored as %v", got)
	}
	if dueAt(time.Time{}) != nil {
		t.Error("never is stored as a time")
	}
}

// Among many schedules, a claim reads the due ones, by an index.
func TestClaimUsesTheIndex(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	store, err := pgstore.Open(ctx, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t)}, fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, err = store.Pool.Exec(ctx, `INSERT INTO schedules (id, name, workflow, input, spec, state, due_at)
		SELECT gen_random_uuid(), n::text, 1, '{}', '{}', '{}', now() + n * interval '1 hour' FROM generate_series(-2, 3000) n`)
	if err != nil {
		t.Fatal(err)
	}
	for name, sql := range map[string]string{"claim": claimSQL, "now": nowSQL} {
		var args []any
		if name == "claim" {
			args = []any{10, int64(1000)}
		}
		rows, err := store.Pool.Query(ctx, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		var plan strings.Builder
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			plan.WriteString(line + "\n")
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if text := plan.String(); !strings.Contains(text, "using schedules_due") || strings.Contains(text, "Seq Scan on schedules") || strings.Contains(text, "Sort") || strings.Contains(text, "Rows Removed") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
