package pgsim

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/plan"
	"pulley/internal/pgstore"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/world"
)

// Host gives a pgstore.Store the connections of a simulated process. statement is the design's; it turns a text into a simulated
// statement.
type Host struct {
	*world.Host
	statement func(on *Conn, sql string, args []any) *Statement
}

var (
	_ pgstore.Pool       = (*Host)(nil)
	_ pgstore.Witness    = (*Conn)(nil)
	_ pgstore.ListenConn = (*ListenConn)(nil)
)

// NewStore makes the store of an incarnation. All instances of a world run one program, which every process knows.
func NewStore(h *world.Host, statement func(on *Conn, sql string, args []any) *Statement) *pgstore.Store {
	p := &Host{h, statement}
	return pgstore.On(pgstore.Host{
		Pool: p, Clock: p, Listen: p.dial, Schema: "simulated", Name: h.Name, Shards: h.Process.World.Shards, Jitter: h.Process.World.Rand.Float64,
		CommitSlotRetention: time.Duration(h.Process.World.CommitSlotRetention()),
		Programs:            map[int32]*plan.Program{1: h.Process.World.Workload.Compiled},
	})
}

// Acquire implements pgstore.Pool.
func (h *Host) Acquire(ctx context.Context) (pgstore.Conn, error) {
	at, err := h.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return h.connFor(at), nil
}

// connFor wraps a pooled connection. It reuses the wrapper and resets it.
func (h *Host) connFor(at *world.Conn) *Conn {
	c, ok := at.BorrowedAs.(*Conn)
	if !ok {
		c = &Conn{}
		at.BorrowedAs = c
	}
	*c = Conn{Host: h, at: at}
	return c
}

// Close implements pgstore.Pool.
func (h *Host) Close() {}

// UsePooled calls f with a pooled connection.
func (h *Host) UsePooled(ctx context.Context, f func(*Conn)) error {
	at, err := h.Connect(ctx)
	if err != nil {
		return err
	}
	f(h.connFor(at))
	at.Release()
	return nil
}

// Query implements pgstore.Querier.
func (h *Host) Query(ctx context.Context, sql string, args ...any) (r pgx.Rows, err error) {
	if none := h.UsePooled(ctx, func(c *Conn) { r, err = c.Query(ctx, sql, args...) }); none != nil {
		return nil, none
	}
	return r, err
}

// QueryRow implements pgstore.Querier.
func (h *Host) QueryRow(ctx context.Context, sql string, args ...any) (r pgx.Row) {
	if err := h.UsePooled(ctx, func(c *Conn) { r = c.QueryRow(ctx, sql, args...) }); err != nil {
		return &OneRow{err: err}
	}
	return r
}

// Exec implements pgstore.Querier.
func (h *Host) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	if none := h.UsePooled(ctx, func(c *Conn) { tag, err = c.Exec(ctx, sql, args...) }); none != nil {
		return tag, none
	}
	return tag, err
}

// SendBatch implements pgstore.Querier.
func (h *Host) SendBatch(ctx context.Context, b *pgx.Batch) (r pgx.BatchResults) {
	if err := h.UsePooled(ctx, func(c *Conn) { r = c.SendBatch(ctx, b) }); err != nil {
		return &answers{batch: b, err: err}
	}
	return r
}

// Conn is a pooled connection.
type Conn struct {
	Host   *Host
	at     *world.Conn
	Events any // what the design says that its next writing statement applies
}

// InTransaction implements pgstore.Conn.
func (c *Conn) InTransaction() bool { return !c.at.KnowsBroken && c.at.Session.State() == db.InTx }

// Release implements pgstore.Conn.
func (c *Conn) Release() { c.at.Release() }

// Applies implements pgstore.Witness.
func (c *Conn) Applies(events any) { c.Events = events }

// Send makes a round trip and reports whether anything was sent.
func (c *Conn) Send(ctx context.Context, list ...db.Statement) (sent bool, err error) {
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case c.at.KnowsBroken:
		return false, world.ErrConn
	}
	return true, c.Host.Trip(ctx, c.at, list...)
}

