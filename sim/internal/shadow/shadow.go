package shadow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver"
	"pulley/internal/pgstore"
	"pulley/internal/pgtest"
	"pulley/sim/db"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// Postgres is the shadow of a world's server. It executes each statement after the simulated server and must return the same. A
// statement must wait for a lock on both servers, and continue on both. Its clock is the world's: functions of the schema replace
// clock_timestamp and nextval (see numbersSQL).
type Postgres struct {
	t          *testing.T
	design     Design
	server     *pgserver.Server
	cfg        postgres.Config
	admin      *pgx.Conn
	listenConn *pgx.Conn
	keeper     *pgx.Conn // holds numbers back
	free       []*pgx.Conn

	w             *world.World
	turns         map[*world.Conn]*turn
	micros        int64             // the clock's value
	names         map[string]string // of the real server, by their simulated counterparts
	notifications []string
	every         int // rows are compared after so many batches
	batches       int // since the last comparison
	crashes       int // real ones still to come; other crashes only empty unlogged tables
	recent        []string
	count         map[string]int
	differs       error
	plant         func() bool // changes something on the simulated server, and returns whether it did; nil: nothing to plant
}

// turn is the state of a connection.
type turn struct {
	batch       []db.Statement
	state       turnState
	real        *pgx.Conn // nil: it needs none at present
	tx          bool      // it has begun a transaction itself
	heldBack    bool      // the real statement draws no number
	unblockedAt int       // the step in which its awaited lock was released, so that the real statement may have continued; zero: not released
	clock       int64     // at that step
	got         chan []returned
}

// explicit reports whether the batch begins or ends its transaction itself.
func (t *turn) explicit() bool { return t.tx || slices.Contains(t.batch, db.Statement(db.Begin)) }

// body returns the batch without a final commit.
func (t *turn) body() []db.Statement {
	if n := len(t.batch); n > 0 && t.batch[n-1] == db.Statement(db.Commit) {
		return t.batch[:n-1]
	}
	return t.batch
}

type turnState uint8

const (
	idle  turnState = iota
	fresh           // the batch is not executed on the real server yet
	held            // executed except for its commit
	blocked
)

func newPostgres(t *testing.T, d Design) *Postgres {
	t.Helper()
	p := &Postgres{t: t, design: d, server: pgtest.Exclusive(t), count: map[string]int{}}
	p.cfg = postgres.Config{DSN: p.server.DSN(), Schema: pgtest.Schema(t)}
	opened, err := d.Open(t.Context(), p.cfg)
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	p.open()
	for _, sql := range append(slices.Clone(d.SchemaStatements), numbersSQL,
		`CREATE SEQUENCE clock MINVALUE -4000000000000000000`,
		`CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
			BEGIN RETURN timestamptz '2000-01-01 00:00:00+00' + (SELECT last_value FROM clock) * interval '1 microsecond'; END $$`,
		`CREATE FUNCTION statement_timestamp() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN clock_timestamp(); END $$`,
		`CREATE FUNCTION micros(timestamptz) RETURNS bigint LANGUAGE sql AS $$
			SELECT (extract(epoch FROM $1 - timestamptz '2000-01-01 00:00:00+00') * 1000000)::bigint $$`,
		`DO $$ DECLARE c record; BEGIN
			FOR c IN SELECT adrelid::regclass AS t, attname AS a FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
				WHERE pg_get_expr(adbin, adrelid) LIKE '%clock_timestamp()' AND adrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema::regnamespace)
			LOOP EXECUTE format('ALTER TABLE %s ALTER %I SET DEFAULT clock_timestamp()', c.t, c.a); END LOOP; END $$`,
	) {
		p.exec(sql)
	}
	t.Cleanup(p.close)
	return p
}

