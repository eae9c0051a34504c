package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"time"

	"github.com/google/uuid"
)

// horizon is longer than any pause between two ticks: a 29th of February is at most eight years after the one before.
const horizon = 9 * 366 * daySeconds

// Next returns the first tick after a time, in UTC; zero if there is none.
func (s *Schedule) Next(after time.Time) time.Time {
	if s.cron == nil {
		every := int64(s.spec.Every)
		return time.Unix(0, (floorDiv(after.UnixNano(), every)+1)*every).UTC()
	}
	from := after.Unix() + 1
	for limit := from + horizon; from < limit; {
		p := s.periodAt(from)
		if tick, ok := s.nextIn(p, from, limit); ok {
			return time.Unix(tick, 0).UTC()
		}
		from = p.end
	}
	return time.Time{}
}

// period is a time in which the zone's offset does not change, in Unix seconds. A local time is an instant plus its offset.
type period struct {
	start, end     int64
	offset, before int64 // before: of the period before
}

func (s *Schedule) periodAt(at int64) period {
	t := time.Unix(at, 0).In(s.zone)
	_, offset := t.Zone()
	p := period{start: math.MinInt64, end: math.MaxInt64, offset: int64(offset), before: int64(offset)}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		p.start = start.Unix()
		_, before := start.Add(-time.Second).Zone()
		p.before = int64(before)
	}
	if !end.IsZero() {
		p.end = end.Unix()
	}
	return p
}

// nextIn returns the period's first tick from from on, before limit.
func (s *Schedule) nextIn(p period, from, limit int64) (tick int64, ok bool) {
	end := min(p.end, limit)
	if s.cron.everyHour || p.before == p.offset {
		wall, ok := s.cron.next(from+p.offset, end+p.offset)
		return wall - p.offset, ok
	}
	// Local times that the period before had, too, have had their tick.
	wall, ok := s.cron.next(max(from+p.offset, p.start+p.before), end+p.offset)
	tick = wall - p.offset
	// Local times between the periods do not exist, and are read with the offset before.
	if skipped, found := s.cron.next(from+p.before, min(p.start+p.offset, end+p.before)); found && (!ok || skipped-p.before < tick) {
		return skipped - p.before, true
	}
	return tick, ok
}

// Due returns when a tick is due: at its time plus jitter.
func (s *Schedule) Due(id uuid.UUID, tick time.Time) time.Time {
	if s.spec.Jitter == 0 {
		return tick
	}
	most := s.spec.Jitter
	if next := s.Next(tick); !next.IsZero() {
		most = min(most, next.Sub(tick))
	}
	sum := hash(id, "jitter", tick)
	jitter := time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(most))
	return tick.Add(jitter.Truncate(time.Microsecond)) // databases store no more
}

// FiringID returns the id of the instance that a schedule starts for a tick. Databases rely on it; it never changes.
func FiringID(id uuid.UUID, tick time.Time) uuid.UUID {
	sum := hash(id, "firing", tick)
	firing := uuid.UUID(sum[:16])
	firing[6] = firing[6]&0x0f | 0x80 // version 8: the application's own
	firing[8] = firing[8]&0x3f | 0x80
	return firing
}

func hash(id uuid.UUID, what string, tick time.Time) [sha256.Size]byte {
	text := append(id[:], what...)
	return sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(tick.UnixNano())))
}