var controls = map[string]db.Statement{"BEGIN": db.Begin, "COMMIT": db.Commit, "ROLLBACK": db.Rollback}

// lockTimeout begins the statement that sets the lock timeout in ms.
const lockTimeout = "SET LOCAL lock_timeout = "

func (c *Conn) of(sql string, args []any) db.Statement {
	if s, ok := controls[sql]; ok {
		return s
	}
	if ms, ok := strings.CutPrefix(sql, lockTimeout); ok {
		return c.setLockTimeout(ms)
	}
	return c.Host.statement(c, sql, args)
}

func (c *Conn) setLockTimeout(ms string) db.Statement {
	n, err := strconv.Atoi(ms)
	if err != nil {
		panic(err)
	}
	if c.Host.Process.World.Bug == cases.BugNoLockTimeout {
		return &Statement{}
	}
	c.at.LockTimeout = int64(n) * int64(time.Millisecond)
	return db.LockTimeout
}

func (c *Conn) statementFor(ctx context.Context, sql string, args []any) (a *Statement, sent bool, err error) {
	s := c.of(sql, args)
	if a, ok := s.(*Statement); ok {
		sent, err = c.Send(ctx, a.Batch()...)
		return a, sent, err
	}
	sent, err = c.Send(ctx, s)
	return nil, sent, err
}

// Query implements pgstore.Querier. Like the driver, it returns an error only if nothing was sent; other errors are in the rows.
func (c *Conn) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	a, sent, err := c.statementFor(ctx, sql, args)
	if !sent {
		return nil, err
	}
	return a.Answer(err), nil
}

// QueryRow implements pgstore.Querier.
func (c *Conn) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	a, _, err := c.statementFor(ctx, sql, args)
	return (*OneRow)(a.Answer(err))
}

// Exec implements pgstore.Querier.
func (c *Conn) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	a, _, err := c.statementFor(ctx, sql, args)
	return a.Tag(), err
}

// Tag returns the driver's command tag. A nil statement is about transactions or was not executed; it affects nothing.
func (a *Statement) Tag() pgconn.CommandTag {
	if a == nil || a.Affected == 0 {
		return nothingAffected
	}
	return pgconn.NewCommandTag("UPDATE " + strconv.Itoa(a.Affected))
}

var nothingAffected = pgconn.NewCommandTag("UPDATE 0")

// Answer returns a statement's rows, or err. A nil statement has no rows.
func (a *Statement) Answer(err error) *Rows {
	if a == nil {
		return &Rows{err: err}
	}
	a.Out.err = err
	return &a.Out
}

// SendBatch implements pgstore.Querier.
func (c *Conn) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	r := &answers{batch: b}
	r.list = r.inline[:0]
	for _, q := range b.QueuedQueries {
		r.list = append(r.list, c.of(q.SQL, q.Arguments))
	}
	_, r.err = c.Send(ctx, c.plant(r.list)...)
	if n := len(r.list); c.Host.Process.World.Bug == cases.BugUnknownIsFailure && r.err == world.ErrConn && n > 0 && r.list[n-1] == db.Commit {
		r.err = db.ErrCanceled
	}
	return r
}

// answers are the results of a batch. If the batch fails at the server, the results before the failure are known.
type answers struct {
	batch  *pgx.Batch
	list   []db.Statement
	inline [4]db.Statement
	err    error
	next   int
	failed error
	closed bool
}

// nextAnswer returns the next statement; nil: it has no rows.
func (r *answers) nextAnswer() (*Statement, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	i := r.next
	r.next++
	if i >= len(r.list) {
		return nil, r.err
	}
	a, ok := r.list[i].(*Statement)
	if r.err == nil {
		return a, nil
	}
	if _, byServer := errors.AsType[*pgconn.PgError](r.err); byServer && (!ok || a.Done()) {
		return a, nil
	}
	return nil, r.err
}

func (r *answers) Exec() (pgconn.CommandTag, error) {
	a, err := r.nextAnswer()
	if r.failed == nil {
		r.failed = err
	}
	return a.Tag(), err
}

