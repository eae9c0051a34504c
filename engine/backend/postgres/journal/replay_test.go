package journal

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/internal/depth"
)

// TestReplay checks after each completion of the suite's workflows that what is loaded from the store equals what is in memory.
func TestReplay(t *testing.T) {
	w := newWorld(t, 1)
	b := w.owner()
	rng := rand.New(rand.NewPCG(3, 3))
	var held []backend.Task
	for _, wf := range backendtest.Workflows() {
		held = append(held, w.launch(b, wf)...)
	}
	w.model(b)
	steps := 0
	for ; len(w.running(b)) > 0; steps++ {
		if len(held) == 0 {
			out, err := b.Claim(w.ctx, 0, granted(1000))
			if err != nil {
				t.Fatal(err)
			}
			held = out.Tasks
			continue
		}
		rng.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
		n := 1 + rng.IntN(min(len(held), 3))
		batch := make([]backend.Completion, n)
		for i := range batch {
			batch[i] = ran(held[i])
		}
		out := w.complete(b, batch...)
		held = append(held[n:], out.Tasks...)
		if steps%depth.Of(16, 2) == 0 {
			w.model(b)
		}
	}
	if steps < 200 {
		t.Errorf("inconclusive: %d steps", steps)
	}
	w.finish(b)
}

func (w *world) running(b *Backend) map[string]bool {
	out := map[string]bool{}
	for _, sh := range b.shards {
		for id := range sh.instances {
			out[id.String()] = true
		}
	}
	return out
}

func (w *world) model(b *Backend) {
	w.Helper()
	sh := b.shards[0]
	model := newShard(b, 0)
	model.epoch.Store(sh.epoch.Load())
	if err := model.load(w.ctx, sh.epoch.Load(), false); err != nil {
		w.Fatal(err)
	}
	got, seq := model.dump(), model.seq
	model.forget()
	if want := sh.dump(); got != want {
		w.Fatalf("replayed\n%s\n\nin memory\n%s", got, want)
	}
	sum := 0
	for id, inst := range sh.instances {
		if sum += inst.Bytes; inst.Bytes != inst.size() {
			w.Errorf("instance %s takes %d bytes, and %d were counted", id, inst.size(), inst.Bytes)
		}
	}
	if sum != sh.space.Bytes || b.bytes.Load() != int64(sum) {
		w.Errorf("the instances take %d bytes; counted were %d, told %d", sum, sh.space.Bytes, b.bytes.Load())
	}
	if seq != sh.seq && len(sh.instances) > 0 {
		w.Errorf("the next event is %d after replaying, and %d in memory", seq, sh.seq)
	}
}

func TestWaitsAreKept(t *testing.T) {
	w := newWorld(t, 1)
	b := w.owner()
	w.launch(b, backendtest.Workflow{Source: "fn main(input: [], output: []):\n    sleep 7200\n", Input: `{}`})
	sleeps := w.launch(b, backendtest.Workflow{Source: "fn main(input: [], output: []):\n    @noop()\n    sleep 7200\n", Input: `{}`})
	retry := w.launch(b, backendtest.Workflow{Source: "fn main(input: [], output: []):\n    @flaky(times=5) [retry: 5, backoff: 2h]\n", Input: `{}`})
	w.complete(b, ran(sleeps[0]), ran(retry[0]))
	if n := strings.Count(b.shards[0].dump(), " later "); n != 3 {
		t.Fatalf("%d node runs wait; want 3\n%s", n, b.shards[0].dump())
	}
	w.model(b)
	for _, s := range w.subs {
		if _, err := b.Cancel(w.ctx, []uuid.UUID{s.ID}, "enough"); err != nil {
			t.Fatal(err)
		}
	}
	w.clean(b)
}

// TestSnapshots checks that a loop with many events gets snapshots, that the events before them are deleted, and that what is
// loaded equals what is in memory.
func TestSnapshots(t *testing.T) {
	w := newWorld(t, 1)
	b := w.owner()
	collecting := backendtest.Workflow{Name: "collecting", Input: `{"n": 700}`, Source: `
fn main(input: [n], output: [r]):
    r = []
    for i in range(n):
        a = @double(value=i)
        r = r + [a]
        if i % 100 == 3:
            sleep 0.001
    r = len(r)
`, Want: `700`}
	wide := backendtest.Workflow{Name: "wide", Input: `{"n": 400}`, Source: `
fn main(input: [n], output: [r]):
    xs = spread range(n):i -> @double(value=i)
    r = len(xs)
`, Want: `400`}
	held := append(w.launch(b, collecting), w.launch(b, wide)...)
	most := 0
	for step := 0; len(w.running(b)) > 0; step++ {
		if len(held) == 0 {
			held = w.claimed(b)
		}
		out := w.complete(b, ran(held[0]))
		held = append(held[1:], out.Tasks...)
		for _, inst := range b.shards[0].instances {
			most = max(most, len(inst.events))
		}
		if step%97 == 0 {
			w.model(b)
		}
		if step%200 == 0 {
			if _, err := b.Sweep(w.ctx, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := w.number(b, "SELECT count(*) FROM instances WHERE snapshot IS NOT NULL"); n != 1 {
		t.Errorf("the state of %d instances was written down; want that of the loop", n)
	}
	if most >= 700 {
		t.Errorf("%d events stood for an instance at once", most)
	}
	w.finish(b)
}
