package push

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/internal/depth"
	"pulley/internal/pgstore"
	"pulley/internal/pgtest"
)

// The most rows that a statement may read: for each item, and in addition.
const (
	rowsPerItem = 6
	rowsBesides = 6
)

var several = map[string]int64{"apply to rounds": 2, "cancel": 4, "claim by turns of instances": 4}

// TestPlansStayRight checks, by the server's counters, that the number of rows that a statement reads depends on its items only:
// in small and large tables, before and after statistics are known, with a plan kept since the tables were small, and in a new
// session.
func TestPlansStayRight(t *testing.T) {
	many, most := depth.Of(10_000, 50_000), depth.Of(120, 500)
	w := worldIn(t, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.SchemaOf(t, "push"), Shards: 1})
	s := newSubject(w, most)
	old, err := w.direct.store.Pool.Acquire(w.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Release()
	stages := []struct {
		name   string
		change func()
	}{
		{"few rows", func() {}},
		{"few rows, thought to be none", w.thinkEmpty},
		{"few rows, analyzed", w.analyze},
		{"many rows", func() { w.fillTables(many) }},
		{"many rows, analyzed", w.analyze},
	}
	for _, stage := range stages {
		stage.change()
		w.through.store.Pgx().Reset()
		young, err := w.through.store.Pool.Acquire(w.Ctx)
		if err != nil {
			t.Fatal(err)
		}
		for session, conn := range map[string]pgstore.Conn{"an old session": old, "a new session": young} {
			for name, run := range s.probes() {
				for _, n := range []int{1, 10, most} {
					rows, err := w.rowsRead(conn, func() error { return run(conn, n) })
					if most := int64(rowsPerItem*n+rowsBesides) * max(several[name], 1); err != nil || rows > most {
						t.Errorf("%s, %s: %s of %d items read %d rows (%v); at most %d are needed", stage.name, session, name, n, rows, err, most)
					}
				}
			}
		}
		young.Release()
	}
	if rows, err := w.rowsRead(old, func() error {
		_, err := old.Exec(w.Ctx, "SELECT count(*) FROM queue WHERE attempt < 0")
		return err
	}); err != nil || rows < int64(many) {
		t.Errorf("inconclusive: a scan of the queue is counted as %d rows (%v)", rows, err)
	}
}

// thinkEmpty sets the statistics of a vacuum that found the tables empty, as the queue often is. Then every plan seems to cost
// the same.
func (w *world) thinkEmpty() {
	w.Exec("UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'i')", w.Cfg.Schema)
}

func (w *world) rowsRead(conn pgstore.Conn, run func() error) (rows int64, err error) {
	if _, err := conn.Exec(w.Ctx, "BEGIN"); err != nil {
		return 0, err
	}
	defer func() { _, _ = conn.Exec(w.Ctx, "ROLLBACK") }()
	// The server accumulates what a session has read and not reported yet, so take the difference.
	before, err := w.counted(conn)
	if err != nil {
		return 0, err
	}
	if err := run(); err != nil {
		return 0, err
	}
	after, err := w.counted(conn)
	return after - before, err
}

func (w *world) counted(conn pgstore.Conn) (rows int64, err error) {
	err = conn.QueryRow(w.Ctx, `
		SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint
		FROM pg_stat_xact_user_tables WHERE schemaname = current_schema()`).Scan(&rows)
	return rows, err
}

func (w *world) analyze() {
	w.Helper()
	for _, table := range []string{"queue", "readiness", "inbox", "elements", "instances", "commits"} {
		w.Exec("VACUUM ANALYZE " + table)
	}
}

func (w *world) fillTables(n int) {
	w.Helper()
	for _, sql := range []string{
		"INSERT INTO instances (shard, id, workflow, status, input) SELECT 0, md5(g::text)::uuid, 1, 'running', '{}' FROM generate_series(1, $1) g",
		"INSERT INTO elements SELECT 0, md5(g::text)::uuid, 3, 0, '', '{0}', '{1}' FROM generate_series(1, $1) g",
		"INSERT INTO commits SELECT 0, g, 0, 1, '{}', clock_timestamp() FROM generate_series(1, $1) g",
		"INSERT INTO queue SELECT 1, clock_timestamp() + interval '1 day', md5(g::text)::uuid, 2, 1, 1, 0, '', '{}' FROM generate_series(1, $1) g",
		"INSERT INTO readiness SELECT 0, md5(g::text)::uuid, 3, '', 2, 1, false FROM generate_series(1, $1) g",
		"INSERT INTO inbox SELECT 0, md5(g::text)::uuid, 1, -1, '', '1' FROM generate_series(1, $1) g",
	} {
		w.Exec(sql, n)
	}
}

