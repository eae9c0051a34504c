package journal

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/internal/depth"
)

var (
	dreaming = backendtest.Workflow{Name: "dreaming", Input: `{"n": 2}`, Want: `4`, Source: `
fn main(input: [n], output: [x]):
    sleep 3600
    x = @double(value=n)
`}
	resting = backendtest.Workflow{Name: "resting", Input: `{"n": 2}`, Want: `[4,5]`, Source: `
fn main(input: [n], output: [r]):
    a = @double(value=n)
    sleep 3600
    b = @add(a=a, b=1)
    r = [a, b]
`}
	hoping = backendtest.Workflow{Name: "hoping", Input: `{}`, Want: `2`, Source: `
fn main(input: [], output: [r]):
    r = @flaky(times=1) [retry: 2, backoff: 1h]
`}
	// hoarding has a large state compared with its events between two sleeps.
	hoarding = backendtest.Workflow{Name: "hoarding", Input: `{"n": 30}`, Want: `12030`, Source: `
fn main(input: [n], output: [r]):
    all = []
    for i in range(n):
        a = @double(value=i)
        all = all + ["` + strings.Repeat("x", 400) + `" + str(a % 10)]
    @noop()
    sleep 3600
    a = @noop()
    sleep 3600
    r = 0
    for s in all:
        r = r + len(s)
`}
)

func newEvictWorld(t *testing.T) (*world, *Backend) {
	w := newWorld(t, 1)
	w.cfg.Memory = 3 << 20
	return w, w.owner()
}

func (w *world) owner() *Backend {
	w.Helper()
	w.cfg.Lease = time.Hour
	b := w.open()
	freeze(b) // a call cut off halfway may have to reload the shard
	if _, err := b.Claim(w.ctx, 0, granted(0)); err != nil {
		w.Fatal(err)
	}
	if len(b.ownedShards()) != 1 {
		w.Fatal("the shard has another owner")
	}
	return b
}

func (w *world) stats(b *Backend) Stats {
	w.Helper()
	s, err := b.Stats(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w *world) evictions(b *Backend) Stats {
	w.Helper()
	for _, sh := range b.ownedShards() {
		if err := sh.evictAndReload(w.ctx); err != nil {
			w.Fatal(err)
		}
	}
	return w.stats(b)
}

func (w *world) later(b *Backend) {
	w.Helper()
	w.evictions(b)
	for _, sql := range []string{
		"UPDATE events SET happened_at = happened_at - interval '2 hours'",
		"UPDATE instances SET submitted_at = submitted_at - interval '2 hours'",
	} {
		if _, err := b.store.Pool.Exec(w.ctx, sql); err != nil {
			w.Fatal(err)
		}
	}
	for _, sh := range b.shards {
		if err := sh.lock(w.ctx); err != nil {
			w.Fatal(err)
		}
		for _, p := range sh.evicted.heap {
			p.due -= int64(2 * time.Hour)
		}
		sh.unlock()
	}
}

// TestEvicted checks that thousands of sleeping instances leave memory, that others start where there would be no room for all,
// and that all end correctly.
func TestEvicted(t *testing.T) {
	w, b := newEvictWorld(t)
	const batch = 500
	instances := depth.Of(10_000, 20_000) // more than memory has room for
	p := dreaming.Program(t)
	whole := 0 // an instance's size in memory
	for done := 0; done < instances; done += batch {
		var subs []backend.Submission
		for range batch {
			subs = append(subs, w.instance(dreaming, p))
		}
		out, err := b.Submit(w.ctx, subs, granted(0))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out.Outcomes {
			if o.Answer != backend.Applied {
				t.Fatalf("answered %+v", o)
			}
		}
		if s := w.stats(b); whole == 0 {
			whole = s.Bytes / s.Instances
		}
	}
	if n := w.number(b, "SELECT count(*) FROM instances WHERE pending"); n > 0 {
		t.Errorf("%d instances were left for later", n)
	}
	if instances*whole < w.cfg.Memory {
		t.Errorf("inconclusive: an instance takes %d bytes, so that there was room for all", whole)
	}
	s := w.evictions(b)
	if s.Instances != 0 || s.Evicted != instances || 4*s.Bytes > instances*whole || s.Bytes > s.BytesMax {
		t.Errorf("what sleeps takes %+v; in memory it took %d bytes each", s, whole)
	}
	if got := b.bytes.Load(); got != int64(s.Bytes) {
		t.Errorf("%d bytes are known of; they are %d", got, s.Bytes)
	}
	w.later(b)
	w.finish(b)
	if s := w.stats(b); s.Evicted != 0 || s.Instances != 0 || s.Bytes != 0 {
		t.Errorf("at the end there is %+v", s)
	}
}

// TestEvictedAnywhere evicts instances of all kinds, some twice. They must end correctly with the same owner, after a handover,
// after the owner's death, and after a lost connection.
func TestEvictedAnywhere(t *testing.T) {
	ways := map[string]func(w *world, b *Backend) *Backend{
		"the same owner": func(_ *world, b *Backend) *Backend { return b },
		"handed over": func(w *world, b *Backend) *Backend {
			b.Close()
			return w.owner()
		},
		"the owner has died": func(w *world, b *Backend) *Backend {
			if _, err := b.store.Pool.Exec(w.ctx, "UPDATE shards SET expires_at = clock_timestamp()"); err != nil {
				w.Fatal(err)
			}
			kill(b)
			return w.owner()
		},
		"suspended": func(w *world, b *Backend) *Backend {
			b.shards[0].suspend()
			return b
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			w, b := newEvictWorld(t)
			for range 5 {
				for _, wf := range []backendtest.Workflow{dreaming, resting, hoping, hoarding, sequence} {
					w.until(b, w.launch(b, wf))
				}
			}
			if s := w.evictions(b); s.Evicted != 20 || s.Instances != 0 {
				t.Fatalf("%+v; want all that sleep to be evicted", s)
			}
			states := w.number(b, "SELECT count(*) FROM events WHERE kind = 3")
			if states != 20 {
				t.Errorf("the state of %d instances was written down; want that of all", states)
			}
			b = way(w, b)
			w.until(b, nil)
			if s := w.evictions(b); s.Evicted != 20 || s.Instances != 0 || s.Broken != 0 {
				t.Fatalf("%+v; want all that sleep to be evicted still", s)
			}
			w.later(b)
			w.until(b, w.claimed(b)) // hoarding sleeps again
			if s := w.evictions(b); s.Evicted != 5 || s.Broken != 0 {
				t.Fatalf("%+v; want what sleeps again to be evicted", s)
			}
			if n := w.number(b, "SELECT count(*) FROM events WHERE kind = 3"); n != states {
				t.Errorf("a large state was written down %d times again, after a few events", n-states)
			}
			b = way(w, b)
			w.until(b, nil)
			w.later(b)
			w.finish(b)
		})
	}
}

