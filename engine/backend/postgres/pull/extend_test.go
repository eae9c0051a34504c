package pull_test

import (
	"slices"
	"sync"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/pull"
)

// TestUnsweptIsNotProlonged has an instance be canceled by a process that dies before it removes what was leased: the
// holder is told, although its row is still there.
func TestUnsweptIsNotProlonged(t *testing.T) {
	r := newRig(t, alone(t, pull.ScanApp), pull.ScanApp)
	r.submit("fn main(input: [n], output: [r]):\n    r = @double(value=n)\n    return r\n", `{"n": 4}`)
	if len(r.held) == 0 {
		out, err := r.b.Claim(r.ctx, 0, r.grant)
		r.took(out, err)
	}
	lease := []backend.Lease{r.held[0].Lease}
	if kept, err := r.b.Extend(r.ctx, 0, lease, r.grant); err != nil || !kept[0] {
		t.Fatalf("before: held is %v, %v", kept, err)
	}
	if _, err := r.connect().Exec(r.ctx, "UPDATE instances SET status = 'canceled', untidy = true, failure = '{}', ended_at = clock_timestamp() WHERE id = $1", lease[0].Key.Instance); err != nil {
		t.Fatal(err)
	}
	if kept, err := r.b.Extend(r.ctx, 0, lease, r.grant); err != nil || kept[0] {
		t.Errorf("a lease of a canceled instance is held: %v, %v", kept, err)
	}
}

// TestExtensionHoldsNothingWhileItWaits has somebody hold one of two rows whose leases are prolonged: nobody is kept from the
// other meanwhile, as a cycle could be that has the one and wants the other.
func TestExtensionHoldsNothingWhileItWaits(t *testing.T) {
	r := newRig(t, alone(t, pull.ScanApp), pull.ScanApp)
	r.submit(joining, `{}`)
	if len(r.held) != 2 {
		t.Fatalf("%d tasks are leased; want 2", len(r.held))
	}
	slices.SortFunc(r.held, func(a, b backend.Task) int { return a.Lease.Key.Compare(b.Lease.Key) })
	first, second := r.held[0].Lease, r.held[1].Lease
	const lock = "SELECT FROM ledger WHERE instance_id = $1 AND node = $2 FOR UPDATE NOWAIT"
	holder, other := r.connect(), r.connect()
	for _, sql := range []string{"BEGIN", lock} {
		var args []any
		if sql == lock {
			args = []any{second.Key.Instance, second.Key.Run.Node}
		}
		if _, err := holder.Exec(r.ctx, sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	var kept []bool
	var err error
	var extending sync.WaitGroup
	extending.Go(func() { kept, err = r.b.Extend(r.ctx, 0, []backend.Lease{first, second}, r.grant) })
	for blocked := 0; blocked == 0; {
		err := other.QueryRow(r.ctx, "SELECT count(*)::int FROM pg_locks WHERE NOT granted AND pg_blocking_pids(pid) @> ARRAY[$1::int]",
			int32(holder.PgConn().PID())).Scan(&blocked)
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := other.Exec(r.ctx, lock, first.Key.Instance, first.Key.Run.Node); err != nil {
		t.Errorf("the first row, while the second is waited for: %v", err)
	}
	if _, err := holder.Exec(r.ctx, "ROLLBACK"); err != nil {
		t.Error(err)
	}
	extending.Wait()
	if err != nil || !slices.Equal(kept, []bool{true, true}) {
		t.Errorf("held are %v, %v; want both", kept, err)
	}
}