type subject struct {
	w      *world
	steps  []backend.Completion // of one instance each
	fanned []backend.Completion // of one instance, towards one barrier
	rounds []backend.Completion // also, ending a loop's round
	caught []backend.Completion // also, cancelling another run
	due    int                  // node runs to be claimed
	wide   uuid.UUID            // their instance
	ended  uuid.UUID            // an ended instance with a row or two
}

func newSubject(w *world, n int) *subject {
	w.Helper()
	s := &subject{w: w, due: n}
	wide := designtest.Fanned
	wide.Input = fmt.Sprintf(`{"n": %d}`, n+1)
	s.steps = designtest.Ran(w.many(designtest.Sequence, n)...)
	s.fanned = designtest.Ran(w.Launch(wide)[:n]...)
	sub, fair := w.Instance(wide), backendtest.Granted(0)
	fair.Fair = true
	if _, err := w.direct.Submit(w.Ctx, []backend.Submission{sub}, fair); err != nil {
		w.Fatal(err)
	}
	s.wide = sub.ID
	for _, task := range w.many(designtest.Looping, n) {
		s.rounds = append(s.rounds, backendtest.Ran(w.Complete(backendtest.Ran(task)).Tasks[0]))
	}
	for _, task := range w.many(designtest.Caught, n) {
		if task.Action == "fail" {
			s.caught = append(s.caught, backendtest.Ran(task))
		}
	}
	failed := w.Launch(designtest.Failing)
	s.ended = failed[0].Lease.Key.Instance
	w.Complete(backendtest.Ran(designtest.FailureOf(failed)))
	w.Eventually("it is not cleaned up in the background", "SELECT NOT EXISTS (SELECT FROM instances WHERE needs_cleanup)")
	w.Exec("UPDATE instances SET needs_cleanup = true WHERE id = $1", s.ended)
	return s
}

func (w *world) many(wf backendtest.Workflow, n int) []backend.Task {
	w.Helper()
	return w.Submit(w.Instances(wf, n)...)
}