func (w *world) until(b *Backend, tasks []backend.Task) {
	w.Helper()
	for {
		for len(tasks) > 0 {
			out := w.complete(b, ran(tasks[0]))
			if out.Outcomes[0].Answer != backend.Applied {
				w.Fatalf("answered %+v", out.Outcomes)
			}
			tasks = append(tasks[1:], out.Tasks...)
		}
		out, err := b.Claim(w.ctx, 0, granted(100))
		if err != nil {
			w.Fatal(err)
		}
		if tasks = out.Tasks; len(tasks) == 0 {
			return
		}
	}
}

func TestEvictedAreKnown(t *testing.T) {
	w := newWorld(t, 1)
	w.cfg.Lease = time.Hour
	b, other := w.open(), w.open()
	var late []backend.Completion
	for range 3 {
		task := w.launch(b, hoping)[0]
		late = append(late, ran(task))
		w.complete(b, ran(task))
		w.until(b, w.launch(b, resting))
	}
	if s := w.evictions(b); s.Evicted != 6 {
		t.Fatalf("%+v; want all evicted", s)
	}
	for _, c := range late {
		if out := w.complete(b, c); out.Outcomes[0].Answer != backend.Stale || len(out.Tasks) > 0 {
			t.Errorf("a late completion is answered %+v", out)
		}
		if kept, err := b.Renew(w.ctx, 0, []backend.Lease{c.Lease}, granted(0)); err != nil || kept[0] {
			t.Errorf("a lease that is over was renewed: %v, %v", kept, err)
		}
	}
	if out, err := b.Submit(w.ctx, w.subs[:1], granted(1)); err != nil || out.Outcomes[0].Answer != backend.Duplicate {
		t.Errorf("submitted again: %+v, %v", out.Outcomes, err)
	}
	out, err := other.Claim(w.ctx, 0, granted(0))
	if rest := time.Until(out.NextDue); err != nil || rest < 50*time.Minute || rest > time.Hour {
		t.Errorf("the next is due in %s, %v; want somewhat less than an hour", rest, err)
	}
	for i, from := range []*Backend{b, other} {
		id := w.subs[i].ID
		got, err := from.Cancel(w.ctx, []uuid.UUID{id}, "enough")
		if err != nil || got[0].Status != backend.Canceled {
			t.Errorf("canceled: %+v, %v", got, err)
		}
		delete(w.want, id)
	}
	w.subs = w.subs[2:]
	s := w.stats(b)
	if s.Evicted != 4 || s.Bytes != int(b.bytes.Load()) {
		t.Errorf("%+v; want four evicted, and %d bytes", s, b.bytes.Load())
	}
	w.clean(b)
	w.later(b)
	w.finish(b)
	if s := w.stats(b); s.Bytes != 0 {
		t.Errorf("at the end there is %+v", s)
	}
}

