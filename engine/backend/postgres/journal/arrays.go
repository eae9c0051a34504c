package journal

import (
	"encoding/binary"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// Parameters go to the server as binary arrays that are written here: a row of an append has eight columns, and
// what a general encoder costs for each of their values is more than all the rest of a completion.

// array is a one-dimensional array in Postgres' binary form, written value by value.
type array struct {
	data []byte
	n    uint32
	null bool
}

// header is its length: dimensions, whether there are nulls, the type, the length, the lower bound.
const header = 20

func (a *array) begin(oid uint32) {
	a.data = append(a.data[:0], 0, 0, 0, 1, 0, 0, 0, 0)
	a.data = binary.BigEndian.AppendUint32(a.data, oid)
	a.data = append(a.data, 0, 0, 0, 0, 0, 0, 0, 1)
	a.n, a.null = 0, false
}

// finish gives the whole array.
func (a *array) finish() []byte {
	if a.n == 0 { // no dimension
		a.data = append(a.data[:0], 0, 0, 0, 0, 0, 0, 0, 0, a.data[8], a.data[9], a.data[10], a.data[11])
		return a.data
	}
	if a.null {
		a.data[7] = 1
	}
	binary.BigEndian.PutUint32(a.data[12:], a.n)
	return a.data
}

func (a *array) int16(v int16) {
	a.n++
	a.data = binary.BigEndian.AppendUint16(append(a.data, 0, 0, 0, 2), uint16(v))
}

func (a *array) int32(v int32) {
	a.n++
	a.data = binary.BigEndian.AppendUint32(append(a.data, 0, 0, 0, 4), uint32(v))
}

func (a *array) int64(v int64) {
	a.n++
	a.data = binary.BigEndian.AppendUint64(append(a.data, 0, 0, 0, 8), uint64(v))
}

func (a *array) bool(v bool) {
	a.n++
	b := byte(0)
	if v {
		b = 1
	}
	a.data = append(a.data, 0, 0, 0, 1, b)
}

func (a *array) uuid(v uuid.UUID) {
	a.n++
	a.data = append(append(a.data, 0, 0, 0, 16), v[:]...)
}

func (a *array) text(v string) {
	a.n++
	a.data = append(binary.BigEndian.AppendUint32(a.data, uint32(len(v))), v...)
}

// bytes appends bytes, or what is JSON or text; nil is a null.
func (a *array) bytes(v []byte) {
	a.n++
	if v == nil {
		a.null = true
		a.data = append(a.data, 0xff, 0xff, 0xff, 0xff)
		return
	}
	a.data = append(binary.BigEndian.AppendUint32(a.data, uint32(len(v))), v...)
}

// buffers are the arrays of a shard's statements, used again for each.
type buffers struct {
	seq, instance, kind, node, path, token, timed, data array
	ended, status, result, failure, by, workflow, input array
	snapped, snapshot                                   array
}

func (b *buffers) events() {
	b.seq.begin(pgtype.Int8OID)
	b.instance.begin(pgtype.UUIDOID)
	b.kind.begin(pgtype.Int2OID)
	b.node.begin(pgtype.Int4OID)
	b.path.begin(pgtype.TextOID)
	b.token.begin(pgtype.Int8OID)
	b.timed.begin(pgtype.BoolOID)
	b.data.begin(pgtype.ByteaOID)
	b.snapped.begin(pgtype.UUIDOID)
	b.snapshot.begin(pgtype.Int8OID)
}

func (b *buffers) ends() {
	b.ended.begin(pgtype.UUIDOID)
	b.status.begin(pgtype.TextOID)
	b.result.begin(pgtype.JSONOID)
	b.failure.begin(pgtype.JSONOID)
	b.by.begin(pgtype.Int8OID)
}

func (b *buffers) births() {
	b.ends()
	b.workflow.begin(pgtype.Int4OID)
	b.input.begin(pgtype.JSONOID)
}

// appendInt and readInt are how a number stands in an event's data.
func appendInt(dst []byte, v int64) []byte { return binary.AppendVarint(dst, v) }

func readInt(data []byte) (int64, bool) {
	v, n := binary.Varint(data)
	return v, n > 0
}
