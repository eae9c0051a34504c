package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"time"
)

//go:embed sql/settle.sql
var settleSQL string

const (
	// settleTimeout bounds finding out what became of a commit, when the caller's context has ended.
	settleTimeout = 10 * time.Second
	// settlePause is the first pause between two looks at a transaction that has not ended; it doubles.
	settlePause = time.Millisecond
)

// TookPlace finds out whether a transaction took place whose COMMIT was lost (D7): it asks the server for the
// transaction's end by its id, which pg_current_xact_id()::text gave, and waits for it.
func (s *Store) TookPlace(ctx context.Context, xid string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	for pause := settlePause; ; pause *= 2 {
		var status string
		if err := s.Pool.QueryRow(ctx, settleSQL, xid).Scan(&status); err != nil {
			return false, err
		}
		if status != "in progress" {
			return status == "committed", nil
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("transaction %s has not ended yet: %w", xid, ctx.Err())
		case <-time.After(pause):
		}
	}
}
