package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/schedule"
	"pulley/engine/worker"
)

// An engine fires the schedules of its backend, together with all others that do so. A backend on Postgres keeps them.
func Example_schedules() {
	report, err := plan.CompileText("report.ir", []byte("fn main(input: [region], output: [text]):\n    text = \"report of \" + region\n"), ir.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	actions, err := worker.NewRegistry()
	if err != nil {
		log.Fatal(err)
	}
	store := memory.New(memory.Options{})
	defer store.Close()
	ended := make(chan backend.Instance, 100)
	e, err := engine.New(engine.Config{
		Backend: store, Workers: actions, Schedules: true, SchedulePoll: 50 * time.Millisecond,
		Observer: engine.Observer{Ended: func(inst backend.Instance, _ time.Time) {
			select {
			case ended <- inst:
			default:
			}
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.Start(ctx); err != nil {
		log.Fatal(err)
	}
	times, err := schedule.Compile(schedule.Spec{Every: 100 * time.Millisecond, Overlap: schedule.Queue})
	if err != nil {
		log.Fatal(err)
	}
	err = store.AddSchedule(ctx, backend.Schedule{ID: uuid.New(), Name: "east", Program: report, Input: json.RawMessage(`{"region": "east"}`), Times: times}, false)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string((<-ended).Result))
	if err := e.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: "report of east"
}
