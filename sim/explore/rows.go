package explore

import (
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// rows is the answer to a query, as the driver gives it. A value stands for any that it can be converted to; nil is null.
type rows struct {
	list [][]any
	at   int // behind the row at hand
	err  error
}

// Close implements pgx.Rows.
func (r *rows) Close() {}

// Err implements pgx.Rows.
func (r *rows) Err() error { return r.err }

// CommandTag implements pgx.Rows.
func (r *rows) CommandTag() pgconn.CommandTag { return pgconn.CommandTag{} }

// FieldDescriptions implements pgx.Rows.
func (r *rows) FieldDescriptions() []pgconn.FieldDescription { return nil }

// Next implements pgx.Rows.
func (r *rows) Next() bool {
	if r.err != nil || r.at >= len(r.list) {
		return false
	}
	r.at++
	return true
}

// Scan implements pgx.Rows.
func (r *rows) Scan(to ...any) error {
	row := r.list[r.at-1]
	if len(row) != len(to) {
		return fmt.Errorf("explore: a row of %d columns is read as one of %d", len(row), len(to))
	}
	for i, v := range row {
		if err := assign(to[i], v); err != nil {
			return fmt.Errorf("explore: column %d: %w", i, err)
		}
	}
	return nil
}

// assign puts a value where it is to go.
func assign(to, v any) error {
	switch to := to.(type) {
	case *int64:
		if n, ok := v.(int64); ok {
			*to = n
			return nil
		}
	case *string:
		if s, ok := v.(string); ok {
			*to = s
			return nil
		}
	case *[]byte:
		b, _ := v.([]byte)
		*to = b
		return nil
	}
	at := reflect.ValueOf(to).Elem()
	if v == nil {
		at.SetZero()
		return nil
	}
	if at.Kind() == reflect.Pointer {
		p := reflect.New(at.Type().Elem())
		at.Set(p)
		at = p.Elem()
	}
	from := reflect.ValueOf(v)
	if !from.CanConvert(at.Type()) {
		return fmt.Errorf("a %T is no %s", v, at.Type())
	}
	at.Set(from.Convert(at.Type()))
	return nil
}

// Values implements pgx.Rows.
func (r *rows) Values() ([]any, error) { return r.list[r.at-1], nil }

// RawValues implements pgx.Rows.
func (r *rows) RawValues() [][]byte { return nil }

// Conn implements pgx.Rows.
func (r *rows) Conn() *pgx.Conn { return nil }

// TypeMap implements pgx.Rows.
func (r *rows) TypeMap() *pgtype.Map { return nil }

// oneRow is the answer to a query that wants one.
type oneRow struct{ rows }

// Scan implements pgx.Row.
func (r oneRow) Scan(to ...any) error {
	if !r.rows.Next() {
		if r.err != nil {
			return r.err
		}
		return pgx.ErrNoRows
	}
	return r.rows.Scan(to...)
}
