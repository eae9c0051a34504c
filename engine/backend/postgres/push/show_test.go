package push

import (
	"testing"

	"pulley/engine/backend/postgres/internal/designtest"
)

func TestShownByKeys(t *testing.T) {
	t.Parallel()
	b := open(t, designtest.SharedConfig(t, "push", 1))
	designtest.ShownByKeys(t, b.store.Pool, &shown)
}
