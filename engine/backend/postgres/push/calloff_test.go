package push

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// twice has two runs that fail and one that does not; the first error is caught, and so there is one.
var twice = backendtest.Workflow{Name: "twice", Input: `{}`, Want: `["Bad",2]`, Source: `
fn main(input: [], output: [r]):
    try:
        a, b, c = parallel:
            @fail(type="Bad", message="no")
            @fail(type="Bad", message="no")
            @double(value=2)
        r = [a, b, c]
    except Bad as e:
        n = @double(value=1)
        r = [e["type"], n]
`}

// TestCalledOffInOneCall completes runs together of which one calls the others off: what comes of it is
// what one of the orders gives, and the handler runs once.
func TestCalledOffInOneCall(t *testing.T) {
	p := twice.Program(t)
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
			tasks := w.launch(twice, p)
			var cs []backend.Completion
			for _, i := range c.order {
				cs = append(cs, backendtest.Ran(tasks[i]))
			}
			out := w.complete(cs...)
			if backendtest.Answers(out) != c.want || len(out.Tasks) != 1 || out.Tasks[0].Action != "double" {
				t.Errorf("%s, and %d tasks; want %s, and the handler's", backendtest.Answers(out), len(out.Tasks), c.want)
			}
			if out = w.complete(backendtest.Ran(tasks[0]), backendtest.Ran(tasks[1]), backendtest.Ran(tasks[2])); backendtest.Answers(out) != "stale stale stale" {
				t.Errorf("offered again: %s; want stale", backendtest.Answers(out))
			}
			w.finish()
		})
	}
}

// branches has a run that fails beside two in a row.
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

// TestCallOffHoldsWhatIsQueuedMeanwhile is the same, and stops the transaction that calls off when it has its
// locks and enqueues the handler: what the sibling has queued is held as well, so that nobody can complete it
// and go on.
func TestCallOffHoldsWhatIsQueuedMeanwhile(t *testing.T) {
	w := newWorld(t)
	conn, err := w.direct.store.Pool.Acquire(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	w.exec(`CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_advisory_xact_lock(hashtext(TG_TABLE_SCHEMA));
		RETURN NEW;
	END $$`)
	w.exec(`CREATE TRIGGER stop BEFORE INSERT ON queue FOR EACH ROW WHEN (NEW.args::text LIKE '%"value":"Bad"%') EXECUTE FUNCTION stop()`)
	if _, err := conn.Exec(w.ctx, "SELECT pg_advisory_lock(hashtext(current_schema()))"); err != nil {
		t.Fatal(err)
	}
	_, out := w.besideItsSibling(branches, true, func(id uuid.UUID) {
		w.eventually("the handler is not enqueued", `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event = 'advisory' AND application_name = left($1, 63))`, "cut "+w.cfg.Schema)
		var open, free int
		if err := conn.QueryRow(w.ctx, `SELECT (SELECT count(*) FROM queue WHERE instance_id = $1),
			(SELECT count(*) FROM (SELECT FROM queue WHERE instance_id = $1 FOR UPDATE SKIP LOCKED) f)`, id).Scan(&open, &free); err != nil {
			t.Fatal(err)
		}
		if open != 2 || free != 0 {
			t.Errorf("of %d open runs %d are not held; want 2, the one that failed and what its sibling has queued, and none", open, free)
		}
		if _, err := conn.Exec(w.ctx, "SELECT pg_advisory_unlock(hashtext(current_schema()))"); err != nil {
			t.Fatal(err)
		}
	})
	if backendtest.Answers(out) != "applied" || len(out.Tasks) != 1 {
		t.Errorf("%s with %d tasks; want it applied, and the handler's task", backendtest.Answers(out), len(out.Tasks))
	}
	w.finish()
}

// TestCallOffWaits lets a run be completed by another process while its sibling calls it off: what that has
// queued meanwhile is cancelled as well, and nothing stays of the branches.
func TestCallOffWaits(t *testing.T) {
	w := newWorld(t)
	id, out := w.besideItsSibling(branches, true, func(uuid.UUID) {})
	if backendtest.Answers(out) != "applied" || len(out.Tasks) != 1 {
		t.Fatalf("%s with %d tasks; want it applied, and the handler's task", backendtest.Answers(out), len(out.Tasks))
	}
	if rows := strings.Count(w.dump(id), "queue "); rows != 1 {
		t.Errorf("%d node runs are stored; want the handler's:\n%s", rows, w.dump(id))
	}
	w.finish()
}

// TestEndWaitsForNobody is the same where the error ends the instance at once: the answer does not wait for the sibling,
// which is committed after the end, and of which nothing is left once that was swept (I10).
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
	id, out := w.besideItsSibling(wf, false, func(uuid.UUID) {})
	if backendtest.Answers(out) != "applied" || len(out.Ended) != 1 {
		t.Fatalf("%s, %+v; want it applied, and the end", backendtest.Answers(out), out.Ended)
	}
	w.finish()
	if rows := strings.Count(w.dump(id), "\n"); rows != 0 {
		t.Errorf("rows are left:\n%s", w.dump(id))
	}
}

