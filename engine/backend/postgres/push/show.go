package push

import (
	"context"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/internal/pgshow"
)

var shown = pgshow.Design{
	Runs: queue.MustSQL("show_runs"), Barriers: queue.MustSQL("show_barriers"), Counts: queue.MustSQL("show_counts"),
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
