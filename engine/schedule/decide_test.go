package schedule_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"pulley/engine/schedule"
	"pulley/engine/schedule/model"
	"pulley/internal/depth"
)

// history is what a schedule did, decided by the code or by the plain rules of the test.
type history struct {
	fired    []time.Time
	canceled []time.Time
	skipped  int
}

// rules is the definition of the policies over a list of all ticks.
type rules struct {
	history
	spec    schedule.Spec
	due     func(time.Time) time.Time
	left    []time.Time // ticks that are not decided
	waiting []time.Time
	running []time.Time
}

func (r *rules) decide(now time.Time, runs func(time.Time) bool) {
	r.running = slices.DeleteFunc(r.running, func(tick time.Time) bool { return !runs(tick) })
	var missed, ticks []time.Time
	for len(r.left) > 0 && !r.due(r.left[0]).After(now) {
		if now.Sub(r.due(r.left[0])) > r.spec.Grace {
			missed = append(missed, r.left[0])
		} else {
			ticks = append(ticks, r.left[0])
		}
		r.left = r.left[1:]
	}
	keep := 0
	switch r.spec.CatchUp {
	case schedule.Last:
		keep = 1
	case schedule.All:
		keep = r.spec.CatchUpMax
	}
	for i, tick := range slices.Concat(missed[max(0, len(missed)-keep):], ticks) {
		last := i == min(keep, len(missed))+len(ticks)-1
		r.meet(tick, last)
	}
	if len(r.running) == 0 && len(r.waiting) > 0 {
		r.fire(r.waiting[0])
		r.waiting = r.waiting[1:]
	}
}

// meet applies the policy for overlaps to a tick. last: no other is due.
func (r *rules) meet(tick time.Time, last bool) {
	switch busy := len(r.running) > 0; {
	case r.spec.Overlap == schedule.Allow:
		r.fired = append(r.fired, tick)
	case r.spec.Overlap == schedule.Cancel && !last:
		r.skipped++ // it would be canceled at once
	case r.spec.Overlap == schedule.Cancel:
		r.canceled = append(r.canceled, r.running...)
		r.running = nil
		r.fire(tick)
	case r.spec.Overlap == schedule.Queue && (busy || len(r.waiting) > 0) && len(r.waiting) >= r.spec.QueueMax+free(busy):
		r.skipped++
	case r.spec.Overlap == schedule.Queue:
		r.waiting = append(r.waiting, tick)
	case busy:
		r.skipped++
	default:
		r.fire(tick)
	}
}

// free is the place of the tick that fires at once.
func free(busy bool) int {
	if busy {
		return 0
	}
	return 1
}

func (r *rules) fire(tick time.Time) {
	r.fired, r.running = append(r.fired, tick), append(r.running, tick)
}

func drawSpec(t *rapid.T) schedule.Spec {
	spec := schedule.Spec{
		Zone: rapid.SampledFrom(model.Zones).Draw(t, "zone"), Overlap: rapid.SampledFrom(schedule.Overlaps).Draw(t, "overlap"),
		CatchUp: rapid.SampledFrom(schedule.CatchUps).Draw(t, "catch-up"), CatchUpMax: rapid.IntRange(1, 5).Draw(t, "catch-up max"),
		QueueMax: rapid.IntRange(1, 3).Draw(t, "queue max"), Grace: time.Duration(rapid.IntRange(1, 7200).Draw(t, "grace")) * time.Second,
	}
	if rapid.Bool().Draw(t, "cron") {
		spec.Cron = model.Expression(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }, false)
	} else {
		spec.Every = time.Duration(rapid.IntRange(20, 7200).Draw(t, "every")) * time.Second
	}
	if rapid.Bool().Draw(t, "jitters") {
		spec.Jitter = time.Duration(rapid.Int64Range(1, int64(3*time.Hour)).Draw(t, "jitter"))
	}
	return spec
}

