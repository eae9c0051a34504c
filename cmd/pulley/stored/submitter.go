package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/internal/pause"
)

// wanted is an instance to submit.
type wanted struct {
	id    uuid.UUID
	input json.RawMessage
	name  string // of where its key stands, for errors; empty: it has no key
}

// submitted is an instance that is in the store.
type submitted struct {
	ID      uuid.UUID `json:"id"`
	Created bool      `json:"created"` // false: it was there

	full error // it is not there: a limit of instances has no place
}

// submitter stores instances of one program, group by group.
type submitter struct {
	store   backend.Backend
	program *plan.Program
	timeout time.Duration // of a group
	noWait  bool          // for a place under a limit of instances
	report  func([]submitted) error
	warn    func(string, ...any)

	created, found int
}

// Repetitions of a group are bounded, with growing pauses.
const (
	submitTries    = 5
	submitPause    = 100 * time.Millisecond
	submitPauseMax = 2 * time.Second
)

// submit stores a group, notifies engines, and reports the group. What a limit of instances has no place for waits for one: the group is
// stored in parts then, in order.
func (s *submitter) submit(ctx context.Context, group []wanted) error {
	for pausing, told := placePauseMin, false; ; pausing = min(2*pausing, placePauseMax) {
		stored, err := s.submitPart(ctx, group)
		if !errors.Is(err, backend.ErrFull) {
			return err
		}
		if stored > 0 {
			group, pausing = group[stored:], placePauseMin
		}
		if s.noWait {
			return fmt.Errorf("instance %s was not submitted: %w", group[0].id, err)
		}
		if !told {
			told = true
			s.warn("pulley: %v; waiting for a place", err)
		}
		if pause.For(ctx, pausing) != nil {
			return context.Cause(ctx)
		}
	}
}

// Bounds of the pause before a place is asked for again.
const (
	placePauseMin = 10 * time.Millisecond
	placePauseMax = time.Second
)

// submitPart stores the first members of a group, up to one that has no place, whose error it returns.
func (s *submitter) submitPart(ctx context.Context, group []wanted) (stored int, full error) {
	ctx, done := context.WithTimeoutCause(ctx, s.timeout, ErrSlow)
	defer done()
	made, err := s.storeGroup(ctx, group)
	if errors.Is(err, backend.ErrFull) {
		group, full, err = group[:len(made)], err, nil
	}
	if err == nil {
		err = s.checkFound(ctx, group, made)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return 0, err
	}
	if l, ok := s.store.(backend.Listener); ok && len(made) > 0 {
		if err := l.Notify(ctx); err != nil {
			s.warn("pulley: engines were not notified, and find the instances when they next look: %v", err)
		}
	}
	for _, m := range made {
		if m.Created {
			s.created++
		} else {
			s.found++
		}
	}
	if err := s.report(made); err != nil {
		return len(made), err
	}
	return len(made), full
}

// storeGroup stores a group. Ids make a repetition safe; what a call that failed had stored may be reported as found. With an error of
// backend.ErrFull, it returns those before the first that has no place.
func (s *submitter) storeGroup(ctx context.Context, group []wanted) ([]submitted, error) {
	made := make([]submitted, len(group))
	open := make([]int, len(group))
	for i := range group {
		made[i].ID, open[i] = group[i].id, i
	}
	var err error
	for try, pausing := 0, submitPause; try < submitTries; try, pausing = try+1, min(2*pausing, submitPauseMax) {
		if try > 0 && pause.For(ctx, pausing) != nil {
			return nil, err
		}
		if open, err = s.try(ctx, group, open, made); len(open) > 0 {
			continue
		}
		if first := slices.IndexFunc(made, func(m submitted) bool { return m.full != nil }); err == nil && first >= 0 {
			return made[:first], made[first].full
		}
		return made, err
	}
	return nil, err
}

// try submits the open members of a group. It returns those to try again, with an error; an error alone is final.
func (s *submitter) try(ctx context.Context, group []wanted, open []int, made []submitted) ([]int, error) {
	subs := make([]backend.Submission, len(open))
	for k, i := range open {
		subs[k] = backend.Submission{ID: group[i].id, Program: s.program, Input: group[i].input}
	}
	out, err := s.call(ctx, subs)
	if err != nil {
		return open, err
	}
	var again []int
	for k, i := range open {
		switch o := out.Outcomes[k]; o.Answer {
		case backend.Applied:
			made[i].Created = true
		case backend.Duplicate:
		case backend.Full:
			made[i].full = o.Err
		case backend.Again:
			again, err = append(again, i), o.Err
		default:
			return nil, fmt.Errorf("instance %s: %w", group[i].id, o.Err)
		}
	}
	return again, err
}

func (s *submitter) call(ctx context.Context, subs []backend.Submission) (backend.Committed, error) {
	submit := func(subs []backend.Submission) (backend.Committed, error) {
		return s.store.Submit(ctx, subs, backend.Grant{Owner: "pulley submit", Fair: true})
	}
	if limited, ok := s.store.(backend.LimitedStore); ok {
		return backend.SubmitAdmitted(ctx, limited, subs, submit)
	}
	return submit(subs)
}

// checkFound refuses keys under which there is an instance of another program or input.
func (s *submitter) checkFound(ctx context.Context, group []wanted, made []submitted) error {
	var ids []uuid.UUID
	for i, m := range made {
		if !m.Created && group[i].name != "" {
			ids = append(ids, m.ID)
		}
	}
	keeper, ok := s.store.(originsKeeper)
	if !ok || len(ids) == 0 {
		return nil
	}
	found, err := keeper.Origins(ctx, ids)
	if err != nil {
		return err
	}
	for i, m := range made {
		if m.Created || group[i].name == "" {
			continue
		}
		o, exists := found[m.ID]
		if other := differs(o, exists, s.program, group[i].input); other != "" {
			return fmt.Errorf("%s: under this key there is instance %s, of another %s; choose another key", group[i].name, m.ID, other)
		}
	}
	return nil
}
