package explore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
	"pulley/engine/pgserver"
	"pulley/engine/pgserver/pgtest"
	"pulley/internal/depth"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // worlds are small and short
	pgtest.Main(m)
}

var realCases = flag.Uint64("real-cases", 0, "how many cases of each design are replayed on Postgres; 0: a few")

// realShards is fixed: one schema serves all cases.
const realShards = 2

// real is push on Postgres.
type real struct {
	*push.Backend
	t      *testing.T
	server *pgserver.Server
	schema string
	wire   *wire
	conn   *pgx.Conn // for what no client of push does
}

func newReal(t *testing.T) *real {
	t.Helper()
	r := &real{t: t, server: pgtest.Own(t), schema: pgtest.Schema(t)}
	r.wire = newWire(t, r.server.DSN())
	r.open()
	t.Cleanup(func() {
		r.Close()
		_ = r.conn.Close(context.Background())
	})
	return r
}

func (r *real) open() {
	r.t.Helper()
	var err error
	cfg := push.Config{Store: postgres.Config{DSN: r.wire.proxy.DSN(), Schema: r.schema, Shards: realShards}}
	if r.Backend, err = push.Open(r.t.Context(), cfg); err != nil {
		r.t.Fatal(err)
	}
	if r.conn, err = pgx.Connect(r.t.Context(), r.server.DSN()); err != nil {
		r.t.Fatal(err)
	}
	r.exec("SET search_path TO " + pgx.Identifier{r.schema}.Sanitize())
	if _, err := r.Lookup(r.t.Context(), []uuid.UUID{{1}}); err != nil { // it has a connection, and begins no other one in a call
		r.t.Fatal(err)
	}
}

