package designtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
	"pulley/internal/pgtest"
)

// Backend is a backend of a design.
type Backend interface {
	backend.Backend
	Leftovers(ctx context.Context) (map[string]int, error)
}

// Open opens a backend until the test ends.
func Open[B interface{ Close() }, C any](t testing.TB, open func(context.Context, C) (B, error), cfg C) B {
	t.Helper()
	b, err := open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// Design describes a design's tables.
type Design struct {
	Table  string   // the table of node runs; q is a row
	Leased string   // the condition that a row is leased
	Free   string   // what the return of a lease sets
	Others []string // other tables with rows of instances
}

// World is a store of one shard with instances. Its own connections are not cut.
type World struct {
	*testing.T
	Ctx     context.Context
	Cfg     postgres.Config
	Design  Design
	B       Backend
	Querier pgstore.Querier                    // of the store
	Subs    []backend.Submission               // of all instances
	Want    map[uuid.UUID]backendtest.Workflow // by instance

	programs map[string]*plan.Program
}

const worldTimeout = 15 * time.Minute

// SharedConfig returns a configuration with a schema of the test's own.
func SharedConfig(t testing.TB, design string, shards int) postgres.Config {
	t.Helper()
	dsn, schema := pgtest.SharedSchema(t, design)
	return postgres.Config{DSN: dsn, Schema: schema, Shards: shards}
}

// NewWorld returns the world of an open store.
func NewWorld(t *testing.T, cfg postgres.Config, design Design, b Backend, ask pgstore.Querier) *World {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), worldTimeout)
	t.Cleanup(cancel)
	return &World{T: t, Ctx: ctx, Cfg: cfg, Design: design, B: b, Querier: ask, Want: map[uuid.UUID]backendtest.Workflow{}, programs: map[string]*plan.Program{}}
}

// Program compiles a workflow, once.
func (w *World) Program(wf backendtest.Workflow) *plan.Program {
	w.Helper()
	p := w.programs[wf.Name+wf.Source]
	if p == nil {
		p = wf.Program(w)
		w.programs[wf.Name+wf.Source] = p
	}
	return p
}

// Instance returns a submission of a workflow.
func (w *World) Instance(wf backendtest.Workflow) backend.Submission {
	w.Helper()
	s := backend.Submission{ID: uuid.New(), Program: w.Program(wf), Input: json.RawMessage(wf.Input)}
	w.Subs = append(w.Subs, s)
	w.Want[s.ID] = wf
	return s
}

// Instances returns submissions of a workflow.
func (w *World) Instances(wf backendtest.Workflow, n int) []backend.Submission {
	w.Helper()
	subs := make([]backend.Submission, n)
	for i := range subs {
		subs[i] = w.Instance(wf)
	}
	return subs
}

// Forget removes an instance without a result.
func (w *World) Forget(id uuid.UUID) {
	delete(w.Want, id)
	w.Subs = slices.DeleteFunc(w.Subs, func(s backend.Submission) bool { return s.ID == id })
}

const leasesMax = 2_000

// Launch starts an instance and returns its first tasks.
func (w *World) Launch(wf backendtest.Workflow) []backend.Task {
	w.Helper()
	return w.Submit(w.Instance(wf))
}

// Submit starts instances and returns their first tasks.
func (w *World) Submit(subs ...backend.Submission) []backend.Task {
	w.Helper()
	out, err := w.B.Submit(w.Ctx, subs, backendtest.Granted(leasesMax))
	if err != nil {
		w.Fatal(err)
	}
	return out.Tasks
}

