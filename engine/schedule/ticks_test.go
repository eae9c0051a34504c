package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pulley/engine/schedule"
	"pulley/engine/schedule/model"
	"pulley/internal/depth"
)

func compile(t testing.TB, spec schedule.Spec) *schedule.Schedule {
	t.Helper()
	s, err := schedule.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant.UTC()
}

// difference describes the first difference of two lists.
func difference(got, want []time.Time) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("tick %d, %v, is missing", i, want[i])
		case i >= len(want):
			return fmt.Sprintf("tick %d, %v, is one too many", i, got[i])
		case !got[i].Equal(want[i]):
			return fmt.Sprintf("tick %d is %v, want %v", i, got[i], want[i])
		}
	}
	return ""
}

func ticksOf(s *schedule.Schedule, from, to time.Time) (ticks []time.Time) {
	for tick := s.Next(from.Add(-1)); !tick.IsZero() && tick.Before(to); tick = s.Next(tick) {
		ticks = append(ticks, tick)
	}
	return ticks
}

// Each case is a day with a change of the zone's offset.
func TestTicksWhereZonesChange(t *testing.T) {
	for _, c := range []struct{ name, cron, zone, from, to, want string }{
		{"a time that does not exist", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", "2026-03-29T01:30:00Z 2026-03-30T00:30:00Z"},
		{"the first time that does not exist", "0 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"two times become one", "30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", "2026-03-29T01:30:00Z"},
		{"a skipped time comes after later ones", "30 2,3 * * *", "Antarctica/Troll", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", "2026-03-29T01:30:00Z 2026-03-29T02:30:00Z"},
		{"a time that exists twice", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-26T12:00:00Z", "2026-10-25T00:30:00Z 2026-10-26T01:30:00Z"},
		{"every hour, one missing", "0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T03:00:00Z", "2026-03-29T00:00:00Z 2026-03-29T01:00:00Z 2026-03-29T02:00:00Z"},
		{"every hour, one twice", "30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z", "2026-10-25T00:30:00Z 2026-10-25T01:30:00Z 2026-10-25T02:30:00Z"},
		{"half an hour missing", "15 * * * *", "Australia/Lord_Howe", "2026-10-03T14:30:00Z", "2026-10-03T17:00:00Z", "2026-10-03T14:45:00Z 2026-10-03T16:15:00Z"},
		{"midnight does not exist", "0 0 * * *", "Asia/Beirut", "2026-03-28T00:00:00Z", "2026-03-29T23:00:00Z", "2026-03-28T22:00:00Z 2026-03-29T21:00:00Z"},
		{"a day does not exist", "0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2012-01-01T00:00:00Z", "2011-12-29T22:00:00Z 2011-12-30T22:00:00Z 2011-12-31T22:00:00Z"},
		{"seconds", "*/20 59 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z", "2026-11-01T05:59:00Z 2026-11-01T05:59:20Z 2026-11-01T05:59:40Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := compile(t, schedule.Spec{Cron: c.cron, Zone: c.zone})
			var got []string
			for _, tick := range ticksOf(s, at(t, c.from), at(t, c.to)) {
				got = append(got, tick.Format(time.RFC3339))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), c.want)
			}
		})
	}
}

// Ticks agree with a search of every minute, for any expression, zone and year.
func TestTicksAgreeWithEveryMinute(t *testing.T) {
	depth.Checks(t, 40, 300)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		name := rapid.SampledFrom(model.Zones).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		day := rapid.IntRange(0, 366*20).Draw(t, "day")
		from := time.Date(2020, 1, 1+day, 0, 0, 0, 0, time.UTC)
		if changes, _ := from.In(zone).ZoneBounds(); rapid.Bool().Draw(t, "near a change") && !changes.IsZero() {
			from = changes.UTC().Truncate(24 * time.Hour).Add(-24 * time.Hour)
		}
		to := from.Add(3 * 24 * time.Hour)
		calendar := model.NewCalendar(zone, from, to)
		for range 5 {
			expression := model.Expression(draw, false)
			want, err := calendar.Ticks(expression)
			if err != nil {
				t.Fatal(err)
			}
			s, err := schedule.Compile(schedule.Spec{Cron: expression, Zone: name})
			if err != nil {
				if len(want) > 0 || !strings.Contains(err.Error(), "never fires") {
					t.Fatal(err)
				}
				continue
			}
			if diff := difference(ticksOf(s, from, to), want); diff != "" {
				t.Fatalf("%s in %s from %v: %s", expression, name, from, diff)
			}
		}
	})
}

