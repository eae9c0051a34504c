package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/plan"
)

// SubmitRequest asks for a new instance.
type SubmitRequest struct {
	// ID makes a repeated submission safe: the same id twice is one instance. Zero: a new one is made,
	// in the order of time, and Near where there is a choice.
	ID uuid.UUID

	Program *plan.Program
	Input   json.RawMessage // a JSON object with what the program's main takes; nil means {}
}

// submission is a request on its way to the loop and back.
type submission struct {
	ticket dispatch.Ticket
	sub    backend.Submission
	answer chan dispatch.Answer // has one place
}

// Submit has an instance stored and gives its id once that is durable. An id that is there already
// is a success. It fails where the program or its input is refused, which no repetition changes; else
// with the id, when it is not known whether the instance was stored: submitting it again with the
// same id is safe. It waits while too many submissions do, until ctx ends.
func (e *Engine) Submit(ctx context.Context, req SubmitRequest) (uuid.UUID, error) {
	sub, err := e.prepare(req)
	if err != nil {
		return uuid.Nil, err
	}
	if err := e.send(ctx, sub); err != nil {
		return sub.sub.ID, err
	}
	return sub.sub.ID, e.receive(ctx, sub)
}

// SubmitAll submits many at once, which share transactions. It gives an id for each, in order, and
// the errors of all that failed, as from Submit; a request that cannot be submitted has the zero id.
func (e *Engine) SubmitAll(ctx context.Context, reqs []SubmitRequest) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(reqs))
	sent := make([]*submission, len(reqs))
	var errs []error
	fail := func(i int, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("submission %d: %w", i, err))
		}
	}
	for i, req := range reqs {
		sub, err := e.prepare(req)
		if err != nil {
			fail(i, err)
			continue
		}
		ids[i] = sub.sub.ID
		if err := e.send(ctx, sub); err != nil {
			fail(i, err)
			continue
		}
		sent[i] = sub
	}
	for i, sub := range sent {
		if sub != nil {
			fail(i, e.receive(ctx, sub))
		}
	}
	return ids, errors.Join(errs...)
}

// prepare checks a request and gives it an id and a ticket.
func (e *Engine) prepare(req SubmitRequest) (*submission, error) {
	if err := e.alive(); err != nil {
		return nil, err
	}
	if req.Program == nil {
		return nil, errors.New("engine: a submission needs a Program; make one with plan.Compile")
	}
	if e.cfg.CheckActions {
		check := func() error { return e.cfg.Workers.Check(req.Program.Graph()) }
		if err := e.programs.checked(req.Program, check); err != nil {
			return nil, err
		}
	}
	if req.ID == uuid.Nil {
		for range idTries {
			id, err := uuid.NewV7()
			if err != nil {
				return nil, fmt.Errorf("engine: making an instance's id: %w", err)
			}
			if req.ID = id; e.IsLocal(id) {
				break
			}
		}
	}
	if req.Input == nil {
		req.Input = json.RawMessage("{}")
	}
	return &submission{
		ticket: dispatch.Ticket(e.tickets.Add(1)),
		sub:    backend.Submission{ID: req.ID, Program: req.Program, Input: req.Input},
		answer: make(chan dispatch.Answer, 1),
	}, nil
}

// idTries bounds how many ids are made for one that is near.
const idTries = 64

// IsLocal says whether an instance of this id would be this engine's own from the beginning. Any id will do: on some
// backends, one that is not near takes a detour by way of another engine, or makes for smaller commits. It may change
// at any time.
func (e *Engine) IsLocal(id uuid.UUID) bool {
	p, ok := e.cfg.Backend.(backend.Placer)
	return !ok || p.IsLocal(backend.ShardOf(id, e.cfg.Backend.Shards()))
}

// send hands a submission to the loop.
func (e *Engine) send(ctx context.Context, sub *submission) error {
	select {
	case e.submits <- sub:
		return nil
	case <-e.background.Done():
		return ErrNotRunning
	case <-ctx.Done():
		return fmt.Errorf("engine: instance %s was not submitted, too many others wait: %w", sub.sub.ID, context.Cause(ctx))
	}
}

// receive waits for a submission's answer.
func (e *Engine) receive(ctx context.Context, sub *submission) error {
	select {
	case answer := <-sub.answer:
		return outcomeOf(sub, answer)
	case <-ctx.Done():
	}
	select {
	case e.forgets <- sub.ticket:
	case <-e.background.Done():
	}
	select {
	case answer := <-sub.answer: // it came in the last moment
		return outcomeOf(sub, answer)
	default:
		return fmt.Errorf("engine: it is not known whether instance %s was stored; submit it again with that id: %w", sub.sub.ID, context.Cause(ctx))
	}
}

func outcomeOf(sub *submission, answer dispatch.Answer) error {
	switch {
	case answer.Err != nil:
		return fmt.Errorf("engine: instance %s was not confirmed; submit it elsewhere with that id: %w", sub.sub.ID, answer.Err)
	case answer.Outcome.Answer == backend.Refused:
		return fmt.Errorf("instance refused: %w", answer.Outcome.Err)
	}
	return nil
}
