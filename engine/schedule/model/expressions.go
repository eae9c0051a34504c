package model

import (
	"fmt"
	"strings"
)

// Zones are zones that change their offset within the ten days of Days, at different times and by different amounts, and some
// that do not.
var Zones = []string{
	"UTC", "Asia/Kolkata", "America/New_York", "Europe/Berlin", "Europe/London", "Atlantic/Azores", "Asia/Beirut", "Antarctica/Troll",
	"Australia/Sydney", "Australia/Lord_Howe", "Pacific/Auckland", "Pacific/Chatham", "America/Santiago", "Pacific/Norfolk",
}

// Expression writes a cron expression of five fields. draw returns a number from 0 to n-1. sparse: it has few ticks a day.
func Expression(draw func(n int) int, sparse bool) string {
	hour := field(draw, 0, 23)
	if draw(3) == 0 {
		hour = "*"
	}
	minute := field(draw, 0, 59)
	if sparse {
		minute = fmt.Sprint(draw(60))
		if draw(4) == 0 {
			minute += fmt.Sprint(",", draw(60))
		}
	}
	day, month, weekday := "*", "*", "*"
	switch draw(6) {
	case 0:
		day = field(draw, 1, 31)
	case 1:
		weekday = field(draw, 0, 6)
	case 2:
		day, weekday = field(draw, 1, 31), field(draw, 0, 6)
	}
	if draw(8) == 0 {
		month = field(draw, 1, 12)
	}
	return strings.Join([]string{minute, hour, day, month, weekday}, " ")
}

func field(draw func(n int) int, least, most int) string {
	n := most - least + 1
	switch draw(6) {
	case 0:
		return "*"
	case 1:
		return fmt.Sprintf("*/%d", 1+draw(n))
	case 2:
		low := least + draw(n)
		return fmt.Sprintf("%d-%d", low, low+draw(most-low+1))
	case 3:
		low := least + draw(n)
		return fmt.Sprintf("%d-%d/%d", low, low+draw(most-low+1), 1+draw(5))
	case 4:
		return fmt.Sprintf("%d,%d,%d", least+draw(n), least+draw(n), least+draw(n))
	}
	return fmt.Sprint(least + draw(n))
}
