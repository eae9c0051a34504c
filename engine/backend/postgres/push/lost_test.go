package push

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
	"pulley/engine/pgserver/pgtest"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

// world is a store with a connection that can be cut and one that cannot.
type world struct {
	*testing.T
	ctx     context.Context
	cfg     postgres.Config
	direct  *Backend
	through *Backend
	proxy   *pgtest.Proxy
	subs    []backend.Submission // of every instance that came to be
	want    map[uuid.UUID]backendtest.Workflow
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dsn, schema := pgtest.Lend(t, "push")
	return worldIn(t, dsn, schema)
}

// worldIn is a world in a schema of a database.
func worldIn(t *testing.T, dsn, schema string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	t.Cleanup(cancel)
	cfg := postgres.Config{DSN: dsn, Schema: schema, Shards: 1, Connections: 4}
	w := &world{T: t, ctx: ctx, cfg: cfg, direct: open(t, cfg), proxy: pgtest.StartProxy(t, cfg.DSN), want: map[uuid.UUID]backendtest.Workflow{}}
	cfg.Connections, cfg.Application = 2, "cut "+cfg.Schema
	w.through = through(t, w.proxy, cfg)
	return w
}

// instance makes a submission of a workflow.
func (w *world) instance(wf backendtest.Workflow, p *plan.Program) backend.Submission {
	s := backend.Submission{ID: uuid.New(), Program: p, Input: json.RawMessage(wf.Input)}
	w.subs = append(w.subs, s)
	w.want[s.ID] = wf
	return s
}

// launch starts an instance and gives its first tasks.
func (w *world) launch(wf backendtest.Workflow, p *plan.Program) []backend.Task {
	w.Helper()
	return w.submit(w.instance(wf, p))
}

// submit starts instances and gives their first tasks.
func (w *world) submit(subs ...backend.Submission) []backend.Task {
	w.Helper()
	out, err := w.direct.Submit(w.ctx, subs, backendtest.Granted(100))
	if err != nil {
		w.Fatal(err)
	}
	return out.Tasks
}

