package dispatch

import (
	"time"

	"pulley/engine/limit"
)

// pausing decides when tasks come back that an engine returns, since it holds enough of their limit. In each part of the time come
// twice as many as all engines together can start in it, an equal part of them returned by each engine. Those that come too early
// are returned again.
type pausing struct {
	engines  int           // that need the limit, at least 1
	duration time.Duration // of attempts, smoothed; zero: none has ended

	away   [pauseParts]int // returned tasks, by the part of the time at which they come back
	passed int64           // they have come back before this part
	spread int64           // where the next one goes if all parts are full
}

const (
	pausePart  = 100 * time.Millisecond
	pauseParts = 300 // the longest pause

	durationGuessed = 50 * time.Millisecond
	durationWeight  = 16
	pauseFold       = 2
)

// lasted notes how long an attempt took.
func (p *pausing) lasted(d time.Duration) {
	if p.duration == 0 {
		p.duration = d
	}
	p.duration += (d - p.duration) / durationWeight
}

// startsEvery returns the time between two starts of all engines.
func (p *pausing) startsEvery(l limit.Limit) time.Duration {
	every := time.Duration(1)
	if l.Rate != (limit.Rate{}) {
		every = l.Rate.Every()
	}
	if l.Concurrency > 0 {
		duration := p.duration
		if duration == 0 {
			duration = durationGuessed
		}
		every = max(every, duration/time.Duration(l.Concurrency))
	}
	return every
}

// returnAt returns when one more task is to come back, while queued ones wait here: the first part of the time that is not full.
func (p *pausing) returnAt(now time.Time, l limit.Limit, queued int) time.Time {
	every := p.startsEvery(l) * time.Duration(max(p.engines, 1))
	most := max(1, int(pauseFold*pausePart/every))
	this := partOf(now)
	for p.passed = max(p.passed, this-pauseParts+1); p.passed <= this; p.passed++ {
		p.away[p.passed%pauseParts] = 0
	}
	first, last := min(partOf(now.Add(time.Duration(queued)*every))+1, this+pauseParts-1), this+pauseParts-1
	at := first
	for at < last && p.away[at%pauseParts] >= most {
		at++
	}
	if p.away[at%pauseParts] >= most {
		p.spread++
		at = first + p.spread%(last-first+1)
	}
	p.away[at%pauseParts]++
	return time.Unix(0, at*int64(pausePart)).In(now.Location())
}

func partOf(t time.Time) int64 { return t.UnixNano() / int64(pausePart) }
