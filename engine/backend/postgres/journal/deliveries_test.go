package journal

import (
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
)

// counted claims one task and wants it to be at a delivery.
func (w *world) counted(b *Backend, deliveries int) backend.Task {
	w.Helper()
	task := w.claimed(b)[0]
	if task.Deliveries != deliveries {
		w.Fatalf("%+v came at its delivery %d; want %d", task.Lease, task.Deliveries, deliveries)
	}
	return task
}

// TestDeliveriesOutliveOwners has the owner of a shard die with each delivery of an attempt: each owner knows how many
// there were, though the first is written nowhere.
func TestDeliveriesOutliveOwners(t *testing.T) {
	w := newWorld(t, 1)
	w.lease = briefLease
	b := w.open()
	if got := w.launch(b, alone)[0].Deliveries; got != 1 {
		t.Fatalf("it came at its delivery %d; want 1", got)
	}
	for n := 2; n < 6; n++ {
		freeze(b)
		b = w.open()
		w.counted(b, n)
	}
	if got := w.number(b, "SELECT count(*) FROM events WHERE kind = 4"); got != 4 {
		t.Errorf("%d deliveries are written; want those after the first, 4", got)
	}
}

// TestInnocentsLoseOneDelivery has an attempt wait while owners die that never hand it out: it counts as delivered once, however many
// they are, since they could have.
func TestInnocentsLoseOneDelivery(t *testing.T) {
	w := newWorld(t, 1)
	w.lease = briefLease
	b := w.open()
	if _, err := b.Submit(w.ctx, []backend.Submission{w.instance(alone, alone.Program(w))}, w.granted(0)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		freeze(b)
		b = w.open()
		w.await(b, func() bool {
			_, err := b.Claim(w.ctx, 0, w.granted(0))
			return err == nil && len(b.ownedShards()) == 1
		})
	}
	b.Close() // which hands on what was presumed
	b = w.open()
	w.counted(b, 2)
	w.counted(b, 3)
}

// TestSilentTakeoverCountsNothingAsKnown has an owner that has given its shard back take it again from another that is gone, and not hear
// the first time that it has it: what it knew before says nothing of what the other delivered.
func TestSilentTakeoverCountsNothingAsKnown(t *testing.T) {
	w := newWorld(t, 1)
	w.lease = briefLease
	b := w.open()
	if _, err := b.Claim(w.ctx, 0, w.granted(0)); err != nil {
		t.Fatal(err)
	}
	if err := w.holding(b, func(sh *shardState) error { return sh.release(w.ctx) }); err != nil {
		t.Fatal(err)
	}
	freeze(b)
	other := w.open()
	w.launch(other, alone)
	freeze(other)
	sh := b.shards[0]
	w.await(b, func() bool {
		standing, err := sh.ownership(w.ctx)
		return err == nil && b.owners.Free(standing)
	})
	if _, _, err := sh.acquire(w.ctx, b.span.Load(), 0); err != nil { // whose answer nobody hears
		t.Fatal(err)
	}
	w.counted(b, 2)
}

// TestFirstDeliveriesCostNothing wants the deliveries of work that nobody dies of to be written nowhere.
func TestFirstDeliveriesCostNothing(t *testing.T) {
	w := newWorld(t, 1)
	b := w.owner()
	tasks := w.launch(b, backendtest.Workflow{Input: `{}`, Source: `
fn main(input: [], output: [x]):
    x = 0
    for i in range(5):
        x = @double(value=i)
`})
	for range 4 {
		tasks = w.complete(b, ran(tasks[0])).Tasks
	}
	if got := w.number(b, "SELECT count(*) FROM events WHERE kind = 4"); got != 0 {
		t.Errorf("%d deliveries are written; want none", got)
	}
}

// TestDeliveriesAreInWrittenState has an instance's state written down between two deliveries.
func TestDeliveriesAreInWrittenState(t *testing.T) {
	w := newWorld(t, 1)
	w.lease = briefLease
	b := w.open()
	w.launch(b, alone)
	w.counted(b, 2)
	w.counted(b, 3)
	err := w.holding(b, func(sh *shardState) error {
		tx := sh.begin()
		for _, inst := range sh.instances {
			sh.tokens++
			if err := tx.snapshot(inst, sh.tokens); err != nil {
				return err
			}
		}
		if _, err := sh.append(w.ctx, tx); err != nil {
			return err
		}
		_, err := tx.commit(backend.Grant{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	freeze(b)
	b = w.open()
	w.counted(b, 4)
}

// await waits until something is so.
func (w *world) await(b *Backend, so func() bool) {
	w.Helper()
	for !so() {
		if !b.pause(w.ctx, 5*time.Millisecond) {
			w.Fatal("it did not come about in time")
		}
	}
}
