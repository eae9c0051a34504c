package forward

import (
	"context"
	_ "embed" // of the statements
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/internal/pgstore"
)

var (
	//go:embed sql/insert_request.sql
	insertRequestSQL string
	//go:embed sql/fetch_answer.sql
	fetchAnswerSQL string
	//go:embed sql/withdraw.sql
	withdrawSQL string
	//go:embed sql/cancel_request.sql
	cancelRequestSQL string
	//go:embed sql/ended_by.sql
	endedBySQL string
)

const (
	// pollPauseMin is the first pause before an engine polls for an answer, since a notification can be lost. It doubles with
	// each poll, up to pollPauseMax.
	pollPauseMin = 10 * time.Millisecond
	pollPauseMax = 80 * time.Millisecond
	// ownerCheckPause is how often a waiting engine checks whether the owner is alive.
	ownerCheckPause = 100 * time.Millisecond

	// insistMax bounds the retries of a repeatable call that the server does not answer.
	insistMax    = 5 * time.Second
	insistRemedy = "check the network, and the server's log"
	// dropMax bounds how many read answers of a shard are queued for deletion; those beyond it are deleted by age.
	dropMax = 1000
)

var errCrashed = errors.New("the server has crashed, and requests with it")

// Owner reads who owns a shard, and whether its lease still runs.
type Owner func(ctx context.Context) (name string, alive bool, err error)

// ForwardCommitted forwards a claim or a completion; see Forward.
func (d *Forwarder) ForwardCommitted(ctx context.Context, shard int, req Request, was string, owner Owner) (backend.Committed, error) {
	sent := d.Clock.Now()
	r, err := d.Forward(ctx, shard, req, was, owner)
	if err != nil {
		return backend.Committed{}, err
	}
	out := backend.Committed{Ended: r.Ended, More: r.More}
	if r.DueAfter > 0 {
		out.NextDue = d.Clock.Now().Add(r.DueAfter)
	}
	for _, o := range r.Outcomes {
		outcome := backend.Outcome{Answer: o.Answer}
		if o.Error != "" {
			outcome.Err = errors.New(o.Error)
		}
		out.Outcomes = append(out.Outcomes, outcome)
	}
	for _, t := range r.Tasks {
		program, err := d.Store.Program(ctx, t.Program)
		if err != nil {
			out.More = true // once the leases have expired
			break
		}
		out.Tasks = append(out.Tasks, backend.Task{
			Lease: t.Lease, Program: program, Action: t.Action, Args: t.Args, Attempt: t.Attempt, Deliveries: t.Deliveries,
			Expires: sent.Add(req.Grant.Lease), // the owner counts from later
		})
	}
	return out, nil
}

// Forward sends a request to the owner of a shard, last seen under the name was, and waits for the answer. ErrForeign means that
// it no longer owns the shard, and that nothing was applied.
func (d *Forwarder) Forward(ctx context.Context, shard int, req Request, was string, owner Owner) (Response, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return Response{}, err
	}
	life, err := d.Store.Incarnation(ctx)
	if err != nil {
		return Response{}, err
	}
	id := d.Clock.NewID()
	told := d.expectAnswer(id) // the answer may come before the insert returns
	defer d.stopExpecting(id)
	_, err = d.Pool.Exec(ctx, insertRequestSQL, shard, [16]byte(id), body, d.Channel, strconv.Itoa(shard), d.toDrop(shard))
	switch {
	case err != nil && pgstore.Unconfirmed(err):
		return d.Withdraw(shard, id, req, life, err)
	case err != nil:
		return Response{}, err
	}
	data, err := d.awaitAnswer(ctx, shard, id, told, was, owner)
	if err != nil {
		return d.Withdraw(shard, id, req, "", err)
	}
	r, err := readResponse(data)
	if backend.IsUnknown(err) && req.Op == Complete {
		return d.Withdraw(shard, id, req, "", ErrForeign) // the withdrawal resolves it, so that it can be retried
	}
	d.deleteLater(shard, id)
	return r, err
}

// awaitAnswer waits for the answer. It fails with ErrForeign once the shard has another owner than was, or the owner's lease has
// expired.
func (d *Forwarder) awaitAnswer(ctx context.Context, shard int, id uuid.UUID, told <-chan struct{}, was string, owner Owner) ([]byte, error) {
	checked := d.Clock.Now()
	for pause := pollPauseMin; ; {
		left := ownerCheckPause - d.Clock.Now().Sub(checked)
		woken := d.Clock.Wait(ctx, max(min(pause, left), 0), told)
		var data []byte
		err := d.Pool.QueryRow(ctx, fetchAnswerSQL, shard, [16]byte(id)).Scan(&data)
		switch {
		case err == nil && data != nil:
			return data, nil
		case woken == pgstore.Ended || ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		}
		if woken == pgstore.TimedOut {
			pause = min(2*pause, pollPauseMax)
		}
		if d.Clock.Now().Sub(checked) < ownerCheckPause {
			continue
		}
		checked = d.Clock.Now()
		name, alive, err := owner(ctx)
		if err != nil {
			return nil, err
		}
		if name != was || !alive {
			return nil, ErrForeign
		}
	}
}

