package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/memory"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

func granted(most int) backend.Grant {
	return backend.Grant{Owner: "hazard", Max: most, Lease: hazardDeadline}
}

func done(task backend.Task, result string) backend.Completion {
	return backend.Completion{Lease: task.Lease, Program: task.Program, Attempt: task.Attempt, Result: json.RawMessage(result)}
}

func shardZero(b backend.Backend) uuid.UUID {
	for {
		if id := uuid.New(); backend.ShardOf(id, b.Shards()) == 0 {
			return id
		}
	}
}

func (s *site) begin(b backend.Backend, p *plan.Program, instances int, input string) []backend.Task {
	s.Helper()
	subs := make([]backend.Submission, instances)
	for i := range subs {
		subs[i] = backend.Submission{ID: shardZero(b), Program: p, Input: json.RawMessage(input)}
	}
	out, err := b.Submit(s.ctx, subs, granted(0))
	if err != nil {
		s.Fatal(err)
	}
	if out, err = b.Claim(s.ctx, 0, granted(10_000)); err != nil {
		s.Fatal(err)
	}
	return out.Tasks
}

// mesh is layers of nodes, each of which waits for the whole layer before: every completion arrives at the barriers of a whole
// layer.
func mesh(t *testing.T, layers, width int) *plan.Program {
	t.Helper()
	b := graph.New("mesh", "x")
	var before []*graph.NodeBuilder
	value := "x"
	for layer := range layers {
		var nodes []*graph.NodeBuilder
		var names []string
		for i := range width {
			name := fmt.Sprintf("n%d_%d", layer, i)
			nodes = append(nodes, b.Action(name, "add",
				graph.Arg{Name: "a", Value: graph.X(value)}, graph.Arg{Name: "b", Value: graph.X(fmt.Sprint(i))}).After(before...))
			names = append(names, name)
		}
		before, value = nodes, "("+strings.Join(names, " + ")+") % 1000"
	}
	b.Output(value).After(before...)
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return built(t, g)
}

func meshValue(layers, width, x int) string {
	for range layers {
		x = (width*x + width*(width-1)/2) % 1000
	}
	return fmt.Sprint(x)
}

type counting struct {
	backend.Backend
	calls atomic.Int64
}

func (c *counting) Complete(ctx context.Context, shard int, completions []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	c.calls.Add(1)
	return c.Backend.Complete(ctx, shard, completions, grant)
}

// slow slows the server down at every row that a host writes, so that transactions that meet at a row overlap.
func (s *site) slow() {
	s.Helper()
	s.exec("CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.001); RETURN NEW; END'")
	s.exec(`DO $$ DECLARE name text; BEGIN
		FOR name IN SELECT table_name FROM information_schema.columns WHERE table_schema = current_schema() AND column_name = 'instance_id' LOOP
			EXECUTE format('CREATE TRIGGER dawdle BEFORE INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION dawdle()', name);
		END LOOP;
	END $$`)
}

// Hosts complete neighbours in the same instances concurrently, in batches of all sizes, where each completion changes a dozen
// counters. Without one lock order the hosts would deadlock. The server must report no deadlock.
func TestHazardCountersUpsertedInMapOrder(t *testing.T) {
	const layers, width, hosts = 3, 12, 4
	instances := depth.Of(3, 6)
	onEveryDatabase(t, func(s *site) {
		// With one shard no host can keep to a shard of its own.
		design, err := designs.Parse(s.design.String() + ":shards=1")
		if err != nil {
			s.Fatal(err)
		}
		s.design = design
		p := mesh(s.T, layers, width)
		ways := make([]*counting, hosts)
		backends := make([]backend.Backend, hosts)
		for i := range ways {
			ways[i] = &counting{Backend: s.open()}
			backends[i] = ways[i]
		}
		s.slow()
		const deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
		before := s.number(deadlocks)
		var failures atomic.Int64 // failed calls are repeated; the server counts deadlocks in any case
		again := func(err error) bool {
			s.Errorf("a call fails: %v", err)
			return failures.Add(1) <= 20
		}
		// On a busy machine one host may do almost nothing: then more instances follow, until the site ends.
		idle := func(way *counting) bool { return way.calls.Load() < layers }
		for slices.ContainsFunc(ways, idle) && !s.Failed() {
			subs := make([]backend.Submission, instances)
			for i := range subs {
				subs[i] = backend.Submission{ID: shardZero(ways[0]), Program: p, Input: json.RawMessage(`{"x": 5}`)}
			}
			seen, err := backendtest.Drive(s.ctx, backends[0], subs, backendtest.DriveConfig{Peers: backends[1:], Workers: 2 * hosts, Max: 3, Seed: 4, Again: again})
			if err != nil {
				s.Error(err)
			}
			for id, inst := range seen.Instances {
				if want := meshValue(layers, width, 5); string(inst.Result) != want {
					s.Errorf("%s gives %s (%v), want %s", id, inst.Result, inst.Failure, want)
				}
			}
		}
		for _, way := range ways {
			way.Close()
		}
		s.resolved() // sessions report their counts when they end
		if n := s.number(deadlocks) - before; n > 0 {
			s.Errorf("%d deadlocks", n)
		}
	})
}

