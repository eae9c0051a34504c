package signal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

const hold = 10 * time.Second

// world is a store in virtual time whose calls are counted. The signal is sent before one call, and an engine dies at another.
type world struct {
	*memory.Backend
	t     *testing.T
	now   time.Time
	id    uuid.UUID
	calls int

	sendAt int  // the call before which the signal is sent; 0: none
	looks  bool // another engine takes a turn when it is sent
	dieAt  int  // the call at which the engine dies; 0: none
	late   bool // it dies after the call's effect

	before func() // is called before each call, which is counted already; nil: nothing
}

var errDied = errors.New("the engine died")

func newWorld(t *testing.T, source string) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), id: uuid.New()}
	w.Backend = memory.New(memory.Options{Clock: func() time.Time { return w.now }})
	t.Cleanup(w.Close)
	program, err := plan.CompileText("waits.ir", []byte(source), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Submit(t.Context(), []backend.Submission{{ID: w.id, Program: program, Input: json.RawMessage("{}")}}, backend.Grant{Owner: "test"}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) send() {
	w.t.Helper()
	if _, err := w.Backend.SendSignal(w.t.Context(), backend.Signal{ID: uuid.New(), Instance: w.id, Name: "go", Value: json.RawMessage("7")}); err != nil {
		w.t.Fatal(err)
	}
}

// at makes a call, unless the engine dies before it.
func (w *world) at(call func() error) error {
	w.calls++
	if w.before != nil {
		w.before()
	}
	if w.calls == w.sendAt {
		w.send()
		if w.looks {
			other := Keeper{Store: w.Backend, Owner: "other", Hold: hold}
			if _, _, err := other.Turn(w.t.Context()); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if w.calls == w.dieAt && !w.late {
		return errDied
	}
	err := call()
	if w.calls == w.dieAt {
		return errDied
	}
	return err
}

func (w *world) StoreWait(ctx context.Context, s backend.SignalWait, timeout, hold time.Duration) error {
	return w.at(func() error { return w.Backend.StoreWait(ctx, s, timeout, hold) })
}

func (w *world) TakeSignal(ctx context.Context, s backend.SignalWait, hold time.Duration) (after backend.SignalWait, now time.Time, stored bool, err error) {
	err = w.at(func() (err error) {
		after, now, stored, err = w.Backend.TakeSignal(ctx, s, hold)
		return err
	})
	return after, now, stored, err
}

func (w *world) Renew(ctx context.Context, shard int, leases []backend.Lease, grant backend.Grant) (held []bool, err error) {
	err = w.at(func() (err error) {
		held, err = w.Backend.Renew(ctx, shard, leases, grant)
		return err
	})
	return held, err
}

func (w *world) ReturnSignal(ctx context.Context, s backend.SignalWait) error {
	return w.at(func() error { return w.Backend.ReturnSignal(ctx, s) })
}

func (w *world) RestWait(ctx context.Context, s backend.SignalWait, rest time.Duration) (due bool, err error) {
	err = w.at(func() (err error) {
		due, err = w.Backend.RestWait(ctx, s, rest)
		return err
	})
	return due, err
}

func (w *world) ClaimWaits(ctx context.Context, most int, hold time.Duration) (claimed backend.ClaimedWaits, err error) {
	err = w.at(func() (err error) {
		claimed, err = w.Backend.ClaimWaits(ctx, most, hold)
		return err
	})
	return claimed, err
}

func (w *world) MakeDue(ctx context.Context, shard int, keys []backend.Key) (open []bool, err error) {
	err = w.at(func() (err error) {
		open, err = w.Backend.MakeDue(ctx, shard, keys)
		return err
	})
	return open, err
}

func (w *world) RemoveWaits(ctx context.Context, waits []backend.SignalWait) error {
	return w.at(func() error { return w.Backend.RemoveWaits(ctx, waits) })
}

// step is what an engine does in a moment: it runs what is due, and takes a turn.
func (w *world) step() {
	w.t.Helper()
	ctx, k := w.t.Context(), Keeper{Store: w, Owner: "test", Hold: hold}
	for {
		claimed, err := w.Claim(ctx, 0, backend.Grant{Owner: "test", Max: 1, Lease: hold})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(claimed.Tasks) == 0 {
			break
		}
		task := claimed.Tasks[0]
		out, err := k.Wait(ctx, task)
		if err != nil || out.Returned {
			continue // an engine that died leaves the lease
		}
		done := backend.Completion{Lease: task.Lease, Program: task.Program, Attempt: task.Attempt, Result: out.Result, Failure: out.Failure}
		if _, err := w.Complete(ctx, 0, []backend.Completion{done}, backend.Grant{Owner: "test"}); err != nil {
			w.t.Fatal(err)
		}
	}
	if _, _, err := k.Turn(ctx); err != nil && !errors.Is(err, errDied) {
		w.t.Fatal(err)
	}
}

// runs lets engines work until the instance has ended, and returns it. The time between two steps is a second.
func (w *world) runs(most time.Duration) backend.Instance {
	w.t.Helper()
	for end := w.now.Add(most); !w.now.After(end); w.now = w.now.Add(time.Second) {
		w.step()
		found, err := w.Lookup(w.t.Context(), []uuid.UUID{w.id})
		if err != nil {
			w.t.Fatal(err)
		}
		if found[0].Status != backend.Running {
			return found[0]
		}
	}
	w.t.Fatalf("it does not end within %v; the signal was sent at call %d, and the engine died at call %d", most, w.sendAt, w.dieAt)
	return backend.Instance{}
}

const one = `fn main(input: [], output: [x]):
    x = @wait_signal(name="go")
`

// Whenever a signal comes, and wherever an engine dies, the wait gets it within three times the hold, and once.
func TestSignalIsNeverLate(t *testing.T) {
	cases := 0
	for sendAt := 1; sendAt <= 12; sendAt++ {
		for dieAt := 0; dieAt <= sendAt+8; dieAt++ {
			for flags := range 4 {
				cases++
				w := newWorld(t, one)
				w.sendAt, w.dieAt, w.late, w.looks = sendAt, dieAt, flags&1 != 0, flags&2 != 0
				in := w.runs(time.Duration(sendAt)*time.Second + 3*hold)
				if string(in.Result) != "7" {
					t.Fatalf("sent at call %d, died at call %d: %s, %+v", sendAt, dieAt, in.Result, in.Failure)
				}
				w.sendAt, w.dieAt = 0, 0
				for range 3 {
					w.now = w.now.Add(hold)
					w.step()
				}
				if waits, sent, err := w.Signals(t.Context(), w.id, 10); err != nil || len(waits) > 0 || len(sent) > 0 {
					t.Fatalf("sent at call %d, died at call %d: %d waits and %d signals are left, %v", sendAt, dieAt, len(waits), len(sent), err)
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// A wait without a signal costs a few calls in minutes, and times out at its deadline.
func TestWaitRests(t *testing.T) {
	w := newWorld(t, "fn main(input: [], output: [x]):\n    x = @wait_signal(name=\"go\") [timeout: 1h]\n")
	began, busy := w.now, 0
	for w.now.Sub(began) < time.Hour-time.Second {
		before := w.calls
		w.step()
		if w.calls-before > 1 { // a turn that finds nothing is one call
			busy++
		}
		w.now = w.now.Add(time.Second)
	}
	if most := int(time.Hour/rest) + 2; busy == 0 || busy > most {
		t.Errorf("it was busy in %d of 3600 seconds, at most %d are needed", busy, most)
	}
	in := w.runs(3 * time.Second)
	if in.Failure == nil || in.Failure.Type != "Timeout" || in.Failure.Message != `no signal "go" came within the timeout of 1h0m0s` {
		t.Errorf("%+v", in)
	}
	if late := w.now.Sub(began) - time.Hour; late < 0 || late > 2*time.Second {
		t.Errorf("it timed out %v after its deadline", late)
	}
}

// The wait of a cancelled instance is removed when it is next due.
func TestCanceledWaitIsRemoved(t *testing.T) {
	w := newWorld(t, one)
	w.step()
	if _, err := w.Cancel(t.Context(), []uuid.UUID{w.id}, "not needed"); err != nil {
		t.Fatal(err)
	}
	for end := w.now.Add(rest + 2*hold); w.now.Before(end); w.now = w.now.Add(time.Second) {
		w.step()
	}
	if waits, _, err := w.Signals(t.Context(), w.id, 10); err != nil || len(waits) > 0 {
		t.Errorf("%d waits are left, %v", len(waits), err)
	}
}

// Wherever a node run is cancelled while it is delivered, another wait gets the signal.
func TestSignalOutlivesACanceledWait(t *testing.T) {
	t.Parallel()
	for cancelAt := 1; cancelAt <= 6; cancelAt++ {
		w := newWorld(t, `fn main(input: [], output: [x]):
    try:
        a, b = parallel:
            @wait_signal(name="go")
            @bad()
        x = 0
    except Bad:
        x = @wait_signal(name="go")
`)
		ctx := t.Context()
		grant := backend.Grant{Owner: "test", Max: 2, Lease: hold}
		claimed, err := w.Claim(ctx, 0, grant)
		if err != nil || len(claimed.Tasks) != 2 {
			t.Fatalf("%+v, %v", claimed, err)
		}
		var wait, bad backend.Task
		for _, task := range claimed.Tasks {
			if task.Action == Action {
				wait = task
			} else {
				bad = task
			}
		}
		w.calls = 0
		w.before = func() {
			if w.calls != cancelAt {
				return
			}
			failed := backend.Completion{Lease: bad.Lease, Program: bad.Program, Attempt: 1, Failure: &plan.Failure{Type: "Bad"}}
			if out, err := w.Complete(ctx, 0, []backend.Completion{failed}, backend.Grant{Owner: "test"}); err != nil || out.Outcomes[0].Answer != backend.Applied {
				t.Fatalf("%+v, %v", out, err)
			}
			w.send()
		}
		k := Keeper{Store: w, Owner: "test", Hold: hold}
		out, err := k.Wait(ctx, wait)
		if w.calls < cancelAt { // there are no more calls
			break
		}
		if w.before = func() {}; err != nil || !out.Returned {
			t.Errorf("cancelled before call %d, it came to %+v, %v", cancelAt, out, err)
		}
		if in := w.runs(3 * hold); string(in.Result) != "7" {
			t.Errorf("cancelled before call %d: %s, %+v", cancelAt, in.Result, in.Failure)
		}
	}
}

// The signals of an instance that has ended are removed some hours later.
func TestSignalsOfEndedInstanceAreRemoved(t *testing.T) {
	w := newWorld(t, "fn main(input: [], output: [x]):\n    x = 1\n")
	w.send()
	for range 24 * 60 {
		w.now = w.now.Add(time.Minute)
		w.step()
	}
	if _, sent, err := w.Signals(t.Context(), w.id, 10); err != nil || len(sent) > 0 {
		t.Errorf("%d are left a day later, %v", len(sent), err)
	}
}

// Waits of one name take signals in their order, each one.
func TestSignalsAreTakenInOrder(t *testing.T) {
	w := newWorld(t, `fn main(input: [], output: [all]):
    all = []
    for i in range(20):
        x = @wait_signal(name="go")
        all = all + [x]
`)
	want := []int{}
	for i := range 20 {
		m := Message{Instance: w.id, Name: "go", Value: json.RawMessage(fmt.Sprint(i))}
		if created, err := Send(t.Context(), w, m); err != nil || !created {
			t.Fatal(created, err)
		}
		want = append(want, i)
		if i%3 == 0 {
			w.step()
		}
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if in := w.runs(2 * hold); string(in.Result) != string(text) {
		t.Errorf("%s, %+v", in.Result, in.Failure)
	}
}