func (r *answers) Query() (pgx.Rows, error) {
	a, err := r.nextAnswer()
	return a.Answer(err), err
}

func (r *answers) QueryRow() pgx.Row {
	a, err := r.nextAnswer()
	return (*OneRow)(a.Answer(err))
}

func (r *answers) Close() error {
	if r.closed {
		return r.failed
	}
	for r.failed == nil && r.next < len(r.batch.QueuedQueries) {
		if f := r.batch.QueuedQueries[r.next].Fn; f != nil {
			r.failed = f(r)
		} else {
			_, _ = r.Exec() // r.failed keeps its error
		}
	}
	if r.closed = true; r.failed == nil {
		r.failed = r.err
	}
	return r.failed
}

func (r *answers) Tx() pgx.Tx { return nil }

// ListenConn is a listening connection.
type ListenConn struct {
	Conn
	conn     *world.ListenConn
	payloads []string
	onNotify func() // ends the wait for a notification; nil: no wait
}

func (h *Host) dial(ctx context.Context) (pgstore.ListenConn, error) {
	at, err := h.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &ListenConn{Conn: Conn{Host: h, at: at}}, nil
}

// Exec implements pgstore.ListenConn.
func (e *ListenConn) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	channel, listens := strings.CutPrefix(sql, "LISTEN ")
	if !listens {
		return e.Conn.Exec(ctx, sql, args...)
	}
	_, err := e.Send(ctx, &Statement{Name: "listen"})
	if err == nil {
		e.conn = &world.ListenConn{Channel: strings.Trim(channel, `"`), Conn: e.at, OnNotify: e.handleNotification}
		e.Host.ListenConns = append(e.Host.ListenConns, e.conn)
	}
	return pgconn.CommandTag{}, err
}

func (e *ListenConn) handleNotification(payload string) {
	e.payloads = append(e.payloads, payload)
	if e.onNotify != nil {
		e.onNotify()
	}
}

// Next implements pgstore.ListenConn.
func (e *ListenConn) Next(ctx context.Context) (string, error) {
	for len(e.payloads) == 0 {
		if e.at.KnowsBroken {
			return "", world.ErrConn
		}
		err := e.Host.Process.Await(ctx, func(end func(error)) {
			e.onNotify = func() { end(nil) }
			if e.at.Watch(end); e.at.Broken {
				e.at.Fail(world.ErrConn)
			}
		}, func(error) {})
		e.at.Unwatch()
		e.onNotify = nil
		if err != nil {
			return "", err
		}
	}
	payload := e.payloads[0]
	e.payloads = e.payloads[1:]
	return payload, nil
}

// PID implements pgstore.ListenConn.
func (e *ListenConn) PID() uint32 { return uint32(e.at.Session.ID) }

// IsClosed implements pgstore.ListenConn.
func (e *ListenConn) IsClosed() bool { return e.at.KnowsBroken }

// Close implements pgstore.ListenConn.
func (e *ListenConn) Close(context.Context) error {
	e.Host.ListenConns = slices.DeleteFunc(e.Host.ListenConns, func(o *world.ListenConn) bool { return o == e.conn })
	if !e.at.KnowsBroken {
		e.at.Close()
	}
	return nil
}

// plant changes a batch to plant a bug: a round's counts are committed before their continuations; or a restarted transaction
// keeps its locks.
func (c *Conn) plant(list []db.Statement) []db.Statement {
	switch bug := c.Host.Process.World.Bug; {
	case len(list) == 0:
	case bug == cases.BugIncrementAlone && list[len(list)-1] != db.Commit && slices.ContainsFunc(list, isApply) && (list[0] == db.Begin || c.InTransaction()):
		return append(list, db.Commit, db.Begin)
	case bug == cases.BugCancelledBehindOwnLock && len(list) > 2 && list[0] == db.Rollback && list[1] == db.Begin:
		return list[2:]
	}
	return list
}

func isApply(s db.Statement) bool {
	a, ok := s.(*Statement)
	return ok && a.Name == "apply"
}