// One call completes 201 instances. One completion cannot be applied, because its counter would overflow or its result is
// invalid; the other 200 must be applied.
func TestHazardOneOverflowRollsBack200Neighbours(t *testing.T) {
	t.Run("malformed", func(t *testing.T) {
		onEveryDesign(t, func(s *site) {
			s.besideNeighbours(func(c *backend.Completion) { c.Result = json.RawMessage(`{"a":`) })
		})
	})
	// These make the store report that all arrivals have come, for designs with counters in rows. Pull has no counters; package
	// memory tests its own.
	overflows := map[string]string{
		"push":  "UPDATE readiness SET completed = required WHERE instance_id = $1",
		"eager": "UPDATE node_ready_state SET deps_satisfied = deps_required WHERE instance_id = $1 AND NOT is_queued",
	}
	for _, design := range designs.All() {
		sql, counts := overflows[design.Name()]
		if !counts {
			continue
		}
		t.Run("overflow/"+design.String(), func(t *testing.T) {
			s := newSite(t, design)
			out := s.besideNeighbours(func(c *backend.Completion) {
				if n := s.exec(sql, c.Lease.Key.Instance); n == 0 {
					s.Fatal("inconclusive: no counter was found")
				}
			})
			if out.Answer != backend.Refused || !errors.Is(out.Err, backend.ErrOverflow) {
				s.Errorf("answered %s (%v), want refused for an overflow", out.Answer, out.Err)
			}
		})
	}
}

// besideNeighbours has one corrupt completion among 201, and returns the answer to it.
func (s *site) besideNeighbours(corrupt func(*backend.Completion)) backend.Outcome {
	s.Helper()
	const neighbours, bad = 200, 77
	p := program(s.T, "fn main(input: [], output: [c]):\n    a, b = parallel:\n        @echo(value=1)\n        @echo(value=2)\n    c = @echo(value=a + b)\n", ir.Limits{})
	b := s.open()
	begun := map[uuid.UUID]bool{}
	var first, second []backend.Completion
	for _, task := range s.begin(b, p, neighbours+1, `{}`) {
		if id := task.Lease.Key.Instance; !begun[id] {
			begun[id] = true
			first = append(first, done(task, "1"))
		} else {
			second = append(second, done(task, "2"))
		}
	}
	if _, err := b.Complete(s.ctx, 0, first, granted(0)); err != nil || len(second) != neighbours+1 {
		s.Fatalf("%d instances have a second branch: %v", len(second), err)
	}
	corrupt(&second[bad])
	out, err := b.Complete(s.ctx, 0, second, granted(1000))
	if err != nil {
		s.Fatal(err)
	}
	for i, o := range out.Outcomes {
		if i != bad && o.Answer != backend.Applied {
			s.Errorf("neighbour %d is answered %s (%v)", i, o.Answer, o.Err)
		}
	}
	if len(out.Tasks) != neighbours {
		s.Errorf("%d neighbours continue, not %d", len(out.Tasks), neighbours)
	}
	return out.Outcomes[bad]
}

