package push

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

func (w *world) numbered(wf backendtest.Workflow, n int) []backend.Task {
	w.Helper()
	tasks := make([]backend.Task, n)
	base := uuid.New()
	for i := range n {
		s := w.Instance(wf)
		w.Forget(s.ID)
		s.ID = base
		s.ID[0], s.ID[1] = 0, byte(i)
		w.Want[s.ID] = wf
		w.Subs = append(w.Subs, s)
		tasks[i] = w.Submit(s)[0]
	}
	return tasks
}

// TestOverflow corrupts counters, and checks that only the completions that reach them are refused, and change nothing (I2, I12).
func TestOverflow(t *testing.T) {
	for name, c := range map[string]struct {
		wf      backendtest.Workflow
		corrupt func(w *world, id uuid.UUID, p *plan.Program)
	}{
		"a count that is full":       {designtest.Joining, (*world).fill},
		"a count that nobody opened": {designtest.Fanned, (*world).unopen},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before, corrupted, after := w.Launch(designtest.Sequence), w.Launch(c.wf), w.Launch(designtest.Joining)
			bad := corrupted[0].Lease.Key.Instance
			c.corrupt(w, bad, corrupted[0].Program)
			stored := w.Dump(bad)
			cs := []backend.Completion{backendtest.Ran(before[0]), backendtest.Ran(corrupted[0]), backendtest.Ran(after[0]), backendtest.Ran(corrupted[1]), backendtest.Ran(after[1])}
			out := w.Complete(cs...)
			if got, want := backendtest.Answers(out), "applied refused applied refused applied"; got != want {
				t.Fatalf("answers %s; want %s", got, want)
			}
			if err := out.Outcomes[1].Err; !errors.Is(err, backend.ErrOverflow) || !strings.Contains(err.Error(), bad.String()) || strings.Contains(err.Error(), "\n") {
				t.Errorf("refused with %v; want one line about an overflow of instance %s", err, bad)
			}
			if got := w.Dump(bad); got != stored {
				t.Errorf("a refused completion changed\n%s\nto\n%s", stored, got)
			}
			delete(w.Want, bad)
			w.Exec("UPDATE instances SET status = 'failed', needs_cleanup = true, failure = '{}' WHERE id = $1", bad)
			w.finish()
		})
	}
}

func (w *world) unopen(id uuid.UUID, _ *plan.Program) {
	w.Helper()
	w.Exec("DELETE FROM readiness WHERE instance_id = $1", id)
}

func (w *world) fill(id uuid.UUID, p *plan.Program) {
	w.Helper()
	for _, n := range p.Graph().Nodes {
		if p.Graph().Waits(n) && len(p.Graph().In(n.ID)) == 2 {
			w.Exec("INSERT INTO readiness VALUES (0, $1, $2, '', 2, 2, false)", id, int32(n.ID))
			return
		}
	}
	w.Fatal("the program has no aggregate of two")
}

