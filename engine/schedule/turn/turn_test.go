package turn_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/schedule"
	"pulley/engine/schedule/model"
	"pulley/engine/schedule/turn"
	"pulley/internal/depth"
)

// The ten days in which Europe begins summer time, and Australia, New Zealand and Chile end theirs; and those in which Europe and
// North America end theirs.
var tenDays = []time.Time{time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC)}

const (
	days      = 10 * 24 * time.Hour
	downFor   = 5 * time.Hour
	restartAt = 8*24*time.Hour + 12*time.Hour + downFor
)

type planned struct {
	backend.Schedule
	ticks []time.Time // of the days, by package model
}

// planSchedules adds n schedules with any zone, any expression or interval, and any policies.
func planSchedules(w *world, n int, begin time.Time) []planned {
	w.t.Helper()
	calendars := map[string]*model.Calendar{}
	draw := func(n int) int { return w.random.IntN(n) }
	var all []planned
	for len(all) < n {
		spec := schedule.Spec{
			Zone: model.Zones[draw(len(model.Zones))], Overlap: schedule.Overlaps[draw(len(schedule.Overlaps))],
			CatchUp: schedule.CatchUps[draw(len(schedule.CatchUps))], CatchUpMax: 1 + draw(5), Grace: time.Duration(5+draw(30)) * time.Minute,
		}
		if draw(3) > 0 {
			most := time.Hour
			if spec.Overlap == schedule.Skip || spec.Overlap == schedule.Cancel {
				most = 20 * time.Second // ticks that are due within seconds may be decided together, of which these fire one
			}
			spec.Jitter = time.Duration(1 + w.random.Int64N(int64(most)))
		}
		var ticks []time.Time
		if draw(5) == 0 {
			spec.Every = time.Duration(600+draw(100_000)) * time.Second
			ticks = model.Every(spec.Every, begin, begin.Add(days))
		} else {
			spec.Cron = model.Expression(draw, true)
			if calendars[spec.Zone] == nil {
				zone, err := time.LoadLocation(spec.Zone)
				if err != nil {
					w.t.Fatal(err)
				}
				calendars[spec.Zone] = model.NewCalendar(zone, begin, begin.Add(days))
			}
			var err error
			if ticks, err = calendars[spec.Zone].Ticks(spec.Cron); err != nil {
				w.t.Fatal(err)
			}
			if len(ticks) == 0 {
				continue // not in these days
			}
		}
		all = append(all, planned{w.add(fmt.Sprintf("schedule-%d", len(all)), spec), ticks})
	}
	return all
}

// expected calculates which ticks fire and how many are skipped, if all engines are down from down to up, and instances take no
// time. Decided are ticks that are due until end.
func (p planned) expected(down, up, end time.Time) (fire []time.Time, skipped int) {
	spec := p.Times.Spec()
	var missed, together, later []time.Time
	for _, tick := range p.ticks {
		switch due := p.Times.Due(p.ID, tick); {
		case !due.After(down):
			fire = append(fire, tick)
		case due.Before(up.Add(-spec.Grace)):
			missed = append(missed, tick)
		case !due.After(up):
			together = append(together, tick)
		case !due.After(end):
			later = append(later, tick)
		}
	}
	keep := map[schedule.CatchUp]int{schedule.Last: 1, schedule.All: spec.CatchUpMax}[spec.CatchUp]
	together = slices.Concat(missed[max(0, len(missed)-keep):], together)
	if n := len(together); n > 1 {
		switch spec.Overlap { // all are decided at once
		case schedule.Skip:
			together, skipped = together[:1], n-1
		case schedule.Cancel:
			together, skipped = together[n-1:], n-1
		}
	}
	return slices.Concat(fire, together, later), skipped
}

// 2,000 schedules over ten days with changes of time zones. Two of three engines are killed in the midst of turns, others die and
// return, engines stand still, calls fail, and once no engine runs for hours. What fires is what a search of every minute says.
func TestTenDaysOfManySchedules(t *testing.T) {
	seed := depth.Seed(t)
	for i, begin := range tenDays[:depth.Of(1, 2)] {
		if depth.Of(seed%2, 0) == 1 { // before a change: one of both
			begin = tenDays[1]
		}
		t.Run(begin.Format(time.DateOnly), func(t *testing.T) { tenDaysFrom(t, seed+uint64(i), begin) })
	}
}

