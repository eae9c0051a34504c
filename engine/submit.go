package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/plan"
)

// SubmitRequest describes a new instance.
type SubmitRequest struct {
	// ID makes a repeated submission safe: one id is one instance. Zero: Submit makes an id, ordered by time, and local (see
	// IsLocal) if possible.
	ID uuid.UUID

	Program *plan.Program
	Input   json.RawMessage // a JSON object with the parameters of the program's main; nil means {}

	// Priority is how urgent the instance's node runs are, from 0, the usual one, to graph.PriorityMax: one step is worth
	// backend.PriorityStep of waiting. Zero: the program's, which is 0 unless it was made by plan.Program.WithPriority. It needs a backend
	// with priorities; others are refused with backend.ErrNoPriorities.
	Priority int

	// NoWait makes the submission fail with ErrFull where a limit of instances has no place. Without it, it waits for one. It
	// matters with Config.Limits.
	NoWait bool
}

// ErrFull means that a limit of instances has no place; see SubmitRequest.NoWait.
var ErrFull = backend.ErrFull

type submission struct {
	ticket dispatch.Ticket
	sub    backend.Submission
	noWait bool
	answer chan dispatch.Answer // one place
}

// Submit stores an instance and returns its id once it is durable. An id that exists already is a success. Submit fails if the
// program or its input is refused, which no repetition changes, or if the instance may or may not be stored: then submitting it
// again with the returned id is safe. It blocks while too many submissions wait, or while a limit of instances has no place (see
// NoWait), until ctx ends.
func (e *Engine) Submit(ctx context.Context, req SubmitRequest) (uuid.UUID, error) {
	sub, err := e.prepare(req)
	if err != nil {
		return uuid.Nil, err
	}
	if err := e.send(ctx, sub); err != nil {
		return sub.sub.ID, err
	}
	return sub.sub.ID, e.confirm(ctx, sub)
}

// SubmitAll submits many instances, which share transactions. It returns an id for each, in order, and the joined errors, as
// from Submit. A request that cannot be submitted has the zero id.
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
			fail(i, e.confirm(ctx, sub))
		}
	}
	return ids, errors.Join(errs...)
}

func (e *Engine) prepare(req SubmitRequest) (*submission, error) {
	if err := e.alive(); err != nil {
		return nil, err
	}
	if req.Program == nil {
		return nil, errors.New("engine: a submission needs a Program; make one with plan.Compile")
	}
	if req.Priority != 0 {
		var err error
		if req.Program, err = req.Program.WithPriority(req.Priority); err != nil {
			return nil, fmt.Errorf("engine: a submission: %w", err)
		}
	}
	if err := backend.CheckPriority(e.cfg.Backend, req.Program); err != nil {
		return nil, fmt.Errorf("engine: a submission has the priority %d: %w", req.Program.Priority(), err)
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
	sub := e.newSubmission(backend.Submission{ID: req.ID, Program: req.Program, Input: req.Input})
	sub.noWait = req.NoWait
	return sub, nil
}

func (e *Engine) newSubmission(sub backend.Submission) *submission {
	return &submission{ticket: dispatch.Ticket(e.tickets.Add(1)), sub: sub, answer: make(chan dispatch.Answer, 1)}
}

const idTries = 64

// IsLocal reports whether an instance with this id would be this engine's own. Any id works, but on some backends a non-local
// one takes a detour through another engine, or makes commits smaller. The answer may change at any time.
func (e *Engine) IsLocal(id uuid.UUID) bool {
	p, ok := e.cfg.Backend.(backend.Placer)
	return !ok || p.IsLocal(backend.ShardOf(id, e.cfg.Backend.Shards()))
}

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

// Bounds of the pause before a submission asks for a place again.
const (
	placePauseMin = 5 * time.Millisecond
	placePauseMax = 250 * time.Millisecond
)

// confirm receives the answer to a submission, and sends it again until it has a place, if it waits for one.
func (e *Engine) confirm(ctx context.Context, sub *submission) error {
	for rest := placePauseMin; ; rest = min(2*rest, placePauseMax) {
		err := e.receive(ctx, sub)
		if sub.noWait || !errors.Is(err, ErrFull) {
			return err
		}
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-e.freed:
			rest = placePauseMin
		case <-ctx.Done():
		case <-e.background.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return fmt.Errorf("engine: instance %s was not submitted: %w (%w)", sub.sub.ID, err, context.Cause(ctx))
		}
		sub.ticket = dispatch.Ticket(e.tickets.Add(1))
		if err := e.send(ctx, sub); err != nil {
			return err
		}
	}
}

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
	case answer := <-sub.answer: // the answer came at the last moment
		return outcomeOf(sub, answer)
	default:
		return fmt.Errorf("engine: it is not known whether instance %s was stored; submit it again with that id: %w", sub.sub.ID, context.Cause(ctx))
	}
}

var errRefused = errors.New("refused")

func outcomeOf(sub *submission, answer dispatch.Answer) error {
	switch {
	case answer.Err != nil:
		return fmt.Errorf("engine: instance %s was not confirmed; submit it elsewhere with that id: %w", sub.sub.ID, answer.Err)
	case answer.Outcome.Answer == backend.Full:
		return fmt.Errorf("engine: instance %s: %w", sub.sub.ID, answer.Outcome.Err)
	case answer.Outcome.Answer == backend.Refused:
		return fmt.Errorf("instance %w: %w", errRefused, answer.Outcome.Err)
	}
	return nil
}