// TestSplit checks that in a batch with one member whose data is refused and one that fails for a transient reason, each gets its
// own answer (I12).
func TestSplit(t *testing.T) {
	w := newWorld(t)
	tasks := w.numbered(designtest.Sequence, 5)
	w.Exec(`CREATE FUNCTION corrupt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.args::text LIKE '%:13,%' THEN RAISE EXCEPTION USING ERRCODE = '22003', MESSAGE = 'not to be stored'; END IF;
		IF NEW.args::text LIKE '%:14,%' THEN RAISE EXCEPTION USING ERRCODE = '53200', MESSAGE = 'for the moment'; END IF;
		RETURN NEW;
	END $$`)
	w.Exec("CREATE TRIGGER corrupt BEFORE INSERT ON queue FOR EACH ROW EXECUTE FUNCTION corrupt()")
	cs := make([]backend.Completion, len(tasks))
	for i, task := range tasks {
		cs[i] = backendtest.Ran(task)
	}
	cs[1].Result, cs[3].Result = []byte(`13`), []byte(`14`)
	stored := w.Dump(tasks[1].Lease.Key.Instance, tasks[3].Lease.Key.Instance)
	out, err := w.direct.Complete(w.Ctx, 0, cs, backendtest.Granted(3))
	if err != nil {
		t.Fatal(err)
	}
	// The last three share their transaction, which failed for a transient reason.
	if got, want := backendtest.Answers(out), "applied refused again again again"; got != want {
		t.Fatalf("answers %s; want %s", got, want)
	}
	for i, words := range map[int]string{1: "not to be stored", 3: "for the moment"} {
		if err := out.Outcomes[i].Err; err == nil || strings.Count(err.Error(), words) != 1 {
			t.Errorf("member %d: %v; want the server's words, once", i, err)
		}
	}
	if got := w.Dump(tasks[1].Lease.Key.Instance, tasks[3].Lease.Key.Instance); got != stored {
		t.Errorf("what was not applied changed\n%s\nto\n%s", stored, got)
	}
	w.Exec("DROP TRIGGER corrupt ON queue")
	for i, o := range out.Outcomes {
		want := backend.Stale
		if o.Answer != backend.Applied {
			want = backend.Applied
		}
		if got := w.Complete(backendtest.Ran(tasks[i])).Outcomes[0].Answer; got != want {
			t.Errorf("member %d, which was %s, offered again: %s; want %s", i, o.Answer, got, want)
		}
	}
	w.finish()
}

func TestMalformed(t *testing.T) {
	w := newWorld(t)
	good, bad := w.Launch(designtest.Sequence)[0], w.Launch(designtest.Sequence)[0]
	for _, path := range []string{"\x00", "\xff", "0.\x001", strings.Repeat("9.", 5000)} {
		c := backendtest.Ran(bad)
		c.Lease.Key.Run.Path = graph.Path(path)
		out := w.Complete(c)
		if got := out.Outcomes[0].Answer; got != backend.Stale {
			t.Errorf("path %.10q: %s (%v); want stale", path, got, out.Outcomes[0].Err)
		}
		held, err := w.direct.Renew(w.Ctx, 0, []backend.Lease{c.Lease, good.Lease}, backendtest.Granted(0))
		if err != nil || held[0] || !held[1] {
			t.Errorf("path %.10q: extended %v, %v; want the good lease only", path, held, err)
		}
	}
	out, err := w.direct.Submit(w.Ctx, []backend.Submission{{ID: uuid.New(), Input: []byte(`{}`)}, w.Instance(designtest.Sequence)}, backendtest.Granted(1))
	if err != nil || backendtest.Answers(out) != "refused applied" {
		t.Errorf("a submission without a program: %s, %v; want it refused by itself", backendtest.Answers(out), err)
	}
	w.finish()
}

// TestTransient checks that a completion is applied although the server rolls the commit back, or ends its session, several
// times.
func TestTransient(t *testing.T) {
	for _, c := range []struct {
		name    string
		wf      backendtest.Workflow
		table   string // that the commit inserts into
		do      string
		times   int
		applied bool
	}{
		{"a deadlock", designtest.Joining, "readiness", "RAISE EXCEPTION USING ERRCODE = '40P01'", 4, true},
		{"a deadlock for ever", designtest.Joining, "readiness", "RAISE EXCEPTION USING ERRCODE = '40P01'", 1000, false},
		{"a session that ends", designtest.Sequence, "queue", "PERFORM pg_terminate_backend(pg_backend_pid())", 1, true},
		{"sessions that end for ever", designtest.Sequence, "queue", "PERFORM pg_terminate_backend(pg_backend_pid())", 1000, false},
		{"a session that ends in a transaction", designtest.Joining, "readiness", "PERFORM pg_terminate_backend(pg_backend_pid())", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			task := w.Launch(c.wf)[0]
			w.Exec("CREATE SEQUENCE tries")
			w.Exec(fmt.Sprintf(`CREATE FUNCTION trip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF nextval('tries') <= %d THEN %s; END IF;
				RETURN NEW;
			END $$`, c.times, c.do))
			w.Exec("CREATE TRIGGER trip BEFORE INSERT ON " + c.table + " FOR EACH ROW EXECUTE FUNCTION trip()")
			out, err := w.direct.Complete(w.Ctx, 0, []backend.Completion{backendtest.Ran(task)}, backendtest.Granted(1))
			if c.applied != (err == nil && backendtest.Answers(out) == "applied") {
				t.Errorf("%s, %v; want it applied: %t", backendtest.Answers(out), err, c.applied)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %v", err)
			}
			w.Exec("DROP TRIGGER trip ON " + c.table)
			if err != nil && !backend.IsUnknown(err) {
				if got := w.Complete(backendtest.Ran(task)).Outcomes[0].Answer; got != backend.Applied {
					t.Errorf("offered again: %s; want applied", got)
				}
			}
			w.finish()
		})
	}
}

