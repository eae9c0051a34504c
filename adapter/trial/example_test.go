package trial_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"pulley/adapter/protocol"
	"pulley/adapter/trial"
	"pulley/engine/pgserver"
)

// A system is disturbed for half a minute, and judged by what it promises. A violation is repeated, and shrunk for a minute.
func ExampleConfirm() {
	tasks := []protocol.Task{{Name: "first", MS: 5}, {Name: "second", Needs: []string{"first"}, Add: 1}}
	c := trial.Case{
		Command:   []string{"./my-adapter"},
		Workloads: []protocol.Workload{{Name: "pair", Tasks: tasks, Result: "second"}},
		Seed:      1, LastMS: 30_000, WithinMS: 30_000,
		Faults: trial.Draw(1, trial.Kinds(), trial.ProcessesDefault, 30*time.Second, 5*time.Second),
	}
	found, err := trial.Confirm(context.Background(), c, trial.Config{
		OpenServer: func(ctx context.Context) (*pgserver.Server, error) {
			return pgserver.Open(ctx, pgserver.Options{Ways: []pgserver.Way{pgserver.WayLocal}})
		},
	}, time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(found.Text())
}
