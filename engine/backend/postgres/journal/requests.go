package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal/internal/forward"
	"pulley/engine/backend/postgres/journal/internal/ownership"
	"pulley/engine/plan"
	"pulley/internal/journalstore"
	"pulley/internal/pgstore"
)

// markMissingCode is the error code of mark_request.sql if it marks nothing.
const markMissingCode = "22012"

// errWithdrawn is the error of an append whose request was withdrawn: nothing of it was applied.
var errWithdrawn = errors.New("the engine that asked has withdrawn the request")

// forward sends a request to the owner of a shard and waits for the answer. errForeign means that no other engine owns the shard,
// or no longer, and that nothing was applied. s is the view of the shard, or nil to read it.
func (b *Backend) forward(ctx context.Context, shard int, req forward.Request, s *ownership.ShardView) (r forward.Response, err error) {
	err = b.toOwner(ctx, shard, s, func(was string, owner forward.Owner) (err error) {
		r, err = b.desk.Forward(ctx, shard, req, was, owner)
		return err
	})
	return r, err
}

func (b *Backend) forwardCommitted(ctx context.Context, shard int, req forward.Request, s *ownership.ShardView, out *backend.Committed) error {
	return b.toOwner(ctx, shard, s, func(was string, owner forward.Owner) error {
		got, err := b.desk.ForwardCommitted(ctx, shard, req, was, owner)
		if err == nil {
			*out = got
		}
		return err
	})
}

func (b *Backend) toOwner(ctx context.Context, shard int, s *ownership.ShardView, ask func(was string, owner forward.Owner) error) error {
	sh := b.shards[shard]
	s, err := sh.unlessSeen(ctx, s)
	if err != nil {
		return err
	}
	if b.owners.Free(*s) {
		return errForeign
	}
	return ask(s.Owner, func(ctx context.Context) (string, bool, error) {
		now, err := sh.ownership(ctx)
		return now.Owner, now.Remaining > 0, err
	})
}

func (b *Backend) answerShardRequests(ctx context.Context, sh *shardState) {
	messages, err := b.desk.FetchRequests(ctx, sh.number)
	b.store.Problem(ctx, "taking requests of other engines", err)
	for _, m := range messages {
		b.reply(ctx, sh, m, b.answer(ctx, sh, m))
	}
}

// reply sends an answer. If nobody waits for it any more, nobody got the leased tasks: they are ready again at once.
func (b *Backend) reply(ctx context.Context, sh *shardState, m forward.Message, r forward.Response) {
	waited, err := b.desk.Reply(ctx, sh.number, m, r)
	b.store.Problem(ctx, "answering another engine", err)
	if err != nil || waited || len(r.Tasks) == 0 {
		return
	}
	leases := make([]backend.Lease, len(r.Tasks))
	for i, t := range r.Tasks {
		leases[i] = t.Lease
	}
	err = b.locally(ctx, sh.number, acquireNever, func(sh *shardState) error {
		return sh.returnLeases(ctx, leases, 0, make([]bool, len(leases)))
	})
	if !errors.Is(err, errForeign) { // a later owner got the leases with the shard, and ends them when their time is over
		b.store.Problem(ctx, "taking back what nobody waited for", err)
	}
	b.wakeAll()
}

func (b *Backend) answer(ctx context.Context, sh *shardState, m forward.Message) forward.Response {
	req, err := m.Request()
	if err != nil {
		return forward.Response{Error: err.Error()}
	}
	var r forward.Response
	err = b.locally(ctx, sh.number, acquireNever, func(sh *shardState) error {
		if req.Op == forward.Complete {
			sh.inFlight = &inFlightRequest{id: m.ID}
			defer func() { sh.inFlight = nil }()
		}
		return b.act(ctx, sh, req, &r)
	})
	switch {
	case errors.Is(err, errForeign):
		return forward.Response{Foreign: true}
	case err != nil:
		return forward.Response{Error: postgres.Explain(err).Error(), Unknown: backend.IsUnknown(err)}
	}
	return r
}

func (b *Backend) act(ctx context.Context, sh *shardState, req forward.Request, r *forward.Response) error {
	var out backend.Committed
	var err error
	switch req.Op {
	case forward.Claim:
		err = sh.claimTo(ctx, req.Grant, &out)
	case forward.Complete:
		if b.wakeAll() {
			req.Grant.Max = 0 // the engine here claims what follows sooner
			defer b.wakeAll()
		}
		var completions []backend.Completion
		if completions, err = b.desk.Receive(ctx, req.Completions); err == nil {
			err = sh.complete(ctx, completions, req.Grant, &out)
		}
	case forward.Renew:
		r.Held = make([]bool, len(req.Leases))
		err = sh.renewLeases(ctx, req.Leases, req.Grant, r.Held)
	case forward.MakeDue:
		r.Held = make([]bool, len(req.Keys))
		sh.makeDue(req.Keys, r.Held)
		b.wakeAll()
	case forward.Sweep:
		r.Swept, err = sh.sweep(ctx)
	case forward.Cancel:
		err = sh.cancel(ctx, req.IDs, &plan.Failure{Type: backend.CanceledType, Message: req.Reason})
	case forward.Inspect:
		r.Inspected = sh.inspectAll(req.IDs, req.Most)
	default:
		err = fmt.Errorf("journal: no such call: %q", req.Op)
	}
	if err != nil {
		return err
	}
	return b.desk.Fill(ctx, r, out)
}

// inFlightRequest is a request forwarded by another engine while this shard executes it.
type inFlightRequest struct {
	id     uuid.UUID
	tokens []int64 // of the completions that the current append applies
}

func (l *inFlightRequest) noteApplied(t *tx) {
	if l == nil {
		return
	}
	l.tokens = l.tokens[:0]
	for i := range t.events {
		if k := t.events[i].kind; k != journalstore.KindSnapshot && k != journalstore.KindDelivery {
			l.tokens = append(l.tokens, t.events[i].token)
		}
	}
}

func (sh *shardState) appendMarked(ctx context.Context, p journalstore.Prepared) *pgconn.Result {
	tokens := pgstore.Int8s()
	for _, t := range sh.inFlight.tokens {
		tokens.Int8(t)
	}
	shard := binary.BigEndian.AppendUint16(nil, uint16(sh.number))
	epoch := binary.BigEndian.AppendUint64(nil, uint64(sh.epoch.Load()))
	mark := journalstore.Prepared{Name: "journal_mark", SQL: markRequestSQL, Params: [][]byte{shard, epoch, sh.inFlight.id[:], tokens.Append(nil)}}
	results, err := sh.b.store.Pool.Prepared(ctx, p, mark)
	var server *pgconn.PgError
	switch {
	case err == nil && len(results) == 2:
		return results[0]
	case err == nil:
		err = fmt.Errorf("journal: %s and %s gave %d results", p.Name, mark.Name, len(results))
	case errors.As(err, &server) && server.Code == markMissingCode && len(results) > 0 && len(results[0].Rows) == 1:
		if fenced(results[0].Rows[0]) != nil {
			return results[0]
		}
		err = journalstore.NotSent(errWithdrawn) // and the server has rolled it back
	}
	return &pgconn.Result{Err: err}
}
