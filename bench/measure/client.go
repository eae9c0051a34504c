package measure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/reports/record"
)

// Client is a pgx tracer that counts the statements of a workload's sessions. The zero Client is ready; it is safe for
// concurrent use, and costs an atomic addition per statement.
//
// It counts each statement of a batch. Like pg_stat_statements, it omits failed statements and transaction control.
type Client struct {
	statements    atomic.Int64
	deadlocks     atomic.Int64
	serialization atomic.Int64
}

var (
	_ pgx.QueryTracer    = (*Client)(nil)
	_ pgx.BatchTracer    = (*Client)(nil)
	_ pgx.CopyFromTracer = (*Client)(nil)
)

// Statements is the number of successful statements.
func (c *Client) Statements() int64 { return c.statements.Load() }

// Deadlocks is the number of statements ended by a deadlock.
func (c *Client) Deadlocks() int64 { return c.deadlocks.Load() }

// SerializationFailures is the number of statements that failed to serialize.
func (c *Client) SerializationFailures() int64 { return c.serialization.Load() }

// Fill sets the counters that the client counted and the server did not. It returns the warnings without those about the filled
// figures.
func (c *Client) Fill(counters *record.Counters, warnings []string) []string {
	n := c.SerializationFailures()
	counters.SerializationFailures = &n
	if counters.Statements != nil {
		return warnings
	}
	statements := c.Statements()
	counters.Statements = &statements
	return slices.DeleteFunc(warnings, func(w string) bool { return strings.HasPrefix(w, notCounted) })
}

const notCounted = "statements were not counted: "

type control struct{}

// TraceQueryStart is called by pgx.
func (c *Client) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if isControl(data.SQL) {
		return context.WithValue(ctx, control{}, true)
	}
	return ctx
}

// TraceQueryEnd is called by pgx.
func (c *Client) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	c.count(ctx.Value(control{}) != nil, data.Err)
}

// TraceBatchStart is called by pgx.
func (c *Client) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery is called by pgx.
func (c *Client) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	c.count(isControl(data.SQL), data.Err)
}

// TraceBatchEnd is called by pgx.
func (c *Client) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceCopyFromStart is called by pgx.
func (c *Client) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	return ctx
}

// TraceCopyFromEnd is called by pgx.
func (c *Client) TraceCopyFromEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceCopyFromEndData) {
	c.count(false, data.Err)
}

func (c *Client) count(control bool, err error) {
	if err == nil {
		if !control {
			c.statements.Add(1)
		}
		return
	}
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return
	}
	switch refused.Code {
	case "40P01":
		c.deadlocks.Add(1)
	case "40001":
		c.serialization.Add(1)
	}
}

var controls = []string{"begin", "start transaction", "commit", "end", "rollback", "abort", "savepoint", "release", "prepare transaction"}

func isControl(sql string) bool {
	sql = strings.TrimLeft(sql, " \t\r\n")
	return slices.ContainsFunc(controls, func(word string) bool {
		return len(sql) >= len(word) && strings.EqualFold(sql[:len(word)], word) && (len(sql) == len(word) || !isWord(sql[len(word)]))
	})
}

func isWord(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }
