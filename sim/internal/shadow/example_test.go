package shadow_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"pulley/engine/backend/postgres"
	"pulley/internal/pgstore"
	"pulley/sim/db"
	"pulley/sim/internal/shadow"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// store is the simulated tables of a design of one's own.
type store struct {
	pgsim.Design
	inbox *db.Table[pgsim.ValueKey, json.RawMessage]
}

// The tests of a simulated design play worlds beside Postgres: each statement is made on both, and must give the same.
func ExampleTest() {
	design := shadow.Design{
		Name:      "own",
		NewDesign: func(w *world.World, m *pgsim.Memory) pgsim.Design { return store{} },
		Open: func(ctx context.Context, cfg postgres.Config) (shadow.Opened, error) {
			return pgstore.Open(ctx, cfg, os.DirFS("own")) // the real design, with its directory migrations
		},
		Cases:     24,
		Tables:    []shadow.Table{shadow.Values("inbox", "variable path element value", func(s store) *db.Table[pgsim.ValueKey, json.RawMessage] { return s.inbox })},
		Sequences: map[string]func(*world.World) int64{"tokens": shadow.Tokens},
	}
	tests := []testing.InternalTest{ // TestShadow and TestNumbers, of one's own; TestMain calls shadow.Main
		{Name: "TestShadow", F: func(t *testing.T) { shadow.Test(t, design) }},
		{Name: "TestNumbers", F: func(t *testing.T) { shadow.TestNumbers(t, design) }},
	}
	testing.Main(nil, tests, nil, nil)
}
