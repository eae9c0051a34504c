package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
	"pulley/internal/journalstore"
	"pulley/internal/pgstore"
)

const (
	// resolveTimeout bounds a resolution after the caller's context has ended.
	resolveTimeout = 10 * time.Second
	// resolveTries bounds its tries, resolvePause apart. A store that does not answer by then is down.
	resolveTries = 3
	resolvePause = 20 * time.Millisecond
)

const appendTries = 3

// errLost means that another engine owns the shard: nothing was applied.
var errLost = errors.New("the shard has another owner")

// errOwnerChanged means that another engine has owned the shard since the append, whose traces may have been removed.
var errOwnerChanged = errors.New("another has owned the shard since, and has dropped what would tell")

type appended struct {
	created map[uuid.UUID]bool // new instances of a submission; nil: all
	lost    bool               // applied, but another engine has taken the shard since
}

// append makes a transaction durable. On an error nothing of it is applied, in the store or in memory. The exception is
// backend.ErrUnknown: then the shard has been suspended.
func (sh *shardState) append(ctx context.Context, t *tx) (appended, error) {
	for try := 1; ; try++ {
		out, err := sh.send(ctx, t)
		switch {
		case err == nil:
			return out, nil
		case errors.Is(err, errLost):
			t.rollback(savepoint{})
			sh.suspend() // the later epoch may come from an abandoned call of this backend
			return out, err
		case journalstore.IsNotSent(err), !pgstore.Unconfirmed(err):
			t.rollback(savepoint{})
			return out, err
		}
		happened, out, resolveErr := sh.resolveAppend(ctx, t)
		switch {
		case resolveErr != nil && errors.Is(resolveErr, errLost):
			sh.forget()
			return out, resolveErr
		case errors.Is(resolveErr, errOwnerChanged):
			sh.forget()
			return out, fmt.Errorf("%w: %w (%w)", backend.ErrUnknown, err, resolveErr)
		case resolveErr != nil:
			t.rollback(savepoint{})
			sh.suspend()
			return out, fmt.Errorf("%w: %w (%w)", backend.ErrUnknown, err, resolveErr)
		case happened:
			return out, nil
		case try == appendTries || ctx.Err() != nil:
			t.rollback(savepoint{})
			return out, fmt.Errorf("appending to shard %d, which was not stored: %w", sh.number, err)
		}
	}
}

// send first inserts new instances as if none existed; only if one does, a second statement skips the existing ones.
func (sh *shardState) send(ctx context.Context, t *tx) (appended, error) {
	p, err := sh.buf.write(t, sh.seq)
	if err != nil {
		return appended{}, journalstore.NotSent(err)
	}
	row, err := sh.exec(ctx, t, sh.buf.kinds, p)
	if isDuplicate(err) && len(t.created) > 0 {
		sh.buf.kinds |= skipExisting
		row, err = sh.exec(ctx, t, sh.buf.kinds, p)
	}
	if err != nil {
		return appended{}, err
	}
	if err := fenced(row); err != nil || sh.buf.kinds&skipExisting == 0 {
		return appended{}, err
	}
	created, err := readUUIDs(row[1])
	if err != nil || len(created) == len(t.created) {
		return appended{}, err
	}
	return appended{created: created}, nil
}

func isDuplicate(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == "23505"
}

func fenced(row [][]byte) error {
	if len(row) < 1 || len(row[0]) != 4 {
		return fmt.Errorf("journal: the answer of an append has %d columns", len(row))
	}
	if pgstore.Int4(row[0]) == 0 {
		return errLost
	}
	return nil
}

func readUUIDs(data []byte) (map[uuid.UUID]bool, error) {
	out := map[uuid.UUID]bool{}
	for e := pgstore.ReadArray(data); e.Len() > 0; {
		id, err := uuid.FromBytes(e.Next())
		if err != nil {
			return nil, fmt.Errorf("journal: the answer of an append: %w", err)
		}
		out[id] = true
	}
	return out, nil
}

var binaryFormat = []int16{pgx.BinaryFormatCode}

// exec executes a prepared append, which returns one row, in one round trip. args are the arguments of all kinds. The row is
// valid until the next call.
func (sh *shardState) exec(ctx context.Context, t *tx, k kinds, args [][]byte) ([][]byte, error) {
	s := statements[k]()
	sh.params = sh.params[:0]
	for _, i := range s.parameters {
		sh.params = append(sh.params, args[i])
	}
	p := journalstore.Prepared{Name: s.name, SQL: s.sql, Params: sh.params, Appending: t}
	var result *pgconn.Result
	if sh.inFlight != nil {
		result = sh.appendMarked(ctx, p)
	} else {
		results, err := sh.b.store.Pool.Prepared(ctx, p)
		if err != nil {
			return nil, err
		}
		result = results[0]
	}
	if result.Err != nil {
		return nil, result.Err
	}
	if len(result.Rows) != 1 {
		return nil, fmt.Errorf("journal: %s gave %d rows", s.name, len(result.Rows))
	}
	return result.Rows[0], nil
}

