package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
)

const (
	// SweepInstances is how many untidy instances one sweep looks at.
	SweepInstances = 100
	// SweepRows is how many rows one statement of a sweep removes.
	SweepRows = 1_000

	tidyPasses = 4 // over one instance, right after it ended

	// overdueRows is how many of the rows that are due one sweep looks at for leases that are over.
	overdueRows = 10_000
)

// Overdue puts node runs of a shard whose lease is over before what waits for its first: $1 shard, $2 how many of the
// rows that became due last are looked at. Without it they would be claimed all the same, as if they had been queued when
// their lease ended; where more is queued than there is room for, that is a second wait for what had its turn.
func (s *Store) Overdue(ctx context.Context, sql string, shard int) error {
	_, err := s.Pool.Exec(ctx, sql, shard, overdueRows)
	return Explain(err)
}

// Sweeper removes the rows that ended instances left in the tables of a design which marks such instances as
// untidy.
type Sweeper struct {
	Store *Store

	// Overdue is for Store.Overdue.
	Overdue string

	// Untidy gives ids of untidy instances: $1 shard, $2 most.
	Untidy string

	// Tables are statements that each remove rows of an instance from one table, in the order in which completions
	// lock: $1 shard, $2 instance, $3 most.
	Tables []string

	// Tidy marks an instance as tidy, if no table has a row of it: $1 shard, $2 instance.
	Tidy string
}

// Sweep implements backend.Backend.
func (s *Sweeper) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	var swept backend.Swept
	if err := backend.CheckShard(shard, s.Store.Shards()); err != nil {
		return swept, err
	}
	if err := s.Store.Overdue(ctx, s.Overdue, shard); err != nil {
		return swept, err
	}
	rows, err := s.Store.Pool.Query(ctx, s.Untidy, shard, SweepInstances)
	if err != nil {
		return swept, Explain(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil {
		return swept, Explain(err)
	}
	for _, id := range ids {
		removed, err := s.piece(ctx, shard, id)
		if err != nil {
			return swept, Explain(err)
		}
		swept.Rows += removed
	}
	swept.More = swept.Rows > 0 || len(ids) == SweepInstances
	return swept, nil
}

// piece removes some of what an instance left, and says how much. A completion that began before the end may add
// rows until the node run's row that it holds is gone; only a pass that finds nothing at all is the last, and
// Tidy looks once more.
func (s *Sweeper) piece(ctx context.Context, shard int, id [16]byte) (int, error) {
	removed := 0
	for _, sql := range s.Tables {
		tag, err := s.Store.Pool.Exec(ctx, sql, shard, id, SweepRows)
		if err != nil {
			return removed, err
		}
		removed += int(tag.RowsAffected())
	}
	if removed > 0 {
		return removed, nil
	}
	_, err := s.Store.Pool.Exec(ctx, s.Tidy, shard, id)
	return 0, err
}

// Now sweeps what an instance left that has just ended. What it does not get done, or fails to, is left to Sweep.
func (s *Sweeper) Now(ctx context.Context, shard int, id [16]byte) {
	for range tidyPasses {
		removed, err := s.piece(ctx, shard, id)
		s.Store.Problem(ctx, "clearing up after an ended instance", err)
		if err != nil || removed == 0 {
			return
		}
	}
}

// Cancel implements backend.Canceler.
func (s *Sweeper) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	return s.Store.Cancel(ctx, ids, reason, func(shard int, ended [][16]byte) {
		for _, id := range ended {
			s.Now(ctx, shard, id)
		}
	})
}

// Leftovers gives what queries count, by their names, where it is more than nothing: the rows that a design
// has of instances which have ended.
func (s *Store) Leftovers(ctx context.Context, queries map[string]string) (map[string]int, error) {
	out := map[string]int{}
	for table, query := range queries {
		var n int
		if err := s.Pool.QueryRow(ctx, query).Scan(&n); err != nil {
			return nil, Explain(err)
		}
		if n > 0 {
			out[table] = n
		}
	}
	return out, nil
}