// A daily expression has one tick on each local day, whatever the zone does.
func TestDailyIsOnceADay(t *testing.T) {
	depth.Checks(t, 10, 100)
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(model.Zones).Draw(t, "zone")
		hour, minute := rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(0, 59).Draw(t, "minute")
		s, err := schedule.Compile(schedule.Spec{Cron: strings.Join([]string{itoa(minute), itoa(hour), "* * *"}, " "), Zone: zone})
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(rapid.IntRange(2015, 2035).Draw(t, "year"), 1, 2, 0, 0, 0, 0, s.Zone())
		days := map[string]int{}
		ticks := ticksOf(s, from, from.AddDate(1, 0, 0))
		for _, tick := range ticks {
			days[tick.In(s.Zone()).Format(time.DateOnly)]++
		}
		for day := from; day.Before(from.AddDate(1, 0, 0)); day = day.AddDate(0, 0, 1) {
			if name := day.Format(time.DateOnly); days[name] != 1 {
				t.Fatalf("%02d:%02d in %s: %d ticks on %s", hour, minute, zone, days[name], name)
			}
		}
	})
}

func itoa(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }

func TestIntervalsAreMultiples(t *testing.T) {
	depth.Checks(t, 100, 5000)
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.Int64Range(int64(schedule.EveryMin), int64(40*24*time.Hour)).Draw(t, "every"))
		from := time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "from"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
		to := from.Add(every * 5)
		s, err := schedule.Compile(schedule.Spec{Every: every, Zone: "Europe/Berlin"})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := ticksOf(s, from, to), model.Every(every, from, to); !slices.Equal(got, want) {
			t.Fatalf("every %v from %v: %v, want %v", every, from, got, want)
		}
	})
}

func TestCompileRefuses(t *testing.T) {
	for want, spec := range map[string]schedule.Spec{
		"a schedule needs a cron expression or an interval; give one":                                                                   {},
		"a schedule has a cron expression or an interval, not both; leave one out":                                                      {Cron: "* * * * *", Every: time.Second},
		`cron "0 0 30 2 *": it never fires, no date has that day and month; change them`:                                                {Cron: "0 0 30 2 *"},
		`cron "TZ=UTC": the zone does not belong in it; give it as the schedule's zone`:                                                 {Cron: "TZ=UTC"},
		`cron "@every 1m": this is an interval; give it as the schedule's interval`:                                                     {Cron: "@every 1m"},
		`cron ", * * * *": a field has no value; write * for every one`:                                                                 {Cron: ", * * * *"},
		`zone "Europe/Berln": there is no such time zone; give an IANA name, such as Europe/Berlin or UTC`:                              {Every: time.Second, Zone: "Europe/Berln"},
		`zone "Local": there is no such time zone; give an IANA name, such as Europe/Berlin or UTC`:                                     {Every: time.Second, Zone: "Local"},
		"the interval is 1ms; choose one from 100ms to 8784h0m0s":                                                                       {Every: time.Millisecond},
		"the jitter is -1ns; choose one from 0 to 8784h0m0s":                                                                            {Every: time.Second, Jitter: -1},
		"the grace is -1ns; choose one from 1ns to 8784h0m0s":                                                                           {Every: time.Second, Grace: -1},
		"10001 ticks may wait; choose from 1 to 10000":                                                                                  {Every: time.Second, QueueMax: 10_001},
		"-1 missed ticks fire; choose from 1 to 10000":                                                                                  {Every: time.Second, CatchUpMax: -1},
		`there is no policy for overlaps "skipp", did you mean "skip"?`:                                                                 {Every: time.Second, Overlap: "skipp"},
		`there is no policy for missed ticks "sometimes"; there are last, none, all`:                                                    {Every: time.Second, CatchUp: "sometimes"},
		`cron "61 * * * *": end of range (61) above maximum (59): 61; write minute, hour, day, month and weekday, such as 30 6 * * 1-5`: {Cron: "61 * * * *"},
		`cron "* * *": expected 5 to 6 fields, found 3: [* * *]; write minute, hour, day, month and weekday, such as 30 6 * * 1-5`:      {Cron: "* * *"},
	} {
		if _, err := schedule.Compile(spec); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", spec, err, want)
		}
	}
}

func FuzzCron(f *testing.F) {
	for _, text := range []string{"* * * * *", "@daily", "0 0 29 2 *", "*/7 1-5 * jan mon", "TZ=x", "1-2-3 * * * *", "* * * * * */9223372036854775807", ", , , , ,", "@\n"} {
		f.Add(text)
	}
	now := time.Date(2026, 3, 28, 23, 59, 59, 1, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schedule.Compile(schedule.Spec{Cron: text, Zone: "Europe/Berlin"})
		if err != nil {
			if strings.ContainsRune(err.Error(), '\n') {
				t.Errorf("more than a line: %q", err)
			}
			return
		}
		if next := s.Next(now); !next.After(now) {
			t.Errorf("%q: the tick after %v is %v", text, now, next)
		}
	})
}
