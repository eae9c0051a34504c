package turn_test

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/schedule"
	"pulley/engine/schedule/turn"
)

// printer prints instances instead of starting them.
type printer struct{}

func (printer) Start(_ context.Context, firings []turn.Firing) []error {
	for _, f := range firings {
		fmt.Println("start", f.Schedule.Name, "of", f.Tick.Format(time.TimeOnly), f.ID)
	}
	return make([]error, len(firings))
}

func (printer) Cancel(context.Context, []uuid.UUID) error { return nil }

func (printer) Lookup(_ context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	return make([]backend.Instance, len(ids)), nil
}

// A simulation lets an engine take a turn at a time of its choice.
func ExampleTurn_Step() {
	now := time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC)
	store := memory.New(memory.Options{Clock: func() time.Time { return now }})
	defer store.Close()
	program, err := plan.CompileText("report.ir", []byte("fn main(input: [], output: [x]):\n    x = 1\n"), ir.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	times, err := schedule.Compile(schedule.Spec{Cron: "0 2 * * *", Zone: "Europe/Berlin"})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := backend.Schedule{ID: uuid.MustParse("0b9e3a52-0d5b-7c64-9d5e-3f2f2f1f0a01"), Name: "report", Program: program, Input: []byte("{}"), Times: times}
	if err := store.AddSchedule(context.Background(), s, false); err != nil {
		fmt.Println(err)
		return
	}
	now = now.Add(time.Minute) // 02:00 does not exist on that day: the clock shows 03:00
	t := turn.New(turn.Config{Store: store, Instances: printer{}, Schedules: 10, Ticks: 10, Lease: 10 * time.Second, RetryPause: time.Second})
	for over := false; !over; {
		if over, err = t.Step(context.Background()); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// start report of 01:00:00 633c92f1-4988-84dc-8c78-a3de1f5736d0
}