type finding struct {
	begun   bool    // the owner has fetched it
	answer  []byte  // nil: none
	applied []int64 // tokens of the applied completions
	alive   bool    // the server has not crashed since it was sent: a missing row never came
}

// Withdraw withdraws a request, and returns its answer if there is one, or what its row tells. If nothing was applied, the error
// is cause. life is the server's incarnation at the time of sending if the request may not have arrived; otherwise empty.
func (d *Forwarder) Withdraw(shard int, id uuid.UUID, req Request, life string, cause error) (Response, error) {
	sql, args := withdrawSQL, []any{shard, [16]byte(id)}
	if life != "" {
		sql, args = cancelRequestSQL, append(args, life)
	}
	var f finding
	err := d.insist("withdrawing a request to the owner of a shard", func(ctx context.Context) error {
		return d.Pool.QueryRow(ctx, sql, args...).Scan(&f.begun, &f.answer, &f.applied, &f.alive)
	})
	unknown := func(err error) error {
		return fmt.Errorf("%w: a request to the owner of shard %d: %w", backend.ErrUnknown, shard, errors.Join(cause, err))
	}
	if err != nil {
		return Response{}, unknown(err)
	}
	if f.answer != nil {
		r, err := readResponse(f.answer)
		if err == nil || !backend.IsUnknown(err) {
			return r, err
		}
	}
	switch {
	case req.Op == Complete && len(f.applied) > 0:
		return d.resolveAnswers(shard, req, f.applied), nil
	case !f.alive:
		d.Store.Outlived(life)
		return Response{}, unknown(errCrashed)
	case !f.begun, req.Op == Complete, req.Op == Claim:
		return Response{}, cause
	}
	return Response{}, unknown(nil)
}

// insist repeats an idempotent call until the server answers, for a bounded time, and not after the engine has ended.
func (d *Forwarder) insist(doing string, call func(context.Context) error) error {
	ctx, cancel := d.Clock.Within(context.Background(), insistMax)
	defer cancel()
	return d.Store.Retry(ctx, doing, insistRemedy, func() error {
		err := call(ctx)
		if err == nil || errors.Is(err, pgx.ErrNoRows) || d.Context.Err() != nil {
			return err
		}
		return pgstore.Retryable(err)
	})
}

// resolveAnswers answers completions from the request's row; those not applied are to be retried. It looks up the instances that
// ended; if that fails, the engine that waits for one finds it.
func (d *Forwarder) resolveAnswers(shard int, req Request, applied []int64) Response {
	took := make(map[int64]bool, len(applied))
	for _, token := range applied {
		took[token] = true
	}
	r := Response{More: true}
	var ids [][16]byte
	var tokens []int64
	for _, c := range req.Completions {
		if !took[c.Lease.Token] {
			r.Outcomes = append(r.Outcomes, Outcome{backend.Again, "the answer of the shard's owner was lost"})
			continue
		}
		r.Outcomes = append(r.Outcomes, Outcome{Answer: backend.Applied})
		ids, tokens = append(ids, c.Lease.Key.Instance), append(tokens, c.Lease.Token)
	}
	_ = d.insist("looking up which instances completions have ended", func(ctx context.Context) error {
		rows, err := d.Pool.Query(ctx, endedBySQL, shard, ids, tokens)
		if err != nil {
			return err
		}
		ended, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err == nil {
			r.Ended, err = d.Store.Lookup(ctx, ended)
		}
		return err
	})
	return r
}

func readResponse(data []byte) (r Response, err error) {
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%w: the answer of the shard's owner: %w", backend.ErrUnknown, err)
	}
	switch {
	case r.Foreign:
		return r, ErrForeign
	case r.Error != "" && r.Unknown:
		return r, fmt.Errorf("%w: %s", backend.ErrUnknown, r.Error)
	case r.Error != "":
		return r, errors.New(r.Error)
	}
	return r, nil
}

func (d *Forwarder) deleteLater(shard int, id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answered == nil {
		d.answered = map[int][]uuid.UUID{}
	}
	if len(d.answered[shard]) < dropMax {
		d.answered[shard] = append(d.answered[shard], id)
	}
}

func (d *Forwarder) toDrop(shard int) [][16]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := make([][16]byte, len(d.answered[shard]))
	for i, id := range d.answered[shard] {
		ids[i] = id
	}
	delete(d.answered, shard)
	return ids
}
