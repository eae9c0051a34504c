package oracle

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"pulley/engine/reference"
	"pulley/internal/depth"
)

// busyHistory is a right history of about that many events, of four engines that are killed repeatedly: leases expire, answers
// are lost, claims get none, and failures are retried.
func busyHistory(events int) History {
	const runs = 10
	r := rand.New(rand.NewPCG(7, 7))
	var h History
	lives := [4]int{}
	call, token, now := int64(0), int64(0), int64(0)
	add := func(e Event) {
		now++
		e.AtNS = now
		h = append(h, e)
	}
	for i := 0; len(h) < events; i++ {
		id := fmt.Sprintf("instance-%07d", i)
		call++
		add(Event{Kind: Submitting, Source: "client", Instance: id, Call: call})
		add(Event{Kind: Submitted, Source: "client", Instance: id, Call: call})
		for n := range runs {
			at := r.IntN(len(lives))
			run := Event{Source: fmt.Sprintf("engine-%d.%d", at, lives[at]), Instance: id, Node: fmt.Sprint("n", n), Attempt: 1}
			lease := func() {
				token++
				e := run
				e.Kind, e.Token, e.UntilNS = Leased, token, now+1000
				add(e)
			}
			say := func(kind Kind, answer Answer, again bool) {
				e := run
				e.Kind, e.Token, e.Call, e.Answer, e.Again = kind, token, call, answer, again
				add(e)
			}
			lease()
			call++
			switch r.IntN(20) {
			case 0:
				say(Offered, "", false)
				say(Answered, AnswerUnknown, false)
				call++
				say(Offered, "", false)
				say(Answered, AnswerStale, false)
				continue
			case 1: // killed on the way, and done by the next incarnation
				say(Offered, "", false)
				add(Event{Kind: Killed, Source: "client", Process: run.Source})
				add(Event{Kind: SessionsClosed, Source: "client", Process: run.Source})
				lives[at]++
				run.Source = fmt.Sprintf("engine-%d.%d", at, lives[at])
				now += 1000
				lease()
				call++
			case 2:
				say(Offered, "", false)
				say(Answered, AnswerApplied, true)
				run.Attempt = 2
				lease()
				call++
			}
			say(Offered, "", false)
			say(Answered, AnswerApplied, false)
		}
		add(Event{Kind: Ended, Source: "client", Instance: id, SinceNS: now - 2, Status: reference.Completed, Result: []byte("1")})
	}
	return h
}

var busyRules = Rules{Invariants: []string{"I1", "I3", "I7", "I8", "I9", "I11"}}

// cpu is in seconds.
func cpu(t *testing.T) float64 {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// Four times the history must take about four times the work, not sixteen: by allocations, and at night also by processor time.
func TestCheckIsLinear(t *testing.T) {
	work := func(events int) (bytes, seconds float64) {
		h := busyHistory(events)
		for range depth.Of(1, 4) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := cpu(t)
			report, err := Check(h, busyRules)
			if err != nil || report.Result() != Holds {
				t.Fatalf("%v\n%s", err, report)
			}
			if q := CountQueue(h, false); q.Result() != Holds || q.Runs.Recovered == 0 {
				t.Fatalf("%s", q)
			}
			took := cpu(t) - began
			runtime.ReadMemStats(&after)
			bytes = float64(after.TotalAlloc - before.TotalAlloc)
			if seconds == 0 || took < seconds {
				seconds = took
			}
		}
		return bytes, seconds
	}
	events := depth.Of(4_000, 16_000)
	smallBytes, small := work(events)
	largeBytes, large := work(4 * events)
	if largeBytes > 6*smallBytes {
		t.Errorf("four times the history took %.1f times the bytes", largeBytes/smallBytes)
	}
	if depth.Night() && large > 9*small {
		t.Errorf("four times the history took %.1f times the work", large/small)
	}
}

func BenchmarkMillionEvents(b *testing.B) {
	h := busyHistory(1_000_000)
	var text bytes.Buffer
	if err := WriteHistory(&text, h); err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if back, _, err := ReadHistory(bytes.NewReader(text.Bytes())); err != nil || len(back) != len(h)+1 {
				b.Fatal(len(back), err)
			}
		}
	})
	b.Run("merge", func(b *testing.B) {
		for b.Loop() {
			Merge(h[:len(h)/2], h[len(h)/2:])
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if report, err := Check(h, busyRules); err != nil || report.Result() != Holds {
				b.Fatal(err, report)
			}
		}
	})
	b.Run("queue", func(b *testing.B) {
		for b.Loop() {
			if q := CountQueue(h, false); q.Result() != Holds {
				b.Fatal(q)
			}
		}
	})
}
