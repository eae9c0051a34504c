package ceiling

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/google/uuid"
)

// statements writes a completion as sequential statements in a transaction. The end of an instance is one more, the submission
// of the next a separate transaction.
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
	if err := w.bring(ctx, n, from); err != nil {
		return err
	}
	w.param(shard, to[:], big32(element), w.path(n+w.depth), big64(w.token(n+w.depth)), payload)
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

func (w *statements) bring(ctx context.Context, n int64, from uuid.UUID) error {
	shard, brought := bigShort(w.shard), w.writes.of(n)
	for j := brought.values.from; j < brought.values.to; j++ {
		w.param(shard, from[:], big32(element), big32(int32(j)), payload)
		if err := w.exec(ctx, "value", 1); err != nil {
			return err
		}
	}
	for j := brought.elements.from; j < brought.elements.to; j++ {
		w.param(shard, from[:], big32(element), big32(int32(j)), payload)
		if err := w.exec(ctx, "collect", 1); err != nil {
			return err
		}
	}
	for j := brought.raises.from; j < brought.raises.to; j++ {
		counter, required := w.writes.counter(j)
		w.param(shard, from[:], big32(counter), big32(required))
		if err := w.exec(ctx, "arrive", 1); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) plain(ctx context.Context, name string) error {
	s.param()
	return s.exec(ctx, name, 0)
}

// oneCall writes a completion and the end of its instance in one statement; the next submission is a separate call.
type oneCall struct {
	*stream
	brings
}

func (w *oneCall) call(ctx context.Context) error {
	n := w.next
	turn := w.turn()
	if turn > 0 {
		if err := w.bearAll(ctx, turn); err != nil {
			return err
		}
	}
	from, to, over := w.instance(n), w.instance(n+w.depth), w.instanceOf(n)
	w.brings.begin()
	w.brings.add(&w.writes, 0, n, from)
	b := &w.brings
	w.param(bigShort(w.shard), from[:], big32(element), w.path(n), big64(w.token(n)), b.values.places.bytes(), b.values.values.bytes(),
		b.elements.places.bytes(), b.elements.values.bytes(), b.raises.counters.bytes(), b.raises.required.bytes(),
		to[:], w.path(n+w.depth), big64(w.token(n+w.depth)), payload, over[:], payload)
	w.next++
	return w.exact(ctx, "call:"+b.parts(turn), 1)
}

// batched writes many completions, ends and submissions in one statement.
type batched struct {
	*stream
	brings
	ords, instances, paths, tokens, targets, given, arguments, queued array
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
		w.brings.add(&w.writes, int32(i), n, from)
		w.targets.raw(to[:])
		w.queued.raw(w.path(n + w.depth))
		w.given.int64(w.token(n + w.depth))
		w.arguments.raw(payload)
	}
	l, b, turn := &w.modelled, &w.brings, w.turn()
	w.next += w.size
	w.param(bigShort(w.shard), w.ords.bytes(), w.instances.bytes(), big32(element), w.paths.bytes(), w.tokens.bytes(),
		b.values.ords.bytes(), b.values.instances.bytes(), b.values.places.bytes(), b.values.values.bytes(),
		b.elements.ords.bytes(), b.elements.instances.bytes(), b.elements.places.bytes(), b.elements.values.bytes(),
		b.raises.ords.bytes(), b.raises.instances.bytes(), b.raises.counters.bytes(), b.raises.required.bytes(),
		w.targets.bytes(), w.given.bytes(), w.arguments.bytes(), w.queued.bytes(),
		l.ords.bytes(), l.ended.bytes(), l.results.bytes(), l.created.bytes(), l.workflows.bytes(), l.inputs.bytes())
	return w.exact(ctx, "batch:"+b.parts(turn), w.size)
}

func (w *batched) begin() {
	w.brings.begin()
	w.ords.begin(intType)
	w.instances.begin(uuidType)
	w.paths.begin(textType)
	w.tokens.begin(bigintType)
	w.targets.begin(uuidType)
	w.given.begin(bigintType)
	w.queued.begin(textType)
	w.arguments.begin(jsonType)
}

const resultKind = 0

// appended writes events, ends and submissions, many in one insert, fenced by the shard's epoch. Events have a row each or are
// packed.
type appended struct {
	*stream
	packs                         bool
	seq                           int64
	instances, nodes, paths, data array

	firsts, packed array
	pack           []byte
}

