package eager

import (
	"fmt"
	"strings"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// The most rows that a call may read: for each item, for each instance that it ends, and in addition.
const (
	rowsPerItem = 12
	rowsPerEnd  = 30
	rowsBesides = 30
)

// TestPlansStayRight checks, by the server's counters, that the number of rows that a call reads depends on its items only: in
// small and large tables, before and after statistics are known.
func TestPlansStayRight(t *testing.T) {
	w := worldIn(t, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.SchemaOf(t, "eager"), Shards: 1})
	w.Cfg.Application = w.Cfg.Schema
	for _, stage := range []struct {
		name    string
		rows    int
		analyze bool
	}{{"few rows", 0, false}, {"few rows, analyzed", 0, true}, {"many rows", depth.Of(10_000, 50_000), false}, {"many rows, analyzed", 0, true}} {
		w.fill(stage.rows)
		if stage.analyze {
			for _, table := range []string{"node_ready_state", "node_pending_context", "instance_eval_context", "instances"} {
				w.Exec("VACUUM ANALYZE " + table)
			}
		}
		for name, call := range probes() {
			for _, n := range []int{1, depth.Of(50, 200)} {
				observer := w.B
				w.B = open(t, w.Cfg)
				w.Clean() // an interrupted cleanup leaves rows, which claims skip
				run := call(w, n)
				w.B.Close()
				w.B = observer
				w.SessionsEnd(w.Cfg.Schema) // what the preparation has read
				before := w.rowsRead()
				b := open(t, w.Cfg)
				run(b)
				b.Close()
				w.SessionsEnd(w.Cfg.Schema)
				each := rowsPerItem
				if strings.HasPrefix(name, "ending") {
					each = rowsPerEnd
				}
				if rows, most := w.rowsRead()-before, int64(each*n+rowsBesides); rows > most {
					t.Errorf("%s: %s of %d items reads %d rows; at most %d are needed", stage.name, name, n, rows, most)
				}
			}
		}
	}
}

func (w *world) fill(n int) {
	w.Helper()
	if n == 0 {
		return
	}
	for _, sql := range []string{
		"INSERT INTO instances (shard, id, workflow, status, input) SELECT 0, md5(g::text)::uuid, 1, 'running', '{}' FROM generate_series(1, $1) g",
		"INSERT INTO node_ready_state SELECT 0, md5(g::text)::uuid, 1, '', '', 1, 1, false, true, true, clock_timestamp(), 1, 1, 'x' FROM generate_series(1, $1) g",
		"INSERT INTO node_ready_state SELECT 0, md5(g::text)::uuid, 2, '', '', 1, 1, false, true, false, clock_timestamp() + interval '1 day', 1, 1, 'x' FROM generate_series(1, $1) g",
		"INSERT INTO node_ready_state SELECT 0, md5(g::text)::uuid, 3, '', '', 2, 1, false, false, false, NULL, NULL, 1, NULL FROM generate_series(1, $1) g",
		"INSERT INTO node_pending_context SELECT 0, md5(g::text)::uuid, 2, '', 0, '[]' FROM generate_series(1, $1) g",
		"INSERT INTO instance_eval_context SELECT 0, md5(g::text)::uuid, 1, '', -1, '1' FROM generate_series(1, $1) g",
	} {
		w.Exec(sql, n)
	}
}

func probes() map[string]func(w *world, n int) func(b *Backend) {
	completing := func(cs []backend.Completion) func(w *world) func(b *Backend) {
		return func(w *world) func(b *Backend) {
			return func(b *Backend) {
				out, err := b.Complete(w.Ctx, 0, cs, backendtest.Granted(0))
				for _, o := range out.Outcomes {
					if o.Answer != backend.Applied {
						w.Fatalf("answered %s (%v)", o.Answer, o.Err)
					}
				}
				if err != nil {
					w.Fatal(err)
				}
			}
		}
	}
	return map[string]func(w *world, n int) func(b *Backend){
		"completing steps": func(w *world, n int) func(b *Backend) { return completing(w.many(designtest.Sequence, n))(w) },
		"completing elements": func(w *world, n int) func(b *Backend) {
			wide := designtest.Fanned
			wide.Input = fmt.Sprintf(`{"n": %d}`, n+1)
			return completing(designtest.Ran(w.Launch(wide)[:n]...))(w)
		},
		"completing rounds": func(w *world, n int) func(b *Backend) {
			return completing(designtest.Ran(w.Complete(w.many(designtest.Looping, n)...).Tasks...))(w)
		},
		"ending what is alone": func(w *world, n int) func(b *Backend) {
			return completing(w.many(designtest.FailsAlone, n))(w)
		},
		"ending what others are at work on": func(w *world, n int) func(b *Backend) {
			var failed []backend.Completion
			for _, sub := range w.Instances(designtest.Failing, n) {
				failed = append(failed, backendtest.Ran(designtest.FailureOf(w.Submit(sub))))
			}
			return completing(failed)(w)
		},
		"claiming": func(w *world, n int) func(b *Backend) {
			subs := w.Instances(designtest.Alone, n)
			for claimed := 1; claimed > 0; { // left by others
				out, err := w.B.Claim(w.Ctx, 0, backendtest.Granted(1_000))
				if err != nil {
					w.Fatal(err)
				}
				claimed = len(out.Tasks)
			}
			if _, err := w.B.Submit(w.Ctx, subs, backendtest.Granted(0)); err != nil {
				w.Fatal(err)
			}
			return func(b *Backend) {
				if out, err := b.Claim(w.Ctx, 0, backendtest.Granted(n)); err != nil || len(out.Tasks) != n {
					w.Fatalf("%d tasks of %d, %v", len(out.Tasks), n, err)
				}
			}
		},
		"extending": func(w *world, n int) func(b *Backend) {
			var leases []backend.Lease
			for _, c := range w.many(designtest.Alone, n) {
				leases = append(leases, c.Lease)
			}
			return func(b *Backend) {
				held, err := b.Renew(w.Ctx, 0, leases, backendtest.Granted(0))
				if err != nil || !held[0] {
					w.Fatalf("held %t, %v", held[0], err)
				}
			}
		},
	}
}

func (w *world) many(wf backendtest.Workflow, n int) []backend.Completion {
	w.Helper()
	return designtest.Ran(w.Submit(w.Instances(wf, n)...)...)
}

// TestOfferedAmongStale checks that of a completion offered twice in a call, with one of an older lease between, one is applied
// (I3).
func TestOfferedAmongStale(t *testing.T) {
	w := newWorld(t)
	task := w.Launch(designtest.Looping)[0]
	old := backendtest.Ran(task)
	w.Exec("UPDATE node_ready_state SET due_at = clock_timestamp() WHERE is_queued")
	out, err := w.B.Claim(w.Ctx, 0, backendtest.Granted(1))
	if err != nil || len(out.Tasks) != 1 {
		t.Fatalf("%d tasks, %v", len(out.Tasks), err)
	}
	c := backendtest.Ran(out.Tasks[0])
	if got := backendtest.Answers(w.Complete(c, old, c)); got != "applied stale stale" {
		t.Errorf("%s; want the first of them applied", got)
	}
	w.Finish()
}