// Decisions at any times, with any policies, are those of the plain rules.
func TestDecideAgreesWithRules(t *testing.T) {
	depth.Checks(t, 60, 600)
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		s, err := schedule.Compile(spec)
		if err != nil {
			t.Skip("it never fires")
		}
		zone, err := time.LoadLocation(spec.Zone)
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(2026, rapid.SampledFrom([]time.Month{3, 10}).Draw(t, "month"), 27, 0, 0, 0, 0, time.UTC)
		to := from.Add(3 * 24 * time.Hour)
		ticks := model.Every(max(spec.Every, time.Second), from, to)
		if spec.Cron != "" {
			if ticks, err = model.NewCalendar(zone, from, to).Ticks(spec.Cron); err != nil {
				t.Fatal(err)
			}
		}
		id := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		want := rules{spec: s.Spec(), due: func(tick time.Time) time.Time { return s.Due(id, tick) }, left: ticks}
		st, ends := s.Begin(from.Add(-1)), map[time.Time]time.Time{}
		var got history
		for now := from; ; now = now.Add(time.Duration(rapid.IntRange(1, 40_000).Draw(t, "step")) * time.Second) {
			if !now.Before(to.Add(-3 * time.Hour)) { // later ticks would shorten the jitter of the last
				break
			}
			runs := func(tick time.Time) bool { return ends[tick].After(now) }
			want.decide(now, runs)
			st = s.Decide(id, st, now, runs, 1<<30)
			for _, tick := range st.Cancel {
				ends[tick] = now
			}
			for _, tick := range st.Start {
				ends[tick] = now.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "runs for")) * time.Second)
			}
			got.fired, got.canceled, got.skipped = append(got.fired, st.Start...), append(got.canceled, st.Cancel...), int(st.Skipped)
			st.Start, st.Cancel = nil, nil
			if fmt.Sprint(got) != fmt.Sprint(want.history) {
				t.Fatalf("%+v at %v: got %v, want %v", spec, now, got, want.history)
			}
			if wake := s.Wake(id, st, now); !wake.IsZero() && !wake.After(now) {
				t.Fatalf("%+v at %v: to be decided again at %v, which is past", spec, now, wake)
			}
			if got.fired != nil && st.Fired != int64(len(got.fired)) {
				t.Fatalf("%d firings were counted as %d", len(got.fired), st.Fired)
			}
		}
	})
}

// A bound on the ticks of a decision changes only how many decisions it takes.
func TestDecideInPieces(t *testing.T) {
	depth.Checks(t, 50, 1000)
	rapid.Check(t, func(t *rapid.T) {
		spec := schedule.Spec{
			Every: time.Duration(rapid.IntRange(1, 100).Draw(t, "every")) * time.Second, Overlap: schedule.Allow, Grace: time.Hour,
			CatchUp: rapid.SampledFrom(schedule.CatchUps).Draw(t, "catch-up"), CatchUpMax: rapid.IntRange(1, 500).Draw(t, "catch-up max"),
		}
		s, err := schedule.Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		now := begin.Add(time.Duration(rapid.IntRange(0, 10_000).Draw(t, "later")) * time.Second)
		run := func(most int) (fired []time.Time) {
			st := s.Begin(begin)
			for {
				st = s.Decide(uuid.Nil, st, now, nil, most)
				if len(st.Start) > most {
					t.Fatalf("%d ticks were decided at once, at most %d may", len(st.Start), most)
				}
				fired, st.Start = append(fired, st.Start...), nil
				if wake := s.Wake(uuid.Nil, st, now); wake.After(now) {
					return fired
				}
			}
		}
		whole, pieces := run(1<<30), run(rapid.IntRange(1, 20).Draw(t, "most"))
		if diff := difference(pieces, whole); diff != "" {
			t.Fatalf("%+v, %v later, in pieces: %s", spec, now.Sub(begin), diff)
		}
	})
}

// A schedule that missed millions of ticks is decided at once.
func TestCatchUpAfterYears(t *testing.T) {
	begin, now := at(t, "2016-01-01T00:00:00Z"), at(t, "2026-06-01T12:00:00Z")
	for _, spec := range []schedule.Spec{
		{Every: 100 * time.Millisecond}, {Cron: "* * * * * *", Zone: "Europe/Berlin"}, {Cron: "*/5 * * 12 *"}, {Cron: "0 0 29 2 *"}, {Every: schedule.SpanMax},
		{Cron: "@yearly", Jitter: schedule.SpanMax},
	} {
		for keep, catchUp := range map[int]schedule.CatchUp{0: schedule.None, 1: schedule.Last, 10_000: schedule.All} {
			spec.CatchUp, spec.CatchUpMax, spec.Overlap, spec.Grace = catchUp, keep, schedule.Allow, time.Second
			s := compile(t, spec)
			st := s.Decide(uuid.Nil, s.Begin(begin), now, nil, 1<<30)
			onTime := len(ticksOf(s, now.Add(-time.Second), now.Add(1)))
			if n := len(st.Start); n > keep+onTime || n < min(keep, 2) {
				t.Errorf("%+v: %d firings after years", spec, n)
			}
			if !s.Due(uuid.Nil, st.Next).After(now) {
				t.Errorf("%+v: tick %v is left", spec, st.Next)
			}
		}
	}
}

