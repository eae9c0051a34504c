package journal

import (
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
)

func (w *world) counted(b *Backend, deliveries int) backend.Task {
	w.Helper()
	task := w.claimed(b)[0]
	if task.Deliveries != deliveries {
		w.Fatalf("%+v came at its delivery %d; want %d", task.Lease, task.Deliveries, deliveries)
	}
	return task
}

// TestDeliveriesOutliveOwners checks that the count of deliveries survives an owner's death after each, though the first is not
// stored.
func TestDeliveriesOutliveOwners(t *testing.T) {
	w := newWorld(t, 1)
	w.lease = briefLease
	b := w.open()
	if got := w.launchLeased(b, alone)[0].Deliveries; got != 1 {
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

// TestInnocentsLoseOneDelivery checks that a waiting attempt counts as delivered once, however many owners die without delivering
// it.
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
	b.Close() // hands over what was presumed
	b = w.open()
	w.counted(b, 2)
	w.counted(b, 3)
}

// TestSilentTakeoverCountsNothingAsKnown has an owner return its shard, and take it again from one that died, with the first
// answer lost: what it knew before must not count for the other's deliveries.
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
	if _, _, err := sh.acquire(w.ctx, b.span.Load(), 0); err != nil { // the answer is lost
		t.Fatal(err)
	}
	w.counted(b, 2)
}

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

// TestDeliveriesAreInWrittenState takes a snapshot between two deliveries.
func TestDeliveriesAreInWrittenState(t *testing.T) {
	w := newWorld(t, 1)
	w.lease = briefLease
	b := w.open()
	w.launchLeased(b, alone)
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

func (w *world) await(b *Backend, so func() bool) {
	w.Helper()
	for !so() {
		if !b.pause(w.ctx, 5*time.Millisecond) {
			w.Fatal("it did not come about in time")
		}
	}
}
