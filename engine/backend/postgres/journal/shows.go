package journal

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"pulley/engine/backend/postgres"
	"pulley/internal/pgstore"
)

var errSimulated = errors.New("journal: this host does not show what it stores")

// shown returns the store if its tables can be read. A simulated host has none.
func (b *Backend) shown(ctx context.Context) (*pgstore.Store, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	if store, ok := b.store.Store.(*pgstore.Store); ok {
		return store, nil
	}
	return nil, errSimulated
}

// Origins reads what instances were created from. It leaves out those that do not exist.
func (b *Backend) Origins(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]postgres.Origin, error) {
	store, err := b.shown(ctx)
	if err != nil {
		return nil, err
	}
	return store.Origins(ctx, ids)
}
