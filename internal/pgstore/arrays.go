package pgstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Array is an array parameter in the server's binary format, appended element by element without reflection, and reusable after
// Reset. Its element type must be that of the parameter.
type Array struct {
	element uint32
	n       int
	null    bool
	data    []byte // elements, each behind its length
}

// Int4s begins an array of integers.
func Int4s() Array { return Array{element: pgtype.Int4OID} }

// Int8s begins an array of bigints.
func Int8s() Array { return Array{element: pgtype.Int8OID} }

// Bools begins an array of booleans.
func Bools() Array { return Array{element: pgtype.BoolOID} }

// UUIDs begins an array of uuids.
func UUIDs() Array { return Array{element: pgtype.UUIDOID} }

// Texts begins an array of texts.
func Texts() Array { return Array{element: pgtype.TextOID} }

// JSONs begins an array of JSON values.
func JSONs() Array { return Array{element: pgtype.JSONOID} }

// Byteas begins an array of byteas.
func Byteas() Array { return Array{element: pgtype.ByteaOID} }

// Len returns the number of elements.
func (a *Array) Len() int { return a.n }

// Size returns the array's memory in bytes.
func (a *Array) Size() int { return cap(a.data) }

// Reset empties the array and keeps its memory.
func (a *Array) Reset() { a.n, a.null, a.data = 0, false, a.data[:0] }

// Int4 appends an integer.
func (a *Array) Int4(v int32) {
	a.n++
	a.data = binary.BigEndian.AppendUint32(append(a.data, 0, 0, 0, 4), uint32(v))
}

// Int8 appends a bigint.
func (a *Array) Int8(v int64) {
	a.n++
	a.data = binary.BigEndian.AppendUint64(append(a.data, 0, 0, 0, 8), uint64(v))
}

// Bool appends a boolean.
func (a *Array) Bool(v bool) {
	a.n++
	a.data = append(a.data, 0, 0, 0, 1, 0)
	if v {
		a.data[len(a.data)-1] = 1
	}
}

// UUID appends a uuid.
func (a *Array) UUID(v [16]byte) {
	a.n++
	a.data = append(append(a.data, 0, 0, 0, 16), v[:]...)
}

// Text appends a text or JSON value.
func (a *Array) Text(v string) {
	a.n++
	a.data = append(binary.BigEndian.AppendUint32(a.data, uint32(len(v))), v...)
}

// Bytes appends a text, JSON value or bytea; nil is null.
func (a *Array) Bytes(v []byte) {
	if v == nil {
		a.Null()
		return
	}
	a.n++
	a.data = append(binary.BigEndian.AppendUint32(a.data, uint32(len(v))), v...)
}

// Null appends a null.
func (a *Array) Null() {
	a.n++
	a.null = true
	a.data = append(a.data, 0xff, 0xff, 0xff, 0xff)
}

const arrayHead = 20

// Append appends the whole array, in binary format, to a buffer.
func (a *Array) Append(buf []byte) []byte {
	dimensions, null := uint32(1), uint32(0)
	if a.n == 0 {
		dimensions = 0
	}
	if a.null {
		null = 1
	}
	buf = slices.Grow(buf, arrayHead+len(a.data))
	buf = binary.BigEndian.AppendUint32(buf, dimensions)
	buf = binary.BigEndian.AppendUint32(buf, null)
	buf = binary.BigEndian.AppendUint32(buf, a.element)
	if a.n == 0 {
		return buf
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(a.n))
	buf = binary.BigEndian.AppendUint32(buf, 1) // the lower bound
	return append(buf, a.data...)
}

// arrayCodec sends Arrays as they are, and leaves other values to pgx. Arrays use the binary format in both directions, whatever
// pgx prefers for their elements.
type arrayCodec struct {
	pgtype.Codec
	element uint32
}

func (arrayCodec) PreferredFormat() int16 { return pgtype.BinaryFormatCode }

func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(*Array); ok && format == pgtype.BinaryFormatCode {
		return arrayPlan{c.element}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

type arrayPlan struct{ element uint32 }

func (p arrayPlan) Encode(value any, buf []byte) ([]byte, error) {
	a := value.(*Array)
	if a.element != p.element {
		return nil, fmt.Errorf("an array of type %d for a parameter of elements of type %d", a.element, p.element)
	}
	return a.Append(buf), nil
}

// arrayElements are the types of the arrays that Array makes, and of their elements.
var arrayElements = map[uint32]uint32{
	pgtype.Int4ArrayOID: pgtype.Int4OID, pgtype.Int8ArrayOID: pgtype.Int8OID, pgtype.BoolArrayOID: pgtype.BoolOID,
	pgtype.UUIDArrayOID: pgtype.UUIDOID, pgtype.TextArrayOID: pgtype.TextOID, pgtype.JSONArrayOID: pgtype.JSONOID,
}

func registerArrays(_ context.Context, conn *pgx.Conn) error {
	m := conn.TypeMap()
	for array, element := range arrayElements {
		t, ok := m.TypeForOID(array)
		if !ok {
			return fmt.Errorf("pgx does not know the array type %d", array)
		}
		m.RegisterType(&pgtype.Type{Name: t.Name, OID: array, Codec: arrayCodec{t.Codec, element}})
	}
	return nil
}

// Elements reads the elements of an array in binary format, as pgx.Rows.RawValues returns it: their bytes in turn, nil for null.
// A null array has none.
type Elements struct {
	data []byte
	n    int
}

// ReadArray begins to read an array.
func ReadArray(data []byte) Elements {
	if len(data) < arrayHead { // null, or without a dimension
		return Elements{}
	}
	return Elements{data[arrayHead:], int(binary.BigEndian.Uint32(data[12:]))}
}

// Elements returns the appended elements. They share the array's memory.
func (a *Array) Elements() Elements { return Elements{a.data, a.n} }

// ElementOID returns the type of the elements.
func (a *Array) ElementOID() uint32 { return a.element }

// Len returns the number of elements left.
func (e *Elements) Len() int { return e.n }

// Next returns the next element, which must exist. It shares the array's memory.
func (e *Elements) Next() []byte {
	size := int32(binary.BigEndian.Uint32(e.data))
	e.n--
	if e.data = e.data[4:]; size < 0 {
		return nil
	}
	v := e.data[:size:size]
	e.data = e.data[size:]
	return v
}

// Int4 returns the next element of an array of integers.
func (e *Elements) Int4() int32 { return Int4(e.Next()) }

// Int8 returns the next element of an array of bigints.
func (e *Elements) Int8() int64 { return Int8(e.Next()) }

// Int4 reads an integer in binary format.
func Int4(v []byte) int32 { return int32(binary.BigEndian.Uint32(v)) }

// Int8 reads a bigint in binary format.
func Int8(v []byte) int64 { return int64(binary.BigEndian.Uint64(v)) }
