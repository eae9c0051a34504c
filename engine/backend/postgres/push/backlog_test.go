package push

import (
	"testing"

	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres/internal/designtest"
)

func TestBacklogOfEndedInstances(t *testing.T) {
	const ended = 3 * 100
	w := newWorld(t)
	tasks := w.Launch(designtest.Sequence)
	living := tasks[0].Lease.Key
	w.fillTables(ended)
	w.Exec("UPDATE instances SET status = 'failed', needs_cleanup = true, failure = '{}' WHERE id <> $1", living.Instance)
	w.Exec("UPDATE queue SET due_at = clock_timestamp() - interval '1 hour' WHERE instance_id <> $1", living.Instance)
	w.Exec("UPDATE queue SET due_at = clock_timestamp() WHERE instance_id = $1", living.Instance)
	out, err := w.direct.Claim(w.Ctx, 0, backendtest.Granted(1))
	if err != nil || len(out.Tasks) != 1 || out.Tasks[0].Lease.Key != living {
		t.Fatalf("I9: behind %d rows of ended instances, the one that is due is not claimed: %+v, %v", ended, out, err)
	}
	w.Clean()
	w.Complete(backendtest.Ran(out.Tasks[0]))
	w.finish()
}

// TestStaleCountsNothing checks that a branch completed by the owner of a lost lease is not counted at the barrier (I2, I3).
func TestStaleCountsNothing(t *testing.T) {
	w := newWorld(t)
	late := w.Launch(designtest.Joining)
	w.Exec("UPDATE queue SET due_at = clock_timestamp()")
	out, err := w.direct.Claim(w.Ctx, 0, backendtest.Granted(len(late)))
	if err != nil || len(out.Tasks) != len(late) || len(late) != 2 {
		t.Fatalf("%d tasks of %d, %v; want both leases to pass", len(out.Tasks), len(late), err)
	}
	before := w.Dump()
	if got := w.Complete(backendtest.Ran(late[0])); backendtest.Answers(got) != "stale" || w.Dump() != before {
		t.Errorf("%s, and changed\n%s\nto\n%s", backendtest.Answers(got), before, w.Dump())
	}
	for _, task := range out.Tasks {
		if got := w.Complete(backendtest.Ran(task)); backendtest.Answers(got) != "applied" {
			t.Errorf("the holder is answered %s", backendtest.Answers(got))
		}
	}
	w.finish()
}

func TestMarks(t *testing.T) {
	w := newWorld(t)
	tasks := w.Launch(chained(5))
	for range 3 {
		tasks = w.Complete(backendtest.Ran(tasks[0])).Tasks
	}
	w.Exec("INSERT INTO commits VALUES (0, 1, 0, 1, '{}', clock_timestamp() - interval '2 hours')")
	if _, err := w.direct.Sweep(w.Ctx, 0); err != nil {
		t.Fatal(err)
	}
	var marks, own int
	if err := w.direct.store.Pool.QueryRow(w.Ctx, "SELECT count(*), count(*) FILTER (WHERE backend = $1 AND stale = '{}') FROM commits",
		w.direct.slots.backend).Scan(&marks, &own); err != nil || marks != 1 || own != 1 {
		t.Errorf("%d marks, %d of them of the backend that completes, %v; want its one", marks, own, err)
	}
	w.finish()
}