// A row of the instances' table that every completion updates would serialize a fan-out.
func TestHazardInstanceRowUpdatedPerCompletion(t *testing.T) {
	width := depth.Of(60, 600)
	onEveryDatabase(t, func(s *site) {
		b := s.open()
		e := s.host(b, engine.Config{Batch: 1})
		p := program(s.T, "fn main(input: [n], output: [total]):\n    xs = spread range(n):i -> @double(value=i)\n    total = sum(xs)\n", ir.Limits{})
		if inst := s.ends(e, p, fmt.Sprintf(`{"n": %d}`, width)); string(inst.Result) != fmt.Sprint(width*(width-1)) {
			s.Errorf("the fan-out gives %s (%v)", inst.Result, inst.Failure)
		}
		s.stop(e)
		b.Close()
		s.resolved()
		const counters = "SELECT coalesce(sum(%s), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = $1 AND %s"
		changed := s.number(fmt.Sprintf(counters, "n_tup_ins + n_tup_upd", "relname <> 'instances'"), s.schema)
		created := s.number(fmt.Sprintf(counters, "n_tup_ins", "relname = 'instances'"), s.schema)
		if changed < int64(width) || created != 1 {
			s.Fatalf("inconclusive: %d rows were written beside %d instances", changed, created)
		}
		// One update for the end, one for the cleanup.
		if n := s.number(fmt.Sprintf(counters, "n_tup_upd", "relname = 'instances'"), s.schema); n < 1 || n > 2 {
			s.Errorf("the instance's row was updated %d times in %d completions", n, width)
		}
	})
}

// With a foreign key, each insert of a child locks its parent's row. There must be none, and an instance must continue while
// its row is locked.
func TestHazardForeignKeysLockTheParentRow(t *testing.T) {
	onEveryDatabase(t, func(s *site) {
		b := s.open()
		const keys = "SELECT count(*) FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace WHERE n.nspname = $1 AND c.contype = 'f'"
		if n := s.number(keys, s.schema); n > 0 {
			s.Errorf("%d foreign keys", n)
		}
		p := program(s.T, "fn main(input: [], output: [y]):\n    xs = spread range(10):i -> @double(value=i)\n    y = @sum(values=xs)\n    y = @echo(value=y)\n", ir.Limits{})
		tasks := s.begin(b, p, 1, `{}`)
		tx, err := s.conn.Begin(s.ctx)
		if err != nil {
			s.Fatal(err)
		}
		if n := s.exec("SELECT FROM instances WHERE id = $1 FOR UPDATE", tasks[0].Lease.Key.Instance); n != 1 {
			s.Fatalf("inconclusive: %d rows are locked", n)
		}
		calls := 0
		for ; len(tasks) > 0 && calls < 11; calls++ { // the last one would end the instance
			out, err := b.Complete(s.ctx, 0, []backend.Completion{done(tasks[0], "1")}, granted(10))
			if err != nil || out.Outcomes[0].Answer != backend.Applied {
				s.Fatalf("a completion waits for the instance's row: %+v, %v", out.Outcomes, err)
			}
			tasks = append(tasks[1:], out.Tasks...)
		}
		if err := tx.Rollback(s.ctx); err != nil {
			s.Error(err)
		}
		if calls != 11 || len(tasks) != 1 {
			s.Errorf("inconclusive: %d completions, and %d tasks are left", calls, len(tasks))
		}
	})
}