// resolveAppend finds out whether a transaction whose answer was lost was applied.
func (sh *shardState) resolveAppend(ctx context.Context, t *tx) (happened bool, out appended, err error) {
	ctx, cancel := sh.b.clock.Within(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	for try := 1; ; try++ {
		if happened, out, err = sh.readOutcome(ctx, t); err == nil || errors.Is(err, errLost) || errors.Is(err, errOwnerChanged) {
			return happened, out, err
		}
		if try == resolveTries || !sh.b.pause(ctx, resolvePause) {
			return false, out, err
		}
	}
}

// readOutcome takes a new epoch, so that a transaction still under way can no longer be applied, and reads what it would have
// left. Another engine may have had the shard since, or may take it before the read, which reports that.
func (sh *shardState) readOutcome(ctx context.Context, t *tx) (happened bool, out appended, err error) {
	sent, span := sh.b.now(), sh.b.span.Load()
	epoch, mine, err := sh.acquire(ctx, span, sh.epoch.Load())
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, out, err
	}
	lost := !mine // memory may be outdated, even if the shard is free again
	w := t.witness()
	rows, err := sh.b.store.Pool.Query(ctx, resolveSQL, sh.number, w.seq, sh.epoch.Load(), w.ids, epoch)
	if err != nil {
		return false, out, err
	}
	defer rows.Close()
	out.created = map[uuid.UUID]bool{}
	stored := 0
	for rows.Next() {
		var still, there bool
		var id *uuid.UUID
		var status *string
		var by int64
		var pending *bool
		if err := rows.Scan(&still, &there, &id, &status, &by, &pending); err != nil {
			return false, out, err
		}
		lost = lost || !still
		if id != nil && w.created[*id] {
			stored++
		}
		wrote := id != nil && w.wrote(*id, backend.Status(*status), by, *pending)
		if wrote {
			out.created[*id] = true
		}
		happened = happened || w.seq != 0 && there || w.seq == 0 && wrote
	}
	if err := rows.Err(); err != nil {
		return false, out, err
	}
	if lost && w.seq == 0 && stored < len(w.created) {
		happened = false // a transaction stores all or none: another engine stored what is there
	}
	if lost && !happened {
		if err := sh.another(ctx, t); err != nil {
			return false, out, err
		}
		happened = true
	}
	switch {
	case lost:
		out.lost = true
		sh.forget()
	default:
		raise(&sh.until, sent+span)
		sh.epoch.Store(epoch)
		sh.tokens = epoch << tokenBits
	}
	if len(t.created) == 0 {
		out.created = nil
	}
	return happened, out, nil
}

// another looks for other traces of a transaction than its witness, in a shard that another engine owns now. It returns nil if
// there is one, errLost if the transaction was not applied, and errOwnerChanged if nobody can tell. An event is removed only once
// its instance has ended or has a later snapshot: an event that is missing without either was never appended.
func (sh *shardState) another(ctx context.Context, t *tx) error {
	var ids [][16]byte
	var seqs []int64
	seq := sh.seq
	for _, e := range t.events {
		if !e.inst.Detached {
			ids, seqs = append(ids, e.inst.ID), append(seqs, seq)
			seq++
		}
	}
	if len(seqs) == 0 {
		return errLost // ended and new instances stay: the witness is proof
	}
	var there, proved bool
	if err := sh.b.store.Pool.QueryRow(ctx, absentSQL, sh.number, ids, seqs, sh.epoch.Load()).Scan(&there, &proved); err != nil {
		return err
	}
	switch {
	case there:
		return nil
	case proved:
		return errLost
	}
	return errOwnerChanged
}

// witness identifies a transaction in the store by its last event, or, if it has none, by the instances that it ended or stored.
// Stored instances are read in any case, since some may have existed before.
type witness struct {
	seq     int64 // of the last event; zero: none
	ids     [][16]byte
	tokens  map[uuid.UUID]int64 // the token with which each instance ended
	created map[uuid.UUID]bool
}

func (t *tx) witness() witness {
	w := witness{tokens: map[uuid.UUID]int64{}, created: map[uuid.UUID]bool{}}
	seq := t.sh.seq
	for _, e := range t.events {
		if !e.inst.Detached {
			w.seq = seq
			seq++
		}
	}
	for _, e := range t.created {
		w.add(e)
		w.created[e.public.ID] = true
	}
	for _, e := range t.ends {
		if w.seq == 0 {
			w.add(e)
		}
	}
	return w
}

func (w *witness) add(e ending) {
	w.ids = append(w.ids, e.public.ID)
	w.tokens[e.public.ID] = e.token
}

// wrote reports whether an instance is as the transaction would have left it.
func (w *witness) wrote(id uuid.UUID, status backend.Status, by int64, pending bool) bool {
	if w.created[id] && status == backend.Running {
		return !pending // another engine's would be pending, or known here
	}
	return status != backend.Running && by != 0 && by == w.tokens[id]
}