// complete offers completions by the sure connection.
func (w *world) complete(cs ...backend.Completion) backend.Committed {
	w.Helper()
	out, err := w.direct.Complete(w.ctx, 0, cs, backendtest.Granted(100))
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// dump gives all that is stored of some instances, or of all where none is named.
func (w *world) dump(ids ...uuid.UUID) string {
	w.Helper()
	if ids == nil {
		if err := w.direct.store.Pool.QueryRow(w.ctx, "SELECT array_agg(id) FROM instances").Scan(&ids); err != nil {
			w.Fatal(err)
		}
	}
	rows, err := w.direct.store.Pool.Query(w.ctx, `
		SELECT 'queue ' || t::text FROM queue t WHERE instance_id = ANY ($1)
		UNION ALL SELECT 'readiness ' || t::text FROM readiness t WHERE shard = 0 AND instance_id = ANY ($1)
		UNION ALL SELECT 'elements ' || t::text FROM elements t WHERE shard = 0 AND instance_id = ANY ($1)
		UNION ALL SELECT 'inbox ' || t::text FROM inbox t WHERE shard = 0 AND instance_id = ANY ($1)
		UNION ALL SELECT 'instance ' || t::text FROM instances t WHERE shard = 0 AND id = ANY ($1)
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

// exec changes the store behind the backend's back.
func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.direct.store.Pool.Exec(w.ctx, sql, args...); err != nil {
		w.Fatal(err)
	}
}

// finish lets all leases expire, drives every instance to its end by the sure connection, and wants the
// right results (I7, I9), nothing left behind (I10) and no connection lost.
func (w *world) finish() {
	w.Helper()
	w.exec("UPDATE queue SET due_at = clock_timestamp()")
	_, err := backendtest.Drive(w.ctx, w.direct, w.subs, backendtest.DriveConfig{Workers: 2, Max: 64})
	if err != nil {
		w.Fatal(err)
	}
	found, err := w.direct.Lookup(w.ctx, slices.Collect(maps.Keys(w.want)))
	if err != nil {
		w.Fatal(err)
	}
	for _, in := range found {
		if err := w.want[in.ID].Expect(in); err != nil {
			w.Error(err)
		}
	}
	for more := true; more; {
		swept, err := w.direct.Sweep(w.ctx, 0)
		if err != nil {
			w.Fatal(err)
		}
		more = swept.More
	}
	if left, err := w.direct.Leftovers(w.ctx); err != nil || len(left) > 0 {
		w.Errorf("I10: left behind %v (%v)", left, err)
	}
	w.noLeak()
}

// noLeak wants no connection to stay in use, in the pool or on the server. The pool itself has idle connections in use for
// a moment, half a second after one was lost, to see whether they are still good.
func (w *world) noLeak() {
	w.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		n := w.through.store.Pgx().Stat().AcquiredConns()
		if n == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			w.Fatalf("%d connections are still in use: %v", n, w.ctx.Err())
		}
	}
	w.through.Close()
	w.eventually("the server keeps connections of a pool that was closed", `
		SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database() AND application_name = left($1, 63)`, "cut "+w.cfg.Schema)
}

// eventually asks a question of the server until the answer is true.
func (w *world) eventually(what, sql string, args ...any) {
	w.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		var yes bool
		if err := w.direct.store.Pool.QueryRow(w.ctx, sql, args...).Scan(&yes); err != nil {
			w.Fatalf("%s: %v", what, err)
		}
		if yes {
			return
		}
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			w.Fatalf("%s: %v", what, w.ctx.Err())
		}
	}
}

// trial is one offer that may be cut, with the judge of what came of it.
type trial struct {
	call  func(b *Backend) (backend.Committed, error)
	judge func(out backend.Committed, err error) error
}

// scene makes trials of one kind, each on instances of its own.
type scene struct {
	name  string
	cuts  []pgtest.Cut
	trial func(w *world) trial
}

// The cuts of a connection that is in use, and those of one that has to be made first as well. Of the
// client's messages that are lost each is the next after one that arrived.
var (
	warmCuts = []pgtest.Cut{{Mode: pgtest.CutAfter, Client: true}, {Mode: pgtest.CutBefore}, {Mode: pgtest.CutBefore, Dead: true}}
	allCuts  = append([]pgtest.Cut{{Mode: pgtest.CutBefore, Client: true, Fresh: true}, {Mode: pgtest.CutBefore, Fresh: true}}, warmCuts...)
	onceCuts = depth.Of(pgtest.OnceEach(), warmCuts) // of calls of many messages
)

// TestLostCommit cuts the connection at every message of every kind of call, and wants what is answered to
// be what happened, and everything to end as if nothing had.
func TestLostCommit(t *testing.T) {
	for _, s := range scenes(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cuts := 0
			for _, c := range s.cuts {
				cuts += w.everyMessage(s, c)
			}
			t.Logf("%d cuts", cuts)
			w.finish()
		})
	}
}

// everyMessage makes trials with the cut at the first message, the second, and so on, until a trial is
// over before its cut is due.
func (w *world) everyMessage(s scene, c pgtest.Cut) int {
	w.Helper()
	for c = c.At(1); ; c = c.At(c.K + 1) {
		if c.Fresh {
			w.through.store.Pgx().Reset()
		} else {
			w.warm(s)
		}
		tr := s.trial(w)
		w.proxy.Set(c)
		out, err := tr.call(w.through)
		fired := w.proxy.Unset()
		if err := tr.judge(out, err); err != nil {
			w.Errorf("%s: %v", c, err)
		}
		switch {
		case fired:
			continue
		case err != nil:
			w.Fatalf("%s was not reached, and: %v", c, err)
		case c.K < 4:
			w.Fatalf("inconclusive: %s was not reached", c)
		}
		return c.K - 1
	}
}

// warm makes uncut calls until one succeeds: the pool may hold a connection that was cut while nobody
// used it, and the next call is told.
func (w *world) warm(s scene) {
	w.Helper()
	for range 5 {
		if _, err := s.trial(w).call(w.through); err == nil {
			return
		}
	}
	w.Fatal("no call succeeds that is not cut")
}

// offering makes a trial of completions, on instances with the given ids.
func (w *world) offering(cs ...backend.Completion) trial {
	var ids []uuid.UUID
	for _, c := range cs {
		ids = append(ids, c.Lease.Key.Instance)
	}
	before := w.dump(ids...)
	return trial{
		call: func(b *Backend) (backend.Committed, error) { return b.Complete(w.ctx, 0, cs, backendtest.Granted(100)) },
		judge: func(out backend.Committed, err error) error {
			first := map[backend.Answer]int{}
			for _, o := range out.Outcomes {
				first[o.Answer]++
			}
			if err == nil && first[backend.Applied] != len(cs) {
				return fmt.Errorf("I3: answered %+v; want all applied, nobody else completes them", out.Outcomes)
			}
			if n := w.undone(cs); err == nil && n > 0 {
				return fmt.Errorf("I8: answered %+v, and %d of %d are to be done again", out.Outcomes, n, len(cs))
			}
			if err != nil && !backend.IsUnknown(err) && w.dump(ids...) != before {
				return fmt.Errorf("I8: something was changed by what failed: %w\nbefore\n%s\nafter\n%s", err, before, w.dump(ids...))
			}
			again := map[backend.Answer]int{}
			for _, o := range w.complete(cs...).Outcomes {
				again[o.Answer]++
			}
			switch {
			case err == nil && again[backend.Stale] != len(cs):
				return fmt.Errorf("I3: applied, and offered again: %v; want stale", again)
			case err != nil && !backend.IsUnknown(err) && again[backend.Applied] != len(cs):
				return fmt.Errorf("I3: failed, and offered again: %v; want applied (%w)", again, err)
			case again[backend.Stale] != len(cs) && again[backend.Applied] != len(cs):
				return fmt.Errorf("torn: offered again: %v (%s)", again, fmt.Sprint(err))
			}
			if n := w.stuck(ids); n > 0 {
				return fmt.Errorf("I9: %d instances go on, and nothing of them is queued", n)
			}
			return nil
		},
	}
}

// undone counts the attempts that are still queued, under whatever token.
func (w *world) undone(cs []backend.Completion) (n int) {
	w.Helper()
	for _, c := range cs {
		var one int
		key := c.Lease.Key
		err := w.direct.store.Pool.QueryRow(w.ctx, "SELECT count(*) FROM queue WHERE instance_id = $1 AND node = $2 AND path = $3 AND attempt = $4",
			key.Instance, key.Run.Node, string(key.Run.Path), c.Attempt).Scan(&one)
		if err != nil {
			w.Fatal(err)
		}
		n += one
	}
	return n
}

// stuck counts instances that nobody will ever end.
func (w *world) stuck(ids []uuid.UUID) (n int) {
	w.Helper()
	if err := w.direct.store.Pool.QueryRow(w.ctx, `
		SELECT count(*) FROM instances i WHERE i.id = ANY ($1) AND i.status = 'running'
			AND NOT EXISTS (SELECT FROM queue q WHERE q.shard = i.shard AND q.instance_id = i.id)`, ids).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// besideStale makes a trial of a completion that is stale already and one that is not, in one call.
func (w *world) besideStale(stale, open backend.Completion) trial {
	tr := w.offering(open)
	judge := tr.judge
	tr.call = func(b *Backend) (backend.Committed, error) {
		return b.Complete(w.ctx, 0, []backend.Completion{stale, open}, backendtest.Granted(100))
	}
	tr.judge = func(out backend.Committed, err error) error {
		if err == nil {
			if got := out.Outcomes[0].Answer; got != backend.Stale {
				return fmt.Errorf("I3: what others had completed before is answered %s, want stale", got)
			}
			out.Outcomes = out.Outcomes[1:]
		}
		return judge(out, err)
	}
	return tr
}

var (
	sequence = backendtest.Workflow{Name: "sequence", Input: `{"n": 4}`, Want: `9`, Source: `
fn main(input: [n], output: [y]):
    x = @double(value=n)
    y = @add(a=x, b=1)
`}
	joining = backendtest.Workflow{Name: "joining", Input: `{}`, Want: `6`, Source: `
fn main(input: [], output: [s]):
    a, b = parallel:
        @double(value=1)
        @double(value=2)
    s = @sum(values=[a, b])
`}
	alone = backendtest.Workflow{Name: "alone", Input: `{"n": 4}`, Want: `8`, Source: `
fn main(input: [n], output: [x]):
    x = @double(value=n)
`}
	fanned = backendtest.Workflow{Name: "fanned", Input: `{"n": 3}`, Want: `[0,2,4]`, Source: `
fn main(input: [n], output: [r]):
    r = spread range(n):x -> @double(value=x)
`}
	failing = backendtest.Workflow{Name: "failing", Input: `{}`, Failure: "Bad", Source: `
fn main(input: [], output: [r]):
    a, b = parallel:
        @fail(type="Bad", message="no")
        @double(value=2)
    r = @add(a=a, b=b)
`}
	looping = backendtest.Workflow{Name: "looping", Input: `{"n": 3}`, Want: `[0,2,4]`, Source: `
fn main(input: [n], output: [all]):
    all = []
    for i in range(n):
        x = @double(value=i)
        all = all + [x]
`}
	caught = backendtest.Workflow{Name: "caught", Input: `{}`, Want: `"Bad"`, Source: `
fn main(input: [], output: [r]):
    try:
        a, b = parallel:
            @fail(type="Bad", message="no")
            @double(value=2)
        r = @add(a=a, b=b)
    except Bad as e:
        r = @echo(value=e["type"])
`}
	retried = backendtest.Workflow{Name: "retried", Input: `{}`, Want: `2`, Source: `
fn main(input: [], output: [r]):
    r = @flaky(times=1) [retry: 5, backoff: 1ms]
`}
)

// failureOf gives the task of several whose action fails.
func failureOf(tasks []backend.Task) backend.Task {
	return tasks[slices.IndexFunc(tasks, func(t backend.Task) bool { return t.Action == "fail" })]
}

func scenes(t *testing.T) []scene {
	p := map[string]*plan.Program{}
	for _, wf := range []backendtest.Workflow{sequence, joining, alone, fanned, failing, looping, caught, retried} {
		p[wf.Name] = wf.Program(t)
	}
	start := func(w *world, wf backendtest.Workflow) []backend.Task { return w.launch(wf, p[wf.Name]) }
	return []scene{
		{name: "a step", cuts: allCuts, trial: func(w *world) trial { return w.offering(backendtest.Ran(start(w, sequence)[0])) }},
		{name: "opens a barrier", cuts: allCuts, trial: func(w *world) trial {
			tasks := start(w, joining)
			w.complete(backendtest.Ran(tasks[0]))
			return w.offering(backendtest.Ran(tasks[1]))
		}},
		{name: "ends an instance", cuts: onceCuts, trial: func(w *world) trial { return w.offering(backendtest.Ran(start(w, alone)[0])) }},
		{name: "fails an instance", cuts: onceCuts, trial: func(w *world) trial { return w.offering(backendtest.Ran(failureOf(start(w, failing)))) }},
		{name: "ends a round of a loop", cuts: onceCuts, trial: func(w *world) trial {
			second := w.complete(backendtest.Ran(start(w, looping)[0])).Tasks
			return w.offering(backendtest.Ran(second[0]))
		}},
		{name: "calls siblings off", cuts: onceCuts, trial: func(w *world) trial { return w.offering(backendtest.Ran(failureOf(start(w, caught)))) }},
		{name: "cancel", cuts: onceCuts, trial: func(w *world) trial { return w.canceling(start(w, joining)) }},
		{name: "is retried", cuts: onceCuts, trial: func(w *world) trial { return w.offering(backendtest.Ran(start(w, retried)[0])) }},
		{name: "several", cuts: onceCuts, trial: func(w *world) trial {
			var subs []backend.Submission
			for _, wf := range depth.Of([]backendtest.Workflow{joining, sequence, alone, retried}, []backendtest.Workflow{joining, sequence, alone, fanned, retried}) {
				subs = append(subs, w.instance(wf, p[wf.Name]))
			}
			var cs []backend.Completion
			for _, task := range w.submit(subs...) {
				cs = append(cs, backendtest.Ran(task))
			}
			second := w.complete(backendtest.Ran(start(w, looping)[0])).Tasks
			return w.offering(append(cs, backendtest.Ran(second[0]), backendtest.Ran(failureOf(start(w, failing))))...)
		}},
		{name: "beside a stale one", cuts: onceCuts, trial: func(w *world) trial {
			over, open := start(w, alone)[0], start(w, sequence)[0]
			w.complete(backendtest.Ran(over))
			return w.besideStale(backendtest.Ran(over), backendtest.Ran(open))
		}},
		{name: "submit", cuts: allCuts, trial: func(w *world) trial {
			return w.submitting(w.instance(sequence, p["sequence"]), w.instance(fanned, p["fanned"]))
		}},
		{name: "claim", cuts: warmCuts, trial: func(w *world) trial { return w.claiming(w.instance(alone, p["alone"])) }},
		{name: "extend", cuts: warmCuts, trial: func(w *world) trial { return w.extending(start(w, sequence)[0]) }},
	}
}

// submitting makes a trial of new instances.
func (w *world) submitting(subs ...backend.Submission) trial {
	return trial{
		call: func(b *Backend) (backend.Committed, error) { return b.Submit(w.ctx, subs, backendtest.Granted(100)) },
		judge: func(out backend.Committed, err error) error {
			stored := w.dump(subs[0].ID, subs[1].ID)
			again, e := w.direct.Submit(w.ctx, subs, backendtest.Granted(100))
			if e != nil {
				return e
			}
			first, second := again.Outcomes[0].Answer, again.Outcomes[1].Answer
			switch {
			case first != second:
				return fmt.Errorf("torn: submitted again: %s and %s", first, second)
			case err == nil && first != backend.Duplicate:
				return fmt.Errorf("I8: answered %+v, and submitted again: %s", out.Outcomes, first)
			case err == nil && out.Outcomes[0].Answer == backend.Applied && len(out.Tasks) != 4:
				return fmt.Errorf("applied, with %d tasks; want 4", len(out.Tasks))
			case err != nil && !backend.IsUnknown(err) && (first != backend.Applied || stored != ""):
				return fmt.Errorf("failed (%w), and was stored:\n%s", err, stored)
			}
			return nil
		},
	}
}

// claiming makes a trial of a claim, of what is due of all instances there are.
func (w *world) claiming(sub backend.Submission) trial {
	if _, err := w.direct.Submit(w.ctx, []backend.Submission{sub}, backendtest.Granted(0)); err != nil {
		w.Fatal(err)
	}
	before := w.dump()
	return trial{
		call: func(b *Backend) (backend.Committed, error) { return b.Claim(w.ctx, 0, backendtest.Granted(100)) },
		judge: func(out backend.Committed, err error) error {
			if err != nil {
				if !backend.IsUnknown(err) && w.dump() != before {
					return fmt.Errorf("failed (%w), and changed something", err)
				}
				return nil
			}
			var cs []backend.Completion
			for _, task := range out.Tasks {
				cs = append(cs, backendtest.Ran(task))
			}
			if len(cs) == 0 {
				// The claim of an earlier trial was executed after that had been given up.
				return w.noneQueued()
			}
			for _, o := range w.complete(cs...).Outcomes {
				if o.Answer != backend.Applied {
					return fmt.Errorf("what was claimed is answered %s", o.Answer)
				}
			}
			return nil
		},
	}
}

// noneQueued wants every node run to be leased.
func (w *world) noneQueued() error {
	var queued int
	err := w.direct.store.Pool.QueryRow(w.ctx, "SELECT count(*) FROM queue WHERE owner IS NULL").Scan(&queued)
	if err == nil && queued > 0 {
		err = fmt.Errorf("nothing was claimed, and there is:\n%s", w.dump())
	}
	return err
}

// extending makes a trial of the extension of one lease.
func (w *world) extending(task backend.Task) trial {
	before := w.dump(task.Lease.Key.Instance)
	return trial{
		call: func(b *Backend) (backend.Committed, error) {
			held, err := b.Extend(w.ctx, 0, []backend.Lease{task.Lease}, backendtest.Granted(0))
			if err == nil && !held[0] {
				err = fmt.Errorf("the lease is said to be lost")
			}
			return backend.Committed{}, err
		},
		judge: func(_ backend.Committed, err error) error {
			same := w.dump(task.Lease.Key.Instance) == before
			if err == nil && same || err != nil && !backend.IsUnknown(err) && !same {
				return fmt.Errorf("answered %s, and the row is the same: %t", fmt.Sprint(err), same)
			}
			if o := w.complete(backendtest.Ran(task)).Outcomes[0]; o.Answer != backend.Applied {
				return fmt.Errorf("the holder is answered %s", o.Answer)
			}
			return nil
		},
	}
}

// canceling makes a trial of canceling the instance of some tasks.
func (w *world) canceling(tasks []backend.Task) trial {
	id := tasks[0].Lease.Key.Instance
	delete(w.want, id)
	w.subs = slices.DeleteFunc(w.subs, func(s backend.Submission) bool { return s.ID == id })
	before := w.dump(id)
	return trial{
		call: func(b *Backend) (backend.Committed, error) {
			found, err := b.Cancel(w.ctx, []uuid.UUID{id}, "enough")
			return backend.Committed{Ended: found}, err
		},
		judge: func(out backend.Committed, err error) error {
			switch {
			case err == nil && out.Ended[0].Status != backend.Canceled:
				return fmt.Errorf("canceled, and is %s", out.Ended[0].Status)
			case err != nil && !backend.IsUnknown(err) && w.dump(id) != before:
				return fmt.Errorf("failed (%w), and changed something", err)
			}
			again, e := w.direct.Cancel(w.ctx, []uuid.UUID{id}, "enough")
			if e != nil || again[0].Status != backend.Canceled || again[0].Failure == nil || again[0].Failure.Message != "enough" {
				return fmt.Errorf("canceled again: %+v (%w)", again, e)
			}
			for _, o := range w.complete(backendtest.Ran(tasks[0]), backendtest.Ran(tasks[1])).Outcomes {
				if o.Answer != backend.Stale {
					return fmt.Errorf("I7: a completion of a canceled instance is answered %s", o.Answer)
				}
			}
			return nil
		},
	}
}

// through opens a backend on the other side of a proxy.
func through(t testing.TB, p *pgtest.Proxy, cfg postgres.Config) *Backend {
	t.Helper()
	cfg.DSN = p.DSN()
	b, err := Open(context.Background(), Config{Store: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	b.sweeper.Close() // what it sends in the background would be counted, and cut, with a call's messages
	return b
}