// Variables are written repeatedly, also several times in one transaction, in which now() does not change: the value written
// last must be read.
func TestHazardLatestInboxValueByNow(t *testing.T) {
	fates := []fate{
		{name: "in a loop", source: "    y = 0\n    for i in range(20):\n        y = y + 1\n        z = @echo(value=y)\n        y = z * 2\n    y = @echo(value=y)\n", result: "2097150"},
		{name: "by an action and behind it", source: "    y = @echo(value=1)\n    y = y + 1\n    a, b = parallel:\n        @echo(value=y)\n        @echo(value=y)\n    y = [y, a, b]\n    y = @echo(value=y)\n", result: "[2,2,2]"},
		{name: "by barriers that open in one transaction", source: "fn f(input: [v], output: [v]):\n    v = spread [v]:w -> @echo(value=w)\n    v = [v, v]\n\n" +
			"fn main(input: [x], output: [y]):\n    y = 'first'\n    y = spread [y]:v -> f(v=v)\n    z = y\n    y = [z, 'second']\n    y = spread []:v -> @echo(value=v)\n    y = [z, y]\n    y = @echo(value=y)\n",
			result: `[[[["first"],["first"]]],[]]`},
		{name: "large", source: "    y = ''\n    for i in range(4):\n        y = @echo(value=str(i) * 2000)\n        z = @echo(value=y)\n        y = @echo(value=z[:1] * 3000)\n    y = y[0] + str(len(y))\n    y = @echo(value=y)\n", result: `"33000"`},
		{name: "in a handler", source: "    y = 1\n    try:\n        y = @echo(value=2)\n        z = @echo(value=y)\n        y = 3\n        @fail(type='A', message='')\n        y = 4\n    except:\n        y = [y, z]\n    y = @echo(value=y)\n", result: "[3,2]"},
		{name: "appended and replaced", source: "    y = []\n    for i in range(6):\n        y = y + [i]\n        if i == 3:\n            y = ['new']\n        @noop()\n    y = @echo(value=y)\n", result: `["new",4,5]`},
	}
	checkFates(t, fates)
	// No table of instances may have a time that could define an order. Due times, ends of leases and starts of waits do not:
	// of two rows due at one time, either may come first. Signals are taken in the order of their numbers.
	onEveryDatabase(t, func(s *site) {
		_ = s.open()
		const columns = `SELECT count(*) FROM information_schema.columns c
			WHERE c.table_schema = $1 AND c.column_name NOT IN ('due_at', 'expires_at', 'happened_at', 'sent_at', 'since', 'deadline') AND c.data_type LIKE ANY ($2) AND EXISTS (
				SELECT FROM information_schema.columns k WHERE k.table_schema = $1 AND k.table_name = c.table_name AND k.column_name = 'instance_id')`
		if n := s.number(columns, s.schema, []string{"json", "bytea"}); n == 0 {
			s.Fatal("inconclusive: no values were found")
		}
		if n := s.number(columns, s.schema, []string{"timestamp%"}); n > 0 {
			s.Errorf("%d columns tell times beside values", n)
		}
	})
}

// anyDeliveries is MaxDeliveries where leases are short: on a busy machine they end before a task does.
const anyDeliveries = 1_000_000

// Sessions are killed in the middle of calls while instances with many barriers run. If one transaction filled a counter and
// another queued the node run, a run would be lost between them.
func TestHazardReadyButNeverQueued(t *testing.T) {
	const layers, width = 4, 6
	instances := depth.Of(2, 12)
	p := mesh(t, layers, width)
	t.Run("crash points", func(t *testing.T) {
		t.Parallel()
		var mu sync.Mutex
		rng := rand.New(rand.NewPCG(11, 11))
		crashes := map[string]int{}
		store := memory.New(memory.Options{Crash: func(point string) error {
			mu.Lock()
			defer mu.Unlock()
			if rng.IntN(15) > 0 {
				return nil
			}
			crashes[point]++
			return errors.New("crash")
		}})
		spared := func() string { // no crash happened yet
			mu.Lock()
			defer mu.Unlock()
			for _, point := range []string{"complete.guard", "complete.arrivals", "complete.fired", "complete.enqueues", "complete.commit", "complete.committed"} {
				if crashes[point] == 0 {
					return point
				}
			}
			return ""
		}
		t.Cleanup(store.Close)
		s := newSite(t, memoryDesign(t))
		e := s.host(store, engine.Config{RetryMin: time.Millisecond, RetryMax: 5 * time.Millisecond, Lease: 100 * time.Millisecond, MaxDeliveries: anyDeliveries})
		for runMeshes(s, e, p, depth.Of(3, 24), meshValue(layers, width, 5)); spared() != "" && !t.Failed(); {
			t.Logf("no crash at %s yet", spared())
			runMeshes(s, e, p, 1, meshValue(layers, width, 5))
		}
	})
	onEveryDatabase(t, func(s *site) {
		b := s.open()
		e := s.host(b, engine.Config{Slots: 4, RetryMin: time.Millisecond, RetryMax: 5 * time.Millisecond, Lease: time.Second, Poll: 20 * time.Millisecond, MaxDeliveries: anyDeliveries})
		s.slow()
		if sql := journaled[s.design.Name()]; sql != "" {
			s.exec(sql)
		}
		stop := make(chan struct{})
		var killed atomic.Int64
		over := make(chan struct{})
		go func() {
			defer close(over)
			s.kill(stop, waiting(p), &killed)
		}()
		finish := sync.OnceFunc(func() {
			close(stop)
			<-over
		})
		defer finish()
		for runMeshes(s, e, p, instances, meshValue(layers, width, 5)); killed.Load() < enoughKilled && !s.Failed(); {
			runMeshes(s, e, p, 1, meshValue(layers, width, 5)) // a fast machine is in the middle of a call less often
		}
		finish()
	})
}

