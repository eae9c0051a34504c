package model_test

import (
	"fmt"
	"time"

	"pulley/engine/schedule/model"
)

// A test of another implementation of cron asks which ticks the day has that begins summer time: 02:30 does not exist, and is
// 03:30.
func ExampleCalendar_Ticks() {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	day := time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC)
	ticks, err := model.NewCalendar(zone, day, day.Add(24*time.Hour)).Ticks("30 2,3 * * *")
	for _, tick := range ticks {
		fmt.Println(tick.In(zone).Format("15:04 MST"))
	}
	fmt.Println(err)
	// Output:
	// 03:30 CEST
	// <nil>
}
