package pgdial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// statementsMax bounds the statements whose names, parameters and results are remembered. The designs have a fixed number, far below.
const statementsMax = 2000

// Transactions is a pool of connections through a pooler that may serve each transaction on another server connection. Each
// transaction makes the settings first, in the round trip of its first statement; a batch without BEGIN is one transaction. A
// statement that is new to the pool costs one round trip more, once. It is safe for concurrent use.
type Transactions struct {
	Pool *pgxpool.Pool // Transactions closes it

	setLocal string    // the settings, for a transaction
	settings statement // the same
	mark     string    // ends prepared texts, so that a pooler does not share them with other schemas
	tracked  bool
	tracer   pgx.QueryTracer

	mu    sync.RWMutex
	known map[string]*pgconn.StatementDescription // by text
	named map[string]statement                    // by text
}

type statement struct{ name, text string }

// Transactions opens a pool for a link whose server connections change.
func (l *Link) Transactions(ctx context.Context) (*Transactions, error) {
	pool, err := l.Pool(ctx)
	if err != nil {
		return nil, err
	}
	t := &Transactions{Pool: pool, tracked: l.tracked, tracer: l.plain.ConnConfig.Tracer, known: map[string]*pgconn.StatementDescription{}, named: map[string]statement{}}
	text := set(l.all, true)
	t.setLocal, t.mark = text, "\n-- "+digest(text)[:8]
	t.settings = t.statement(text)
	return t, nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// statement names a text, if names are kept track of.
func (t *Transactions) statement(text string) statement {
	if !t.tracked {
		return statement{text: text}
	}
	t.mu.RLock()
	s, ok := t.named[text]
	t.mu.RUnlock()
	if ok {
		return s
	}
	s = statement{name: "pulley_" + digest(text)[:40], text: text + t.mark}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.named) < statementsMax {
		t.named[text] = s
	}
	return s
}

// Close closes the pool, after the calls that use it.
func (t *Transactions) Close() { t.Pool.Close() }

// Acquire returns a connection of the pool. The caller releases it.
func (t *Transactions) Acquire(ctx context.Context) (*Conn, error) {
	c, err := t.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return &Conn{pooled: c, from: t}, nil
}

// Query sends a statement in a transaction of its own, as pgxpool.Pool does.
func (t *Transactions) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c, err := t.Acquire(ctx)
	if err != nil {
		return failedRows{err: err}, err
	}
	rows := c.query(ctx, sql, args)
	rows.over = c.Release
	return rows.begun()
}

// QueryRow is Query for one row.
func (t *Transactions) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, _ := t.Query(ctx, sql, args...)
	return row{rows}
}

// Exec sends a statement in a transaction of its own.
func (t *Transactions) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	c, err := t.Acquire(ctx)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer c.Release()
	return c.Exec(ctx, sql, args...)
}

// Begin begins a transaction of the driver's, with the settings. Its statements take two round trips each.
func (t *Transactions) Begin(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error) {
	tx, err := t.Pool.BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, t.setLocal); err != nil {
		return nil, errors.Join(err, tx.Rollback(ctx))
	}
	return tx, nil
}

// SendBatch sends a batch, as pgxpool.Pool does.
func (t *Transactions) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	c, err := t.Acquire(ctx)
	if err != nil {
		return &results{err: err, closed: true}
	}
	r := c.send(ctx, b.QueuedQueries)
	r.over = c.Release
	return r
}

// Conn is a connection of Transactions, for one goroutine at a time.
type Conn struct {
	pooled *pgxpool.Conn
	from   *Transactions
}

// Release returns the connection; within a transaction it is closed.
func (c *Conn) Release() {
	if c.pooled != nil {
		c.pooled.Release()
		c.pooled = nil
	}
}

// InTransaction reports whether a transaction is open, and the connection usable.
func (c *Conn) InTransaction() bool {
	conn := c.pooled.Conn()
	return !conn.IsClosed() && conn.PgConn().TxStatus() != 'I'
}

// Query sends a statement.
func (c *Conn) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return c.query(ctx, sql, args).begun()
}

func (c *Conn) query(ctx context.Context, sql string, args []any) *rows {
	return &rows{results: c.send(ctx, []*pgx.QueuedQuery{{SQL: sql, Arguments: args}})}
}

// QueryRow is Query for one row.
func (c *Conn) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, _ := c.Query(ctx, sql, args...)
	return row{rows}
}

// Exec sends a statement.
func (c *Conn) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	r := c.send(ctx, []*pgx.QueuedQuery{{SQL: sql, Arguments: args}})
	tag, err := r.Exec()
	if closed := r.Close(); err == nil {
		err = closed
	}
	return tag, err
}

// SendBatch sends a batch.
func (c *Conn) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return c.send(ctx, b.QueuedQueries)
}

// send sends queries in one round trip.
func (c *Conn) send(ctx context.Context, queries []*pgx.QueuedQuery) *results {
	r := &results{conn: c, queries: queries}
	r.trace(ctx)
	described, err := c.describe(ctx, queries)
	if err != nil {
		r.fail(err)
		return r
	}
	s := c.start(ctx)
	for i, q := range queries {
		if err := s.add(q, described[i]); err != nil {
			s.withdraw()
			r.fail(err)
			return r
		}
	}
	r.sending = s
	if err := s.line.Sync(); err != nil {
		r.err = err // Close closes the connection
	}
	return r
}

// describe returns what is known of queries, and asks the server about the others: about all of them in one round trip.
func (c *Conn) describe(ctx context.Context, queries []*pgx.QueuedQuery) ([]*pgconn.StatementDescription, error) {
	all := make([]*pgconn.StatementDescription, len(queries))
	missing := false
	t := c.from
	t.mu.RLock()
	for i, q := range queries {
		if all[i] = control(q.SQL); all[i] == nil {
			all[i] = t.known[q.SQL]
		}
		missing = missing || all[i] == nil
	}
	t.mu.RUnlock()
	if !missing {
		return all, nil
	}
	s := c.start(ctx)
	if !s.begun {
		s.set()
	}
	var asked []int
	for i, q := range queries {
		if all[i] == nil {
			s.describe(t.statement(q.SQL))
			asked = append(asked, i)
		}
	}
	err := s.line.Sync()
	for at := 0; err == nil && at < len(asked); at++ {
		all[asked[at]], err = nextOf[*pgconn.StatementDescription](s)
	}
	if closed := s.line.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, i := range asked {
		if len(t.known) < statementsMax {
			t.known[queries[i].SQL] = all[i]
		}
	}
	return all, nil
}

// Prepared executes statements whose parameters and results are binary, in one transaction and one round trip. The results are
// those of the statements that were executed. sent is false if nothing was sent.
func (t *Transactions) Prepared(ctx context.Context, texts []string, params [][][]byte) (all []*pgconn.Result, sent bool, err error) {
	c, err := t.Acquire(ctx)
	if err != nil {
		return nil, false, err
	}
	defer c.Release()
	s := c.start(ctx)
	for i, text := range texts {
		s.addBinary(text, params[i])
	}
	if err := s.line.Sync(); err != nil {
		return nil, true, errors.Join(err, s.line.Close())
	}
	for range texts {
		got, failed := nextOf[*pgconn.ResultReader](s)
		if failed != nil {
			err = failed
			break
		}
		result := got.Read()
		all = append(all, result)
		if err = result.Err; err != nil {
			break
		}
	}
	if closed := s.line.Close(); err == nil {
		err = closed
	}
	return all, true, err
}