type hasty struct{ pgstore.Machine }

func (hasty) Wait(context.Context, time.Duration, ...<-chan struct{}) int { return pgstore.TimedOut }

// TestChangedForEver checks that a completion whose row keeps changing is answered Again, with the reason, after a bounded number
// of tries, and that another of the call is applied.
func TestChangedForEver(t *testing.T) {
	w := newWorld(t)
	w.direct.store.Clock = hasty{}
	kept, free := w.Launch(designtest.Sequence)[0], w.Launch(designtest.Sequence)[0]
	w.Exec(fmt.Sprintf(`CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF OLD.token = %d THEN RETURN NULL; END IF;
		RETURN OLD;
	END $$`, kept.Lease.Token))
	w.Exec("CREATE TRIGGER keep BEFORE DELETE ON queue FOR EACH ROW EXECUTE FUNCTION keep()")
	out, err := w.direct.Complete(w.Ctx, 0, []backend.Completion{backendtest.Ran(kept), backendtest.Ran(free)}, backendtest.Granted(9))
	if err != nil || backendtest.Answers(out) != "again applied" {
		t.Fatalf("%s, %v; want the one whose row is being changed to be offered again", backendtest.Answers(out), err)
	}
	for _, want := range []string{"committing on shard 0 what others were changing", "given up after", pgstore.LockRemedy} {
		if got := out.Outcomes[0].Err.Error(); !strings.Contains(got, want) {
			t.Errorf("%s; want it to say %q", got, want)
		}
	}
	w.Exec("DROP TRIGGER keep ON queue")
	if got := w.Complete(backendtest.Ran(kept)).Outcomes[0].Answer; got != backend.Applied {
		t.Errorf("offered again: %s; want applied", got)
	}
	w.finish()
}

// TestStaleClearsNothing checks that a round's end by the owner of a lost lease deletes no values (I3).
func TestStaleClearsNothing(t *testing.T) {
	w := newWorld(t)
	wf := backendtest.Workflow{Name: "resets", Input: `{"n": 3}`, Want: `[4]`, Source: `
fn main(input: [n], output: [all]):
    all = []
    for i in range(n):
        x = @double(value=i)
        all = all + [x]
        if i == 1:
            all = []
`}
	task := w.Complete(backendtest.Ran(w.Launch(wf)[0])).Tasks[0]
	w.Exec("UPDATE queue SET due_at = clock_timestamp()")
	out, err := w.direct.Claim(w.Ctx, 0, backendtest.Granted(1))
	if err != nil || len(out.Tasks) != 1 {
		t.Fatalf("%d tasks, %v; want the lease to pass", len(out.Tasks), err)
	}
	before := w.Dump()
	if got := w.Complete(backendtest.Ran(task)); backendtest.Answers(got) != "stale" || w.Dump() != before {
		t.Errorf("%s, and changed\n%s\nto\n%s", backendtest.Answers(got), before, w.Dump())
	}
	if got := w.Complete(backendtest.Ran(out.Tasks[0])); backendtest.Answers(got) != "applied" || w.Dump() == before {
		t.Errorf("the holder is answered %s", backendtest.Answers(got))
	}
	w.finish()
}