// The killing must hit enough sessions for the test to prove something, and stops at a larger number.
const (
	enoughKilled = 10
	mostKilled   = 60
)

const killSQL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE datname = current_database() AND application_name = $1 AND state <> 'idle'`

func waiting(p *plan.Program) (nodes []int32) {
	for _, n := range p.Graph().Nodes {
		if n.Kind == graph.Action && p.Graph().Waits(n) {
			nodes = append(nodes, int32(n.ID))
		}
	}
	return nodes
}

// journaled logs what is enqueued, in the same transaction: a completed run leaves the table of node runs. It is for designs
// with tables of counters and of node runs.
var journaled = map[string]string{"push": `CREATE TABLE enqueued (shard smallint, instance_id uuid, node integer, path text, PRIMARY KEY (shard, instance_id, node, path));
	CREATE FUNCTION log() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
		INSERT INTO enqueued VALUES (NEW.shard, NEW.instance_id, NEW.node, NEW.path) ON CONFLICT DO NOTHING;
		RETURN NEW;
	END';
	CREATE TRIGGER log BEFORE INSERT ON queue FOR EACH ROW EXECUTE FUNCTION log()`}

// unqueued counts the actions with a full counter that were never queued. A statement sees one snapshot.
var unqueued = map[string]string{"push": `SELECT count(*) FROM readiness r WHERE r.completed = r.required AND r.node = ANY ($1)
	AND NOT EXISTS (SELECT FROM enqueued q WHERE (q.shard, q.instance_id, q.node, q.path) = (r.shard, r.instance_id, r.node, r.path))`}

func runMeshes(s *site, e *engine.Engine, p *plan.Program, instances int, want string) {
	s.Helper()
	for range instances {
		if inst := s.ends(e, p, `{"x": 5}`); string(inst.Result) != want {
			s.Errorf("%s gives %s (%v), want %s", inst.ID, inst.Result, inst.Failure, want)
		}
	}
}

// kill ends sessions in the middle of something until stop, or until it has ended enough. It checks that no node at a barrier
// is ready and not queued.
func (s *site) kill(stop <-chan struct{}, nodes []int32, killed *atomic.Int64) {
	conn, err := pgx.Connect(s.ctx, s.dsn)
	if err != nil {
		s.Error(err)
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(s.ctx)) }()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	look := unqueued[s.design.Name()]
	for tick := 0; ; tick++ {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		if look != "" {
			if lost := s.number(look, nodes); lost > 0 {
				s.Errorf("%d node runs are ready and not queued", lost)
			}
		}
		if tick%4 != 0 || killed.Load() >= mostKilled {
			continue
		}
		tag, err := conn.Exec(s.ctx, killSQL, s.schema)
		if err != nil {
			s.Error(err)
			return
		}
		killed.Add(tag.RowsAffected())
	}
}

// A host leases everything and hangs. When the leases have expired, another host must do the work, and the first's completions
// must be stale.
func TestHazardStalledInstanceKeptForEverByItsLease(t *testing.T) {
	onEveryDesign(t, func(s *site) {
		stalled := s.open()
		p := program(s.T, "fn main(input: [], output: [y]):\n    xs = spread range(5):i -> @double(value=i)\n    y = @sum(values=xs)\n", ir.Limits{})
		id := shardZero(stalled)
		out, err := stalled.Submit(s.ctx, []backend.Submission{{ID: id, Program: p, Input: json.RawMessage(`{}`)}},
			backend.Grant{Owner: "stalled", Max: 10, Lease: 300 * time.Millisecond})
		if err != nil {
			s.Fatal(err)
		}
		if len(out.Tasks) == 0 {
			s.Fatal("inconclusive: nothing was leased")
		}
		e := s.host(s.open(), engine.Config{Poll: 20 * time.Millisecond})
		inst, err := e.Wait(s.ctx, id)
		if err != nil {
			s.Fatalf("the instance stays with the host that leased it: %v", err)
		}
		if string(inst.Result) != "20" {
			s.Errorf("the instance gives %s (%v)", inst.Result, inst.Failure)
		}
		late, err := stalled.Complete(s.ctx, 0, []backend.Completion{done(out.Tasks[0], "1000")}, granted(1))
		if err != nil || late.Outcomes[0].Answer != backend.Stale {
			s.Errorf("the late completion is answered %+v, %v; want stale", late.Outcomes, err)
		}
	})
}