// besideItsSibling completes the run of an instance that fails, while another process has applied the
// completion of the other run, and not committed yet, for which it waits or not. Meanwhile is called when that has been committed.
func (w *world) besideItsSibling(wf backendtest.Workflow, waits bool, meanwhile func(uuid.UUID)) (id uuid.UUID, out backend.Committed) {
	w.Helper()
	t := w.T
	tasks := w.launch(wf, wf.Program(t))
	id = tasks[0].Lease.Key.Instance
	failed := failureOf(tasks)
	other := tasks[0]
	if other.Action == "fail" {
		other = tasks[1]
	}
	conn, err := w.direct.store.Pool.Acquire(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(w.ctx, "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if err := (&subject{w: w}).apply(conn, []backend.Completion{backendtest.Ran(other)}); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	var reply backend.Committed // read once answered has said how the call ended
	go func() {
		var err error
		reply, err = w.through.Complete(w.ctx, 0, []backend.Completion{backendtest.Ran(failed)}, backendtest.Granted(9))
		answered <- err
	}()
	if waited := w.waits(answered, 1); waited != waits {
		t.Errorf("it waited for its sibling: %t; want %t", waited, waits)
	}
	if _, err := conn.Exec(w.ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	meanwhile(id)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	return id, reply
}

// TestCallOffRaces lets several processes complete the branches of spreads of which some fail, in small
// batches and at the same time: one error of each spread is caught, nobody waits in a circle (D5), and
// nothing is left of the others.
func TestCallOffRaces(t *testing.T) {
	wf := backendtest.Races
	w := newWorld(t)
	before := w.deadlocks()
	cfg := w.cfg
	cfg.Application = "cut " + cfg.Schema
	var peers []backend.Backend
	for range 3 {
		peers = append(peers, open(t, cfg))
	}
	p := wf.Program(t)
	var subs []backend.Submission
	for range 30 {
		subs = append(subs, w.instance(wf, p))
	}
	rec, err := backendtest.Drive(w.ctx, w.through, subs, backendtest.DriveConfig{Peers: peers, Workers: 8, Max: 20, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Check(); err != nil {
		t.Error(err)
	}
	var closing sync.WaitGroup
	for _, b := range peers {
		closing.Go(b.Close)
	}
	closing.Wait()
	w.finish()
	if n := w.deadlocks() - before; n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

// TestCalledOffBehindItsClaim calls runs off between their claim and the reading of what their arguments refer to, which has another
// value by then: nobody is to run them, least of all with that.
func TestCalledOffBehindItsClaim(t *testing.T) {
	w := newWorld(t)
	wf := backendtest.Workflow{Name: "referring", Input: `{}`, Want: `["x",1]`, Source: `
fn main(input: [], output: [t, r]):
    try:
        t = "0123456789abcdef" * 80
        ys = spread range(3):i -> @fail(type="Bad", message=t)
    except Bad:
        t = "x"
        r = @echo(value=1)
`}
	out, err := w.direct.Submit(w.ctx, []backend.Submission{w.instance(wf, wf.Program(t))}, backendtest.Granted(1))
	if err != nil || len(out.Tasks) != 1 {
		t.Fatalf("%d tasks, %v; want one", len(out.Tasks), err)
	}
	again := "UPDATE queue SET due_at = clock_timestamp() WHERE token > $1"
	if got := w.claim(func() {}); len(got) != 2 || len(got[0].Args) < 1280 {
		t.Fatalf("before anything is cancelled: %+v; want two", got)
	}
	w.exec(again, out.Tasks[0].Lease.Token)
	var handler []backend.Task
	if got := w.claim(func() { handler = w.complete(backendtest.Ran(out.Tasks[0])).Tasks }); len(got) != 0 {
		t.Errorf("behind it: %+v; want none", got)
	}
	w.complete(backendtest.Ran(handler[0]))
	w.finish()
}

// behindClaim reads the values of what was claimed, but does something before, once.
type behindClaim struct {
	postgres.Values
	do func()
}

func (v *behindClaim) Need(instance uuid.UUID, number int32, slots []plan.Slot) {
	v.do()
	v.do = func() {}
	v.Values.Need(instance, number, slots)
}

// claim claims for another, and does something between the claim and the reading of what its arguments refer to.
func (w *world) claim(between func()) []backend.Task {
	w.Helper()
	owner, err := w.direct.owner(w.ctx, "another")
	if err != nil {
		w.Fatal(err)
	}
	out, err := w.direct.store.Claim(w.ctx, 0, backend.Grant{Owner: "another", Max: 10, Lease: time.Minute}, postgres.Claiming{
		Queue: queue, Owner: owner, Values: &behindClaim{claimValues{&reads{}, map[uuid.UUID]*event{}}, between},
	})
	if err != nil {
		w.Fatal(err)
	}
	return out.Tasks
}

// ahead ends each of its rounds with the first of two chains of actions.
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

// TestCalledOffByItsOwnTransaction completes two runs together: one lets the next of its chain begin, and the other ends the
// round, which calls that off. Nobody is to run it.
func TestCalledOffByItsOwnTransaction(t *testing.T) {
	w := newWorld(t)
	p := ahead.Program(t)
	tasks := w.launch(ahead, p)
	out := w.complete(backendtest.Ran(tasks[0]), backendtest.Ran(tasks[1]))
	if backendtest.Answers(out) != "applied applied" || len(out.Tasks) < 2 {
		t.Errorf("%s with %d tasks; want both applied, and the two of the next round", backendtest.Answers(out), len(out.Tasks))
	}
	for _, task := range out.Tasks {
		if run := task.Lease.Key.Run; run.Path != "1" {
			t.Errorf("I10: %s is handed out, and the round is over", p.RunName(run))
		}
	}
	w.finish()
}
