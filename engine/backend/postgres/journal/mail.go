package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/state"
	"pulley/engine/plan"
)

// A call to a shard that another backend owns is sent to it through the requests table, and answered there.

const (
	askPauseMin = 500 * time.Microsecond // between two looks for an answer, doubled up to the next
	askPauseMax = 20 * time.Millisecond
	// askCheck is how often one who waits looks whether the owner is still there.
	askCheck = 100 * time.Millisecond
	// askAge is when a request that was begun with is given up by everybody.
	askAge = 5 * time.Minute
)

// operation names a call.
type operation string

const (
	opClaim    operation = "claim"
	opComplete operation = "complete"
	opExtend   operation = "extend"
	opSweep    operation = "sweep"
	opCancel   operation = "cancel"
)

// request is a call as it is sent.
type request struct {
	Op          operation        `json:"op"`
	Grant       backend.Grant    `json:"grant"`
	Completions []wireCompletion `json:"completions,omitempty"`
	Leases      []backend.Lease  `json:"leases,omitempty"`
	IDs         []uuid.UUID      `json:"ids,omitempty"`
	Reason      string           `json:"reason,omitempty"`
}

// wireCompletion is a completion with its program by number, zero for none, and bytes that need not be JSON.
type wireCompletion struct {
	Lease   backend.Lease `json:"lease"`
	Program int32         `json:"program"`
	Attempt int           `json:"attempt"`
	Result  []byte        `json:"result,omitempty"`
	Failure *plan.Failure `json:"failure,omitempty"`
}

// response is an answer as it is sent.
type response struct {
	Foreign  bool               `json:"foreign,omitempty"` // the shard is not the answerer's any more
	Error    string             `json:"error,omitempty"`
	Unknown  bool               `json:"unknown,omitempty"` // of the error
	Outcomes []wireOutcome      `json:"outcomes,omitempty"`
	Tasks    []wireTask         `json:"tasks,omitempty"`
	Ended    []backend.Instance `json:"ended,omitempty"`
	More     bool               `json:"more,omitempty"`
	DueAfter time.Duration      `json:"due_after,omitempty"` // from the answer; zero: none
	Held     []bool             `json:"held,omitempty"`
	Swept    backend.Swept      `json:"swept"`
}

type wireOutcome struct {
	Answer backend.Answer `json:"answer"`
	Error  string         `json:"error,omitempty"`
}

type wireTask struct {
	Lease   backend.Lease `json:"lease"`
	Program int32         `json:"program"`
	Action  string        `json:"action"`
	Args    []byte        `json:"args"`
	Attempt int           `json:"attempt"`
}

