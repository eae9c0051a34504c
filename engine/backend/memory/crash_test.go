package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/memory"
	"pulley/internal/depth"
)

var errCrash = errors.New("made to crash")

// crasher crashes at one pass of one point, and counts all passes.
type crasher struct {
	mu     sync.Mutex
	passes map[string]int
	point  string // empty: nowhere
	pass   int    // from one
	fired  bool
}

func (c *crasher) at(point string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.passes == nil {
		c.passes = map[string]int{}
	}
	c.passes[point]++
	if c.point == point && c.passes[point] == c.pass {
		c.fired = true
		return errCrash
	}
	return nil
}

type witness struct {
	*memory.Backend
	t *testing.T
}

func watched[T any](w witness, call func() (T, error)) (T, error) {
	before := w.Dump()
	out, err := call()
	if err != nil && !backend.IsUnknown(err) {
		if after := w.Dump(); after != before {
			w.t.Errorf("the call failed with %v, and the store changed from\n%s\nto\n%s", err, before, after)
		}
	}
	if err := w.Open(memory.Options{}).Check(); err != nil {
		w.t.Error(err)
	}
	return out, err
}

func (w witness) Submit(ctx context.Context, subs []backend.Submission, g backend.Grant) (backend.Committed, error) {
	return watched(w, func() (backend.Committed, error) { return w.Backend.Submit(ctx, subs, g) })
}

func (w witness) Claim(ctx context.Context, shard int, g backend.Grant) (backend.Committed, error) {
	return watched(w, func() (backend.Committed, error) { return w.Backend.Claim(ctx, shard, g) })
}

func (w witness) Complete(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
	out, err := watched(w, func() (backend.Committed, error) { return w.Backend.Complete(ctx, shard, cs, g) })
	if len(cs) > 0 && err == nil {
		leases := []backend.Lease{cs[0].Lease}
		for _, t := range out.Tasks {
			leases = append(leases, t.Lease)
		}
		g.Lease = time.Minute
		if _, err := watched(w, func() ([]bool, error) { return w.Backend.Renew(ctx, shard, leases, g) }); err != nil && !errors.Is(err, errCrash) {
			w.t.Errorf("Extend: %v", err)
		}
	}
	return out, err
}

func (w witness) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	return watched(w, func() ([]backend.Instance, error) { return w.Backend.Cancel(ctx, ids, reason) })
}

// everything passes the crash points: one instance ends at its start, one fails, and one has retries, elements, counters, an
// empty spread, values, an accumulator, and caught failures.
var everything = []backendtest.Workflow{
	{Name: "all", Input: `{"n": 3}`, Want: `[6,[0,1],7]`, Source: `
fn main(input: [n], output: [r]):
    none = spread []:x -> @double(value=x)
    total = 0
    for i in range(n):
        xs = spread range(i + 1):x -> @double(value=x)
        t = @sum(values=xs)
        total = t
    a, b = parallel:
        @flaky(times=0) [retry: 1]
        @flaky(times=1) [retry: 1, backoff: 10ms]
    return [total, [len(none), a], a + b + 4]
`},
	{Name: "language", Input: `{}`, Want: `[[0,2,[1,"Bad"]],6]`, Source: `
fn step(input: [i], output: [x]):
    sleep 0.01
    if i < 2:
        x = @double(value=i)
        return x
    try:
        x = parallel:
            @double(value=i)
            @fail(type="Bad", message="no")
    except Bad as e:
        x = [1, e["type"]]

fn main(input: [], output: [r, t]):
    r = []
    for i in [0, 1, 2]:
        x = step(i=i)
        r = r + [x]
    xs = spread range(3):i limit 1 -> @double(value=i)
    t = @sum(values=xs)
`},
	{Name: "at once", Input: `{"n": 3}`, Want: `6`, Source: `
fn main(input: [n], output: [m]):
    m = n * 2
`},
	{Name: "fails", Input: `{}`, Failure: "Bad", Source: `
fn main(input: [], output: []):
    @fail(type="Bad", message="no") [Other -> retry: 3]
`},
}

