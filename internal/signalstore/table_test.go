package signalstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/internal/pgstore"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Without a store, as on a simulated host, calls fail and say so.
func TestTableWithoutAStore(t *testing.T) {
	ctx := t.Context()
	var b SignalTable
	_, sent := b.SendSignal(ctx, backend.Signal{})
	_, _, _, taken := b.TakeSignal(ctx, backend.SignalWait{}, 1)
	_, rested := b.RestWait(ctx, backend.SignalWait{}, 1)
	_, claimed := b.ClaimWaits(ctx, 1, 1)
	_, _, read := b.Signals(ctx, uuid.Nil, 1)
	for _, err := range []error{sent, taken, rested, claimed, read, b.StoreWait(ctx, backend.SignalWait{}, 0, 1), b.RemoveWaits(ctx, nil), b.RemoveSignals(ctx, nil)} {
		if !errors.Is(err, errNoStore) {
			t.Errorf("got %v", err)
		}
	}
}

// Among many signals and waits, each statement reads those that it is for, by an index.
func TestStatementsUseIndexes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	store, err := pgstore.Open(ctx, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t)}, fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	id := uuid.New()
	for _, sql := range []string{
		`INSERT INTO signals (id, instance_id, name, value, keyed, due_at) SELECT gen_random_uuid(), CASE WHEN n < 3 THEN $1 ELSE gen_random_uuid() END, 's', '1', false, now() + n * interval '1 hour' FROM generate_series(-2, 5000) n`,
		`INSERT INTO signal_waits (instance_id, node, path, token, attempt, name, since, due_at) SELECT CASE WHEN n < 3 THEN $1 ELSE gen_random_uuid() END, n, '', n, 1, 's', now(), now() + n * interval '1 hour' FROM generate_series(-2, 5000) n`,
	} {
		if _, err := store.Pool.Exec(ctx, sql, id); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		sql  string
		args []any
	}{
		"due": {dueSQL, nil}, "notice": {noticeSQL, []any{10}}, "claim": {claimSQL, []any{10, int64(1000)}},
		"take": {takeSQL, []any{id, 1, "", int64(1), int64(1000)}}, "rest": {restSQL, []any{id, 1, "", int64(1), int64(1000)}},
		"waits": {waitsOfSQL, []any{id, 10}}, "signals": {signalsOfSQL, []any{id, 10}},
		"remove":    {removeSQL, []any{[][16]byte{id}, []int32{1}, []string{""}, []int64{1}}},
		"instances": {removeInstancesSQL, []any{[][16]byte{id}}},
	} {
		rows, err := store.Pool.Query(ctx, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+c.sql, c.args...)
		if err != nil {
			t.Fatal(name, err)
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
			t.Fatal(name, err)
		}
		if text := plan.String(); strings.Contains(text, "Seq Scan on signal") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
