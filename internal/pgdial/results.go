package pgdial

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// results are those of the queries of one round trip, in order.
type results struct {
	conn    *Conn
	sending *sending // nil: nothing was sent
	queries []*pgx.QueuedQuery
	read    int // queries whose results were read
	over    func()
	err     error
	closed  bool

	traced context.Context // nil: nobody does
}

func (r *results) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// reader returns the results of the next query. All earlier ones are closed.
func (r *results) reader() *pgconn.ResultReader {
	switch {
	case r.err != nil:
		return nil
	case r.closed || r.sending == nil:
		r.fail(errors.New("the results are closed"))
		return nil
	}
	r.read++
	reader, err := nextOf[*pgconn.ResultReader](r.sending)
	if err != nil {
		r.fail(err)
		return nil
	}
	return reader
}

// Exec implements pgx.BatchResults.
func (r *results) Exec() (pgconn.CommandTag, error) {
	reader := r.reader()
	if reader == nil {
		return pgconn.CommandTag{}, r.err
	}
	tag, err := reader.Close()
	if err != nil {
		r.fail(err)
	}
	return tag, err
}

// Query implements pgx.BatchResults.
func (r *results) Query() (pgx.Rows, error) {
	reader := r.reader()
	if reader == nil {
		return failedRows{err: r.err}, r.err
	}
	return &batchRows{pgx.RowsFromResultReader(r.sending.conn.TypeMap(), reader), r}, nil
}

// QueryRow implements pgx.BatchResults.
func (r *results) QueryRow() pgx.Row {
	rows, _ := r.Query()
	return row{rows}
}

// Close implements pgx.BatchResults.
func (r *results) Close() error {
	if r.closed {
		return r.err
	}
	for r.err == nil && r.read < len(r.queries) {
		q := r.queries[r.read]
		var err error
		if q.Fn != nil {
			err = q.Fn(r)
		} else {
			_, err = r.Exec()
		}
		if err != nil {
			r.fail(err)
		}
	}
	r.closed = true
	if r.sending != nil {
		if err := r.sending.line.Close(); err != nil {
			r.fail(err)
		}
	}
	r.traceEnd()
	if r.over != nil {
		r.over()
	}
	return r.err
}

// Tx implements pgx.BatchResults. No caller begins transactions by it.
func (r *results) Tx() pgx.Tx { return nil }

func (r *results) trace(ctx context.Context) {
	tracer := r.conn.from.tracer
	if tracer == nil {
		return
	}
	if len(r.queries) == 1 {
		q := r.queries[0]
		r.traced = tracer.TraceQueryStart(ctx, r.conn.pooled.Conn(), pgx.TraceQueryStartData{SQL: q.SQL, Args: q.Arguments})
	} else if batches, ok := tracer.(pgx.BatchTracer); ok {
		r.traced = batches.TraceBatchStart(ctx, r.conn.pooled.Conn(), pgx.TraceBatchStartData{Batch: &pgx.Batch{QueuedQueries: r.queries}})
	}
}

func (r *results) traceEnd() {
	if r.traced == nil {
		return
	}
	tracer, conn := r.conn.from.tracer, r.conn.pooled.Conn()
	if len(r.queries) == 1 {
		tracer.TraceQueryEnd(r.traced, conn, pgx.TraceQueryEndData{Err: r.err})
		return
	}
	batches := tracer.(pgx.BatchTracer) // or it would not be traced
	for _, q := range r.queries[:r.read] {
		batches.TraceBatchQuery(r.traced, conn, pgx.TraceBatchQueryData{SQL: q.SQL, Args: q.Arguments})
	}
	batches.TraceBatchEnd(r.traced, conn, pgx.TraceBatchEndData{Err: r.err})
}

// batchRows are the rows of one query of a batch.
type batchRows struct {
	pgx.Rows
	of *results
}

func (r *batchRows) Close() {
	r.Rows.Close()
	if err := r.Rows.Err(); err != nil {
		r.of.fail(err)
	}
}

func (r *batchRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// rows are those of a single query. Closing them ends the round trip.
type rows struct {
	pgx.Rows
	results *results
	over    func()
	closed  bool
}

// begun waits for the first reply, as pgx does.
func (r *rows) begun() (pgx.Rows, error) {
	r.results.over = r.over
	inner, err := r.results.Query()
	r.Rows = inner
	if err != nil {
		_ = r.results.Close() // it returns the same error
		return failedRows{err: err}, err
	}
	return r, nil
}

func (r *rows) Close() {
	if r.closed {
		return
	}
	r.closed = true
	r.Rows.Close()
	_ = r.results.Close() // Err returns it
}

func (r *rows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *rows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.results.err
}

// row is the first of rows.
type row struct{ rows pgx.Rows }

func (r row) Scan(to ...any) error {
	defer r.rows.Close()
	if err := r.rows.Err(); err != nil {
		return err
	}
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(to...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}

// failedRows are those of a query that failed.
type failedRows struct {
	pgx.Rows
	err error
}

func (failedRows) Close()                                       {}
func (f failedRows) Err() error                                 { return f.err }
func (failedRows) CommandTag() pgconn.CommandTag                { return pgconn.CommandTag{} }
func (failedRows) FieldDescriptions() []pgconn.FieldDescription { return nil }
func (failedRows) Next() bool                                   { return false }
func (f failedRows) Scan(...any) error                          { return f.err }
func (f failedRows) Values() ([]any, error)                     { return nil, f.err }
func (failedRows) RawValues() [][]byte                          { return nil }
func (failedRows) Conn() *pgx.Conn                              { return nil }