func (b *Backend) wireCompletions(ctx context.Context, completions []backend.Completion) ([]wireCompletion, error) {
	out := make([]wireCompletion, len(completions))
	for i, c := range completions {
		out[i] = wireCompletion{Lease: c.Lease, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
		if c.Program == nil {
			continue
		}
		var err error
		if out[i].Program, err = b.store.Number(ctx, c.Program); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// askCommitted asks the owner for what a claim or a completion would give; see ask.
func (b *Backend) askCommitted(ctx context.Context, shard int, req request, s *standing, out *backend.Committed) error {
	sent := b.wall(b.now())
	r, err := b.ask(ctx, shard, req, s)
	if err != nil {
		return err
	}
	*out = backend.Committed{Ended: r.Ended, More: r.More}
	if r.DueAfter > 0 {
		out.NextDue = b.wall(b.now()).Add(r.DueAfter)
	}
	for _, o := range r.Outcomes {
		outcome := backend.Outcome{Answer: o.Answer}
		if o.Error != "" {
			outcome.Err = errors.New(o.Error)
		}
		out.Outcomes = append(out.Outcomes, outcome)
	}
	for _, t := range r.Tasks {
		program, err := b.store.Program(ctx, t.Program)
		if err != nil {
			out.More = true // once the leases are over
			break
		}
		out.Tasks = append(out.Tasks, backend.Task{
			Lease: t.Lease, Program: program, Action: t.Action, Args: t.Args, Attempt: t.Attempt,
			Expires: sent.Add(req.Grant.Lease), // the owner has counted from later
		})
	}
	return nil
}

// ask sends a request to the owner of a shard and waits for the answer. errForeign says that there is no such
// owner, or not any more, and that nothing was done. s is who owns it, where that was seen just now; nil: it was not.
func (b *Backend) ask(ctx context.Context, shard int, req request, s *standing) (response, error) {
	sh := b.shards[shard]
	s, err := sh.unlessSeen(ctx, s)
	if err != nil {
		return response{}, err
	}
	if s.free(b) {
		return response{}, errForeign
	}
	body, err := json.Marshal(req)
	if err != nil {
		return response{}, err
	}
	life, err := b.store.Life(ctx)
	if err != nil {
		return response{}, err
	}
	id := b.clock.NewID()
	_, err = b.store.Pool.Exec(ctx, askSQL, shard, [16]byte(id), body, b.store.Channel(topic), strconv.Itoa(shard), sh.toDrop())
	switch {
	case err != nil && postgres.Unconfirmed(err):
		return b.withdraw(sh, id, req, life, err)
	case err != nil:
		return response{}, err
	}
	data, err := b.await(ctx, sh, id, *s)
	if err != nil {
		return b.withdraw(sh, id, req, "", err)
	}
	r, err := readResponse(data)
	if backend.IsUnknown(err) && req.Op == opComplete {
		return b.withdraw(sh, id, req, "", errForeign) // from then on it is known, and can be asked again
	}
	sh.dropLater(id)
	return r, err
}

// await waits for an answer, for as long as the owner to whom the request went is there.
func (b *Backend) await(ctx context.Context, sh *shardState, id uuid.UUID, was standing) ([]byte, error) {
	checked := b.now()
	for pause := askPauseMin; ; pause = min(2*pause, askPauseMax) {
		alive := b.rest(ctx, pause)
		var data []byte
		err := b.store.Pool.QueryRow(ctx, fetchAnswerSQL, sh.number, [16]byte(id)).Scan(&data)
		switch {
		case err == nil && data != nil:
			return data, nil
		case !alive || ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		case b.now()-checked < int64(askCheck):
			continue
		}
		checked = b.now()
		s, err := sh.standing(ctx)
		if err != nil {
			return nil, err
		}
		if s.owner != was.owner || s.rest <= 0 {
			return nil, errForeign
		}
	}
}

// message is a request as its owner takes it.
type message struct {
	id   uuid.UUID
	body []byte
}

// serveShard answers what others ask of a shard.
func (b *Backend) serveShard(ctx context.Context, sh *shardState) {
	for _, m := range b.messages(ctx, sh) {
		b.reply(ctx, sh, m, b.answer(ctx, sh, m))
	}
}

// messages takes what others ask of a shard. Where it cannot, those who asked give up in time.
func (b *Backend) messages(ctx context.Context, sh *shardState) []message {
	rows, err := b.store.Pool.Query(ctx, takeRequestsSQL, sh.number, askAge.Microseconds())
	if err != nil {
		return nil
	}
	messages, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m message, err error) {
		err = row.Scan(&m.id, &m.body)
		return m, err
	})
	if err != nil {
		return nil
	}
	return messages
}

// reply sends an answer. Where nobody waits for it any more, what it hands out is ready again.
func (b *Backend) reply(ctx context.Context, sh *shardState, m message, r response) {
	data, err := json.Marshal(r)
	if err != nil {
		data = []byte(`{"error":"the answer cannot be written","unknown":true}`)
	}
	tag, err := b.store.Pool.Exec(ctx, answerSQL, sh.number, [16]byte(m.id), data)
	if err != nil || tag.RowsAffected() > 0 || len(r.Tasks) == 0 {
		return
	}
	_ = b.locally(ctx, sh.number, takeNever, func(sh *shardState) error {
		for _, t := range r.Tasks {
			if run := sh.held(t.Lease); run != nil {
				run.Place = state.Ready
				sh.file(run)
			}
		}
		return nil
	})
	b.wakeAll()
}

// answer makes a call for another backend.
func (b *Backend) answer(ctx context.Context, sh *shardState, m message) response {
	var req request
	if err := json.Unmarshal(m.body, &req); err != nil {
		return response{Error: err.Error()}
	}
	var r response
	err := b.locally(ctx, sh.number, takeNever, func(sh *shardState) error {
		if req.Op == opComplete {
			sh.letter = &letter{id: m.id}
			defer func() { sh.letter = nil }()
		}
		return b.act(ctx, sh, req, &r)
	})
	switch {
	case errors.Is(err, errForeign):
		return response{Foreign: true}
	case err != nil:
		return response{Error: postgres.Explain(err).Error(), Unknown: backend.IsUnknown(err)}
	}
	return r
}

func (b *Backend) act(ctx context.Context, sh *shardState, req request, r *response) error {
	var out backend.Committed
	var err error
	switch req.Op {
	case opClaim:
		err = sh.claimTo(ctx, req.Grant, &out)
	case opComplete:
		if b.wakeAll() {
			req.Grant.Max = 0 // what follows is for the engine here: it has a shorter way
			defer b.wakeAll()
		}
		var completions []backend.Completion
		if completions, err = b.completions(ctx, req.Completions); err == nil {
			err = sh.complete(ctx, completions, req.Grant, &out)
		}
	case opExtend:
		r.Held = make([]bool, len(req.Leases))
		err = sh.extend(ctx, req.Leases, req.Grant, r.Held)
	case opSweep:
		r.Swept, err = sh.sweep(ctx)
	case opCancel:
		err = sh.cancel(ctx, req.IDs, &plan.Failure{Type: backend.CanceledType, Message: req.Reason})
	default:
		err = fmt.Errorf("journal: no such call: %q", req.Op)
	}
	if err == nil {
		r.fill(b, out)
		for i, t := range out.Tasks {
			if r.Tasks[i].Program, err = b.store.Number(ctx, t.Program); err != nil {
				return fmt.Errorf("%w: %w", backend.ErrUnknown, err)
			}
		}
	}
	return err
}

func (r *response) fill(b *Backend, out backend.Committed) {
	r.Ended, r.More = out.Ended, out.More
	if !out.NextDue.IsZero() {
		r.DueAfter = max(out.NextDue.Sub(b.wall(b.now())), 1)
	}
	for _, o := range out.Outcomes {
		w := wireOutcome{Answer: o.Answer}
		if o.Err != nil {
			w.Error = o.Err.Error()
		}
		r.Outcomes = append(r.Outcomes, w)
	}
	for _, t := range out.Tasks {
		r.Tasks = append(r.Tasks, wireTask{Lease: t.Lease, Action: t.Action, Args: t.Args, Attempt: t.Attempt})
	}
}

func (b *Backend) completions(ctx context.Context, wire []wireCompletion) ([]backend.Completion, error) {
	out := make([]backend.Completion, len(wire))
	for i, c := range wire {
		out[i] = backend.Completion{Lease: c.Lease, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
		if c.Program == 0 {
			continue
		}
		var err error
		if out[i].Program, err = b.store.Program(ctx, c.Program); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// insertPending makes the statement that leaves instances for the owner of their shard.
func (b *Backend) insertPending(ctx context.Context, shard int, buf *buffers) (map[uuid.UUID]bool, error) {
	born, err := b.pending(ctx, shard, buf)
	if postgres.Unconfirmed(err) && !isNotSent(err) {
		err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return born, err
}

func (b *Backend) pending(ctx context.Context, shard int, buf *buffers) (map[uuid.UUID]bool, error) {
	const name = "journal_submit_pending"
	number := []byte{byte(shard >> 8), byte(shard)}
	params := [][]byte{
		number, buf.born.Append(nil), buf.workflow.Append(nil), buf.input.Append(nil), buf.bornStatus.Append(nil),
		buf.bornResult.Append(nil), buf.bornFailure.Append(nil), []byte(b.store.Channel(topic)), []byte(strconv.Itoa(shard)),
	}
	results, err := b.store.Pool.Prepared(ctx, Prepared{Name: name, SQL: submitPendingSQL, Params: params})
	if err != nil {
		return nil, err
	}
	if len(results[0].Rows) != 1 {
		return nil, fmt.Errorf("journal: %s gave %d rows", name, len(results[0].Rows))
	}
	return readUUIDs(results[0].Rows[0][1])
}
