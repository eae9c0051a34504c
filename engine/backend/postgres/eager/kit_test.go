package eager

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver/pgtest"
	"pulley/engine/plan"
)

// world is a store of one shard, and what was started in it.
type world struct {
	*testing.T
	ctx  context.Context
	cfg  postgres.Config
	b    *Backend
	subs []backend.Submission
	want map[uuid.UUID]backendtest.Workflow
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dsn, schema := pgtest.Lend(t, "eager")
	return worldIn(t, dsn, schema)
}

// worldIn is a world in a schema of a database.
func worldIn(t *testing.T, dsn, schema string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	t.Cleanup(cancel)
	cfg := postgres.Config{DSN: dsn, Schema: schema, Shards: 1, Connections: 4}
	return &world{T: t, ctx: ctx, cfg: cfg, b: open(t, cfg), want: map[uuid.UUID]backendtest.Workflow{}}
}

// instance makes a submission of a workflow.
func (w *world) instance(wf backendtest.Workflow, p *plan.Program) backend.Submission {
	s := backend.Submission{ID: uuid.New(), Program: p, Input: json.RawMessage(wf.Input)}
	w.subs = append(w.subs, s)
	w.want[s.ID] = wf
	return s
}

// launch starts an instance and gives its first tasks.
func (w *world) launch(wf backendtest.Workflow) []backend.Task {
	w.Helper()
	return w.submit(w.instance(wf, wf.Program(w)))
}

// submit starts instances and gives their first tasks.
func (w *world) submit(subs ...backend.Submission) []backend.Task {
	w.Helper()
	out, err := w.b.Submit(w.ctx, subs, backendtest.Granted(2_000))
	if err != nil {
		w.Fatal(err)
	}
	return out.Tasks
}

func (w *world) complete(cs ...backend.Completion) backend.Committed {
	w.Helper()
	out, err := w.b.Complete(w.ctx, 0, cs, backendtest.Granted(2_000))
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// exec changes the store behind the backend's back.
func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.b.store.Pool.Exec(w.ctx, sql, args...); err != nil {
		w.Fatal(err)
	}
}

// number asks the store for a number.
func (w *world) number(sql string, args ...any) (n int64) {
	w.Helper()
	if err := w.b.store.Pool.QueryRow(w.ctx, sql, args...).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// dump gives all that is stored of some instances.
func (w *world) dump(ids ...uuid.UUID) string {
	w.Helper()
	rows, err := w.b.store.Pool.Query(w.ctx, `
		SELECT 'ready ' || t::text FROM node_ready_state t WHERE instance_id = ANY ($1)
		UNION ALL SELECT 'pending ' || t::text FROM node_pending_context t WHERE instance_id = ANY ($1)
		UNION ALL SELECT 'context ' || t::text FROM instance_eval_context t WHERE instance_id = ANY ($1)
		UNION ALL SELECT 'instance ' || t::text FROM instances t WHERE id = ANY ($1)
		ORDER BY 1`, ids)
	if err != nil {
		w.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// finish lets all leases expire, drives every instance to its end, and wants the right results (I7, I9) and
// nothing left behind (I10).
func (w *world) finish() {
	w.Helper()
	w.exec("UPDATE node_ready_state SET due_at = clock_timestamp() WHERE is_queued AND NOT is_completed")
	if _, err := backendtest.Drive(w.ctx, w.b, w.subs, backendtest.DriveConfig{Workers: 2, Max: 64}); err != nil {
		w.Fatal(err)
	}
	for id, wf := range w.want {
		found, err := w.b.Lookup(w.ctx, []uuid.UUID{id})
		if err == nil {
			err = wf.Expect(found[0])
		}
		if err != nil {
			w.Error(err)
		}
	}
	for more := true; more; {
		swept, err := w.b.Sweep(w.ctx, 0)
		if err != nil {
			w.Fatal(err)
		}
		more = swept.More
	}
	if left, err := w.b.Leftovers(w.ctx); err != nil || len(left) > 0 {
		w.Errorf("I10: left behind %v (%v)", left, err)
	}
}

var (
	joining = backendtest.Workflow{Name: "joining", Input: `{}`, Want: `6`, Source: `
fn main(input: [], output: [s]):
    a, b = parallel:
        @double(value=1)
        @double(value=2)
    s = @sum(values=[a, b])
`}
	sequence = backendtest.Workflow{Name: "sequence", Input: `{"n": 4}`, Want: `9`, Source: `
fn main(input: [n], output: [y]):
    x = @double(value=n)
    y = @add(a=x, b=1)
`}
	alone = backendtest.Workflow{Name: "alone", Input: `{"n": 4}`, Want: `8`, Source: `
fn main(input: [n], output: [x]):
    x = @double(value=n)
`}
	rounds = backendtest.Workflow{Name: "rounds", Input: `{"n": 4}`, Want: `[0,2,4,6]`, Source: `
fn main(input: [n], output: [all]):
    all = []
    for i in range(n):
        x = @double(value=i)
        all = all + [x]
`}
	caught = backendtest.Workflow{Name: "caught", Input: `{}`, Want: `["Bad",2]`, Source: `
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
	fanned = backendtest.Workflow{Name: "fanned", Input: `{"n": 3}`, Want: `[0,2,4]`, Source: `
fn main(input: [n], output: [r]):
    r = spread range(n):x -> @double(value=x)
`}
)
