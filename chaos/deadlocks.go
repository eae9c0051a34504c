package chaos

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"pulley/chaos/fault"
)

//go:embed sql/deadlocks.sql
var deadlocksSQL string

// Deadlocks counts a run's deadlocks. A server crash loses its own count since the last reading, before each fault, but not the
// engines' count.
type Deadlocks struct {
	Server  int64 `json:"server"`  // by pg_stat_database
	Engines int   `json:"engines"` // statements of engines that a deadlock ended
}

// deadlocks tracks the server's count, which restarts after a crash.
type deadlocks struct {
	admin       func(context.Context) (*pgx.Conn, error)
	last, total int64
}

func (d *deadlocks) readCount(ctx context.Context) bool {
	if d.admin == nil {
		return false
	}
	conn, err := d.admin(ctx)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var n int64
	if err := conn.QueryRow(ctx, deadlocksSQL).Scan(&n); err != nil {
		return false
	}
	if n < d.last {
		d.last = 0
	}
	d.total += n - d.last
	d.last = n
	return true
}

// locksTables are the kinds that lock the engines' tables themselves, so that deadlocks are not the engines' fault.
var locksTables = []string{"postgres.locks", "postgres.timeout", "postgres.deadlocks"}

// deadlocked records the counts, and a violation if the engines have deadlocks of their own.
func (r *run) deadlocked() {
	res := r.result
	r.watch.mu.Lock()
	res.Deadlocks = Deadlocks{Server: r.deadlocks.total, Engines: r.watch.deadlock}
	r.watch.mu.Unlock()
	if n := max(res.Deadlocks.Server, int64(res.Deadlocks.Engines)); n > 0 && !slices.ContainsFunc(r.Faults, func(f fault.Fault) bool { return slices.Contains(locksTables, f.Kind) }) {
		res.Violations = append(res.Violations, Violation{
			Invariant: "deadlock", Message: fmt.Sprintf("%d deadlocks, though nobody but the engines locks rows", n),
		})
	}
}
