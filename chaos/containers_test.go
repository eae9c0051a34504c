package chaos

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"pulley/chaos/fault"
	"pulley/engine/pgserver/pgimage"
)

// needContainers makes sure that there is Docker with an image of Postgres. Without it a test fails in CI, and says so
// elsewhere.
func needContainers(t *testing.T) {
	t.Helper()
	if os.Getenv("PULLEY_POSTGRES_IMAGE") != "" {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
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

// TestContainers has everything happen to a container that can, twice each.
func TestContainers(t *testing.T) {
	needContainers(t)
	kinds, err := fault.Select([]string{"container"})
	if err != nil {
		t.Fatal(err)
	}
	c := shortCase("push")
	c.Server = ServerDocker
	c.Faults = append(c.Plan(kinds, 0), c.Plan(kinds, 0)...)
	res := runCase(t, c)
	if res.Verdict != Pass {
		t.Errorf("the verdict is %s by %v, want pass", res.Verdict, res.Invariants())
	}
	for _, k := range kinds {
		if res.Faults[k.Name] != 2 {
			t.Errorf("%s happened %d times, want 2", k.Name, res.Faults[k.Name])
		}
	}
}
