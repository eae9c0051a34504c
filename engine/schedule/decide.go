package schedule

import (
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// State is where a schedule stands. Ticks are in UTC; lists are oldest first.
type State struct {
	Next   time.Time `json:"next"` // the first tick that is not decided; zero: there is none
	Paused bool      `json:"paused,omitempty"`

	// Start and Cancel are decisions that may not have been carried out: ticks whose instances are to be started, and ticks whose
	// instances are to be canceled, before. The caller stores the State, and then carries them out; if it is not known whether they
	// were, it carries them out again, which does no harm.
	Start  []time.Time `json:"start,omitempty"`
	Cancel []time.Time `json:"cancel,omitempty"`

	Running []time.Time `json:"running,omitempty"` // ticks whose instances may run; none with Allow
	Waiting []time.Time `json:"waiting,omitempty"` // ticks that fire when nothing runs any more, with Queue

	Fired     int64     `json:"fired"`               // ticks that fired
	Skipped   int64     `json:"skipped"`             // ticks that did not fire because of overlaps
	LastTick  time.Time `json:"last_tick,omitzero"`  // the latest that fired
	LastFired time.Time `json:"last_fired,omitzero"` // when that was decided

	Refused int64  `json:"refused,omitempty"` // firings whose instances the store refused
	Problem string `json:"problem,omitempty"` // why, for the latest of them
}

// Begin returns the state of a schedule that is new at a time.
func (s *Schedule) Begin(now time.Time) State { return State{Next: s.Next(now)} }

// Pause returns the state of a schedule that fires no more until it is resumed. What was decided is carried out.
func (s *Schedule) Pause(st State) State {
	st.Paused = true
	return st
}

// Resume returns the state of a schedule that fires again, from the first tick after now on.
func (s *Schedule) Resume(st State, now time.Time) State {
	if st.Paused {
		st.Paused, st.Next = false, s.Next(now)
	}
	return st
}

// Decide returns the state that follows at a time. runs reports whether the instance of a tick in st.Running still runs. At most
// most ticks are decided, of which the later ones follow in the next call. Start and Cancel of the result have what is to be done;
// st is unchanged.
func (s *Schedule) Decide(id uuid.UUID, st State, now time.Time, runs func(tick time.Time) bool, most int) State {
	st.Start, st.Cancel, st.Waiting = slices.Clone(st.Start), slices.Clone(st.Cancel), slices.Clone(st.Waiting)
	st.Running = slices.DeleteFunc(slices.Clone(st.Running), func(tick time.Time) bool { return !runs(tick) })
	if st.Paused {
		return st
	}
	var ticks []time.Time
	ticks, st.Next = s.take(id, st.Next, now, most)
	switch s.spec.Overlap {
	case Allow:
		for _, tick := range ticks {
			st.fire(tick, now)
		}
		st.Running = nil
	case Queue:
		free := s.spec.QueueMax - len(st.Waiting)
		if len(st.Running) == 0 {
			free++ // the first of them fires
		}
		taken := min(len(ticks), max(free, 0))
		st.Waiting = append(st.Waiting, ticks[:taken]...)
		st.Skipped += int64(len(ticks) - taken)
		if len(st.Running) == 0 && len(st.Waiting) > 0 {
			st.fire(st.Waiting[0], now)
			st.Waiting = st.Waiting[1:]
		}
	case Cancel:
		if n := len(ticks); n > 0 {
			st.Cancel, st.Running = append(st.Cancel, st.Running...), nil
			st.Skipped += int64(n - 1)
			st.fire(ticks[n-1], now)
		}
	default:
		for _, tick := range ticks {
			if len(st.Running) > 0 {
				st.Skipped++
			} else {
				st.fire(tick, now)
			}
		}
	}
	return st
}

func (st *State) fire(tick, now time.Time) {
	st.Start, st.Running = append(st.Start, tick), append(st.Running, tick)
	st.Fired++
	st.LastTick, st.LastFired = tick, now
}

// Bounds of the pause before a schedule with waiting ticks is decided again. It is an eighth of the time since the last firing.
const (
	waitingMin = 100 * time.Millisecond
	waitingMax = 5 * time.Second
)

// Wake returns when a schedule is to be decided again; zero: not by itself.
func (s *Schedule) Wake(id uuid.UUID, st State, now time.Time) time.Time {
	var wake time.Time
	if len(st.Start)+len(st.Cancel) > 0 {
		return now
	}
	if st.Paused {
		return wake
	}
	if !st.Next.IsZero() {
		wake = s.Due(id, st.Next)
	}
	if len(st.Waiting) > 0 {
		pause := min(max(now.Sub(st.LastFired)/8, waitingMin), waitingMax)
		if soon := now.Add(pause); wake.IsZero() || soon.Before(wake) {
			wake = soon
		}
	}
	return wake
}

// take returns the ticks from first on that are due at now, without missed ones that do not fire, and the first tick after them.
func (s *Schedule) take(id uuid.UUID, first, now time.Time, most int) (ticks []time.Time, next time.Time) {
	next = first
	if late := now.Add(-s.spec.Grace); !next.IsZero() && s.Due(id, next).Before(late) {
		ticks, next = s.missed(id, first, late)
	}
	for len(ticks) < most && !next.IsZero() && !s.Due(id, next).After(now) {
		ticks = append(ticks, next)
		next = s.Next(next)
	}
	if len(ticks) > most {
		ticks, next = ticks[:most], ticks[most]
	}
	return ticks, next
}

// missed returns those that fire of the ticks from first on that were due before late, and the first tick after all of them. It
// looks back from late in growing steps: a schedule may have missed millions.
func (s *Schedule) missed(id uuid.UUID, first, late time.Time) (fire []time.Time, next time.Time) {
	keep := map[CatchUp]int{Last: 1, All: s.spec.CatchUpMax}[s.spec.CatchUp]
	const backMax = math.MaxInt64 / 4 // 73 years
	for back := min(s.shortest(), backMax/time.Duration(keep+1)) * time.Duration(keep+1); ; back *= 2 {
		from := late.Add(-back)
		if !from.After(first) {
			from = first
		}
		fire = nil
		tick := s.Next(from.Add(-1))
		for ; !tick.IsZero() && s.Due(id, tick).Before(late); tick = s.Next(tick) {
			fire = append(fire, tick)
		}
		if len(fire) > keep || from.Equal(first) {
			return fire[max(len(fire)-keep, 0):], tick
		}
	}
}

// shortest is no longer than the time between any two ticks.
func (s *Schedule) shortest() time.Duration {
	switch {
	case s.cron == nil:
		return s.spec.Every
	case s.cron.second == 1:
		return time.Minute
	}
	return time.Second
}
