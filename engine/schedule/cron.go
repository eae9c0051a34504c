package schedule

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cronFields are the values of each field, as bits. Local times are wall seconds: those from 1970-01-01 00:00 on the local
// calendar, in which every day has 86,400.
type cronFields struct {
	second, minute, hour, day, month, weekday uint64

	everyHour bool // the hour field is *
	bothDays  bool // day and weekday must match, since one of them is *
}

// star is set by the parser in a field that is *.
const star = 1 << 63

var cronParser = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

func parseCron(text string) (*cronFields, error) {
	text = strings.Join(strings.Fields(text), " ") // errors are one line
	if strings.Contains(text, "TZ=") {
		return nil, fmt.Errorf("cron %q: the zone does not belong in it; give it as the schedule's zone", text)
	}
	parsed, err := cronParser.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("cron %q: %w; write minute, hour, day, month and weekday, such as 30 6 * * 1-5", text, err)
	}
	p, ok := parsed.(*cron.SpecSchedule)
	if !ok { // @every
		return nil, fmt.Errorf("cron %q: this is an interval; give it as the schedule's interval", text)
	}
	f := &cronFields{
		second: p.Second &^ star, minute: p.Minute &^ star, hour: p.Hour &^ star, day: p.Dom &^ star, month: p.Month &^ star, weekday: p.Dow &^ star,
		everyHour: p.Hour&star != 0, bothDays: (p.Dom|p.Dow)&star != 0,
	}
	for _, field := range []uint64{f.second, f.minute, f.hour, f.day, f.month, f.weekday} {
		if field == 0 {
			return nil, fmt.Errorf("cron %q: a field has no value; write * for every one", text)
		}
	}
	return f, nil
}

const daySeconds = 86_400

// next returns the first matching wall second from from on and before before.
func (f *cronFields) next(from, before int64) (wall int64, ok bool) {
	day, second := floorDiv(from, daySeconds), 0
	second = int(from - day*daySeconds)
	for ; day*daySeconds < before; day, second = day+1, 0 {
		date := time.Unix(day*daySeconds, 0).UTC()
		if f.month&(1<<date.Month()) == 0 {
			next := time.Date(date.Year(), date.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			day = next.Unix()/daySeconds - 1
			continue
		}
		if !f.matchesDay(date) {
			continue
		}
		if second, ok := f.nextInDay(second); ok {
			wall = day*daySeconds + int64(second)
			return wall, wall < before
		}
	}
	return 0, false
}

func (f *cronFields) matchesDay(date time.Time) bool {
	day, weekday := f.day&(1<<date.Day()) != 0, f.weekday&(1<<date.Weekday()) != 0
	if f.bothDays {
		return day && weekday
	}
	return day || weekday
}

// nextInDay returns the first matching second of a day from second on.
func (f *cronFields) nextInDay(second int) (int, bool) {
	hour, minute, second := second/3600, second/60%60, second%60
	if s, ok := nextBit(f.second, second); ok && f.hour&(1<<hour) != 0 && f.minute&(1<<minute) != 0 {
		return hour*3600 + minute*60 + s, true
	}
	first, _ := nextBit(f.second, 0)
	if m, ok := nextBit(f.minute, minute+1); ok && f.hour&(1<<hour) != 0 {
		return hour*3600 + m*60 + first, true
	}
	h, ok := nextBit(f.hour, hour+1)
	m, _ := nextBit(f.minute, 0)
	return h*3600 + m*60 + first, ok
}

// nextBit returns the lowest bit from from on.
func nextBit(set uint64, from int) (int, bool) {
	rest := set >> from << from
	return bits.TrailingZeros64(rest), rest != 0
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
