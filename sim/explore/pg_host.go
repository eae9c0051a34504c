package explore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/sim/db"
)

// pgHost is what a postgres.Store stands on in a process: the connections of a pool, and those that listen. What is asked
// it has made a statement of by the design that it is for.
type pgHost struct {
	*host
	statement func(on *pgConn, sql string, args []any) *asked
}

var (
	_ postgres.Pool = (*pgHost)(nil)
	_ postgres.Conn = (*pgConn)(nil)
	_ postgres.Ear  = (*pgEar)(nil)
)

// newPgStore makes the store of a process' life. All instances of a world run the same program, which every process knows.
func newPgStore(h *host, statement func(on *pgConn, sql string, args []any) *asked) *postgres.Store {
	p := &pgHost{h, statement}
	return postgres.On(postgres.Host{
		Pool: p, Clock: p, Listen: p.dial, Schema: "simulated", Name: h.name, Shards: h.p.w.Shards, Jitter: h.p.w.rng.Float64,
		Programs: map[int32]*plan.Program{1: h.p.w.load.compiled},
	})
}

// Acquire implements postgres.Pool.
func (h *pgHost) Acquire(ctx context.Context) (postgres.Conn, error) {
	at, err := h.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pgConn{h: h, at: at}, nil
}

// Close implements postgres.Pool.
func (h *pgHost) Close() {}

// borrow lends a connection for one round trip.
func (h *pgHost) borrow(ctx context.Context, f func(*pgConn)) error {
	at, err := h.connect(ctx)
	if err != nil {
		return err
	}
	f(&pgConn{h: h, at: at})
	at.release()
	return nil
}

// Query implements postgres.Querier.
func (h *pgHost) Query(ctx context.Context, sql string, args ...any) (r pgx.Rows, err error) {
	if none := h.borrow(ctx, func(c *pgConn) { r, err = c.Query(ctx, sql, args...) }); none != nil {
		return nil, none
	}
	return r, err
}

// QueryRow implements postgres.Querier.
func (h *pgHost) QueryRow(ctx context.Context, sql string, args ...any) (r pgx.Row) {
	if err := h.borrow(ctx, func(c *pgConn) { r = c.QueryRow(ctx, sql, args...) }); err != nil {
		return &oneRow{err: err}
	}
	return r
}

// Exec implements postgres.Querier.
func (h *pgHost) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	if none := h.borrow(ctx, func(c *pgConn) { tag, err = c.Exec(ctx, sql, args...) }); none != nil {
		return tag, none
	}
	return tag, err
}

// SendBatch implements postgres.Querier.
func (h *pgHost) SendBatch(ctx context.Context, b *pgx.Batch) (r pgx.BatchResults) {
	if err := h.borrow(ctx, func(c *pgConn) { r = c.SendBatch(ctx, b) }); err != nil {
		return &answers{batch: b, err: err}
	}
	return r
}

// pgConn is a connection that was lent.
type pgConn struct {
	h      *pgHost
	at     *conn
	stands any // what the next statement that changes something stands for, as its design says
}

// InTransaction implements postgres.Conn.
func (c *pgConn) InTransaction() bool { return !c.at.told && c.at.session.State() == db.InTx }

// Release implements postgres.Conn.
func (c *pgConn) Release() { c.at.release() }

// send makes a round trip, and says whether anything was sent.
func (c *pgConn) send(ctx context.Context, list ...db.Statement) (sent bool, err error) {
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case c.at.told:
		return false, errConn
	}
	return true, c.h.trip(ctx, c.at, list...)
}

// controls are the statements about transactions.
var controls = map[string]db.Statement{"BEGIN": db.Begin, "COMMIT": db.Commit, "ROLLBACK": db.Rollback}

// lockTimeout is how the statement begins that bounds waits for locks, in milliseconds.
const lockTimeout = "SET LOCAL lock_timeout = "

func (c *pgConn) of(sql string, args []any) db.Statement {
	if s, ok := controls[sql]; ok {
		return s
	}
	if ms, ok := strings.CutPrefix(sql, lockTimeout); ok {
		return c.hurry(ms)
	}
	return c.h.statement(c, sql, args)
}

// hurry is a statement by which the rest of the transaction does not wait for longer than so many milliseconds.
func (c *pgConn) hurry(ms string) db.Statement {
	n, err := strconv.Atoi(ms)
	if err != nil {
		panic(err) // a design has written it
	}
	if c.h.p.w.Bug == bugLaterRoundsWait {
		return &asked{}
	}
	c.at.lockTimeout = int64(n) * int64(time.Millisecond)
	return db.LockTimeout
}

func (c *pgConn) ask(ctx context.Context, sql string, args []any) (a *asked, sent bool, err error) {
	s := c.of(sql, args)
	sent, err = c.send(ctx, s)
	a, ok := s.(*asked)
	if !ok {
		a = &asked{}
	}
	return a, sent, err
}

// Query implements postgres.Querier. As the driver does, it gives an error itself only if nothing was sent; others are
// those of the rows.
func (c *pgConn) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	a, sent, err := c.ask(ctx, sql, args)
	if !sent {
		return nil, err
	}
	return a.answer(err), nil
}

// QueryRow implements postgres.Querier.
func (c *pgConn) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	a, _, err := c.ask(ctx, sql, args)
	return (*oneRow)(a.answer(err))
}

// Exec implements postgres.Querier.
func (c *pgConn) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	a, _, err := c.ask(ctx, sql, args)
	return a.tag(), err
}

