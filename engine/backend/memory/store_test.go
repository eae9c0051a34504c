package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/memory"
)

var update = flag.Bool("update", false, "rewrite the files under testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func submit(t *testing.T, b *memory.Backend, id byte, src, input string, g backend.Grant) (backend.Submission, []backend.Task) {
	t.Helper()
	sub := backend.Submission{ID: uuid.UUID{id}, Program: backendtest.MustCompile(t, src), Input: json.RawMessage(input)}
	out, err := b.Submit(t.Context(), []backend.Submission{sub}, g)
	if err != nil || out.Outcomes[0].Answer != backend.Applied {
		t.Fatalf("Submit: %+v, %v", out.Outcomes, err)
	}
	return sub, out.Tasks
}

func complete(t *testing.T, b *memory.Backend, task backend.Task, result string, g backend.Grant) backend.Committed {
	t.Helper()
	c := backend.Completion{Lease: task.Lease, Program: task.Program, Attempt: task.Attempt, Result: json.RawMessage(result)}
	shard := backend.ShardOf(task.Lease.Key.Instance, b.Shards())
	out, err := b.Complete(t.Context(), shard, []backend.Completion{c}, g)
	if err != nil || out.Outcomes[0].Answer != backend.Applied {
		t.Fatalf("Complete: %+v, %v", out.Outcomes, err)
	}
	return out
}

func TestDump(t *testing.T) {
	clock := newClock()
	b := memory.New(memory.Options{Shards: 2, Clock: clock.Now, Jitter: func() float64 { return 0.5 }})
	g := func(n int) backend.Grant { return backend.Grant{Owner: "host-1", Max: n, Lease: time.Minute} }

	_, tasks := submit(t, b, 1, `
fn main(input: [n], output: [r]):
    big = @echo(value="x")
    xs = spread range(n):i -> @echo(value=big)
    r = @echo(value=[xs, n])
`, `{"n": 12}`, g(1))
	out := complete(t, b, tasks[0], `"`+strings.Repeat("y", 4096)+`"`, g(4))
	complete(t, b, out.Tasks[2], `"third"`, g(0))
	clock.Advance(time.Second)

	_, tasks = submit(t, b, 5, `
fn main(input: [], output: [r]):
    r = []
    while True:
        x = @echo(value=1)
        r = r + [x]
        sleep 60
`, `{}`, g(1))
	complete(t, b, tasks[0], `1`, g(0))
	_, _ = submit(t, b, 6, "fn main(input: [], output: []):\n    @noop()\n", `{}`, g(1))
	if _, err := b.Cancel(t.Context(), []uuid.UUID{{6}}, "no more"); err != nil {
		t.Fatal(err)
	}

	_, tasks = submit(t, b, 2, `
fn main(input: [], output: [r]):
    r = @flaky(times=1) [retry: 2, backoff: 10s]
`, `{}`, g(1))
	failure := backend.Completion{Lease: tasks[0].Lease, Program: tasks[0].Program, Attempt: 1, Failure: flaky()}
	if _, err := b.Complete(t.Context(), backend.ShardOf(uuid.UUID{2}, 2), []backend.Completion{failure}, g(0)); err != nil {
		t.Fatal(err)
	}
	_, tasks = submit(t, b, 3, `
fn main(input: [], output: [r]):
    r = @echo(value="end")
`, `{}`, g(1))
	complete(t, b, tasks[0], `{"k": [1,2.5]}`, g(0))
	_, tasks = submit(t, b, 4, `
fn main(input: [], output: [r]):
    r = @flaky(times=9)
`, `{}`, g(1))
	failure.Lease, failure.Program = tasks[0].Lease, tasks[0].Program
	if _, err := b.Complete(t.Context(), backend.ShardOf(uuid.UUID{4}, 2), []backend.Completion{failure}, g(0)); err != nil {
		t.Fatal(err)
	}

	got := strings.ReplaceAll(b.Dump(), strings.Repeat("y", 4096), "yyy…")
	got = regexp.MustCompile(`program=[0-9a-f]{12}`).ReplaceAllString(got, "program=…") // the hash of a graph's encoding
	if *update {
		if err := os.WriteFile("testdata/dump.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/dump.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the dump differs from testdata/dump.txt (rewrite it with -update if that is right):\n%s", diff)
	}
	if err := b.Check(); err != nil {
		t.Error(err)
	}
}