// TestEvictedIsMadeDue makes a returned node run of an evicted instance due, also twice: the instance is reloaded, and the node run
// claimed, though its pause is long and is in the snapshot.
func TestEvictedIsMadeDue(t *testing.T) {
	w := newWorld(t, 1)
	w.cfg.Lease = time.Hour
	b, other := w.open(), w.open()
	task := w.launch(b, sequence)[0]
	if held, err := b.Renew(w.ctx, 0, []backend.Lease{task.Lease}, backend.Grant{Owner: "test", Pause: time.Hour}); err != nil || !held[0] {
		t.Fatalf("returning a lease: %v, %v", held, err)
	}
	if s := w.evictions(b); s.Evicted != 1 {
		t.Fatalf("%+v; want it evicted", s)
	}
	for range 2 {
		open, err := other.MakeDue(w.ctx, 0, []backend.Key{task.Lease.Key})
		if err != nil || !open[0] {
			t.Fatalf("open: %v, %v", open, err)
		}
	}
	out, err := b.Claim(w.ctx, 0, granted(1))
	if err != nil || len(out.Tasks) != 1 || out.Tasks[0].Lease.Key != task.Lease.Key {
		t.Fatalf("claimed are %+v, %v", out.Tasks, err)
	}
	w.complete(b, ran(out.Tasks[0]))
	if open, err := other.MakeDue(w.ctx, 0, []backend.Key{task.Lease.Key}); err != nil || open[0] {
		t.Errorf("what is over is open: %v, %v", open, err)
	}
}

func TestCancelOfEvictedFails(t *testing.T) {
	w, b := newEvictWorld(t)
	w.until(b, w.launch(b, resting))
	before := w.evictions(b)
	ctx, cancel := context.WithCancel(w.ctx)
	sh := b.shards[0]
	if err := sh.lock(w.ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := sh.cancel(ctx, []uuid.UUID{w.subs[0].ID}, nil); err == nil {
		t.Fatal("inconclusive: it was canceled")
	}
	sh.unlock()
	if s := w.stats(b); s != before || s.Evicted != 1 {
		t.Errorf("%+v after %+v", s, before)
	}
	w.later(b)
	w.finish(b)
}

// TestEvictedClockBack sets the store's clock back: an evicted instance that has continued seems to wait, and does not.
func TestEvictedClockBack(t *testing.T) {
	w, b := newEvictWorld(t)
	w.until(b, w.launch(b, resting))
	w.later(b)
	sleep := w.claimed(b)[0]
	if out := w.complete(b, ran(sleep)); len(out.Tasks) != 1 {
		t.Fatalf("%d tasks follow the sleep", len(out.Tasks))
	}
	if _, err := b.store.Pool.Exec(w.ctx, "UPDATE events SET happened_at = happened_at + interval '3 hours'"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Pool.Exec(w.ctx, "UPDATE shards SET expires_at = clock_timestamp()"); err != nil {
		t.Fatal(err)
	}
	kill(b)
	b = w.owner()
	if s := w.stats(b); s.Evicted != 0 || s.Instances != 1 || s.Broken != 0 || s.Bytes != int(b.bytes.Load()) {
		t.Errorf("%+v; want the instance in memory", s)
	}
	w.finish(b)
}

func TestReloadedInTime(t *testing.T) {
	w := newWorld(t, 2)
	w.cfg.EvictAfter = 20 * time.Millisecond
	b := w.open()
	wf := backendtest.Workflow{Name: "moments", Input: `{"n": 3}`, Want: `[0,2,4]`, Source: `
fn main(input: [n], output: [r]):
    r = []
    for i in range(n):
        sleep 0.4
        a = @double(value=i)
        r = r + [a]
`}
	p := wf.Program(t)
	var subs []backend.Submission
	for range depth.Of(150, 600) {
		subs = append(subs, w.instance(wf, p))
	}
	if _, err := b.Submit(w.ctx, subs, granted(1)); err != nil {
		t.Fatal(err)
	}
	w.finish(b)
	if n := w.number(b, "SELECT count(*) FROM instances WHERE snapshot IS NOT NULL"); n < depth.Of(50, 200) {
		t.Errorf("inconclusive: %d instances were evicted", n)
	}
}
