package pgsim

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"pulley/internal/pgstore"
)

// Rows is the result of a query, as the driver returns it. Scan converts values to the target's type; nil is null.
type Rows struct {
	List [][]any
	at   int
	err  error
}

// Close implements pgx.Rows.
func (r *Rows) Close() {}

// Err implements pgx.Rows.
func (r *Rows) Err() error { return r.err }

// CommandTag implements pgx.Rows.
func (r *Rows) CommandTag() pgconn.CommandTag { return pgconn.CommandTag{} }

// FieldDescriptions implements pgx.Rows.
func (r *Rows) FieldDescriptions() []pgconn.FieldDescription { return nil }

// Next implements pgx.Rows.
func (r *Rows) Next() bool {
	if r.err != nil || r.at >= len(r.List) {
		return false
	}
	r.at++
	return true
}

// Scan implements pgx.Rows.
func (r *Rows) Scan(to ...any) error {
	row := r.List[r.at-1]
	if len(row) != len(to) {
		return fmt.Errorf("pgsim: a row of %d columns is read as one of %d", len(row), len(to))
	}
	for i, v := range row {
		if to[i] == nil {
			continue
		}
		if err := assign(to[i], v); err != nil {
			return fmt.Errorf("pgsim: column %d: %w", i, err)
		}
	}
	return nil
}

func assign(to, v any) error {
	done := false
	switch to := to.(type) {
	case *int64:
		done = put(to, v)
	case *string:
		done = put(to, v)
	case *int32:
		done = put(to, v)
	case *int:
		done = put(to, v)
	case *int16:
		done = put(to, v)
	case *bool:
		done = put(to, v)
	case *[16]byte:
		done = put(to, v)
	case *uuid.UUID:
		done = put((*[16]byte)(to), v)
	case *[]byte:
		*to, _ = v.([]byte)
		done = true
	case **int32:
		n, ok := v.(int32)
		if done = ok; ok {
			*to = &n
		}
	}
	if done {
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

func put[T any](to *T, v any) bool {
	value, ok := v.(T)
	if ok {
		*to = value
	}
	return ok
}

// Values implements pgx.Rows.
func (r *Rows) Values() ([]any, error) { return r.List[r.at-1], nil }

// RawValues implements pgx.Rows: values in binary, as the server sends them.
func (r *Rows) RawValues() [][]byte {
	row := r.List[r.at-1]
	raw := make([][]byte, len(row))
	for i, v := range row {
		raw[i] = binaryOf(v)
	}
	return raw
}

// binaryOf encodes a value in the server's binary format; JSON and text stay as they are.
func binaryOf(v any) []byte {
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		return v
	case string:
		return []byte(v)
	case [16]byte:
		return v[:]
	case int32:
		return binary.BigEndian.AppendUint32(nil, uint32(v))
	case int64:
		return binary.BigEndian.AppendUint64(nil, uint64(v))
	case []int32:
		return arrayOf(pgstore.Int4s(), (*pgstore.Array).Int4, v)
	case []int64:
		return arrayOf(pgstore.Int8s(), (*pgstore.Array).Int8, v)
	case [][16]byte:
		return arrayOf(pgstore.UUIDs(), (*pgstore.Array).UUID, v)
	case []string:
		return arrayOf(pgstore.Texts(), (*pgstore.Array).Text, v)
	case [][]byte:
		return arrayOf(pgstore.JSONs(), (*pgstore.Array).Bytes, v)
	}
	panic(fmt.Sprintf("pgsim: nobody knows a %T in binary", v))
}

func arrayOf[T any](array pgstore.Array, add func(*pgstore.Array, T), list []T) []byte {
	for _, v := range list {
		add(&array, v)
	}
	return array.Append(nil)
}

// Conn implements pgx.Rows.
func (r *Rows) Conn() *pgx.Conn { return nil }

// TypeMap implements pgx.Rows.
func (r *Rows) TypeMap() *pgtype.Map { return nil }

// OneRow is the result of QueryRow.
type OneRow Rows

// Scan implements pgx.Row.
func (r *OneRow) Scan(to ...any) error {
	all := (*Rows)(r)
	if !all.Next() {
		if r.err != nil {
			return r.err
		}
		return pgx.ErrNoRows
	}
	return all.Scan(to...)
}
