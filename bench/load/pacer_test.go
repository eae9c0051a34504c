package load_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"pulley/bench/load"
	"pulley/scenarios/arrivals"
)

// For any times and any moments of asking, every request must be sent or dropped once, in order, never early, never above the
// bound, and no later than the first call after its time.
func TestPacerLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 60).Draw(t, "gaps")
		at := make([]time.Duration, len(times))
		sum := time.Duration(0)
		for i, gap := range times {
			sum += time.Duration(gap)
			at[i] = sum
		}
		most := rapid.IntRange(1, 10).Draw(t, "most")
		p := load.NewPacer(at, most)
		now, next, looked, more := time.Duration(0), 0, time.Duration(-1), true
		for more {
			inFlight := rapid.IntRange(0, 12).Draw(t, "in flight")
			var b load.Batch
			var again time.Duration
			b, again, more = p.Due(now, inFlight)
			if b.First != next || b.Count+inFlight > max(most, inFlight) || b.Dropped > 0 && b.Count+inFlight < most {
				t.Fatalf("at %d with %d in flight: %+v after %d", now, inFlight, b, next)
			}
			for i := next; i < next+b.Count+b.Dropped; i++ {
				if at[i] > now || at[i] <= looked {
					t.Fatalf("request %d, of %d, comes at %d after a look at %d", i, at[i], now, looked)
				}
			}
			next += b.Count + b.Dropped
			if more && again != at[next] {
				t.Fatalf("it is to be asked again at %d, not %d", again, at[next])
			}
			looked = now
			now += time.Duration(rapid.Int64Range(1, 2000).Draw(t, "pause"))
		}
		if next != len(at) {
			t.Fatalf("%d of %d requests are done", next, len(at))
		}
	})
}

func TestClosedPacer(t *testing.T) {
	p := load.NewClosedPacer(4, 100, 7)
	for _, c := range []struct {
		now      time.Duration
		inFlight int
		count    int
		more     bool
	}{{0, 0, 4, true}, {1, 4, 0, true}, {2, 3, 1, true}, {50, 2, 2, true}, {60, 0, 0, false}} {
		b, again, more := p.Due(c.now, c.inFlight)
		if b.Count != c.count || more != c.more || more && again != 100 {
			t.Errorf("at %d with %d in flight: %+v, again at %d, more: %v", c.now, c.inFlight, b, again, more)
		}
	}
	if _, _, more := load.NewClosedPacer(4, 100, 7).Due(100, 0); more {
		t.Error("requests come after the end")
	}
}

func TestNoSchedule(t *testing.T) {
	for text, want := range map[string]string{
		"closed:3":             "a closed process has no times of its own",
		"constant:1000000/s":   "60000000 requests in 1m0s; a run has 2000000 at most",
		"constant:0.001/s":     "nothing arrives within 1m0s",
		"steps:0/s*2m,100/s":   "nothing arrives within 1m0s",
		"burst:2,10m,10/s":     "",
		"ramp:0/s..10/s,1m":    "",
		"sine:0/s..5000/s,60s": "",
	} {
		a, err := arrivals.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		times, err := load.NewSchedule(a, time.Minute, 1)
		if got := errorText(err); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if want == "" && math.Abs(float64(len(times))-a.Expected(time.Minute)) > 1 {
			t.Errorf("%s: %d times, %v expected", text, len(times), a.Expected(time.Minute))
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

type sink struct {
	sent, dropped atomic.Int64
	inFlight      func() int
}

func (s *sink) Send(b load.Batch) {
	s.sent.Add(int64(b.Count))
	s.dropped.Add(int64(b.Dropped))
}
func (s *sink) InFlight() int { return s.inFlight() }

// Drive must stop when cancelled, and after all requests.
func TestDriveEnds(t *testing.T) {
	because := errors.New("because")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &sink{inFlight: func() int { return 0 }}
	times := []time.Duration{0, time.Microsecond, time.Hour}
	cancel(because)
	if _, err := load.Drive(ctx, load.NewPacer(times, 10), load.SystemClock{Began: time.Now()}, s, nil); !errors.Is(err, because) {
		t.Errorf("it ended with %v", err)
	}
	if _, err := load.Drive(t.Context(), load.NewPacer(times[:2], 10), load.SystemClock{Began: time.Now()}, s, nil); err != nil || s.sent.Load() < 2 {
		t.Errorf("%d sent: %v", s.sent.Load(), err)
	}
	full := &sink{inFlight: func() int { return 10 }}
	if _, err := load.Drive(t.Context(), load.NewPacer(times[:2], 10), load.SystemClock{Began: time.Now()}, full, nil); err != nil || full.sent.Load() > 0 || full.dropped.Load() != 2 {
		t.Errorf("%d sent, %d dropped: %v", full.sent.Load(), full.dropped.Load(), err)
	}
}

func TestClosedDrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inFlight atomic.Int64
		wake := make(chan struct{}, 1)
		s := &served{inFlight: &inFlight, wake: wake, takes: 10 * time.Millisecond}
		_, err := load.Drive(t.Context(), load.NewClosedPacer(3, time.Second, 1_000_000), load.SystemClock{Began: time.Now()}, s, wake)
		if err != nil || s.most > 3 || s.sent < 290 || s.sent > 303 {
			t.Errorf("%d sent, %d at once: %v; 3 at a time of 10 ms each are 300 in a second", s.sent, s.most, err)
		}
		synctest.Wait()
		time.Sleep(time.Second) // in virtual time: the last ones end
	})
}

type served struct {
	inFlight   *atomic.Int64
	wake       chan struct{}
	takes      time.Duration
	sent, most int
}

func (s *served) InFlight() int { return int(s.inFlight.Load()) }
func (s *served) Send(b load.Batch) {
	s.sent += b.Count
	s.most = max(s.most, int(s.inFlight.Add(int64(b.Count))))
	for range b.Count {
		time.AfterFunc(s.takes, func() {
			s.inFlight.Add(-1)
			select {
			case s.wake <- struct{}{}:
			default:
			}
		})
	}
}
