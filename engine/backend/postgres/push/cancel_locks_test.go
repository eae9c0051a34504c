package push

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/engine/graph"
	"pulley/internal/pgstore"
)

// TestCancelledInOneCall completes runs together, one of which cancels the others. The result is that of one of the orders.
func TestCancelledInOneCall(t *testing.T) {
	for name, c := range map[string]struct {
		order []int
		want  string
	}{
		"with all":      {[]int{2, 0, 1}, "applied applied stale"},
		"fails first":   {[]int{0, 2, 1}, "applied applied stale"},
		"offered twice": {[]int{1, 0, 1, 0}, "applied stale stale stale"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if got := w.CancelledInOneCall(c.order); got != c.want {
				t.Errorf("%s; want %s", got, c.want)
			}
			w.finish()
		})
	}
}

var branches = backendtest.Workflow{Name: "branches", Input: `{}`, Want: `"Bad"`, Source: `
fn branch(input: [n], output: [b]):
    a = @double(value=n)
    b = @double(value=a)

fn main(input: [], output: [r]):
    try:
        a, b = parallel:
            branch(n=1)
            @fail(type="Bad", message="no")
        r = @add(a=a, b=b)
    except Bad as e:
        r = @echo(value=e["type"])
`}

// TestCancelLocksWhatIsQueuedConcurrently checks that a cancelling transaction also locks what the sibling has queued.
func TestCancelLocksWhatIsQueuedConcurrently(t *testing.T) {
	w := newWorld(t)
	release := w.stopAt(`BEFORE INSERT ON queue FOR EACH ROW WHEN (NEW.args::text LIKE '%"value":"Bad"%')`)
	_, out := w.aroundItsSibling(branches, true, func(id uuid.UUID) {
		w.stopped(1)
		var open, free int
		if err := w.Querier.QueryRow(w.Ctx, `SELECT (SELECT count(*) FROM queue WHERE instance_id = $1),
			(SELECT count(*) FROM (SELECT FROM queue WHERE instance_id = $1 FOR UPDATE SKIP LOCKED) f)`, id).Scan(&open, &free); err != nil {
			t.Fatal(err)
		}
		if open != 2 || free != 0 {
			t.Errorf("of %d open runs %d are not held; want 2, the one that failed and what its sibling has queued, and none", open, free)
		}
		release()
	})
	if backendtest.Answers(out) != "applied" || len(out.Tasks) != 1 {
		t.Errorf("%s with %d tasks; want it applied, and the handler's task", backendtest.Answers(out), len(out.Tasks))
	}
	w.finish()
}

// TestCancelWaits checks that an error waits for a sibling that another process is completing, and also cancels what that has
// queued.
func TestCancelWaits(t *testing.T) {
	w := newWorld(t)
	id, out := w.aroundItsSibling(branches, true, func(uuid.UUID) {})
	if backendtest.Answers(out) != "applied" || len(out.Tasks) != 1 {
		t.Fatalf("%s with %d tasks; want it applied, and the handler's task", backendtest.Answers(out), len(out.Tasks))
	}
	if rows := strings.Count(w.Dump(id), "queue "); rows != 1 {
		t.Errorf("%d node runs are stored; want the handler's:\n%s", rows, w.Dump(id))
	}
	w.finish()
}

// TestEndWaitsForNobody checks that an error that ends its instance does not wait for a sibling's completion, which commits
// later, and that no rows are left (I10).
func TestEndWaitsForNobody(t *testing.T) {
	w := newWorld(t)
	wf := backendtest.Workflow{Name: "ends", Input: `{}`, Want: `"Bad"`, Source: `
fn branch(input: [n], output: [b]):
    a = @double(value=n)
    b = @double(value=a)

fn main(input: [], output: [r]):
    try:
        a, b = parallel:
            branch(n=1)
            @fail(type="Bad", message="no")
        r = @add(a=a, b=b)
    except Bad as e:
        r = e["type"]
`}
	id, out := w.aroundItsSibling(wf, false, func(uuid.UUID) {})
	if backendtest.Answers(out) != "applied" || len(out.Ended) != 1 {
		t.Fatalf("%s, %+v; want it applied, and the end", backendtest.Answers(out), out.Ended)
	}
	w.finish()
	if rows := strings.Count(w.Dump(id), "\n"); rows != 0 {
		t.Errorf("rows are left:\n%s", w.Dump(id))
	}
}

