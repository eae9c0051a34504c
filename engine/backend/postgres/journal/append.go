package journal

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

const (
	// settleTimeout bounds finding out what became of an append, when the caller's context has ended.
	settleTimeout = 10 * time.Second
	// settleTries bounds how often it is tried, and settlePause is between two tries. A store that cannot be asked
	// by then is down: the shard is loaded anew when it is back.
	settleTries = 3
	settlePause = 20 * time.Millisecond
)

// appendTries bounds how often one call appends again after unknown outcomes.
const appendTries = 3

// errLost is the error of an append to a shard that is another's by now: nothing of it took place.
var errLost = errors.New("the shard has another owner")

// appended is what the store said to an append.
type appended struct {
	born map[uuid.UUID]bool // of a submission: those that were new; nil: all
	lost bool               // it took place, but the shard is another's since
}

// append makes a transaction durable. After an error nothing of it took place, in the store or in memory, unless
// the error is backend.ErrUnknown; then the shard has been suspended.
func (sh *shardState) append(ctx context.Context, t *tx) (appended, error) {
	for try := 1; ; try++ {
		out, err := sh.send(ctx, t)
		switch {
		case err == nil:
			return out, nil
		case errors.Is(err, errLost):
			sh.forget()
			return out, err
		case isNotSent(err), !postgres.Unconfirmed(err):
			t.rollback(savepoint{})
			return out, err
		}
		happened, out, settled := sh.settle(ctx, t)
		switch {
		case settled != nil && errors.Is(settled, errLost):
			sh.forget()
			return out, settled
		case settled != nil:
			t.rollback(savepoint{})
			sh.suspend()
			return out, fmt.Errorf("%w: %w (%w)", backend.ErrUnknown, err, settled)
		case happened:
			return out, nil
		case try == appendTries || ctx.Err() != nil:
			t.rollback(savepoint{})
			return out, fmt.Errorf("appending to shard %d, which did not take place: %w", sh.number, err)
		}
	}
}

// send makes the statement.
func (sh *shardState) send(ctx context.Context, t *tx) (appended, error) {
	if len(t.births) > 0 {
		return sh.sendBirths(ctx, t)
	}
	seq := sh.seq
	b := &sh.buf
	b.events()
	snapshots := 0
	for i := range t.events {
		e := &t.events[i]
		if e.inst.gone {
			continue // its end says all
		}
		b.seq.int64(seq)
		b.instance.uuid(e.inst.id)
		b.kind.int16(e.kind)
		b.node.int32(int32(e.key.Node))
		b.path.text(string(e.key.Path))
		b.token.int64(e.token)
		b.timed.bool(e.timed)
		b.data.bytes(e.data)
		if e.kind == kindSnapshot {
			b.snapped.uuid(e.inst.id)
			b.snapshot.int64(seq)
			snapshots++
		}
		seq++
	}
	params := append(sh.params[:0], sh.head()...)
	if b.seq.n > 0 || len(t.ends) == 0 {
		params = append(params, b.seq.finish(), b.instance.finish(), b.kind.finish(), b.node.finish(), b.path.finish(),
			b.token.finish(), b.timed.finish(), b.data.finish())
	}
	if snapshots > 0 || len(t.ends) > 0 {
		b.ends()
		for i := range t.ends {
			if err := b.end(&t.ends[i]); err != nil {
				return appended{}, err
			}
		}
		params = append(params, b.ended.finish(), b.status.finish(), b.result.finish(), b.failure.finish(), b.by.finish())
	}
	if snapshots > 0 {
		params = append(params, b.snapped.finish(), b.snapshot.finish())
	}
	name, sql := statement(int(b.seq.n), len(t.ends), snapshots)
	sh.params = params
	row, err := sh.exec(ctx, name, sql, params)
	if err != nil {
		return appended{}, err
	}
	return appended{}, fenced(row)
}

