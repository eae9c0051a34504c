package ceiling

import "encoding/binary"

const (
	byteaType  = 17
	bigintType = 20
	intType    = 23
	textType   = 25
	jsonType   = 114
	uuidType   = 2950
)

// The buffer is reused.
type array struct {
	buf []byte
	n   uint32
}

const headerBytes = 20

func (a *array) begin(elements uint32) {
	a.buf, a.n = a.buf[:0], 0
	a.buf = binary.BigEndian.AppendUint32(a.buf, 1) // dimensions
	a.buf = binary.BigEndian.AppendUint32(a.buf, 0) // no nulls
	a.buf = binary.BigEndian.AppendUint32(a.buf, elements)
	a.buf = binary.BigEndian.AppendUint32(a.buf, 0)
	a.buf = binary.BigEndian.AppendUint32(a.buf, 1) // lower bound
}

func (a *array) int64(v int64) {
	a.n++
	a.buf = binary.BigEndian.AppendUint32(a.buf, 8)
	a.buf = binary.BigEndian.AppendUint64(a.buf, uint64(v))
}

func (a *array) int32(v int32) {
	a.n++
	a.buf = binary.BigEndian.AppendUint32(a.buf, 4)
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(v))
}

// raw adds an element whose text is its binary form: text, json, bytea, uuid.
func (a *array) raw(v []byte) {
	a.n++
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(len(v)))
	a.buf = append(a.buf, v...)
}

// bytes returns the parameter, valid until begin is called again. An empty array has one dimension too, which Postgres accepts.
// An array that was never begun is null.
func (a *array) bytes() []byte {
	if len(a.buf) == 0 {
		return nil
	}
	binary.BigEndian.PutUint32(a.buf[12:headerBytes], a.n)
	return a.buf
}
