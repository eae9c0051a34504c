package pull

import (
	"context"
	"testing"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
)

func TestShownByKeys(t *testing.T) {
	t.Parallel()
	b := designtest.Open(t, func(ctx context.Context, cfg postgres.Config) (*Backend, error) {
		return Open(ctx, Config{Store: cfg, Scan: ScanSQL})
	}, designtest.SharedConfig(t, "pull:scan=sql", 1))
	designtest.ShownByKeys(t, b.store.Pool, &shownApp)
	designtest.ShownByKeys(t, b.store.Pool, &shownSQL)
}