// statement chooses the append that has no part but those that are needed: each costs a small one as much as what
// it writes.
func statement(events, ends, snapshots int) (name, sql string) {
	switch {
	case snapshots > 0:
		return "journal_append", appendSQL
	case ends == 0:
		return "journal_append_only", appendOnlySQL
	case events == 0:
		return "journal_end_only", endOnlySQL
	}
	return "journal_append_ends", appendEndsSQL
}

// head gives $1 and $2 of every append.
func (sh *shardState) head() [][]byte {
	binary.BigEndian.PutUint16(sh.headBuf[:2], uint16(sh.number))
	binary.BigEndian.PutUint64(sh.headBuf[2:], uint64(sh.epoch.Load()))
	return [][]byte{sh.headBuf[:2], sh.headBuf[2:]}
}

// fenced says whether the shard was not owned in the epoch any more.
func fenced(row [][]byte) error {
	if len(row) < 2 || len(row[0]) != 4 {
		return fmt.Errorf("journal: the answer of an append has %d columns", len(row))
	}
	if binary.BigEndian.Uint32(row[0]) == 0 {
		return errLost
	}
	return nil
}

// end writes the end of an instance.
func (b *buffers) end(e *ending) error {
	b.ended.uuid(e.public.ID)
	b.status.text(string(e.public.Status))
	b.result.bytes(e.public.Result)
	b.by.int64(e.token)
	if e.public.Failure == nil {
		b.failure.bytes(nil)
		return nil
	}
	failure, err := json.Marshal(e.public.Failure)
	if err != nil {
		return fmt.Errorf("instance %s: its failure: %w", e.public.ID, err)
	}
	b.failure.bytes(failure)
	return nil
}

// sendBirths stores new instances.
func (sh *shardState) sendBirths(ctx context.Context, t *tx) (appended, error) {
	b := &sh.buf
	b.births()
	for i := range t.births {
		e := &t.births[i]
		if err := b.end(e); err != nil {
			return appended{}, err
		}
		b.workflow.int32(e.inst.workflow)
		b.input.bytes(e.input)
	}
	params := append(sh.head(), b.ended.finish(), b.workflow.finish(), b.input.finish(), b.status.finish(),
		b.result.finish(), b.failure.finish(), b.by.finish())
	row, err := sh.exec(ctx, "journal_submit", submitSQL, params)
	if err != nil {
		return appended{}, err
	}
	if err := fenced(row); err != nil {
		return appended{}, err
	}
	born, err := readUUIDs(row[1])
	if err != nil || len(born) == len(t.births) {
		return appended{}, err
	}
	return appended{born: born}, nil
}

// readUUIDs reads a binary array of ids.
func readUUIDs(data []byte) (map[uuid.UUID]bool, error) {
	out := map[uuid.UUID]bool{}
	if len(data) < header {
		return out, nil // without a dimension: empty
	}
	for data = data[header:]; len(data) >= 20; data = data[20:] {
		out[uuid.UUID(data[4:20])] = true
	}
	if len(data) != 0 {
		return nil, fmt.Errorf("journal: %d bytes behind a list of ids", len(data))
	}
	return out, nil
}

// binaryFormat says that all parameters, and all results, are binary.
var binaryFormat = []int16{pgx.BinaryFormatCode}

// exec makes a prepared statement that answers with one row, in one round trip. The row is the caller's until
// the next call.
func (sh *shardState) exec(ctx context.Context, name, sql string, params [][]byte) ([][]byte, error) {
	var row [][]byte
	err := sh.conn(ctx, func(conn *pgxpool.Conn) error {
		if _, err := conn.Conn().Prepare(ctx, name, sql); err != nil {
			return notSent{err}
		}
		result := conn.Conn().PgConn().ExecPrepared(ctx, name, params, binaryFormat, binaryFormat).Read()
		if result.Err != nil {
			return result.Err
		}
		if len(result.Rows) != 1 {
			return fmt.Errorf("journal: %s gave %d rows", name, len(result.Rows))
		}
		row = result.Rows[0]
		return nil
	})
	return row, err
}

