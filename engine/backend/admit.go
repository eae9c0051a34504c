package backend

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// ErrFull means that a limit of instances has no place for another one. It may have one later.
var ErrFull = errors.New("the limit of instances is reached")

// LimitedStore is what SubmitAdmitted needs of a backend with limits.
type LimitedStore interface {
	Limiter
	Lookup(ctx context.Context, ids []uuid.UUID) ([]Instance, error)
}

// SubmitAdmitted calls submit, with which Backend.Submit or what is like it submits instances to the store, for those that the store's
// limits of instances have places for. It answers the others Full. An instance that is there already needs no place.
func SubmitAdmitted(ctx context.Context, store LimitedStore, subs []Submission, submit func([]Submission) (Committed, error)) (Committed, error) {
	full, err := admit(ctx, store, subs)
	if err != nil {
		return Committed{}, err
	}
	var admitted []Submission
	for i, name := range full {
		if name == "" {
			admitted = append(admitted, subs[i])
		}
	}
	if len(admitted) == len(subs) {
		return submit(subs)
	}
	var out Committed
	if len(admitted) > 0 {
		if out, err = submit(admitted); err != nil {
			return out, err
		}
	}
	answers := out.Outcomes
	out.Outcomes = make([]Outcome, len(subs))
	for i, name := range full {
		if name != "" {
			out.Outcomes[i] = Outcome{Answer: Full, Err: fmt.Errorf("limit %s: %w", name, ErrFull)}
			continue
		}
		out.Outcomes[i], answers = answers[0], answers[1:]
	}
	return out, nil
}

// admit returns for each submission the limit that is full; empty: it is admitted.
func admit(ctx context.Context, store LimitedStore, subs []Submission) ([]string, error) {
	full := make([]string, len(subs))
	byWorkflow := map[string][]int{}
	first := map[uuid.UUID]int{}
	for i, s := range subs {
		if _, again := first[s.ID]; again || s.Program == nil { // it is a duplicate, or refused
			continue
		}
		first[s.ID] = i
		workflow := s.Program.Workflow()
		byWorkflow[workflow] = append(byWorkflow[workflow], i)
	}
	var ids []uuid.UUID // not admitted
	var places []int
	for workflow, members := range byWorkflow {
		wanted := make([]uuid.UUID, len(members))
		for k, i := range members {
			wanted[k] = subs[i].ID
		}
		refused, err := store.Admit(ctx, workflow, wanted)
		if err != nil {
			return nil, fmt.Errorf("admitting instances: %w", err)
		}
		for k, i := range members {
			if full[i] = refused[k]; full[i] != "" {
				ids, places = append(ids, subs[i].ID), append(places, i)
			}
		}
	}
	if len(ids) == 0 {
		return full, nil
	}
	found, err := store.Lookup(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("looking up instances that were not admitted: %w", err)
	}
	for k, i := range places {
		if found[k].Status != "" {
			full[i] = ""
		}
	}
	for i, s := range subs {
		if f, known := first[s.ID]; known {
			full[i] = full[f] // also where it stands there again
		}
	}
	return full, nil
}
