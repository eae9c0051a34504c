// Package model is the plainest definition of a schedule's ticks, for tests: it looks at every minute. It shares no code with
// package schedule, and reads cron expressions on its own.
package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Calendar knows the local time of every minute of some days in a zone.
type Calendar struct {
	from, to time.Time
	zone     *time.Location
	minutes  []clock       // of each minute from from on
	first    map[clock]int // the minute at which a local time is first read
	last     map[clock]int // and last
	walls    []clock       // every local time of the days, also those that no clock shows
	place    map[clock]int // of each of walls
}

// clock is what a clock and a calendar show.
type clock struct{ year, month, day, weekday, hour, minute int }

func read(t time.Time) clock {
	return clock{t.Year(), int(t.Month()), t.Day(), int(t.Weekday()), t.Hour(), t.Minute()}
}

// margin is how much more than the days is known, for local times near their ends.
const margin = 48 * time.Hour

// NewCalendar returns the calendar of a zone from one UTC midnight to another.
func NewCalendar(zone *time.Location, from, to time.Time) *Calendar {
	c := &Calendar{from: from, to: to, zone: zone, first: map[clock]int{}, last: map[clock]int{}, place: map[clock]int{}}
	for t := from.Add(-margin); t.Before(to.Add(margin)); t = t.Add(time.Minute) {
		shown := read(t.In(zone))
		if _, again := c.first[shown]; !again {
			c.first[shown] = len(c.minutes)
		}
		c.last[shown] = len(c.minutes)
		c.minutes = append(c.minutes, shown)
	}
	// A calendar without a zone shows every local time.
	for t := from.Add(-margin / 2); t.Before(to.Add(margin / 2)); t = t.Add(time.Minute) {
		wall := read(t)
		c.place[wall] = len(c.walls)
		c.walls = append(c.walls, wall)
	}
	return c
}

func (c *Calendar) instant(minute int) time.Time {
	return c.from.Add(-margin).Add(time.Duration(minute) * time.Minute).UTC()
}

// Ticks returns the ticks of a cron expression of five fields, in order.
func (c *Calendar) Ticks(expression string) ([]time.Time, error) {
	e, err := parse(expression)
	if err != nil {
		return nil, err
	}
	found := map[time.Time]bool{}
	if e.hourIsStar {
		for i, shown := range c.minutes {
			if e.matches(shown) {
				found[c.instant(i)] = true
			}
		}
	} else {
		for _, wall := range c.walls {
			if e.matches(wall) {
				found[c.instantOf(wall)] = true
			}
		}
	}
	var ticks []time.Time
	for tick := range found {
		if !tick.Before(c.from) && tick.Before(c.to) {
			ticks = append(ticks, tick)
		}
	}
	slices.SortFunc(ticks, time.Time.Compare)
	return ticks, nil
}

// instantOf returns when a local time is first read. If it never is, it is as long after the last that was as the clock says.
func (c *Calendar) instantOf(wall clock) time.Time {
	if minute, ok := c.first[wall]; ok {
		return c.instant(minute)
	}
	at := c.place[wall]
	for before := at; ; before-- {
		if minute, ok := c.last[c.walls[before]]; ok {
			return c.instant(minute).Add(time.Duration(at-before) * time.Minute)
		}
	}
}

type expression struct {
	minute, hour, day, month, weekday map[int]bool
	hourIsStar, dayIsStar, weekIsStar bool
}

func parse(text string) (e expression, err error) {
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return e, fmt.Errorf("%q has %d fields", text, len(fields))
	}
	star := func(i int) bool { return fields[i] == "*" || fields[i] == "*/1" }
	e.hourIsStar, e.dayIsStar, e.weekIsStar = star(1), star(2), star(4)
	for i, f := range []struct {
		to          *map[int]bool
		least, most int
	}{{&e.minute, 0, 59}, {&e.hour, 0, 23}, {&e.day, 1, 31}, {&e.month, 1, 12}, {&e.weekday, 0, 6}} {
		if *f.to, err = values(fields[i], f.least, f.most); err != nil {
			return e, fmt.Errorf("%q: %w", text, err)
		}
	}
	return e, nil
}

func values(field string, least, most int) (map[int]bool, error) {
	set := map[int]bool{}
	for part := range strings.SplitSeq(field, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		low, high, step := least, most, 1
		var errs [3]error
		if span != "*" {
			lowText, highText, ranged := strings.Cut(span, "-")
			low, errs[0] = strconv.Atoi(lowText)
			if ranged {
				high, errs[1] = strconv.Atoi(highText)
			} else if !stepped {
				high = low
			}
		}
		if stepped {
			step, errs[2] = strconv.Atoi(stepText)
		}
		for _, err := range errs {
			if err != nil {
				return nil, err
			}
		}
		for n := low; n <= high; n += step {
			set[n] = true
		}
	}
	return set, nil
}

func (e *expression) matches(c clock) bool {
	day, week := e.day[c.day], e.weekday[c.weekday]
	either := day || week
	if e.dayIsStar || e.weekIsStar {
		either = day && week
	}
	return e.minute[c.minute] && e.hour[c.hour] && e.month[c.month] && either
}

// Every returns the multiples of an interval since the Unix epoch, from from to before to.
func Every(interval time.Duration, from, to time.Time) []time.Time {
	var ticks []time.Time
	for n := from.UnixNano() / int64(interval); ; n++ {
		tick := time.Unix(0, n*int64(interval)).UTC()
		if !tick.Before(to) {
			return ticks
		}
		if !tick.Before(from) {
			ticks = append(ticks, tick)
		}
	}
}
