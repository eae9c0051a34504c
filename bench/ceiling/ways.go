package ceiling

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
)

// statements writes a completion as four statements in a transaction, each of which waits for the one before.
type statements struct{ *stream }

func (w *statements) call(ctx context.Context) error {
	n := w.next
	from, to := w.instance(n), w.instance(n+w.depth)
	shard := bigShort(w.shard)
	if err := w.plain(ctx, "begin"); err != nil {
		return err
	}
	w.param(shard, from[:], big32(element), w.path(n), big64(w.token(n)))
	if err := w.exec(ctx, "complete", 1); err != nil {
		return err
	}
	w.param(shard, from[:], big32(element), big32(w.place(n)), payload)
	if err := w.exec(ctx, "value", 1); err != nil {
		return err
	}
	w.param(shard, from[:], big32(join), big32(width))
	if err := w.exec(ctx, "arrive", 1); err != nil {
		return err
	}
	w.param(shard, to[:], big32(element), w.path(n), big64(w.token(n+w.depth)), payload)
	if err := w.exec(ctx, "enqueue", 1); err != nil {
		return err
	}
	w.next++
	return w.plain(ctx, "commit")
}

// plain runs a statement of the transaction's, which touches nothing.
func (s *stream) plain(ctx context.Context, name string) error {
	s.param()
	return s.exec(ctx, name, 0)
}

// oneCall writes a completion in one statement.
type oneCall struct{ *stream }

func (w *oneCall) call(ctx context.Context) error {
	n := w.next
	from, to := w.instance(n), w.instance(n+w.depth)
	w.param(bigShort(w.shard), from[:], big32(element), w.path(n), big64(w.token(n)), big32(w.place(n)), payload,
		big32(join), big32(width), to[:], big64(w.token(n+w.depth)), payload)
	w.next++
	return w.exact(ctx, "call", 1)
}

// batched writes many completions in one statement.
type batched struct {
	*stream
	ords, instances, paths, tokens, places, values, targets, given, arguments array
}

func (w *batched) call(ctx context.Context) error {
	w.begin()
	for i := range w.size {
		n := w.next + i
		from, to := w.instance(n), w.instance(n+w.depth)
		w.ords.int32(int32(i))
		w.instances.raw(from[:])
		w.paths.raw(w.path(n))
		w.tokens.int64(w.token(n))
		w.places.int32(w.place(n))
		w.values.raw(payload)
		w.targets.raw(to[:])
		w.given.int64(w.token(n + w.depth))
		w.arguments.raw(payload)
	}
	w.next += w.size
	w.param(bigShort(w.shard), w.ords.bytes(), w.instances.bytes(), big32(element), w.paths.bytes(), w.tokens.bytes(), w.places.bytes(),
		w.values.bytes(), big32(join), big32(width), w.targets.bytes(), w.given.bytes(), w.arguments.bytes())
	return w.exact(ctx, "batch", w.size)
}

func (w *batched) begin() {
	w.ords.begin(intType)
	w.instances.begin(uuidType)
	w.paths.begin(textType)
	w.tokens.begin(bigintType)
	w.places.begin(intType)
	w.values.begin(jsonType)
	w.targets.begin(uuidType)
	w.given.begin(bigintType)
	w.arguments.begin(jsonType)
}

// resultKind is the kind of an event that is an action's result.
const resultKind = 0

// appended writes events, many in one insert, fenced by the epoch of the shard.
type appended struct {
	*stream
	instances, nodes, paths, data array
}

// fill does nothing: events are appended to nothing.
func (w *appended) fill(context.Context) error { return nil }
func (w *appended) queued() int64              { return 0 }

func (w *appended) call(ctx context.Context) error {
	w.instances.begin(uuidType)
	w.nodes.begin(intType)
	w.paths.begin(textType)
	w.data.begin(byteaType)
	for i := range w.size {
		n := w.next + i
		id := w.instance(n)
		w.instances.raw(id[:])
		w.nodes.int32(element)
		w.paths.raw(w.path(n))
		w.data.raw(payload)
	}
	w.param(bigShort(w.shard), big64(epoch), big64(w.next), w.instances.bytes(), w.nodes.bytes(), w.paths.bytes(), w.data.bytes())
	w.next += w.size
	return w.exec(ctx, "append", w.size)
}

// copied writes the same events by COPY.
type copied struct {
	*stream
	rows []byte
}

func (w *copied) fill(context.Context) error { return nil }
func (w *copied) queued() int64              { return 0 }

// copyHead begins a COPY in the binary format: its signature, no flags, no extension.
var copyHead = append([]byte("PGCOPY\n\xff\r\n\x00"), 0, 0, 0, 0, 0, 0, 0, 0)

func (w *copied) call(ctx context.Context) error {
	w.rows = append(w.rows[:0], copyHead...)
	for i := range w.size {
		n := w.next + i
		id := w.instance(n)
		w.rows = binary.BigEndian.AppendUint16(w.rows, 8) // columns
		w.field(bigShort(w.shard))
		w.field(bigShort(resultKind))
		w.field(big32(element))
		w.field(big64(n + 1))
		w.field(big64(epoch))
		w.field(id[:])
		w.field(w.path(n))
		w.field(payload)
	}
	w.rows = binary.BigEndian.AppendUint16(w.rows, 0xffff) // the end
	w.next += w.size
	tag, err := w.conn.PgConn().CopyFrom(ctx, bytes.NewReader(w.rows), query("copy"))
	if err != nil {
		return err
	}
	return w.all("copy", tag, w.size)
}

func (w *copied) field(v []byte) {
	w.rows = binary.BigEndian.AppendUint32(w.rows, uint32(len(v)))
	w.rows = append(w.rows, v...)
}

// probe updates one row in a transaction of its own.
type probe struct{ *stream }

func (w *probe) fill(context.Context) error { return nil }
func (w *probe) queued() int64              { return 0 }
func (w *probe) written() int64             { return 0 } // no completions

func (w *probe) call(ctx context.Context) error {
	w.param()
	if err := w.exec(ctx, "touch", 1); err != nil {
		return fmt.Errorf("one row: %w", err)
	}
	return nil
}