func (p *Postgres) open() {
	p.admin, p.listenConn, p.keeper = p.dial(), p.dial(), p.dial()
	if _, err := p.listenConn.Exec(p.t.Context(), "LISTEN "+pgx.Identifier{p.design.channel()}.Sanitize()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Postgres) close() {
	for _, c := range append(p.free, p.admin, p.listenConn, p.keeper) {
		_ = c.Close(context.Background()) // it may be broken
	}
	p.free = nil
}

// dial opens a connection like a design's, except for clock_timestamp. Commits are asynchronous; crashReal flushes them before a
// crash.
func (p *Postgres) dial() *pgx.Conn {
	c, err := pgstore.Connect(p.t.Context(), p.cfg)
	if err == nil {
		_, err = c.Exec(p.t.Context(), "SET search_path TO "+pgx.Identifier{p.cfg.Schema}.Sanitize()+", pg_catalog; SET synchronous_commit TO off; "+
			"SET deadlock_timeout TO '1h'") // the world, not the server, decides which lock wait ends
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *Postgres) exec(sql string, args ...any) { p.execOn(p.admin, sql, args...) }

func (p *Postgres) execOn(c *pgx.Conn, sql string, args ...any) {
	if _, err := c.Exec(p.t.Context(), sql, args...); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
}

func (p *Postgres) attach(w *world.World) {
	p.names = map[string]string{}
	p.w, p.turns, p.notifications, p.recent, p.differs, p.batches = w, map[*world.Conn]*turn{}, nil, nil, nil, 0
	p.exec(p.design.empty())
	if p.design.Fill != "" {
		p.exec(p.design.Fill, w.Shards)
	}
	p.recount()
	s := w.Server
	s.Shadow = p
	committed := s.Committed
	s.Committed = func(tx *db.Tx) {
		first := len(p.notifications)
		for _, n := range tx.Notes {
			if n, ok := n.(world.Notice); ok && n.Channel != "" && !slices.Contains(p.notifications[first:], n.Channel+" "+n.Payload) {
				p.notifications = append(p.notifications, n.Channel+" "+n.Payload)
			}
		}
		committed(tx)
	}
	ready := s.Ready
	s.Ready = func(session *db.Session) {
		t := p.turn(session.Data.(*world.Conn))
		t.unblockedAt, t.clock = w.Steps, s.Clock()
		ready(session)
	}
}

func (p *Postgres) tick() {
	if now := p.w.Server.Clock() / 1000; now != p.micros {
		p.micros = now
		p.exec("SELECT setval('clock', $1)", now)
	}
}

func (p *Postgres) differ(format string, args ...any) {
	if p.differs == nil {
		p.differs = fmt.Errorf("%s\nafter:\n  %s", fmt.Sprintf(format, args...), strings.Join(p.recent, "\n  "))
		p.w.Over = true
	}
}

func (p *Postgres) note(format string, args ...any) {
	if len(p.recent) == 12 {
		p.recent = p.recent[1:]
	}
	p.recent = append(p.recent, fmt.Sprintf("%v: ", time.Duration(p.w.Now))+fmt.Sprintf(format, args...))
}

func (p *Postgres) turn(c *world.Conn) *turn {
	t := p.turns[c]
	if t == nil {
		t = &turn{}
		p.turns[c] = t
	}
	return t
}

func (p *Postgres) assignConn(t *turn) {
	if t.real != nil {
		return
	}
	if n := len(p.free); n > 0 {
		t.real, p.free = p.free[n-1], p.free[:n-1]
		return
	}
	t.real = p.dial()
}

func (p *Postgres) release(t *turn) {
	if t.real != nil && !t.real.IsClosed() {
		p.free = append(p.free, t.real)
	}
	t.real = nil
}

// Began implements the world's shadow.
func (p *Postgres) Began(c *world.Conn, batch []db.Statement) {
	t := p.turn(c)
	if t.batch = batch; sends(batch) {
		t.state = fresh
	}
	for _, a := range statementsOf(batch) {
		a.Args = p.translated(a.Args)
	}
}

func (p *Postgres) translated(args []any) []any {
	args = slices.Clone(args)
	for i, v := range args {
		if name, ok := v.(string); ok && p.names[name] != "" {
			args[i] = p.names[name]
		}
	}
	return args
}

// learn records the names that the real server has generated.
func (p *Postgres) learn(a *pgsim.Statement, r returned) {
	column, names := p.design.GeneratedColumns[a.Name]
	if !names || len(a.Out.List) != len(r.rows) {
		return
	}
	for i, row := range a.Out.List {
		sim := fmt.Sprint(row[column])
		p.names[sim] = string(r.rows[i][column])
		r.rows[i][column] = []byte(sim)
	}
}

// Stepped implements the world's shadow.
func (p *Postgres) Stepped(c *world.Conn) {
	t := p.turn(c)
	if t.state == idle || p.differs != nil {
		return
	}
	if p.overtakes(t) {
		return
	}
	t.unblockedAt = 0
	p.tick()
	switch waits := c.Session.State() == db.Waiting; {
	case waits && t.state == fresh:
		p.count["waits"]++
		p.note("%s of %d waits", texts(t.batch), c.Session.ID)
		p.enter(t)
		t.state = blocked
		t.send(t.body())
		p.mustWait(t)
	case waits:
		p.mustWait(t)
	case t.state == fresh: // it yields before its commit
		p.count["overlaps"]++
		p.note("%s of %d, but for its commit", texts(t.batch), c.Session.ID)
		p.enter(t)
		t.state = held
		p.compare(t, p.runBatch(t, t.body()))
	case t.state == blocked:
		t.state = held
		p.compare(t, p.awaitReplies(t))
	}
}

func (p *Postgres) enter(t *turn) {
	p.assignConn(t)
	if !t.explicit() {
		p.control(t, "BEGIN")
	}
}

// Ended implements the world's shadow.
func (p *Postgres) Ended(c *world.Conn, err error) {
	t := p.turn(c)
	state := t.state
	if p.differs != nil || p.overtakes(t) || state == idle && (err == nil || !t.tx) {
		return
	}
	t.state, t.unblockedAt = idle, 0
	p.tick()
	p.note("%s of %d: %v", texts(t.batch), c.Session.ID, err)
	if state == idle { // nothing was sent to the real server, whose disk is not full
		p.abort(c, t, state)
		return
	}
	switch {
	case errors.Is(err, db.ErrCanceled) || errors.Is(err, db.ErrShutdown) || errors.Is(err, db.ErrLockTimeout): // ended from outside
		p.count["given up"]++
		p.abort(c, t, state)
	default:
		p.finish(t, state, err)
	}
	if t.tx = c.Session.State() == db.InTx; !t.tx {
		p.release(t)
	}
	p.compareCommitted(false)
}

// abort makes the transaction fail for an external reason.
func (p *Postgres) abort(c *world.Conn, t *turn, state turnState) {
	p.rollBack(t, state)
	if c.Session.State() == db.InTx {
		p.assignConn(t)
		_, _ = t.real.Exec(p.t.Context(), "BEGIN; SELECT 1/0") // leaves a failed transaction
	}
}

func (p *Postgres) finish(t *turn, state turnState, err error) {
	var got []returned
	around := !t.explicit() && (state != fresh || len(t.batch) > 1) // it is inside a transaction of its own
	switch {
	case state == blocked:
		got = p.awaitReplies(t)
	case state == fresh && around:
		p.enter(t)
		got = p.runBatch(t, t.body())
	case state == fresh:
		p.assignConn(t)
		got = p.runBatch(t, t.batch)
	}
	if got != nil {
		p.judge(t, got, err)
	}
	switch {
	case around && err != nil:
		p.control(t, "ROLLBACK")
	case around, state != fresh && err == nil && len(t.body()) < len(t.batch):
		p.control(t, "COMMIT")
	}
}

// Closed implements the world's shadow.
func (p *Postgres) Closed(c *world.Conn) {
	if t := p.turns[c]; t != nil {
		if t.real != nil {
			p.tick()
			p.note("session %d is over", c.Session.ID)
			p.rollBack(t, t.state)
			p.release(t)
		}
		delete(p.turns, c)
	}
}

// rollBack undoes a turn's transaction. A waiting statement has drawn no number since.
func (p *Postgres) rollBack(t *turn, state turnState) {
	if t.real == nil {
		return
	}
	if state == blocked {
		p.cancel(t)
		p.giveNumbers(t)
	}
	p.control(t, "ROLLBACK")
	t.state = idle
}

// recount sets the real sequences to the simulated ones while nothing runs: in a new world, and after a crash, which leaves gaps
// on both.
func (p *Postgres) recount() {
	for name, last := range p.design.Sequences {
		p.exec("SELECT setval($1::text::regclass, greatest($2::bigint, 1), $2::bigint > 0)", name, last(p.w))
	}
}

// Crashed implements the world's shadow.
func (p *Postgres) Crashed() {
	for _, t := range p.turns {
		if t.real != nil {
			p.rollBack(t, t.state)
			p.release(t)
		}
	}
	clear(p.turns)
	p.count["crashes"]++
	p.note("the server dies")
	if p.differs != nil {
		return
	}
	if p.crashes > 0 {
		p.crashes--
		p.count["real crashes"]++
		p.notifications = nil // no listener survives
		p.crashReal()
	} else {
		p.exec(`DO $$ DECLARE c record; BEGIN
			FOR c IN SELECT oid::regclass AS t FROM pg_class WHERE relnamespace = current_schema::regnamespace AND relkind = 'r' AND relpersistence = 'u'
			LOOP EXECUTE format('TRUNCATE %s', c.t); END LOOP; END $$`)
	}
	p.recount()
	p.compareCommitted(true)
}

// crashReal crashes the real server after flushing every commit.
func (p *Postgres) crashReal() {
	ctx, cancel := context.WithTimeout(p.t.Context(), realTimeout)
	defer cancel()
	p.exec("SET synchronous_commit TO on")
	p.micros = -1
	p.tick()
	p.exec("CREATE TABLE flushed (); DROP TABLE flushed")
	p.close()
	if err := p.server.Stop(ctx, pgserver.StopImmediate); err != nil {
		p.t.Fatal(err)
	}
	if err := p.server.Start(ctx); err != nil {
		p.t.Fatal(err)
	}
	p.open()
}

func (p *Postgres) judge(t *turn, got []returned, err error) {
	var last error
	if len(got) > 0 {
		last = got[len(got)-1].err
	}
	if world.ErrorCode(err) != world.ErrorCode(last) {
		p.differ("%s: the error is %v; on Postgres %v", texts(t.batch), err, last)
		return
	}
	if err == nil {
		p.compare(t, got)
	}
}

func (p *Postgres) compare(t *turn, got []returned) {
	for i, a := range statementsOf(t.batch) {
		if i >= len(got) || got[i].err != nil {
			p.differ("%s: on Postgres there are %d replies: %v", texts(t.batch), len(got), got)
			return
		}
		p.count[a.Name]++
		if a.Counts {
			if int64(a.Affected) != got[i].affected {
				p.differ("%s changes %d rows; on Postgres %d", a.Name, a.Affected, got[i].affected)
			}
			continue
		}
		p.learn(a, got[i])
		sim, real := got[i].simulated(a), got[i].lines()
		if p.design.Loose[a.Name] {
			slices.Sort(sim)
			slices.Sort(real)
		}
		if !slices.Equal(sim, real) {
			p.differ("%s gives\n  %s\non Postgres\n  %s\nasked with %s", a.Name, strings.Join(sim, "\n  "), strings.Join(real, "\n  "), shown(a))
		}
	}
}

// compareCommitted compares committed rows and notifications: now, or after enough batches.
func (p *Postgres) compareCommitted(now bool) {
	if p.plant != nil && p.differs == nil && p.plant() {
		p.plant, now = nil, true
		p.note("planted")
	}
	if p.batches++; p.batches < p.every && !now || p.differs != nil {
		return
	}
	p.batches = 0
	p.count["looks"]++
	rows, err := p.admin.Query(p.t.Context(), p.design.query())
	if err != nil {
		p.t.Fatal(err)
	}
	real, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		p.t.Fatal(err)
	}
	sim := p.design.rows(p.w)
	slices.Sort(sim)
	slices.Sort(real)
	if only := oneSided(sim, real); only != "" {
		p.differ("what is durable differs:%s", only)
	}
	p.listen()
}

func oneSided(sim, real []string) string {
	var out strings.Builder
	for _, l := range sim {
		if _, ok := slices.BinarySearch(real, l); !ok {
			out.WriteString("\n  simulated: " + l)
		}
	}
	for _, l := range real {
		if _, ok := slices.BinarySearch(sim, l); !ok {
			out.WriteString("\n  Postgres:  " + l)
		}
	}
	if out.Len() == 0 && len(sim) != len(real) {
		return "\n  some rows are there twice"
	}
	return out.String()
}

func (p *Postgres) listen() {
	const mark = "all notifications before"
	p.exec("SELECT pg_notify($1, $2)", p.design.channel(), mark)
	var heard []string
	for {
		n, err := p.listenConn.WaitForNotification(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		if n.Payload == mark {
			break
		}
		heard = append(heard, n.Channel+" "+n.Payload)
	}
	if !slices.Equal(heard, p.notifications) {
		p.differ("told was %q; on Postgres %q", p.notifications, heard)
	}
	p.count["told"] += len(heard)
	p.notifications = nil
}
