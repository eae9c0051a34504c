package measure_test

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"pulley/bench/measure"
	"pulley/reports/record"
)

func traced(t *testing.T, scope measure.Scope, client *measure.Client) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(serverDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Database, cfg.Tracer = database, client
	cfg.RuntimeParams["application_name"] = scope.AppPrefix
	cfg.RuntimeParams["deadlock_timeout"] = "10ms"
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// Client and server must agree on every way of sending statements.
func TestClientCountsAsTheServer(t *testing.T) {
	conn, scope := fixture(t, "client")
	before := snapshot(t, conn, scope)
	client := &measure.Client{}
	c := traced(t, scope, client)
	exec(t, c, "SELECT 1", "  begin", "UPDATE client.item SET v = 1 WHERE id = 1", "Commit")
	if _, err := c.Exec(t.Context(), "SELECT 1/0"); err == nil {
		t.Fatal("dividing by zero worked")
	}
	batch := &pgx.Batch{}
	for _, sql := range []string{"BEGIN", "INSERT INTO client.item VALUES (1000, 1)", "DELETE FROM client.item WHERE id = 2", "COMMIT"} {
		batch.Queue(sql)
	}
	if err := c.SendBatch(t.Context(), batch).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CopyFrom(t.Context(), pgx.Identifier{"client", "item"}, []string{"id", "v"}, pgx.CopyFromRows([][]any{{2000, 1}, {2001, 2}})); err != nil {
		t.Fatal(err)
	}
	var endless int
	if err := c.QueryRow(t.Context(), "SELECT 1 AS endless").Scan(&endless); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, warnings := measure.Delta(before, snapshot(t, conn, scope))
	if got.Statements == nil || *got.Statements != 6 || client.Statements() != 6 {
		t.Errorf("the server counted %s, the client %d; want 6: %q", show(got), client.Statements(), warnings)
	}
}

func TestDeadlocksAreCounted(t *testing.T) {
	conn, scope := fixture(t, "deadlock")
	before := snapshot(t, conn, scope)
	client := &measure.Client{}
	a, b := traced(t, scope, client), traced(t, scope, client)
	const one, two = "UPDATE deadlock.item SET v = 0 WHERE id = 1", "UPDATE deadlock.item SET v = 0 WHERE id = 2"
	exec(t, a, "BEGIN", one)
	exec(t, b, "BEGIN", two)
	failed := make(chan error, 2)
	go func() { _, err := a.Exec(context.Background(), two); failed <- err }()
	_, err := b.Exec(t.Context(), one)
	if errA := <-failed; (err == nil) == (errA == nil) {
		t.Fatalf("one of two must fail: %v, %v", err, errA)
	}
	for _, c := range []*pgx.Conn{a, b} {
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := measure.Delta(before, snapshot(t, conn, scope))
	if got.Deadlocks == nil || *got.Deadlocks != 1 || client.Deadlocks() != 1 {
		t.Errorf("the server counted %s, the client %d; want 1", show(got), client.Deadlocks())
	}
}

func TestFill(t *testing.T) {
	client := &measure.Client{}
	client.TraceQueryEnd(t.Context(), nil, pgx.TraceQueryEndData{})
	missing := []string{"statements were not counted: no right", "1 checkpoint during the run"}
	var counters record.Counters
	left := client.Fill(&counters, slices.Clone(missing))
	if counters.Statements == nil || *counters.Statements != 1 || !slices.Equal(left, missing[1:]) {
		t.Errorf("%s, %q", show(counters), left)
	}
	counters = record.Counters{Statements: ptr(int64(7))}
	if left := client.Fill(&counters, missing); *counters.Statements != 7 || len(left) != 2 {
		t.Errorf("%s, %q", show(counters), left)
	}
	if counters.SerializationFailures == nil || *counters.SerializationFailures != 0 {
		t.Error("serialization failures are not counted")
	}
}

func TestResident(t *testing.T) {
	stop := measure.Resident()
	const size = 64 << 20
	page := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		page[i] = 1
	}
	got := stop()
	if got == nil {
		t.Log("this system does not tell")
		return
	}
	if page[4096] != 1 || got.PeakBytes-got.StartBytes < size*9/10 {
		t.Errorf("%d bytes at first, %d at most; want %d more", got.StartBytes, got.PeakBytes, size)
	}
}
