package push

import (
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
)

// TestBacklogOfEndedInstances has a great many rows of instances that have ended, and were not swept yet, stand
// before the one that is due: a claim must not take its share of them, find none of use and come back the next
// time to the same; and sweeps must get through all of them (I9, I10; river PR#1318).
func TestBacklogOfEndedInstances(t *testing.T) {
	const ended = 3 * 100
	w := newWorld(t)
	tasks := w.launch(sequence, sequence.Program(t))
	living := tasks[0].Lease.Key
	w.fillTables(ended)
	w.exec("UPDATE instances SET status = 'failed', untidy = true, failure = '{}' WHERE id <> $1", living.Instance)
	w.exec("UPDATE queue SET due_at = clock_timestamp() - interval '1 hour' WHERE instance_id <> $1", living.Instance)
	w.exec("UPDATE queue SET due_at = clock_timestamp() WHERE instance_id = $1", living.Instance)
	out, err := w.direct.Claim(w.ctx, 0, backendtest.Granted(1))
	if err != nil || len(out.Tasks) != 1 || out.Tasks[0].Lease.Key != living {
		t.Fatalf("I9: behind %d rows of ended instances, the one that is due is not claimed: %+v, %v", ended, out, err)
	}
	for more := true; more; {
		swept, err := w.direct.Sweep(w.ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		more = swept.More
	}
	if left, err := w.direct.Leftovers(w.ctx); err != nil || len(left) > 0 {
		t.Errorf("I10: left behind %v (%v)", left, err)
	}
	w.complete(backendtest.Ran(out.Tasks[0]))
	w.finish()
}

// TestStaleCountsNothing offers a branch's end by a holder whose lease has passed to another: the barrier behind it
// does not count that (I2, I3).
func TestStaleCountsNothing(t *testing.T) {
	w := newWorld(t)
	late := w.launch(joining, joining.Program(t))
	w.exec("UPDATE queue SET due_at = clock_timestamp()")
	out, err := w.direct.Claim(w.ctx, 0, backendtest.Granted(len(late)))
	if err != nil || len(out.Tasks) != len(late) || len(late) != 2 {
		t.Fatalf("%d tasks of %d, %v; want both leases to pass", len(out.Tasks), len(late), err)
	}
	before := w.dump()
	if got := w.complete(backendtest.Ran(late[0])); backendtest.Answers(got) != "stale" || w.dump() != before {
		t.Errorf("%s, and changed\n%s\nto\n%s", backendtest.Answers(got), before, w.dump())
	}
	for _, task := range out.Tasks {
		if got := w.complete(backendtest.Ran(task)); backendtest.Answers(got) != "applied" {
			t.Errorf("the holder is answered %s", backendtest.Answers(got))
		}
	}
	w.finish()
}

// TestUnsweptIsNotProlonged has an instance be canceled by a process that dies before it removes what was leased: the
// holder is told, although its row is still there.
func TestUnsweptIsNotProlonged(t *testing.T) {
	w := newWorld(t)
	tasks := w.launch(sequence, sequence.Program(t))
	lease := []backend.Lease{tasks[0].Lease}
	if kept, err := w.direct.Extend(w.ctx, 0, lease, backendtest.Granted(0)); err != nil || !kept[0] {
		t.Fatalf("before: held is %v, %v", kept, err)
	}
	w.exec("UPDATE instances SET status = 'canceled', untidy = true, failure = '{}', ended_at = clock_timestamp() WHERE id = $1", lease[0].Key.Instance)
	if kept, err := w.direct.Extend(w.ctx, 0, lease, backendtest.Granted(0)); err != nil || kept[0] {
		t.Errorf("a lease of a canceled instance is held: %v, %v", kept, err)
	}
}

// TestOverdueComesFirst has a lease run out while much is queued: once it was swept, the node run comes before all that
// waits for its first lease, and nothing else has changed its place.
func TestOverdueComesFirst(t *testing.T) {
	w := newWorld(t)
	lost := w.launch(sequence, sequence.Program(t))[0].Lease
	var queued []backend.Lease
	for range 3 {
		queued = append(queued, w.launch(sequence, sequence.Program(t))[0].Lease)
	}
	w.exec("UPDATE queue SET owner = NULL, due_at = clock_timestamp() - interval '1 minute' WHERE instance_id <> $1", lost.Key.Instance)
	w.exec("UPDATE queue SET due_at = clock_timestamp() WHERE instance_id = $1", lost.Key.Instance)
	for range 2 { // the second has nothing to do
		if _, err := w.direct.Sweep(w.ctx, 0); err != nil {
			t.Fatal(err)
		}
	}
	out, err := w.direct.Claim(w.ctx, 0, backendtest.Granted(1))
	if err != nil || len(out.Tasks) != 1 || out.Tasks[0].Lease.Key != lost.Key || out.Tasks[0].Lease.Token == lost.Token {
		t.Fatalf("behind %d that were queued before its lease ended: %+v, %v; want %+v under another token", len(queued), out.Tasks, err, lost)
	}
	if _, err := w.direct.Sweep(w.ctx, 0); err != nil {
		t.Fatal(err)
	}
	if out, err = w.direct.Claim(w.ctx, 0, backendtest.Granted(10)); err != nil || len(out.Tasks) != len(queued) {
		t.Errorf("then %+v come, %v; want %d, and not what is leased", out.Tasks, err, len(queued))
	}
}

// TestMarks completes in one place again and again, which has one mark; those of an hour ago are swept.
func TestMarks(t *testing.T) {
	w := newWorld(t)
	tasks := w.launch(chained(5), chained(5).Program(t))
	for range 3 {
		tasks = w.complete(backendtest.Ran(tasks[0])).Tasks
	}
	w.exec("INSERT INTO commits VALUES (0, 1, 0, 1, '{}', clock_timestamp() - interval '2 hours')")
	if _, err := w.direct.Sweep(w.ctx, 0); err != nil {
		t.Fatal(err)
	}
	var marks, own int
	if err := w.direct.store.Pool.QueryRow(w.ctx, "SELECT count(*), count(*) FILTER (WHERE backend = $1 AND stale = '{}') FROM commits",
		w.direct.marks.backend).Scan(&marks, &own); err != nil || marks != 1 || own != 1 {
		t.Errorf("%d marks, %d of them of the backend that completes, %v; want its one", marks, own, err)
	}
	w.finish()
}