// tag is what the driver says of its end.
func (a *asked) tag() pgconn.CommandTag {
	return pgconn.NewCommandTag("UPDATE " + strconv.Itoa(a.affected))
}

// answer gives the rows of a statement, or why there are none.
func (a *asked) answer(err error) *rows {
	a.out.err = err
	return &a.out
}

// SendBatch implements postgres.Querier.
func (c *pgConn) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	r := &answers{batch: b}
	for _, q := range b.QueuedQueries {
		r.list = append(r.list, c.of(q.SQL, q.Arguments))
	}
	_, r.err = c.send(ctx, c.plant(r.list)...)
	if n := len(r.list); c.h.p.w.Bug == bugUnknownIsFailure && r.err == errConn && n > 0 && r.list[n-1] == db.Commit {
		r.err = db.ErrCanceled
	}
	return r
}

// answers are those to a batch. Of one that failed at the server, what came before is known.
type answers struct {
	batch  *pgx.Batch
	list   []db.Statement
	err    error // of the round trip
	next   int   // statement to be read
	failed error
	closed bool
}

// one gives the answer to the next statement.
func (r *answers) one() (*asked, error) {
	if r.failed != nil {
		return &asked{}, r.failed
	}
	var server *pgconn.PgError
	i := r.next
	r.next++
	if i >= len(r.list) {
		return &asked{}, r.err
	}
	a, ok := r.list[i].(*asked)
	if !ok {
		a = &asked{}
	}
	if r.err == nil || errors.As(r.err, &server) && (!ok || a.done()) {
		return a, nil
	}
	return &asked{}, r.err
}

// Exec implements pgx.BatchResults.
func (r *answers) Exec() (pgconn.CommandTag, error) {
	a, err := r.one()
	if r.failed == nil {
		r.failed = err
	}
	return a.tag(), err
}

// Query implements pgx.BatchResults.
func (r *answers) Query() (pgx.Rows, error) {
	a, err := r.one()
	return a.answer(err), err
}

// QueryRow implements pgx.BatchResults.
func (r *answers) QueryRow() pgx.Row {
	a, err := r.one()
	return (*oneRow)(a.answer(err))
}

// Close implements pgx.BatchResults.
func (r *answers) Close() error {
	if r.closed {
		return r.failed
	}
	for r.failed == nil && r.next < len(r.batch.QueuedQueries) {
		if f := r.batch.QueuedQueries[r.next].Fn; f != nil {
			r.failed = f(r)
		} else {
			_, _ = r.Exec() // its error is kept
		}
	}
	if r.closed = true; r.failed == nil {
		r.failed = r.err
	}
	return r.failed
}

// Tx implements pgx.BatchResults.
func (r *answers) Tx() pgx.Tx { return nil }

// pgEar is a connection that listens.
type pgEar struct {
	pgConn
	ear   *ear
	heard []string
	woken func() // ends the wait for a notification; nil: nobody waits
}

// dial opens a connection outside of the pool.
func (h *pgHost) dial(ctx context.Context) (postgres.Ear, error) {
	at, err := h.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pgEar{pgConn: pgConn{h: h, at: at}}, nil
}

// Exec implements postgres.Ear.
func (e *pgEar) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	channel, listens := strings.CutPrefix(sql, "LISTEN ")
	if !listens {
		return e.pgConn.Exec(ctx, sql, args...)
	}
	_, err := e.send(ctx, &asked{name: "listen"})
	if err == nil {
		e.ear = &ear{strings.Trim(channel, `"`), e.at, e.hear}
		e.h.ears = append(e.h.ears, e.ear)
	}
	return pgconn.CommandTag{}, err
}

func (e *pgEar) hear(payload string) {
	e.heard = append(e.heard, payload)
	if e.woken != nil {
		e.woken()
	}
}

// Next implements postgres.Ear.
func (e *pgEar) Next(ctx context.Context) (string, error) {
	for len(e.heard) == 0 {
		if e.at.told {
			return "", errConn
		}
		err := e.h.p.await(ctx, func(end func(error)) {
			e.woken = func() { end(nil) }
			if e.at.watch(end); e.at.broken {
				e.at.fail(errConn)
			}
		}, func(error) {})
		e.at.unwatch()
		e.woken = nil
		if err != nil {
			return "", err
		}
	}
	payload := e.heard[0]
	e.heard = e.heard[1:]
	return payload, nil
}

// PID implements postgres.Ear.
func (e *pgEar) PID() uint32 { return uint32(e.at.session.ID) }

// IsClosed implements postgres.Ear.
func (e *pgEar) IsClosed() bool { return e.at.told }

// Close implements postgres.Ear.
func (e *pgEar) Close(context.Context) error {
	e.h.ears = slices.DeleteFunc(e.h.ears, func(o *ear) bool { return o == e.ear })
	if !e.at.told {
		e.at.close()
	}
	return nil
}

// plant changes what is sent where a bug is planted: what a round of a transaction has counted is committed before what follows
// from it; or a transaction that is to begin anew goes on with the locks that it has.
func (c *pgConn) plant(list []db.Statement) []db.Statement {
	switch bug := c.h.p.w.Bug; {
	case len(list) == 0:
	case bug == bugIncrementAlone && list[len(list)-1] != db.Commit && slices.ContainsFunc(list, isApply) && (list[0] == db.Begin || c.InTransaction()):
		return append(list, db.Commit, db.Begin)
	case bug == bugHoldsOn && len(list) > 2 && list[0] == db.Rollback && list[1] == db.Begin:
		return list[2:]
	}
	return list
}

func isApply(s db.Statement) bool {
	a, ok := s.(*asked)
	return ok && a.name == "apply"
}
