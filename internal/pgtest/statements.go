package pgtest

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Statements is a connection tracer that counts statements. It is safe for concurrent use.
type Statements struct {
	Sent  atomic.Int64 // single and batched
	Trips atomic.Int64 // round trips: a batch is one

	Each func(sent int64) // called after each statement with their number; may be nil
}

func (s *Statements) send() {
	if n := s.Sent.Add(1); s.Each != nil {
		s.Each(n)
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (s *Statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.Trips.Add(1)
	s.send()
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*Statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (s *Statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.Trips.Add(1)
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (s *Statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { s.send() }

// TraceBatchEnd implements pgx.BatchTracer.
func (*Statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
