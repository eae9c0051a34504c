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
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

// Where the answer to a request does not come, who asked withdraws it, and the request's row says what took place: an
// append that is made for it marks it in its own transaction, and does not take place once it is withdrawn.

const (
	// insistPause is between two tries to withdraw a request, doubled from try to try, for closeTimeout at most.
	insistPause = 5 * time.Millisecond
	// dropMost bounds how many requests whose answers were read wait to be dropped; those beyond it are dropped for
	// their age.
	dropMost = 1000
	// markFailed is what the server says to mark.sql where nothing was to be marked.
	markFailed = "22012"
)

// errWithdrawn is the error of an append for a request that was withdrawn meanwhile: nothing of it took place.
var errWithdrawn = errors.New("who asked has withdrawn the request")

// errCrashed is why nobody can tell any more what became of a request.
var errCrashed = errors.New("the server has crashed, and requests with it")

// letter is a request of another backend while the shard deals with it.
type letter struct {
	id     uuid.UUID
	tokens []int64 // of the completions that the append at hand applies
}

// applies notes what the append of a transaction will have applied.
func (l *letter) applies(t *tx) {
	if l == nil {
		return
	}
	l.tokens = l.tokens[:0]
	for i := range t.events {
		if t.events[i].kind != kindSnapshot {
			l.tokens = append(l.tokens, t.events[i].token)
		}
	}
}

// marked makes a prepared append and marks the request that it is for: both take place, or neither.
func (sh *shardState) marked(ctx context.Context, p Prepared) *pgconn.Result {
	tokens := postgres.Int8s()
	for _, t := range sh.letter.tokens {
		tokens.Int8(t)
	}
	shard := binary.BigEndian.AppendUint16(nil, uint16(sh.number))
	epoch := binary.BigEndian.AppendUint64(nil, uint64(sh.epoch.Load()))
	mark := Prepared{Name: "journal_mark", SQL: markSQL, Params: [][]byte{shard, epoch, sh.letter.id[:], tokens.Append(nil)}}
	results, err := sh.b.store.Pool.Prepared(ctx, p, mark)
	var server *pgconn.PgError
	switch {
	case err == nil && len(results) == 2:
		return results[0]
	case err == nil:
		err = fmt.Errorf("journal: %s and %s gave %d results", p.Name, mark.Name, len(results))
	case errors.As(err, &server) && server.Code == markFailed && len(results) > 0 && len(results[0].Rows) == 1:
		if fenced(results[0].Rows[0]) != nil {
			return results[0]
		}
		err = notSent{errWithdrawn} // and the server has undone it
	}
	return &pgconn.Result{Err: err}
}

// finding is what the row of a withdrawn request says.
type finding struct {
	taken   bool    // it was begun with
	answer  []byte  // nil: there is none
	applied []int64 // the tokens of the completions that took place
	alive   bool    // the server lives on since it was sent: what is not there never came
}

// withdraw takes a request back, and gives the answer if it is there already, or what can be said without it. Where
// nothing took place, the error is the cause. life is the server's when the request was sent, where it may not have come; else empty.
func (b *Backend) withdraw(sh *shardState, id uuid.UUID, req request, life string, cause error) (response, error) {
	sql, args := withdrawSQL, []any{sh.number, [16]byte(id)}
	if life != "" {
		sql, args = callOffSQL, append(args, life)
	}
	var f finding
	err := b.insist(func(ctx context.Context) error {
		return b.store.Pool.QueryRow(ctx, sql, args...).Scan(&f.taken, &f.answer, &f.applied, &f.alive)
	})
	unknown := func(err error) error {
		return fmt.Errorf("%w: a request to the owner of shard %d: %w", backend.ErrUnknown, sh.number, errors.Join(cause, err))
	}
	if err != nil {
		return response{}, unknown(err)
	}
	if f.answer != nil {
		r, err := readResponse(f.answer)
		if err == nil || !backend.IsUnknown(err) {
			return r, err
		}
	}
	switch {
	case req.Op == opComplete && len(f.applied) > 0:
		return b.settled(sh.number, req, f.applied), nil
	case !f.alive:
		b.store.Outlived(life)
		return response{}, unknown(errCrashed)
	case !f.taken, req.Op == opComplete, req.Op == opClaim:
		return response{}, cause
	}
	return response{}, unknown(nil)
}

// insist makes a call that may be repeated until the server has said something to it, for a bounded time.
func (b *Backend) insist(call func(context.Context) error) error {
	ctx, cancel := b.clock.Within(context.Background(), closeTimeout)
	defer cancel()
	for pause := insistPause; ; pause *= 2 {
		err := call(ctx)
		if err == nil || errors.Is(err, pgx.ErrNoRows) || b.life.Err() != nil || !b.rest(ctx, pause) {
			return err
		}
	}
}

// settled answers completions of which some were applied, as the request's row says: what is not known of the others
// is asked again. The instances that they ended are looked up; one that cannot be is found by who waits for it.
func (b *Backend) settled(shard int, req request, applied []int64) response {
	took := make(map[int64]bool, len(applied))
	for _, token := range applied {
		took[token] = true
	}
	r := response{More: true}
	var ids [][16]byte
	var tokens []int64
	for _, c := range req.Completions {
		if !took[c.Lease.Token] {
			r.Outcomes = append(r.Outcomes, wireOutcome{backend.Again, "the answer of the shard's owner was lost"})
			continue
		}
		r.Outcomes = append(r.Outcomes, wireOutcome{Answer: backend.Applied})
		ids, tokens = append(ids, c.Lease.Key.Instance), append(tokens, c.Lease.Token)
	}
	_ = b.insist(func(ctx context.Context) error {
		rows, err := b.store.Pool.Query(ctx, endedBySQL, shard, ids, tokens)
		if err != nil {
			return err
		}
		ended, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err == nil {
			r.Ended, err = b.store.Lookup(ctx, ended)
		}
		return err
	})
	return r
}

// readResponse reads an answer, and gives what it says of an error as one.
func readResponse(data []byte) (r response, err error) {
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%w: the answer of the shard's owner: %w", backend.ErrUnknown, err)
	}
	switch {
	case r.Foreign:
		return r, errForeign
	case r.Error != "" && r.Unknown:
		return r, fmt.Errorf("%w: %s", backend.ErrUnknown, r.Error)
	case r.Error != "":
		return r, errors.New(r.Error)
	}
	return r, nil
}

// dropLater has the next request drop one whose answer was read.
func (sh *shardState) dropLater(id uuid.UUID) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if len(sh.answered) < dropMost {
		sh.answered = append(sh.answered, id)
	}
}

// toDrop gives the requests to drop, each once.
func (sh *shardState) toDrop() [][16]byte {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	ids := make([][16]byte, len(sh.answered))
	for i, id := range sh.answered {
		ids[i] = id
	}
	sh.answered = sh.answered[:0]
	return ids
}
