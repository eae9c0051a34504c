package eager

import (
	"context"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/internal/pgshow"
)

var shown = pgshow.Design{
	Runs: runs.MustSQL("show_runs"), Barriers: runs.MustSQL("show_barriers"), Done: runs.MustSQL("show_done"), Counts: runs.MustSQL("show_counts"),
}

var _ backend.Inspector = (*Backend)(nil)

// Inspect implements backend.Inspector.
func (b *Backend) Inspect(ctx context.Context, id uuid.UUID, most int) (backend.Snapshot, error) {
	return shown.Inspect(ctx, b.store, id, most, nil)
}

// List implements backend.Inspector.
func (b *Backend) List(ctx context.Context, f backend.Filter) (backend.Page, error) {
	return shown.List(ctx, b.store, f)
}
