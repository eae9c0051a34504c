package ceiling

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
)

// statements writes a completion as four statements in a transaction, each of which waits for the one before. The end of
// an instance is a fifth, the submission of the next a transaction of its own.
type statements struct{ *stream }

func (w *statements) call(ctx context.Context) error {
	n := w.next
	from, to := w.instance(n), w.instance(n+w.depth)
	shard := bigShort(w.shard)
	turn := w.turn()
	if turn > 0 {
		if err := w.bearAll(ctx, turn); err != nil {
			return err
		}
	}
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
	if turn > 0 {
		if err := w.endAll(ctx, "end_push", turn); err != nil {
			return err
		}
	}
	w.next++
	return w.plain(ctx, "commit")
}

// plain runs a statement of the transaction's, which touches nothing.
func (s *stream) plain(ctx context.Context, name string) error {
	s.param()
	return s.exec(ctx, name, 0)
}

// oneCall writes a completion in one statement, with the end of its instance; the submission of the next is a call of
// its own.
type oneCall struct{ *stream }

func (w *oneCall) call(ctx context.Context) error {
	n, name := w.next, "call"
	if turn := w.turn(); turn > 0 {
		if err := w.bearAll(ctx, turn); err != nil {
			return err
		}
		name += withInstances
	}
	from, to, over := w.instance(n), w.instance(n+w.depth), w.instanceOf(n)
	w.param(bigShort(w.shard), from[:], big32(element), w.path(n), big64(w.token(n)), big32(w.place(n)), payload,
		big32(join), big32(width), to[:], big64(w.token(n+w.depth)), payload, over[:], payload)
	w.next++
	return w.exact(ctx, name, 1)
}

// batched writes many completions in one statement, with the ends and submissions of instances.
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
	l, name := &w.lives, "batch"
	if w.turn() > 0 {
		name += withInstances
	}
	w.next += w.size
	w.param(bigShort(w.shard), w.ords.bytes(), w.instances.bytes(), big32(element), w.paths.bytes(), w.tokens.bytes(), w.places.bytes(),
		w.values.bytes(), big32(join), big32(width), w.targets.bytes(), w.given.bytes(), w.arguments.bytes(),
		l.ords.bytes(), l.ended.bytes(), l.results.bytes(), l.born.bytes(), l.workflows.bytes(), l.inputs.bytes())
	return w.exact(ctx, name, w.size)
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

// appended writes events, many in one insert, fenced by the epoch of the shard, with the ends and submissions of
// instances.
type appended struct {
	*stream
	seq                           int64 // the last event's
	instances, nodes, paths, data array
}

// fill submits the first instances: events are appended to nothing.
func (w *appended) fill(ctx context.Context) error { return w.bearFirst(ctx) }
func (w *appended) tally() tally                   { return unqueued(w.stream) }

// unqueued is the tally of a writer that has no queue.
func unqueued(s *stream) tally {
	t := s.tally()
	t.queued = 0
	return t
}

func (w *appended) call(ctx context.Context) error {
	w.instances.begin(uuidType)
	w.nodes.begin(intType)
	w.paths.begin(textType)
	w.data.begin(byteaType)
	for i := range w.size {
		n := w.next + i
		if w.lives.last(n) {
			continue
		}
		id := w.instanceOf(n)
		w.instances.raw(id[:])
		w.nodes.int32(element)
		w.paths.raw(w.path(n))
		w.data.raw(payload)
	}
	turn, l := w.turn(), &w.lives
	w.param(bigShort(w.shard), big64(epoch), big64(w.seq), w.instances.bytes(), w.nodes.bytes(), w.paths.bytes(), w.data.bytes(),
		l.ended.bytes(), l.results.bytes(), l.tokens.bytes(), l.born.bytes(), l.workflows.bytes(), l.inputs.bytes())
	w.next += w.size
	w.seq += w.size - turn
	if turn > 0 {
		return w.exact(ctx, "append"+withInstances, 1)
	}
	return w.exec(ctx, "append", w.size)
}

// copied writes the same rows by COPY, but for the ends and submissions of instances, which are two statements in the
// same transaction.
type copied struct {
	*stream
	seq  int64 // the last event's
	rows []byte
}

func (w *copied) fill(ctx context.Context) error { return w.bearFirst(ctx) }
func (w *copied) tally() tally                   { return unqueued(w.stream) }

// copyHead begins a COPY in the binary format: its signature, no flags, no extension.
var copyHead = append([]byte("PGCOPY\n\xff\r\n\x00"), 0, 0, 0, 0, 0, 0, 0, 0)

func (w *copied) call(ctx context.Context) error {
	turn := w.turn()
	w.encode()
	w.next += w.size
	if turn == 0 {
		return w.copy(ctx, w.size)
	}
	if err := w.plain(ctx, "begin"); err != nil {
		return err
	}
	if err := w.copy(ctx, w.size-turn); err != nil {
		return err
	}
	if err := w.endAll(ctx, "end_journal", turn); err != nil {
		return err
	}
	if err := w.bearAll(ctx, turn); err != nil {
		return err
	}
	return w.plain(ctx, "commit")
}

// encode makes the rows of the next call.
func (w *copied) encode() {
	w.rows = append(w.rows[:0], copyHead...)
	for i := range w.size {
		n := w.next + i
		if w.lives.last(n) {
			continue
		}
		id := w.instanceOf(n)
		w.seq++
		w.rows = binary.BigEndian.AppendUint16(w.rows, 8) // columns
		w.field(bigShort(w.shard))
		w.field(bigShort(resultKind))
		w.field(big32(element))
		w.field(big64(w.seq))
		w.field(big64(epoch))
		w.field(id[:])
		w.field(w.path(n))
		w.field(payload)
	}
	w.rows = binary.BigEndian.AppendUint16(w.rows, 0xffff) // the end
}

// copy sends the rows.
func (w *copied) copy(ctx context.Context, rows int64) error {
	tag, err := w.conn.PgConn().CopyFrom(ctx, bytes.NewReader(w.rows), query("copy"))
	if err != nil {
		return err
	}
	return w.all("copy", tag, rows)
}

func (w *copied) field(v []byte) {
	w.rows = binary.BigEndian.AppendUint32(w.rows, uint32(len(v)))
	w.rows = append(w.rows, v...)
}

// probe updates one row in a transaction of its own.
type probe struct{ *stream }

func (w *probe) fill(context.Context) error { return nil }
func (w *probe) tally() tally               { return tally{} } // no completions

func (w *probe) call(ctx context.Context) error {
	w.param()
	if err := w.exec(ctx, "touch", 1); err != nil {
		return fmt.Errorf("one row: %w", err)
	}
	return nil
}