func tenDaysFrom(t *testing.T, seed uint64, begin time.Time) {
	t.Logf("PULLEY_SEED=%d", seed)
	w := newWorld(t, seed, begin.Add(-1))
	all := planSchedules(w, 2000, begin)
	w.losing = 200
	for range 3 {
		w.open()
	}
	const between = 30*time.Second + 7 // no tick is due just then
	down, up, end := begin.Add(restartAt-downFor+between), begin.Add(restartAt+between), begin.Add(days-2*time.Hour+between)

	// Engines that die in the midst of a turn are replaced, until the two that are killed for good.
	w.runUntil(down.Add(-48*time.Hour), func(e *engine) {
		if e.steps > 1 && w.random.IntN(300) == 0 {
			w.kill(e)
			w.open()
		}
	})
	for left := range []int{2, 1} {
		w.runUntil(down.Add(-time.Duration(24-10*left)*time.Hour), nil)
		killed := false
		w.runUntil(w.now.Add(4*time.Hour), func(e *engine) {
			if !killed && e.steps > 1 && w.random.IntN(4) == 0 && w.othersWork(e) {
				w.kill(e)
				killed = true
			}
		})
		if !killed {
			t.Fatal("no engine was in the midst of a turn for hours")
		}
	}
	if len(w.engines) != 1 {
		t.Fatalf("%d engines are left, want 1", len(w.engines))
	}
	w.losing = 0 // what is decided at the ends of the downtime, and at the end, is to be exact
	w.runUntil(down.Add(-time.Hour), nil)
	w.slow = 0
	w.runUntil(down, nil)
	w.kill(w.engines[0])
	w.now = up
	w.open()
	w.runUntil(up.Add(time.Minute), nil)
	w.slow = 50 * time.Millisecond
	w.runUntil(end.Add(-time.Hour), nil)
	w.slow = 0
	w.runUntil(end, nil)

	states, total := w.states(), 0
	for _, p := range all {
		fire, skipped := p.expected(down, up, end)
		total += len(fire)
		for _, tick := range fire {
			if w.instances[schedule.FiringID(p.ID, tick)] == nil {
				t.Fatalf("%+v: tick %v did not fire; %s", p.Times.Spec(), tick, w)
			}
		}
		if st := states[p.ID]; st.Fired != int64(len(fire)) || st.Skipped != int64(skipped) {
			t.Fatalf("%+v: %d ticks fired and %d were skipped, want %d and %d; %s", p.Times.Spec(), st.Fired, st.Skipped, len(fire), skipped, w)
		}
	}
	if len(w.instances) != total {
		t.Fatalf("%d instances were started, want %d; %s", len(w.instances), total, w)
	}
	if w.kills < 4 || w.lost < 10 || w.stalls < 10 {
		t.Errorf("too little happened: %s", w)
	}
	depth.Done(t, "schedules=%d ticks=%d steps=%d kills=%d stalls=%d failed-calls=%d", len(all), total, w.steps, w.kills, w.stalls, w.lost)
}

// Instances that run longer than the time between ticks: no policy loses a tick without counting it, and none lets two run that
// must not.
func TestOverlapsAcrossKills(t *testing.T) {
	seed := depth.Seed(t)
	t.Logf("PULLEY_SEED=%d", seed)
	for run := range depth.Of(2, 20) {
		begin := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
		w := newWorld(t, seed+uint64(run), begin)
		w.losing = 30
		durations := rand.New(rand.NewPCG(seed, 1))
		w.lasts = func(turn.Firing) time.Duration { return time.Duration(durations.Int64N(int64(time.Hour))) }
		var all []backend.Schedule
		for i := range 60 {
			all = append(all, w.add(fmt.Sprint("schedule-", i), schedule.Spec{
				Every: time.Duration(30+w.random.IntN(1500)) * time.Second, Jitter: time.Duration(w.random.IntN(60)) * time.Second, Overlap: schedule.Overlaps[i%4],
				QueueMax: 1 + w.random.IntN(4), CatchUp: schedule.All, CatchUpMax: 10_000, Grace: time.Hour,
			}))
		}
		for range 3 {
			w.open()
		}
		w.runUntil(begin.Add(6*time.Hour), func(e *engine) {
			if e.turn != nil && w.random.IntN(50) == 0 {
				w.kill(e)
				w.open()
			}
		})
		w.losing, w.slow = 0, 0
		w.runUntil(begin.Add(7*time.Hour+7), nil) // no tick is due just then
		fired := map[uuid.UUID]int64{}
		for _, one := range w.instances {
			fired[one.firing.Schedule.ID]++
		}
		states := w.states()
		for _, s := range all {
			st, ticks := states[s.ID], int64(0)
			for _, tick := range model.Every(s.Times.Spec().Every, begin.Add(1), w.now) {
				if !s.Times.Due(s.ID, tick).After(w.now) {
					ticks++
				}
			}
			if st.Fired != fired[s.ID] || st.Fired+st.Skipped+int64(len(st.Waiting)) != ticks {
				t.Fatalf("%+v: of %d ticks, %d fired (%d instances), %d were skipped, %d wait", s.Times.Spec(), ticks, st.Fired, fired[s.ID], st.Skipped, len(st.Waiting))
			}
			if s.Times.Spec().Overlap == schedule.Allow && st.Skipped > 0 || len(st.Waiting) > s.Times.Spec().QueueMax {
				t.Fatalf("%+v: %d were skipped, and %d wait", s.Times.Spec(), st.Skipped, len(st.Waiting))
			}
		}
		if run == 0 {
			t.Log(w)
		}
	}
}
