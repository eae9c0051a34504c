package chaos

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/world"
)

// TestDeadlocksAreViolations checks that a deadlock of the engines fails a run, unless a fault locks tables itself.
func TestDeadlocksAreViolations(t *testing.T) {
	for kind, want := range map[string]Verdict{"wire.cut": Fail, locksTables[0]: Pass, locksTables[2]: Pass} {
		r := &run{Case: cases.Case{Faults: []fault.Fault{{Kind: kind}}}, watch: newWatch(), result: newResult(cases.Case{})}
		r.watch.deadlock = 1
		r.deadlocked()
		if r.result.conclude(); r.result.Verdict != want || r.result.Deadlocks.Engines != 1 {
			t.Errorf("with %s the verdict is %s, want %s", kind, r.result.Verdict, want)
		}
	}
}

// TestDeadlocksOfTheServer causes a deadlock and checks the server's count.
func TestDeadlocksOfTheServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	server, err := world.OpenServer(ctx, cases.Case{Engines: 1}, nil, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	admin := func(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, server.DSN()) }
	conns := []*pgx.Conn{}
	do := func(i int, sql string) error {
		_, err := conns[i].Exec(ctx, sql)
		return err
	}
	for i := range 2 {
		conn, err := admin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		if err := errors.Join(do(i, "SET deadlock_timeout = '10ms'"), do(i, "BEGIN"), do(i, "SELECT pg_advisory_xact_lock("+strconv.Itoa(i)+")")); err != nil {
			t.Fatal(err)
		}
	}
	other := make(chan error, 1)
	go func() { other <- do(0, "SELECT pg_advisory_xact_lock(1)") }()
	failed := errors.Join(do(1, "SELECT pg_advisory_xact_lock(0)"), <-other)
	for _, conn := range conns { // a session reports its counts when it ends
		_ = conn.Close(ctx)
	}
	if failed == nil {
		t.Fatal("there was no deadlock")
	}
	d := deadlocks{admin: admin}
	for d.total == 0 && ctx.Err() == nil {
		if !d.readCount(ctx) {
			t.Fatal("the count could not be read")
		}
	}
	if d.readCount(ctx); d.total != 1 {
		t.Errorf("%d deadlocks were counted, want 1", d.total)
	}
	if d.last = 5; !d.readCount(ctx) || d.total != 2 { // as after a crash, which resets the count
		t.Errorf("%d deadlocks were counted over a crash, want 2", d.total)
	}
}
