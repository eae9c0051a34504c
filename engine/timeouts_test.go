package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pulley/engine/backend"
	"pulley/engine/worker"
	"pulley/internal/depth"
)

func TestSleepsTakeNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, Config{Backend: memoryBackend(t, 2), Slots: 1, Prefetch: -1, Poll: time.Hour})
		p := compile(t, "fn nap(input: [s], output: [s]):\n    sleep s\n\nfn main(input: [n], output: [out]):\n    out = spread range(n):i -> nap(s=10 + i % 3)\n    sleep 0.5\n    out = sum(out)\n")
		begun := time.Now()
		wantResult(t, run(t, e, p, `{"n": 300}`), "3300")
		if took := time.Since(begun); took != 12500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestTimeouts(t *testing.T) {
	const uncancellable, heeding = "@deaf()", "@heeding()"
	for _, c := range []struct {
		name, body, want string
		took             time.Duration
	}{
		{"a heeding action, not caught", "    x = " + heeding + " [timeout: 2s]\n", "Timeout: action heeding took longer than its timeout of 2s (@heeding) at test.ir:2:9", 2 * time.Second},
		{"a heeding action, retried", "    x = " + heeding + " [Timeout -> retry: 2] [timeout: 2s]\n", "Timeout: action heeding took longer than its timeout of 2s (@heeding) at test.ir:2:9", 6 * time.Second},
		{"a heeding action, not retried", "    x = " + heeding + " [Error -> retry: 2] [timeout: 2s]\n", "Timeout: action heeding took longer than its timeout of 2s (@heeding) at test.ir:2:9", 2 * time.Second},
		{"a heeding action, caught", "    try:\n        x = " + heeding + " [timeout: 2s]\n    except Timeout as e:\n        x = e['action']\n", `"heeding"`, 2 * time.Second},
		{"a deaf action, not caught", "    x = " + uncancellable + " [timeout: 2s]\n", "Timeout: action deaf did not return within 1s of its timeout of 2s (@deaf) at test.ir:2:9", 3 * time.Second},
		{"a deaf action, retried", "    x = " + uncancellable + " [Timeout -> retry: 2] [timeout: 2s]\n", "Timeout: action deaf did not return within 1s of its timeout of 2s (@deaf) at test.ir:2:9", 9 * time.Second},
		{"a deaf action, caught", "    try:\n        x = " + uncancellable + " [timeout: 2s]\n    except Timeout:\n        x = @add(a=1, b=1)\n", "2", 3 * time.Second},
		{"a deaf action in a spread", "    try:\n        x = spread range(3):i -> " + uncancellable + " [timeout: 2s]\n    except Timeout:\n        x = @add(a=1, b=1)\n", "2", 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { timesOut(t, c.body, c.want, c.took) })
		})
	}
}

func timesOut(t *testing.T, body, want string, took time.Duration) {
	t.Helper()
	release := make(chan struct{})
	log := newLedger()
	e := start(t, Config{
		Backend: memoryBackend(t, 1), Slots: 3, Observer: log.observer(),
		Workers: registry(t, map[string]worker.Func{
			"deaf":    func(context.Context, worker.Call) (any, error) { <-release; return "too late", nil },
			"heeding": func(ctx context.Context, _ worker.Call) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
		}),
	})
	begun := time.Now()
	inst := run(t, e, compile(t, "fn main(input: [], output: [x]):\n"+body), `{}`)
	if got := time.Since(begun); got != took {
		t.Errorf("it took %v, want %v", got, took)
	}
	got := string(inst.Result)
	if inst.Failure != nil {
		got = inst.Failure.String()
	}
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	answers := func() int {
		seen := log.look()
		return seen.answers[backend.Applied] + seen.answers[backend.Stale]
	}
	before := answers()
	close(release) // late results change nothing, and are not even offered
	synctest.Wait()
	if n := answers(); n != before {
		t.Errorf("%d completions were answered, and %d when the late ones had returned", before, n)
	}
	if found, err := e.Wait(t.Context(), inst.ID); err != nil || found.Status != inst.Status {
		t.Errorf("now it is %s, %v", found.Status, err)
	}
}

// More actions than slots never return. Others must continue while at most that many hang; then the engine is full, until one
// returns.
func TestActionsThatIgnoreCancelHoldNoSlotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slots = 2
		release := make(chan struct{})
		log := newLedger()
		e := start(t, Config{
			Backend: memoryBackend(t, 1), Slots: slots, Observer: log.observer(),
			Workers: registry(t, map[string]worker.Func{"deaf": func(context.Context, worker.Call) (any, error) { <-release; return nil, nil }}),
		})
		uncancellable := compile(t, "fn main(input: [], output: [x]):\n    x = @deaf() [timeout: 1s]\n")
		for range slots {
			if inst := run(t, e, uncancellable, `{}`); inst.Status != backend.Failed {
				t.Errorf("it is %s", inst.Status)
			}
		}
		wantResult(t, run(t, e, chain(t, 5), `{"x": 0}`), "5")
		for range slots {
			if inst := run(t, e, uncancellable, `{}`); inst.Status != backend.Failed {
				t.Errorf("it is %s", inst.Status)
			}
		}
		id, err := e.Submit(t.Context(), SubmitRequest{Program: chain(t, 5), Input: json.RawMessage(`{"x": 0}`)})
		if err != nil {
			t.Fatal(err)
		}
		full, cancel := context.WithTimeout(t.Context(), depth.Of(5*time.Minute, time.Hour))
		defer cancel()
		if _, err := e.Wait(full, id); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with %d actions that hang, another one ran (%v)", 2*slots, err)
		}
		release <- struct{}{}
		inst, err := e.Wait(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, inst, "5")
		if told := log.look().problems; len(told) != 2*slots || !strings.Contains(told[0], "the timeout passed, and it does not return") {
			t.Errorf("%d problems were told, want %d: %q", len(told), 2*slots, told)
		}
		close(release)
	})
}

// Pauses between attempts are base × 2^(attempt−1), with a jitter of a tenth either way.
func TestRetriesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		e := start(t, Config{Backend: memoryBackend(t, 1), Workers: registry(t, map[string]worker.Func{
			"fails": func(_ context.Context, call worker.Call) (any, error) {
				at = append(at, time.Now())
				return nil, &worker.Error{Type: "Broken", Message: fmt.Sprintf("attempt %d", call.Attempt)}
			},
		})})
		inst := run(t, e, compile(t, "fn main(input: [], output: [x]):\n    x = @fails() [Other -> retry: 9] [Broken -> retry: 4, backoff: 1s]\n"), `{}`)
		if inst.Failure == nil || inst.Failure.String() != "Broken: attempt 5 (@fails) at test.ir:2:9" || len(at) != 5 {
			t.Fatalf("%d attempts, then %v", len(at), inst.Failure)
		}
		for i, base := 1, time.Second; i < len(at); i, base = i+1, base*2 {
			if wait := at[i].Sub(at[i-1]); wait < base*9/10 || wait > base*11/10 {
				t.Errorf("attempt %d came after %v, want %v ± 10 %%", i+1, wait, base)
			}
		}
	})
}