func (w *appended) fill(ctx context.Context) error { return w.bearFirst(ctx) }
func (w *appended) tally() tally                   { return unqueued(w.stream) }

func unqueued(s *stream) tally {
	t := s.tally()
	t.queued = 0
	return t
}

func (w *appended) call(ctx context.Context) error {
	rows := "events"
	if w.packs {
		rows = "packs"
		w.encodePacks()
	} else {
		w.encodeEvents()
	}
	turn, l := w.turn(), &w.modelled
	w.param(bigShort(w.shard), big64(epoch), big64(w.seq), w.instances.bytes(), w.nodes.bytes(), w.paths.bytes(), w.data.bytes(),
		l.ended.bytes(), l.results.bytes(), l.tokens.bytes(), l.created.bytes(), l.workflows.bytes(), l.inputs.bytes(),
		w.firsts.bytes(), w.packed.bytes())
	w.next += w.size
	w.seq += w.size - turn
	if turn > 0 {
		return w.exact(ctx, "append:"+rows+",instances", 1)
	}
	written := w.size
	if w.packs {
		written = int64(w.packed.n)
	}
	return w.exec(ctx, "append:"+rows, written)
}

func (w *appended) encodeEvents() {
	w.instances.begin(uuidType)
	w.nodes.begin(intType)
	w.paths.begin(textType)
	w.data.begin(byteaType)
	for i := range w.size {
		n := w.next + i
		if w.modelled.last(n) {
			continue
		}
		id := w.instanceOf(n)
		w.instances.raw(id[:])
		w.nodes.int32(element)
		w.paths.raw(w.path(n))
		w.data.raw(payload)
	}
}

// packMax is the size in bytes of a row of events that fills a page.
const packMax = 8000

// A row of packed events begins with their number.
func (w *appended) encodePacks() {
	w.firsts.begin(bigintType)
	w.packed.begin(byteaType)
	w.pack = append(w.pack[:0], 0, 0)
	count, seq := 0, w.seq
	end := func() {
		if count == 0 {
			return
		}
		binary.BigEndian.PutUint16(w.pack, uint16(count))
		w.firsts.int64(seq + 1)
		w.packed.raw(w.pack)
		w.pack, seq, count = w.pack[:2], seq+int64(count), 0
	}
	for i := range w.size {
		n := w.next + i
		if w.modelled.last(n) {
			continue
		}
		id, path := w.instanceOf(n), w.path(n)
		if len(w.pack)+len(id)+4+2+len(path)+2+len(payload) > packMax {
			end()
		}
		w.pack = append(w.pack, id[:]...)
		w.pack = binary.BigEndian.AppendUint32(w.pack, element)
		w.pack = append(binary.BigEndian.AppendUint16(w.pack, uint16(len(path))), path...)
		w.pack = append(binary.BigEndian.AppendUint16(w.pack, uint16(len(payload))), payload...)
		count++
	}
	end()
}

// copied writes the same rows by COPY, in a transaction that begins with the fence. The ends and submissions of instances are
// two more statements.
type copied struct {
	*stream
	seq  int64
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
	if err := w.plain(ctx, "begin"); err != nil {
		return err
	}
	w.param(bigShort(w.shard), big64(epoch))
	if err := w.exec(ctx, "fence", 1); err != nil {
		return err
	}
	if err := w.copy(ctx, w.size-turn); err != nil {
		return err
	}
	if turn == 0 {
		return w.plain(ctx, "commit")
	}
	if err := w.endAll(ctx, "end_journal", turn); err != nil {
		return err
	}
	if err := w.bearAll(ctx, turn); err != nil {
		return err
	}
	return w.plain(ctx, "commit")
}

func (w *copied) encode() {
	w.rows = append(w.rows[:0], copyHead...)
	for i := range w.size {
		n := w.next + i
		if w.modelled.last(n) {
			continue
		}
		id := w.instanceOf(n)
		w.seq++
		w.rows = binary.BigEndian.AppendUint16(w.rows, 8)
		w.field(bigShort(w.shard))
		w.field(bigShort(resultKind))
		w.field(big32(element))
		w.field(big64(w.seq))
		w.field(big64(epoch))
		w.field(id[:])
		w.field(w.path(n))
		w.field(payload)
	}
	w.rows = binary.BigEndian.AppendUint16(w.rows, 0xffff)
}

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