// Complete offers completions.
func (w *World) Complete(cs ...backend.Completion) backend.Committed {
	w.Helper()
	out, err := w.B.Complete(w.Ctx, 0, cs, backendtest.Granted(leasesMax))
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// CompleteTasks completes tasks with the results of their actions.
func (w *World) CompleteTasks(tasks ...backend.Task) backend.Committed {
	w.Helper()
	return w.Complete(Ran(tasks...)...)
}

// Ran returns completions of tasks with the results of their actions.
func Ran(tasks ...backend.Task) []backend.Completion {
	cs := make([]backend.Completion, len(tasks))
	for i, task := range tasks {
		cs[i] = backendtest.Ran(task)
	}
	return cs
}

// Exec changes the store directly.
func (w *World) Exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.Querier.Exec(w.Ctx, sql, args...); err != nil {
		w.Fatal(err)
	}
}

// Number runs a query for one number.
func (w *World) Number(sql string, args ...any) (n int64) {
	w.Helper()
	if err := w.Querier.QueryRow(w.Ctx, sql, args...).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// Deadlocks returns the number of deadlocks in the database.
func (w *World) Deadlocks() int64 {
	w.Helper()
	return w.Number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
}

// Eventually repeats a query until it returns true.
func (w *World) Eventually(what, sql string, args ...any) {
	w.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		var yes bool
		if err := w.Querier.QueryRow(w.Ctx, sql, args...).Scan(&yes); err != nil {
			w.Fatalf("%s: %v", what, err)
		}
		if yes {
			return
		}
		select {
		case <-tick.C:
		case <-w.Ctx.Done():
			w.Fatalf("%s: %v", what, w.Ctx.Err())
		}
	}
}

// SessionsEnd waits until the sessions of an application have ended.
func (w *World) SessionsEnd(application string) {
	w.Helper()
	w.Eventually("the sessions of "+application+" do not end",
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND application_name = left($1, 63)", application)
}

// Dump returns all rows of some instances, or of all.
func (w *World) Dump(ids ...uuid.UUID) string {
	w.Helper()
	if ids == nil {
		if err := w.Querier.QueryRow(w.Ctx, "SELECT array_agg(id) FROM instances").Scan(&ids); err != nil {
			w.Fatal(err)
		}
	}
	sql := "SELECT 'instance ' || t::text FROM instances t WHERE shard = 0 AND id = ANY ($1)"
	for _, table := range append([]string{w.Design.Table}, w.Design.Others...) {
		sql += fmt.Sprintf(" UNION ALL SELECT '%s ' || t::text FROM %s t WHERE shard = 0 AND instance_id = ANY ($1)", table, table)
	}
	rows, err := w.Querier.Query(w.Ctx, sql+" ORDER BY 1", ids)
	if err != nil {
		w.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// Expire makes all leases expire.
func (w *World) Expire() {
	w.Helper()
	w.Exec(fmt.Sprintf("UPDATE %s q SET due_at = clock_timestamp() WHERE %s", w.Design.Table, w.Design.Leased))
}

// Finish lets all leases expire, drives every instance to its end, and checks the results (I7, I9) and that no rows are left
// (I10). Then it forgets the instances.
func (w *World) Finish() {
	w.Helper()
	w.Expire()
	if _, err := backendtest.Drive(w.Ctx, w.B, w.Subs, backendtest.DriveConfig{Workers: 2, Max: 64}); err != nil {
		w.Fatal(err)
	}
	found, err := w.B.Lookup(w.Ctx, slices.Collect(maps.Keys(w.Want)))
	if err != nil {
		w.Fatal(err)
	}
	for _, in := range found {
		if err := w.Want[in.ID].Expect(in); err != nil {
			w.Error(err)
		}
	}
	w.Clean()
	w.Subs = nil
	clear(w.Want)
}

// Clean sweeps until nothing is left to remove, and checks that ended instances have no rows (I10).
func (w *World) Clean() {
	w.Helper()
	for more := true; more; {
		swept, err := w.B.Sweep(w.Ctx, 0)
		if err != nil {
			w.Fatal(err)
		}
		more = swept.More
	}
	if left, err := w.B.Leftovers(w.Ctx); err != nil || len(left) > 0 {
		w.Errorf("I10: left behind %v (%v)", left, err)
	}
}