// conn lends a connection.
func (sh *shardState) conn(ctx context.Context, use func(*pgxpool.Conn) error) error {
	conn, err := sh.b.store.Pool.Acquire(ctx)
	if err != nil {
		return notSent{err}
	}
	defer conn.Release()
	return use(conn)
}

// notSent is an error before anything was sent: nothing took place, whatever it was.
type notSent struct{ err error }

func (e notSent) Error() string { return e.err.Error() }
func (e notSent) Unwrap() error { return e.err }

func isNotSent(err error) bool {
	var n notSent
	return errors.As(err, &n)
}

// settle finds out what became of a transaction whose answer was lost. It takes a new epoch first, so that what
// may still be under way can no longer take place, and then looks.
func (sh *shardState) settle(ctx context.Context, t *tx) (happened bool, out appended, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	for try := 1; ; try++ {
		if happened, out, err = sh.look(ctx, t); err == nil || errors.Is(err, errLost) {
			return happened, out, err
		}
		if try == settleTries || !rest(ctx, settlePause) {
			return false, out, err
		}
	}
}

// look takes a new epoch and reads what a transaction would have left.
func (sh *shardState) look(ctx context.Context, t *tx) (happened bool, out appended, err error) {
	sent := sh.b.now()
	epoch, err := sh.acquire(ctx)
	lost := errors.Is(err, pgx.ErrNoRows)
	if err != nil && !lost {
		return false, out, err
	}
	w := t.witness()
	rows, err := sh.b.store.Pool.Query(ctx, settleSQL, sh.number, w.seq, w.token, w.ids)
	if err != nil {
		return false, out, err
	}
	defer rows.Close()
	out.born = map[uuid.UUID]bool{}
	for rows.Next() {
		var there bool
		var id *uuid.UUID
		var status *string
		var by int64
		var pending *bool
		if err := rows.Scan(&there, &id, &status, &by, &pending); err != nil {
			return false, out, err
		}
		if w.token != 0 {
			happened = happened || there
		} else if id != nil && w.wrote(*id, backend.Status(*status), by, *pending) {
			happened = true
			out.born[*id] = true
		}
	}
	if err := rows.Err(); err != nil {
		return false, out, err
	}
	switch {
	case lost && !happened:
		return false, out, errLost
	case lost:
		out.lost = true
		sh.forget()
	default:
		sh.until.Store(sent + int64(sh.b.lease))
		sh.epoch.Store(epoch)
		sh.tokens = epoch << tokenBits
	}
	if len(t.births) == 0 {
		out.born = nil
	}
	return happened, out, nil
}

// witness is that by which a transaction is found again: its last event, or, where it has none, the instances
// that it ended or stored.
type witness struct {
	seq, token int64
	ids        [][16]byte
	tokens     map[uuid.UUID]int64
	births     bool
}

func (t *tx) witness() witness {
	w := witness{births: len(t.births) > 0}
	seq := t.sh.seq
	for _, e := range t.events {
		if !e.inst.gone {
			w.seq, w.token = seq, e.token
			seq++
		}
	}
	if w.token != 0 {
		return w
	}
	w.tokens = map[uuid.UUID]int64{}
	for _, list := range [][]ending{t.ends, t.births} {
		for _, e := range list {
			w.ids = append(w.ids, e.public.ID)
			w.tokens[e.public.ID] = e.token
		}
	}
	return w
}

// wrote says whether an instance stands as the transaction would have left it.
func (w *witness) wrote(id uuid.UUID, status backend.Status, by int64, pending bool) bool {
	if w.births && status == backend.Running {
		return !pending // another's would be, or it would have been known here
	}
	return status != backend.Running && by != 0 && by == w.tokens[id]
}