func TestDefaults(t *testing.T) {
	b := memory.New(memory.Options{Shards: -3})
	if b.Shards() != 1 {
		t.Errorf("%d shards; want 1", b.Shards())
	}
	before := time.Now()
	_, tasks := submit(t, b, 1, "fn main(input: [], output: []):\n    @noop() [retry: 1, backoff: 1h]\n", `{}`,
		backend.Grant{Max: 1, Lease: time.Hour})
	if e := tasks[0].Expires; e.Before(before.Add(time.Hour)) || e.After(time.Now().Add(time.Hour)) {
		t.Errorf("the lease ends at %s; want an hour from now on the system's clock", e)
	}
	c := backend.Completion{Lease: tasks[0].Lease, Program: tasks[0].Program, Attempt: 1, Failure: flaky()}
	out, err := b.Complete(t.Context(), 0, []backend.Completion{c}, backend.Grant{})
	if err != nil {
		t.Fatal(err)
	}
	if wait := out.NextDue.Sub(before); wait < 50*time.Minute || wait > 70*time.Minute {
		t.Errorf("the retry waits for %s; want an hour, give or take a tenth", wait)
	}
	if d := b.Open(memory.Options{Shards: 7}).Shards(); d != 1 {
		t.Errorf("another backend on the store has %d shards", d)
	}
}

func TestNextDue(t *testing.T) {
	clock := newClock()
	b := memory.New(memory.Options{Clock: clock.Now, Jitter: func() float64 { return 0.5 }})
	src := "fn main(input: [], output: []):\n    @noop() [Long -> retry: 1, backoff: 9s] [retry: 1, backoff: 4s]\n"
	for i, typ := range []string{"Long", "Short"} {
		_, tasks := submit(t, b, byte(i), src, `{}`, backend.Grant{Max: 1, Lease: time.Hour})
		f := flaky()
		f.Type = typ
		out, err := b.Complete(t.Context(), 0, []backend.Completion{{Lease: tasks[0].Lease, Program: tasks[0].Program, Attempt: 1, Failure: f}}, backend.Grant{})
		if err != nil {
			t.Fatal(err)
		}
		if want := clock.Now().Add([]time.Duration{9 * time.Second, 4 * time.Second}[i]); !out.NextDue.Equal(want) || out.More {
			t.Errorf("after %s the next is due at %s, More %t; want %s", typ, out.NextDue, out.More, want)
		}
	}
	clock.Advance(4 * time.Second)
	out, err := b.Claim(t.Context(), 0, backend.Grant{})
	if err != nil || !out.More || !out.NextDue.Equal(clock.Now().Add(5*time.Second)) {
		t.Errorf("More %t, next due %s, %v; want one ready now and one in five seconds", out.More, out.NextDue, err)
	}
}

func TestNextDueOverShards(t *testing.T) {
	clock := newClock()
	b := memory.New(memory.Options{Shards: 2, Clock: clock.Now, Jitter: func() float64 { return 0.5 }})
	ids := [2][]uuid.UUID{}
	for i := byte(1); len(ids[0]) < 2 || len(ids[1]) < 2; i++ {
		shard := backend.ShardOf(uuid.UUID{i}, 2)
		ids[shard] = append(ids[shard], uuid.UUID{i})
	}
	for shard, backoff := range []string{"4s", "9s"} {
		src := "fn main(input: [], output: []):\n    @noop() [retry: 1, backoff: " + backoff + "]\n"
		_, tasks := submit(t, b, ids[shard][0][0], src, `{}`, backend.Grant{Max: 1, Lease: time.Hour})
		c := backend.Completion{Lease: tasks[0].Lease, Program: tasks[0].Program, Attempt: 1, Failure: flaky()}
		if _, err := b.Complete(t.Context(), shard, []backend.Completion{c}, backend.Grant{}); err != nil {
			t.Fatal(err)
		}
	}
	p := backendtest.MustCompile(t, "fn main(input: [], output: []):\n    @noop()\n")
	out, err := b.Submit(t.Context(), []backend.Submission{
		{ID: ids[0][1], Program: p, Input: json.RawMessage(`{}`)}, {ID: ids[1][1], Program: p, Input: json.RawMessage(`{}`)},
	}, backend.Grant{Max: 2, Lease: time.Hour})
	if want := clock.Now().Add(4 * time.Second); err != nil || !out.NextDue.Equal(want) || out.More {
		t.Errorf("next due at %s, More %t, %v; want %s", out.NextDue, out.More, err, want)
	}
}