func TestEndLooksForOthers(t *testing.T) {
	w := newWorld(t)
	w.EndLooksForOthers(w.through)
	w.noLeak()
}

// aroundItsSibling completes the failing run of an instance while another process has applied, but not committed, the sibling's
// completion, and checks whether it waits for that. Then it commits, and calls concurrently.
func (w *world) aroundItsSibling(wf backendtest.Workflow, waits bool, concurrently func(uuid.UUID)) (id uuid.UUID, out backend.Committed) {
	w.Helper()
	t := w.T
	tasks := w.Launch(wf)
	id = tasks[0].Lease.Key.Instance
	failed := designtest.FailureOf(tasks)
	other := tasks[0]
	if other.Action == "fail" {
		other = tasks[1]
	}
	conn, err := w.direct.store.Pool.Acquire(w.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(w.Ctx, "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if err := (&subject{w: w}).apply(conn, []backend.Completion{backendtest.Ran(other)}); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	var reply backend.Committed // read after answered
	go func() {
		var err error
		reply, err = w.through.Complete(w.Ctx, 0, []backend.Completion{backendtest.Ran(failed)}, backendtest.Granted(9))
		answered <- err
	}()
	if waited := w.waits(answered, 1); waited != waits {
		t.Errorf("it waited for its sibling: %t; want %t", waited, waits)
	}
	if _, err := conn.Exec(w.Ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	concurrently(id)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	return id, reply
}

func TestCancelRaces(t *testing.T) {
	w := newWorld(t)
	processes := []backend.Backend{w.through}
	for range 3 {
		processes = append(processes, open(t, w.cuttable()))
	}
	w.CancelRaces(processes, func() {
		var closing sync.WaitGroup
		for _, b := range processes[1:] {
			closing.Go(b.Close)
		}
		closing.Wait()
		w.finish()
	})
}

func TestCancelledAfterItsClaim(t *testing.T) {
	w := newWorld(t)
	w.CancelledAfterClaim(w.direct.store, func(owner string) pgstore.Claiming {
		number, err := w.direct.owner(w.Ctx, owner)
		if err != nil {
			t.Fatal(err)
		}
		return pgstore.Claiming{Queue: queue, Owner: number, Values: claimValues{&reads{}, map[uuid.UUID]*commitEvent{}}}
	})
	w.noLeak()
}

var ahead = backendtest.Workflow{Name: "ahead", Input: `{"ns": [1, 2]}`, Want: `[1,2]`, Build: func() *graph.Builder {
	b := graph.New("ahead", "ns")
	round := b.Each("rounds", "n", "ns")
	value := graph.Arg{Name: "value", Value: graph.X("n")}
	long := round.Action("long", "double", value)
	longer := round.Action("longer", "double", value).After(long)
	round.Output("n").AfterAny(longer, round.Action("short", "double", value))
	b.Output("rounds").After(round.For())
	return b
}}

// TestCancelledByItsOwnTransaction completes two runs together: one makes the next of its chain ready, and the other ends the
// round, which cancels it. The call must not return its task.
func TestCancelledByItsOwnTransaction(t *testing.T) {
	w := newWorld(t)
	tasks := w.Launch(ahead)
	out := w.Complete(backendtest.Ran(tasks[0]), backendtest.Ran(tasks[1]))
	if backendtest.Answers(out) != "applied applied" || len(out.Tasks) < 2 {
		t.Errorf("%s with %d tasks; want both applied, and the two of the next round", backendtest.Answers(out), len(out.Tasks))
	}
	for _, task := range out.Tasks {
		if run := task.Lease.Key.Run; run.Path != "1" {
			t.Errorf("I10: %s is handed out, and the round is over", w.Program(ahead).RunName(run))
		}
	}
	w.finish()
}
