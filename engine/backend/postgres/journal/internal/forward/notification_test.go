package forward

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/internal/pgstore"
)

func TestHear(t *testing.T) {
	one, other := uuid.New(), uuid.New()
	for _, c := range []struct {
		name, payload    string
		answer           bool
		wakes, wakesBoth bool
	}{
		{name: "its answer", payload: "answered " + one.String(), answer: true, wakes: true},
		{name: "an answer to another engine", payload: "answered " + uuid.NewString(), answer: true},
		{name: "an answer to nothing", payload: "answered ", answer: true},
		{name: "a request", payload: "3"},
		{name: "that an engine has come", payload: "engines"},
		{name: "the beginning", payload: "", wakes: true, wakesBoth: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Forwarder
			first, second := d.expectAnswer(one), d.expectAnswer(other)
			for range 2 { // two notifications wake once
				if answer := d.HandleNotification(c.payload); answer != c.answer {
					t.Errorf("it is an answer: %t; want %t", answer, c.answer)
				}
			}
			if len(first) == 1 != c.wakes || len(second) == 1 != c.wakesBoth {
				t.Errorf("%d and %d are told; want %t, %t", len(first), len(second), c.wakes, c.wakesBoth)
			}
		})
	}
}

func TestExpectIsBounded(t *testing.T) {
	var d Forwarder
	ids := make([]uuid.UUID, awaitedMax)
	for i := range ids {
		if ids[i] = uuid.New(); d.expectAnswer(ids[i]) == nil {
			t.Fatalf("request %d is not told of its answer", i)
		}
	}
	if d.expectAnswer(uuid.New()) != nil {
		t.Errorf("more than %d requests are told", awaitedMax)
	}
	for _, id := range ids {
		d.stopExpecting(id)
	}
	if len(d.awaited) > 0 || d.expectAnswer(uuid.New()) == nil {
		t.Errorf("%d requests are left", len(d.awaited))
	}
}

// office is a clock, and a server that has the answer from a certain read on.
type office struct {
	pgstore.Clock
	Pool
	at     time.Time
	wakes  []int // results of the first waits; later ones time out
	after  int   // the read that finds the answer
	pauses []time.Duration
	looks  int
}

func (o *office) Now() time.Time { return o.at }

func (o *office) Wait(_ context.Context, pause time.Duration, _ ...<-chan struct{}) int {
	if n := len(o.pauses); n < len(o.wakes) {
		o.pauses = append(o.pauses, pause)
		return o.wakes[n]
	}
	o.pauses, o.at = append(o.pauses, pause), o.at.Add(pause)
	return pgstore.TimedOut
}

func (o *office) QueryRow(context.Context, string, ...any) pgx.Row {
	o.looks++
	return answerRow{there: o.looks == o.after}
}

type answerRow struct{ there bool }

func (r answerRow) Scan(dest ...any) error {
	if r.there {
		*dest[0].(*[]byte) = []byte(`{}`)
	}
	return nil
}

// TestAwait checks that a lost notification costs only pauses, which grow up to a bound. A pause ends early every 100 ms to check
// the owner.
func TestAwait(t *testing.T) {
	const ms = time.Millisecond
	there := func(context.Context) (string, bool, error) { return "owner", true, nil }
	for _, c := range []struct {
		name   string
		office office
		owner  Owner
		pauses []time.Duration
		err    error
	}{
		{name: "heard", office: office{wakes: []int{0}, after: 1}, pauses: []time.Duration{10 * ms}},
		{name: "lost", office: office{after: 6}, pauses: []time.Duration{10 * ms, 20 * ms, 40 * ms, 30 * ms, 80 * ms, 20 * ms}},
		{name: "heard late", office: office{wakes: []int{pgstore.TimedOut, 0}, after: 2}, pauses: []time.Duration{10 * ms, 20 * ms}},
		{name: "heard of nothing", office: office{wakes: []int{0, 0, pgstore.TimedOut, 0}, after: 4}, pauses: []time.Duration{10 * ms, 10 * ms, 10 * ms, 20 * ms}},
		{name: "given up", office: office{wakes: []int{pgstore.TimedOut, pgstore.Ended}, after: 2}, pauses: []time.Duration{10 * ms, 20 * ms}},
		{
			name: "the owner is gone", err: ErrForeign, pauses: []time.Duration{10 * ms, 20 * ms, 40 * ms, 30 * ms},
			owner: func(context.Context) (string, bool, error) { return "owner", false, nil },
		},
		{
			name: "another is the owner", err: ErrForeign, pauses: []time.Duration{10 * ms, 20 * ms, 40 * ms, 30 * ms},
			owner: func(context.Context) (string, bool, error) { return "another", true, nil },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.owner == nil {
				c.owner = there
			}
			d := Forwarder{Pool: &c.office, Clock: &c.office}
			data, err := d.awaitAnswer(t.Context(), 0, uuid.New(), nil, "owner", c.owner)
			if !errors.Is(err, c.err) || err == nil && string(data) != `{}` {
				t.Errorf("%s, %v; want the answer, or %v", data, err, c.err)
			}
			if !slices.Equal(c.office.pauses, c.pauses) || c.office.looks != len(c.pauses) {
				t.Errorf("%d looks after pauses of %v; want one after each of %v", c.office.looks, c.office.pauses, c.pauses)
			}
		})
	}
}