func TestMisuse(t *testing.T) {
	b := memory.New(memory.Options{Shards: 2})
	dead, cancel := context.WithCancel(t.Context())
	cancel()
	closed := b.Open(memory.Options{})
	closed.Close()
	closed.Close()
	good := backend.Grant{Max: 1, Lease: time.Second}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"claim shard":        {second(b.Claim(t.Context(), 2, good)), "memory: claim: shard 2 of 2"},
		"complete shard":     {second(b.Complete(t.Context(), -1, nil, good)), "memory: complete: shard -1 of 2"},
		"renew shard":        {second(b.Renew(t.Context(), 5, nil, good)), "memory: renew: shard 5"},
		"sweep shard":        {second(b.Sweep(t.Context(), 2)), "memory: sweep: shard 2"},
		"submit max":         {second(b.Submit(t.Context(), nil, backend.Grant{Max: -1})), "Max is -1"},
		"claim lease":        {second(b.Claim(t.Context(), 0, backend.Grant{Max: 1})), "positive duration"},
		"renew lease":        {second(b.Renew(t.Context(), 0, nil, backend.Grant{Lease: -1})), "positive duration"},
		"dead claim":         {second(b.Claim(dead, 0, good)), "context canceled"},
		"dead sweep":         {second(b.Sweep(dead, 0)), "context canceled"},
		"dead lookup":        {second(b.Lookup(dead, nil)), "context canceled"},
		"dead leftovers":     {second(b.Leftovers(dead)), "context canceled"},
		"dead notify":        {b.Notify(dead), "context canceled"},
		"closed submit":      {second(closed.Submit(t.Context(), nil, good)), memory.ErrClosed.Error()},
		"closed extend":      {second(closed.Renew(t.Context(), 0, nil, good)), memory.ErrClosed.Error()},
		"closed listen":      {closed.Listen(t.Context(), func() {}), memory.ErrClosed.Error()},
		"closed notify":      {closed.Notify(t.Context()), memory.ErrClosed.Error()},
		"closed check":       {closed.Check(), memory.ErrClosed.Error()},
		"closed and no wait": {closed.Listen(dead, func() {}), ""},
	} {
		switch {
		case c.want == "" && c.err != nil:
			t.Errorf("%s: %v", name, c.err)
		case c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want) || strings.Contains(c.err.Error(), "\n")):
			t.Errorf("%s: %v; want one line with %q", name, c.err, c.want)
		}
	}
	if got := b.Dump(); got != "" {
		t.Errorf("something was stored:\n%s", got)
	}
}

func second[T any](_ T, err error) error { return err }

// TestListen checks that two pending wakes are one, and that Close ends listening.
func TestListen(t *testing.T) {
	b := memory.New(memory.Options{})
	other := b.Open(memory.Options{})
	var heard atomic.Int64
	woken, release := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- other.Listen(t.Context(), func() {
			heard.Add(1)
			woken <- struct{}{}
			<-release
		})
	}()
	notify := func() {
		if err := b.Notify(t.Context()); err != nil {
			t.Error(err)
		}
	}
	first := time.NewTicker(time.Millisecond) // it may not listen yet
	defer first.Stop()
	for listening := false; !listening; {
		notify()
		select {
		case <-woken:
			listening = true
		case <-first.C:
		}
	}
	for range 5 { // while the listener is busy: one wake is kept
		notify()
	}
	release <- struct{}{}
	<-woken
	other.Close()
	release <- struct{}{}
	if err := <-ended; !errors.Is(err, memory.ErrClosed) {
		t.Errorf("Listen ended with %v", err)
	}
	if n := heard.Load(); n != 2 {
		t.Errorf("%d wakes; want two", n)
	}
	notify() // no listener
}
