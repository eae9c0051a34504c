package schedule_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/engine/schedule"
)

// A nightly run in Berlin, in the week in which summer time begins: on the 29th, 02:30 does not exist.
func ExampleSchedule_Next() {
	s, err := schedule.Compile(schedule.Spec{Cron: "30 2 * * *", Zone: "Europe/Berlin"})
	if err != nil {
		fmt.Println(err)
		return
	}
	tick := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for range 3 {
		tick = s.Next(tick)
		fmt.Println(tick.In(s.Zone()).Format("Mon 15:04 MST"), "is", tick.Format("15:04 MST"))
	}
	// Output:
	// Sat 02:30 CET is 01:30 UTC
	// Sun 03:30 CEST is 01:30 UTC
	// Mon 02:30 CEST is 00:30 UTC
}

// A program that simulates schedules decides as engines do.
func ExampleSchedule_Decide() {
	s, err := schedule.Compile(schedule.Spec{Every: time.Hour, Overlap: schedule.Cancel})
	if err != nil {
		fmt.Println(err)
		return
	}
	id := uuid.MustParse("0b9e3a52-0d5b-7c64-9d5e-3f2f2f1f0a01")
	now := time.Date(2026, 3, 27, 12, 30, 0, 0, time.UTC)
	stillRuns := func(time.Time) bool { return true }
	st := s.Begin(now)
	for range 2 {
		now = s.Wake(id, st, now)
		st = s.Decide(id, st, now, stillRuns, 100)
		for _, tick := range st.Cancel {
			fmt.Println("cancel", schedule.FiringID(id, tick))
		}
		for _, tick := range st.Start {
			fmt.Println("start ", schedule.FiringID(id, tick), "of", tick.Format("15:04"))
		}
		st.Start, st.Cancel = nil, nil
	}
	// Output:
	// start  2642efa9-805f-85f7-9dca-3217795f41f8 of 13:00
	// cancel 2642efa9-805f-85f7-9dca-3217795f41f8
	// start  afb78392-0647-87a9-ae10-f5479bff1951 of 14:00
}