// runAll drives the programs with a crash somewhere, and checks their ends.
func runAll(t *testing.T, c *crasher) {
	t.Helper()
	clock := newClock()
	b := memory.New(memory.Options{Clock: clock.Now, Jitter: func() float64 { return 0.5 }, Crash: c.at})
	var subs []backend.Submission
	want := map[uuid.UUID]backendtest.Workflow{}
	for i, w := range everything {
		id := uuid.UUID{byte(i + 1)}
		want[id] = w
		subs = append(subs, backend.Submission{ID: id, Program: w.Program(t), Input: json.RawMessage(w.Input)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cancelOne(t, witness{b, t})
	rec, err := backendtest.Drive(ctx, witness{b, t}, subs, backendtest.DriveConfig{
		Max: 2, Lease: 50 * time.Millisecond, Advance: clock.Advance,
		Again: func(err error) bool { return errors.Is(err, errCrash) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Check(); err != nil {
		t.Error(err)
	}
	for id, inst := range rec.Instances {
		if err := want[id].Expect(inst); err != nil {
			t.Error(err)
		}
	}
}

func cancelOne(t *testing.T, w witness) {
	t.Helper()
	sub := backend.Submission{ID: uuid.UUID{99}, Program: everything[0].Program(t), Input: json.RawMessage(everything[0].Input)}
	if _, err := w.Backend.Open(memory.Options{}).Submit(t.Context(), []backend.Submission{sub}, backend.Grant{}); err != nil {
		t.Fatal(err)
	}
	for {
		got, err := w.Cancel(t.Context(), []uuid.UUID{sub.ID}, "no more")
		if errors.Is(err, errCrash) {
			continue
		}
		if err != nil || got[0].Status != backend.Canceled {
			t.Fatalf("Cancel: %+v, %v", got, err)
		}
		return
	}
}

func TestCrashEverywhere(t *testing.T) {
	quiet := &crasher{}
	runAll(t, quiet)
	for _, point := range memory.Points() {
		passes := quiet.passes[point]
		if point == "submit.fired" {
			continue // no compiled program opens a barrier at its start; TestCrashInStart does
		}
		if passes == 0 {
			t.Errorf("inconclusive: %s is never passed", point)
		}
		for _, pass := range slices.Compact(depth.Of([]int{1, passes}, []int{1, min(2, passes), min(3, passes), min(5, passes), passes})) {
			t.Run(fmt.Sprintf("%s/%d", point, pass), func(t *testing.T) {
				c := &crasher{point: point, pass: pass}
				runAll(t, c)
				if !c.fired {
					t.Error("inconclusive: the crash did not happen")
				}
			})
		}
	}
	for point := range quiet.passes {
		if !slices.Contains(memory.Points(), point) {
			t.Errorf("%s is passed, and Points does not list it", point)
		}
	}
}

func TestCrashAfterCommit(t *testing.T) {
	c := &crasher{}
	b := memory.New(memory.Options{Clock: newClock().Now, Crash: c.at})
	model := memory.New(memory.Options{Clock: newClock().Now})
	w := everything[0]
	sub := []backend.Submission{{ID: uuid.UUID{9}, Program: w.Program(t), Input: json.RawMessage(w.Input)}}
	g := backend.Grant{Owner: "o", Max: 5, Lease: time.Minute}

	same := func(call string, out backend.Committed, err, modelErr error, answers ...backend.Answer) {
		t.Helper()
		if !backend.IsUnknown(err) || !errors.Is(err, errCrash) || modelErr != nil {
			t.Fatalf("%s: %v, and without the crash %v", call, err, modelErr)
		}
		if len(out.Outcomes)+len(out.Tasks)+len(out.Ended) > 0 {
			t.Errorf("%s: an unknown outcome tells of %+v", call, out)
		}
		if b.Dump() != model.Dump() {
			t.Errorf("%s: the store is\n%s\nand without the crash\n%s", call, b.Dump(), model.Dump())
		}
	}
	crashAt := func(point string) { c.mu.Lock(); c.point, c.pass = point, c.passes[point]+1; c.mu.Unlock() }

	crashAt("submit.committed")
	out, err := b.Submit(t.Context(), sub, g)
	first, modelErr := model.Submit(t.Context(), sub, g)
	same("Submit", out, err, modelErr)
	if again, err := b.Submit(t.Context(), sub, g); err != nil || again.Outcomes[0].Answer != backend.Duplicate {
		t.Errorf("Submit again: %+v, %v", again, err)
	}

	done := []backend.Completion{{Lease: first.Tasks[0].Lease, Program: sub[0].Program, Attempt: 1, Result: json.RawMessage("0")}}
	crashAt("complete.committed")
	out, err = b.Complete(t.Context(), 0, done, g)
	_, modelErr = model.Complete(t.Context(), 0, done, g)
	same("Complete", out, err, modelErr)
	if again, err := b.Complete(t.Context(), 0, done, g); err != nil || again.Outcomes[0].Answer != backend.Stale {
		t.Errorf("Complete again: %+v, %v", again, err)
	}
	for _, point := range memory.Points() {
		if memory.Committed(point) != strings.HasSuffix(point, ".committed") {
			t.Errorf("Committed(%s) is %t", point, memory.Committed(point))
		}
	}
}