func (r *real) exec(sql string, args ...any) {
	r.t.Helper()
	if _, err := r.conn.Exec(r.t.Context(), sql, args...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *real) reopen() {
	r.Close()
	_ = r.conn.Close(context.Background()) // it may be broken already
	r.open()
}

func (r *real) crash() {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if err := r.server.Stop(ctx, pgserver.StopImmediate); err != nil {
		r.t.Fatal(err)
	}
	if err := r.server.Start(ctx); err != nil {
		r.t.Fatal(err)
	}
	r.reopen()
}

// advance has what is stored be older, which is what time does.
func (r *real) advance(d time.Duration) {
	r.exec("UPDATE queue SET due_at = due_at - $1::bigint * interval '1 microsecond'", d.Microseconds())
	r.exec("UPDATE commits SET at = at - $1::bigint * interval '1 microsecond'", d.Microseconds())
}

// clean makes room for the next case, whose client numbers its commits anew.
func (r *real) clean() {
	r.exec("TRUNCATE queue, readiness, inbox, elements, commits, instances")
	r.reopen()
}

// dump is stepwise.dump of the real tables.
func (r *real) dump(ids []uuid.UUID, known map[int64]bool) []string {
	r.t.Helper()
	var lines []string
	rows := func(sql string, line func(values []any) string) {
		found, err := r.conn.Query(r.t.Context(), sql)
		if err != nil {
			r.t.Fatal(err)
		}
		for found.Next() {
			values, err := found.Values()
			if err != nil {
				r.t.Fatal(err)
			}
			for i, v := range values {
				switch v := v.(type) {
				case [16]byte:
					values[i] = slices.Index(ids, uuid.UUID(v))
				case nil:
					values[i] = ""
				}
			}
			lines = append(lines, line(values))
		}
		if err := found.Err(); err != nil {
			r.t.Fatal(err)
		}
	}
	plain := func(format string) func([]any) string {
		return func(v []any) string { return fmt.Sprintf(format, v...) }
	}
	rows(`SELECT id, status, untidy, result::text, CASE WHEN status = 'canceled' THEN NULL ELSE failure::text END FROM instances`,
		plain("instance %d %s untidy %t result %s failure %s"))
	rows(`SELECT instance_id, node, path, attempt, owner IS NOT NULL, token, due_at < clock_timestamp() - interval '50 years', args::text FROM queue`, func(v []any) string {
		v[5] = known[v[5].(int64)]
		return fmt.Sprintf("queue %d %d %q attempt %d leased %t known %t first %t args %s", v...)
	})
	rows(`SELECT instance_id, node, path, completed, required, soft FROM readiness`, plain("readiness %d %d %q %d of %d soft %t"))
	rows(`SELECT instance_id, variable, path, element, value::text FROM inbox`, plain("inbox %d %d %q %d %s"))
	rows(`SELECT instance_id, node, path, first FROM elements`, plain("elements %d %d %q %d"))
	rows(`SELECT e.instance_id, e.node, e.path, e.first, u.place, u.val::text FROM elements e, unnest(e.places, e.vals) AS u (place, val)`,
		plain("elements %d %d %q %d: %d %s"))
	rows(`SELECT shard::int, slot, number, stale FROM commits`, plain("commit %d %d %d stale %v"))
	slices.Sort(lines)
	return lines
}

// both is the same case on a simulated database and on Postgres, one operation after the other.
type both struct {
	t    *testing.T
	sim  *stepwise
	real *real
	load *workload
	rng  *rand.Rand
	seed uint64

	ops   []string // so far
	given int      // instances that were submitted
	cold  bool     // the clients are new: the real one has yet to look up what it then knows
	lose  int      // the round trip of the call at hand whose reply is lost
	held  []pair   // leases that the simulated client has, and the real one
	old   []pair   // that it had, and whose runs were completed or lost
	done  map[string]int
	plant func() bool // changes the simulated database, and says whether it has; nil: nobody does
}

// pair is the same lease on both sides: their tokens differ.
type pair struct{ sim, real backend.Task }

func (p pair) key() backend.Key { return p.sim.Lease.Key }

// differ says how the two sides differ, with what led there.
func (b *both) differ(format string, args ...any) error {
	return fmt.Errorf("case %d: %s\nafter:\n  %s\nof the program:\n%s\ninput %s", b.seed, fmt.Sprintf(format, args...),
		strings.Join(b.ops, "\n  "), b.load.Source, b.load.Input)
}

func (b *both) say(kind, format string, args ...any) {
	b.done[kind]++
	b.ops = append(b.ops, kind+" "+fmt.Sprintf(format, args...))
}

// play makes operations until all instances have ended, or enough of them; then it has the rest canceled.
func (b *both) play(most int) error {
	for i := range most {
		if i == 12 && b.seed%16 == realDies {
			b.crash()
		}
		if b.lose = 0; b.rng.IntN(6) == 0 && b.given > 0 {
			b.lose = 1 + b.rng.IntN(6)
		}
		if err := b.one(); err != nil {
			return err
		}
		b.lose = 0
		if b.plant != nil && b.plant() {
			b.say("plant", "a change in the simulated database")
			b.plant = nil
		}
		if err := b.compare(); err != nil {
			return err
		}
		if b.given == len(b.sim.w.insts) && b.over() {
			break
		}
	}
	for _, id := range b.sim.ids()[:b.given] {
		if err := b.cancel(id); err != nil {
			return err
		}
	}
	for shard := range realShards {
		if err := b.sweep(shard); err != nil {
			return err
		}
	}
	return b.compare()
}

func (b *both) over() bool {
	for _, inst := range b.sim.w.insts {
		if !inst.ended {
			return false
		}
	}
	return true
}

// compare holds the dumps against each other.
func (b *both) compare() error {
	if v := b.sim.w.result.Violations; len(v) > 0 && b.sim.w.Bug == "" {
		return b.differ("the simulated side breaks an invariant: %s", v[0])
	}
	known1, known2 := map[int64]bool{}, map[int64]bool{}
	for _, p := range b.held {
		known1[p.sim.Lease.Token], known2[p.real.Lease.Token] = true, true
	}
	sim, real := b.sim.dump(known1), b.real.dump(b.sim.ids(), known2)
	for i := range max(len(sim), len(real)) {
		if i >= len(sim) || i >= len(real) || sim[i] != real[i] {
			var only []string
			for _, l := range sim {
				if !slices.Contains(real, l) {
					only = append(only, "simulated: "+l)
				}
			}
			for _, l := range real {
				if !slices.Contains(sim, l) {
					only = append(only, "Postgres:  "+l)
				}
			}
			return b.differ("the dumps differ:\n  %s", strings.Join(only, "\n  "))
		}
	}
	return nil
}

// one makes the next operation.
func (b *both) one() error {
	if b.cold {
		return b.warm()
	}
	shard := b.rng.IntN(realShards)
	switch n := b.rng.IntN(100); {
	case n < 8 && b.given < len(b.sim.w.insts):
		return b.submit()
	case n < 30 && len(b.held) < 6, len(b.held) == 0:
		return b.claim(shard)
	case n < 85:
		return b.complete(b.held[b.rng.IntN(len(b.held))].key())
	case n < 89:
		return b.extend(shard)
	case n < 92:
		return b.sweep(shard)
	case n < 95:
		b.say("lost", "all leases run out")
		b.sim.advance(2000 * time.Hour)
		b.real.advance(2000 * time.Hour)
		b.old, b.held = append(b.old, b.held...), nil
		if b.rng.IntN(2) == 0 { // before anybody has taken them over
			return b.sweep(shard)
		}
		return b.claim(shard)
	case n < 97:
		return b.cancel(b.sim.ids()[b.rng.IntN(b.given)])
	case n < 99:
		b.say("reopen", "the client dies, and another one begins")
		b.sim.reopen()
		b.real.reopen()
		b.cold = true
	}
	return nil
}

// crash has the server die and come back, which takes a second.
func (b *both) crash() {
	b.say("crash", "the server dies")
	b.sim.crash()
	b.real.crash()
	b.cold = true
}

// warm makes the first calls of new clients.
func (b *both) warm() error {
	if b.given == 0 {
		b.given = 1
	}
	subs := []backend.Submission{{ID: b.sim.ids()[0], Program: b.load.compiled, Input: b.load.Input}}
	if err := b.submitted(subs, b.grant(1)); err != nil {
		return err
	}
	for shard := range realShards {
		if err := b.claim(shard); err != nil {
			return err
		}
	}
	b.cold = false
	return nil
}

// called makes a call on both sides, which lose the reply to the same round trip. It must take as many round trips on both, and
// the clients must be told the same of how it ended; then it says whether it was well.
func (b *both) called(sim, real func() error) (well bool, err error) {
	if b.cold {
		b.lose = 0
	}
	b.sim.arm(b.lose)
	b.real.wire.arm(b.lose)
	err1, err2 := sim(), real()
	trips1, lost1 := b.sim.disarm()
	trips2, lost2 := b.real.wire.disarm()
	if lost1 {
		b.done["reply lost"]++
		b.ops[len(b.ops)-1] += fmt.Sprintf("; the reply to round trip %d is lost", b.lose)
	}
	switch {
	case (err1 == nil) != (err2 == nil), backend.IsUnknown(err1) != backend.IsUnknown(err2), err1 != nil && !lost1:
		return false, b.differ("errors: %v; on Postgres %v", err1, err2)
	case lost1 != lost2, trips1 != trips2 && !lost1 && !b.cold:
		return false, b.differ("%d round trips, a reply lost: %t; on Postgres %d, %t", trips1, lost1, trips2, lost2)
	}
	if err1 != nil {
		b.done["error"]++
	}
	return err1 == nil, nil
}

// grant leases a few, now and then none.
func (b *both) grant(max int) backend.Grant {
	return backend.Grant{Owner: "e0", Max: max, Lease: 1000 * time.Hour}
}

func (b *both) submit() error {
	n := min(1+b.rng.IntN(3), len(b.sim.w.insts)-b.given)
	var subs []backend.Submission
	for i := range n {
		subs = append(subs, backend.Submission{ID: b.sim.ids()[b.given+i], Program: b.load.compiled, Input: b.load.Input})
	}
	if b.given > 0 && b.rng.IntN(3) == 0 {
		subs = append(subs, backend.Submission{ID: b.sim.ids()[b.rng.IntN(b.given)], Program: b.load.compiled, Input: b.load.Input})
	}
	b.given += n
	return b.submitted(subs, b.grant(b.rng.IntN(4)))
}

func (b *both) submitted(subs []backend.Submission, grant backend.Grant) error {
	b.say("submit", "%d, %d leased", len(subs), grant.Max)
	var sim, real backend.Committed
	well, err := b.called(
		func() (err error) { sim, err = b.sim.Submit(b.t.Context(), subs, grant); return err },
		func() (err error) { real, err = b.real.Submit(b.t.Context(), subs, grant); return err })
	if !well {
		return err
	}
	return b.replies(sim, real, false)
}

func (b *both) claim(shard int) error {
	b.say("claim", "of shard %d", shard)
	b.sim.advance(4 * time.Hour) // sleeps and retries are due
	b.real.advance(4 * time.Hour)
	var sim, real backend.Committed
	well, err := b.called(
		func() (err error) { sim, err = b.sim.Claim(b.t.Context(), shard, b.grant(1000)); return err },
		func() (err error) { real, err = b.real.Claim(b.t.Context(), shard, b.grant(1000)); return err })
	if !well {
		return err
	}
	byKey := func(x, y backend.Task) int { return x.Lease.Key.Compare(y.Lease.Key) }
	slices.SortFunc(sim.Tasks, byKey) // rows that became due together come in any order
	slices.SortFunc(real.Tasks, byKey)
	return b.replies(sim, real, true)
}

// complete offers the completions of a few runs, and perhaps some whose token is no longer good.
func (b *both) complete(first backend.Key) error {
	shard := backend.ShardOf(first.Instance, realShards)
	var sim, real []backend.Completion
	add := func(p pair) {
		c := backend.Completion{Lease: p.sim.Lease, Program: b.load.compiled, Attempt: p.sim.Attempt, Result: json.RawMessage("null")}
		if p.sim.Action != "" {
			c.Result, c.Failure = b.load.act(p.sim.Action, p.sim.Args, p.sim.Attempt)
		}
		if c.Failure != nil {
			f := *c.Failure
			f.Action, f.Pos = p.sim.Action, b.load.compiled.Graph().Nodes[p.key().Run.Node].Pos
			c.Failure, c.Result = &f, nil
		}
		sim = append(sim, c)
		c.Lease = p.real.Lease
		real = append(real, c)
	}
	most := 1 + b.rng.IntN(4)
	b.held = slices.DeleteFunc(b.held, func(p pair) bool {
		take := backend.ShardOf(p.key().Instance, realShards) == shard && len(sim) < most
		if take {
			add(p)
			b.old = append(b.old, p)
		}
		return take
	})
	if n := len(b.old); b.rng.IntN(4) == 0 && n > 0 {
		if p := b.old[b.rng.IntN(n)]; backend.ShardOf(p.key().Instance, realShards) == shard {
			add(p)
		}
	}
	grant := b.grant(b.rng.IntN(5))
	b.say("complete", "%d of shard %d, %d leased: %s", len(sim), shard, grant.Max, b.names(sim))
	var out1, out2 backend.Committed
	well, err := b.called(
		func() (err error) { out1, err = b.sim.Complete(b.t.Context(), shard, sim, grant); return err },
		func() (err error) { out2, err = b.real.Complete(b.t.Context(), shard, real, grant); return err })
	if !well {
		return err
	}
	return b.replies(out1, out2, false)
}

func (b *both) names(list []backend.Completion) string {
	var names []string
	for _, c := range list {
		names = append(names, fmt.Sprintf("%s of %d", b.load.compiled.RunName(c.Lease.Key.Run), slices.Index(b.sim.ids(), c.Lease.Key.Instance)))
	}
	return strings.Join(names, ", ")
}

func (b *both) extend(shard int) error {
	var sim, real []backend.Lease
	for _, p := range append(slices.Clone(b.held), b.old[max(0, len(b.old)-2):]...) {
		if backend.ShardOf(p.key().Instance, realShards) == shard {
			sim, real = append(sim, p.sim.Lease), append(real, p.real.Lease)
		}
	}
	if len(sim) == 0 {
		return nil
	}
	b.say("extend", "%d of shard %d", len(sim), shard)
	var held1, held2 []bool
	well, err := b.called(
		func() (err error) { held1, err = b.sim.Extend(b.t.Context(), shard, sim, b.grant(1)); return err },
		func() (err error) { held2, err = b.real.Extend(b.t.Context(), shard, real, b.grant(1)); return err })
	if well && !slices.Equal(held1, held2) {
		return b.differ("held %v; on Postgres %v", held1, held2)
	}
	return err
}

func (b *both) sweep(shard int) error {
	b.say("sweep", "shard %d", shard)
	var swept1, swept2 backend.Swept
	well, err := b.called(
		func() (err error) { swept1, err = b.sim.Sweep(b.t.Context(), shard); return err },
		func() (err error) { swept2, err = b.real.Sweep(b.t.Context(), shard); return err })
	if well && swept1 != swept2 {
		return b.differ("swept %+v; on Postgres %+v", swept1, swept2)
	}
	return err
}

func (b *both) cancel(id uuid.UUID) error {
	b.say("cancel", "instance %d", slices.Index(b.sim.ids(), id))
	var got1, got2 []backend.Instance
	well, err := b.called(
		func() (err error) { got1, err = b.sim.Cancel(b.t.Context(), []uuid.UUID{id}, "enough"); return err },
		func() (err error) { got2, err = b.real.Cancel(b.t.Context(), []uuid.UUID{id}, "enough"); return err })
	if well && (got1[0].Status != got2[0].Status || !bytes.Equal(got1[0].Result, got2[0].Result)) {
		return b.differ("canceled %+v; on Postgres %+v", got1, got2)
	}
	return err
}

// replies holds two replies against each other, and keeps the leases that they brought.
func (b *both) replies(sim, real backend.Committed, claimed bool) error {
	words1, words2 := b.words(sim, claimed), b.words(real, claimed)
	if words1 != words2 {
		return b.differ("the replies differ: %s\non Postgres: %s", words1, words2)
	}
	for i, task := range sim.Tasks {
		b.held = slices.DeleteFunc(b.held, func(p pair) bool { return p.key() == task.Lease.Key })
		b.held = append(b.held, pair{task, real.Tasks[i]})
	}
	return nil
}

// words says what a reply tells, but for times, tokens, and the order of what ended.
func (b *both) words(c backend.Committed, claimed bool) string {
	var out strings.Builder
	for _, o := range c.Outcomes {
		fmt.Fprintf(&out, "%s %t; ", o.Answer, o.Err != nil)
	}
	for _, t := range c.Tasks {
		fmt.Fprintf(&out, "\n  %d %s attempt %d @%s %s", slices.Index(b.sim.ids(), t.Lease.Key.Instance), b.load.compiled.RunName(t.Lease.Key.Run), t.Attempt, t.Action, t.Args)
	}
	slices.SortFunc(c.Ended, func(x, y backend.Instance) int { return cmp.Compare(x.ID.String(), y.ID.String()) })
	for _, e := range c.Ended {
		fmt.Fprintf(&out, "\n  ended: %d %s %s %v", slices.Index(b.sim.ids(), e.ID), e.Status, e.Result, e.Failure)
	}
	if claimed {
		fmt.Fprintf(&out, "\n  more: %t", c.More)
	}
	return out.String()
}

// replay plays one case on both sides, up to the first difference.
func replay(t *testing.T, r *real, d *drawn, seed uint64, done map[string]int, bug string, plant func(*stepwise) bool) error {
	t.Helper()
	load, err := d.workload(seed)
	if err != nil {
		t.Fatal(err)
	}
	r.clean()
	rng := rand.New(rand.NewPCG(seed, 0x7265616c))
	b := &both{t: t, sim: newStepwise(load, realShards, 1+rng.IntN(4), seed), real: r, load: load, rng: rng, seed: seed, done: done, cold: true}
	b.sim.w.Bug = bug
	if plant != nil {
		b.plant = func() bool { return plant(b.sim) }
	}
	defer func() {
		for _, what := range []What{Forgets, PutsFirst} {
			done[what.String()] += b.sim.w.result.Counts.Whats[what]
		}
	}()
	return b.play(60)
}

// TestReality plays cases on the simulated database and on Postgres, through the client of push that is simulated and the real
// one. After every operation both must have told the same, and the same must be durable: so the simulated database
// cannot drift from the real one.
func TestReality(t *testing.T) {
	r, d, done := newReal(t), &drawn{}, map[string]int{}
	from, to := realWorlds(192)
	cases, next := to-from, from
	defer func() { depth.Done(t, "worlds=%d from=%d", next-from, from) }()
	for ; next < to; next++ {
		if err := depth.Interrupted().Err(); err != nil {
			t.Fatalf("%v; go on with -real-from %d -real-cases %d", err, next, to-next)
		}
		if err := replay(t, r, d, next, done, "", nil); err != nil {
			t.Fatalf("%v\nsee it again with: go test ./sim/explore -run '^TestReality$' -real-from %d -real-cases 1", err, next)
		}
	}
	for _, kind := range []string{"submit", "claim", "complete", "extend", "sweep", "lost", "cancel", "reopen", "crash", "reply lost", "error",
		Forgets.String(), PutsFirst.String()} {
		if done[kind] == 0 && cases >= 48 {
			t.Errorf("in %d cases there was never: %s", cases, kind)
		}
	}
	t.Logf("%d cases, identical: %v", cases, done)
}
