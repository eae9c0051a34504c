package designs

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/backend/postgres/eager"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/backend/postgres/pull"
)

// SubmitTx stores new instances within a transaction of the caller's, if the design can; see push.Backend.SubmitTx. The others refuse.
func SubmitTx(ctx context.Context, store backend.Backend, tx pgx.Tx, subs []backend.Submission) ([]backend.Outcome, error) {
	if s, ok := store.(interface {
		SubmitTx(ctx context.Context, tx pgx.Tx, subs []backend.Submission) ([]backend.Outcome, error)
	}); ok {
		return s.SubmitTx(ctx, tx, subs)
	}
	return nil, fmt.Errorf("backend %s stores no instances in a transaction of others; submit after its commit, under an id that you keep, or choose push", nameOf(store))
}

func nameOf(store backend.Backend) string {
	switch store.(type) {
	case *memory.Backend:
		return "memory"
	case *eager.Backend:
		return "eager"
	case *journal.Backend:
		return "journal"
	case *pull.Backend:
		return "pull"
	}
	return fmt.Sprintf("%T", store)
}