func TestPauseAndResume(t *testing.T) {
	s := compile(t, schedule.Spec{Every: time.Minute, Overlap: schedule.Queue, CatchUp: schedule.All, Grace: time.Hour})
	begin := at(t, "2026-05-01T00:00:30Z")
	st := s.Decide(uuid.Nil, s.Begin(begin), begin.Add(time.Minute), nil, 100)
	if len(st.Start) != 1 {
		t.Fatalf("%d firings, want 1", len(st.Start))
	}
	st = s.Pause(st)
	if wake := s.Wake(uuid.Nil, st, begin); !wake.Equal(begin) {
		t.Errorf("with a firing to carry out, it is decided again at %v", wake)
	}
	st.Start = nil
	st = s.Decide(uuid.Nil, st, begin.Add(10*time.Minute), func(time.Time) bool { return false }, 100)
	if wake := s.Wake(uuid.Nil, st, begin); len(st.Start) != 0 || !wake.IsZero() {
		t.Errorf("paused, it fires %v, and is decided again at %v", st.Start, wake)
	}
	resumed := s.Resume(st, begin.Add(20*time.Minute))
	if want := at(t, "2026-05-01T00:21:00Z"); !resumed.Next.Equal(want) || resumed.Paused {
		t.Errorf("resumed, it continues at %v, want %v", resumed.Next, want)
	}
	if again := s.Resume(resumed, begin.Add(time.Hour)); !again.Next.Equal(resumed.Next) {
		t.Errorf("a second resume changes the next tick to %v", again.Next)
	}
}

// Databases rely on these.
func TestIdsAndJitterAreFixed(t *testing.T) {
	id, tick := uuid.MustParse("0b9e3a52-0d5b-7c64-9d5e-3f2f2f1f0a01"), at(t, "2026-05-01T00:00:00Z")
	if got := schedule.FiringID(id, tick).String(); got != firingGolden {
		t.Errorf("the firing's id is %s, want %s", got, firingGolden)
	}
	s := compile(t, schedule.Spec{Cron: "@daily", Jitter: time.Hour})
	if got := s.Due(id, tick).Format(time.RFC3339Nano); got != dueGolden {
		t.Errorf("the tick is due at %s, want %s", got, dueGolden)
	}
	text, err := json.Marshal(s.Decide(id, s.Begin(tick.Add(-1)), tick.Add(time.Hour), func(time.Time) bool { return false }, 10))
	if err != nil || string(text) != stateGolden {
		t.Errorf("the state is %s, %v; want %s", text, err, stateGolden)
	}
}

const (
	firingGolden = "726c5c96-ee3f-8cbb-923f-36d773b1f1a8"
	dueGolden    = "2026-05-01T00:33:53.195149Z"
	stateGolden  = `{"next":"2026-05-02T00:00:00Z","start":["2026-05-01T00:00:00Z"],"running":["2026-05-01T00:00:00Z"],"fired":1,"skipped":0,` +
		`"last_tick":"2026-05-01T00:00:00Z","last_fired":"2026-05-01T01:00:00Z"}`
)

// Jitter spreads ticks over all of its time, and keeps their order.
func TestJitterSpreads(t *testing.T) {
	s := compile(t, schedule.Spec{Every: 10 * time.Minute, Jitter: time.Hour})
	tick := at(t, "2026-05-01T00:00:00Z")
	var thirds [3]int
	for n := range 3000 {
		after := s.Due(uuid.UUID{1, byte(n), byte(n >> 8)}, tick).Sub(tick)
		if after < 0 || after >= 10*time.Minute {
			t.Fatalf("a tick is due %v after its time", after)
		}
		thirds[int(after/(200*time.Second))]++
	}
	for i, n := range thirds {
		if n < 850 || n > 1150 {
			t.Errorf("%d of 3000 are due in third %d", n, i)
		}
	}
}
