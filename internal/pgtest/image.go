package pgtest

import (
	"context"
	"os"
	"testing"

	"github.com/moby/moby/client"

	"pulley/internal/pgimage"
)

// NeedImage ensures Docker with an image of Postgres, and sets PULLEY_POSTGRES_IMAGE to it for the rest of the test. Without
// one a test fails in CI, and is skipped elsewhere.
func NeedImage(t *testing.T) {
	t.Helper()
	if os.Getenv("PULLEY_POSTGRES_IMAGE") != "" {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), pgimage.Within)
	defer cancel()
	docker, err := client.New(client.FromEnv)
	if err == nil {
		defer func() { _ = docker.Close() }()
		err = pgimage.Ensure(ctx, docker)
	}
	switch {
	case err == nil:
		t.Setenv("PULLEY_POSTGRES_IMAGE", pgimage.Name)
	case os.Getenv("CI") == "true":
		t.Fatalf("CI must have Docker, and be able to make an image: %v", err)
	default:
		t.Skipf("this needs Docker with an image of Postgres: %v", err)
	}
}