func (s *subject) probes() map[string]func(conn pgstore.Conn, n int) error {
	probes := map[string]func(conn pgstore.Conn, n int) error{
		"apply to steps":  func(conn pgstore.Conn, n int) error { return s.apply(conn, s.steps[:n]) },
		"apply to a join": func(conn pgstore.Conn, n int) error { return s.apply(conn, s.fanned[:n]) },
		"apply to rounds": func(conn pgstore.Conn, n int) error { return s.apply(conn, s.rounds[:n]) },
		"cancel":          func(conn pgstore.Conn, n int) error { return s.apply(conn, s.caught[:n]) },
		"claim":           func(conn pgstore.Conn, n int) error { return s.rows(conn, s.sql("claim"), n, 0, n, 1, 1) },
		"claim by turns of workflows": func(conn pgstore.Conn, n int) error {
			return s.rows(conn, s.sql("claim_by_workflow"), n, 0, n, 1, 1, 0)
		},
		"claim by turns of instances": func(conn pgstore.Conn, n int) error {
			return s.rows(conn, s.sql("claim_by_instance"), -1, 0, n, 1, 1, before(s.wide))
		},
		"overdue":      func(conn pgstore.Conn, n int) error { return s.rows(conn, s.sql("overdue"), -1, 0, n) },
		"the next due": func(conn pgstore.Conn, _ int) error { return s.rows(conn, s.sql("next_due"), 1, 0) },
		"instances that need cleanup": func(conn pgstore.Conn, _ int) error {
			return s.rows(conn, s.sql("needs_cleanup"), 1, 0, pgstore.SweepInstances)
		},
		"mark as cleaned": func(conn pgstore.Conn, _ int) error {
			return s.rows(conn, s.sql("mark_cleaned"), -1, 0, [][16]byte{s.ended})
		},
		"values": func(conn pgstore.Conn, n int) error {
			l := leasesOf(s.steps[:n])
			return s.rows(conn, readSQL, -1, 0, l.Ord, l.Instance, l.Number, l.Path)
		},
	}
	for _, table := range []string{"queue", "readiness", "elements", "inbox"} {
		sql := s.sql("cleanup_" + table)
		probes["cleanup of "+table] = func(conn pgstore.Conn, _ int) error {
			return s.rows(conn, sql, -1, 0, [][16]byte{s.ended}, pgstore.SweepRows)
		}
	}
	for name, shared := range map[string]bool{"end": false, "end of what others work on": true} {
		probes[name] = func(conn pgstore.Conn, n int) error {
			l := leasesOf(s.steps[:n])
			return s.rows(conn, endSQL, -1, 0, int64(0), 0, int64(0), true, l.Ord, l.Instance, slices.Repeat([]bool{shared}, n))
		}
	}
	probes["hold counters"] = func(conn pgstore.Conn, n int) error {
		l := leasesOf(s.steps[:n])
		return s.rows(conn, lockCountersSQL, 1, 0, l.Instance, l.Number, l.Path)
	}
	probes["a mark"] = func(conn pgstore.Conn, n int) error {
		return s.rows(conn, commitSlotSQL, -1, 0, int64(n), 0, int64(1))
	}
	for _, cs := range [][]backend.Completion{s.steps, s.fanned} {
		for _, name := range []string{"held", "leased", "standing", "fence", "renew"} {
			sql := s.sql(name)
			renews := name == "renew"
			name = fmt.Sprintf("%s, of %d instances", name, map[bool]int{true: 1, false: len(cs)}[&cs[0] == &s.fanned[0]])
			probes[name] = func(conn pgstore.Conn, n int) error {
				l := leasesOf(cs[:n])
				want, args := n, []any{0, l.Ord, l.Instance, l.Number, l.Path, l.Token}
				if renews {
					args = append(args, time.Hour.Microseconds())
				}
				return s.rows(conn, sql, want, args...)
			}
		}
	}
	return probes
}

// before returns the id that comes before another.
func before(id uuid.UUID) [16]byte {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]--; id[i] != 0xff {
			break
		}
	}
	return id
}

func leasesOf(cs []backend.Completion) *pgstore.Leases {
	var l pgstore.Leases
	for i, c := range cs {
		l.Add(int32(i), c.Lease)
	}
	return &l
}

func (s *subject) sql(name string) string {
	text, err := SQL(name)
	if err != nil {
		text, err = pgstore.SQL(name)
	}
	if err != nil {
		s.w.Fatal(err)
	}
	return text
}

// rows runs a statement, and checks how many rows it returns or changes, unless want is negative.
func (s *subject) rows(conn pgstore.Conn, sql string, want int, args ...any) error {
	tag, err := conn.Exec(s.w.Ctx, sql, args...)
	if err == nil && want >= 0 && tag.RowsAffected() != int64(want) {
		err = fmt.Errorf("%d rows; want %d, of: %s", tag.RowsAffected(), want, strings.SplitN(sql, "\n", 2)[0])
	}
	return err
}

func (s *subject) apply(conn pgstore.Conn, cs []backend.Completion) error {
	b := s.w.direct
	out := pgstore.NewOutcomes(len(cs))
	events := b.completed(0, cs, out)
	if err := b.read(s.w.Ctx, 0, events); err != nil {
		return err
	}
	slot := b.slots.acquire(0)
	defer b.slots.release(0, slot)
	c := &commit{b: b, shard: 0, grant: backendtest.Granted(10), sent: time.Now(), slot: b.slots.next(slot)}
	if err := c.resolveOwnerID(s.w.Ctx); err != nil {
		return err
	}
	for _, e := range events {
		c.registerEvent(e)
		var err error
		if e.plan, err = e.program.Step(e.coreEvent(), e.inbox, 0); err != nil {
			return err
		}
	}
	inOrder(events)
	if _, err := c.lockCancelled(s.w.Ctx, conn, events); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	c.queueDeletes(batch, events, events, false)
	if err := c.applyRound(s.w.Ctx, conn, events, "", batch); err != nil {
		return err
	}
	if len(c.stale) > 0 {
		return fmt.Errorf("%d of %d completions was not applied", len(c.stale), len(cs))
	}
	return nil
}
