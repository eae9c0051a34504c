package pgstore

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

// Member is a completion or new instance of a call.
type Member interface {
	Ord() int32 // its index in the call
	Of() uuid.UUID
}

// UnfitError is the error of a member that can never be committed: it does not fit its workflow, or the store and the workflow
// disagree.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return e.Err.Error() }
func (e *UnfitError) Unwrap() error { return e.Err }

// Unfit reports whether an error is a member's fault, so that it cannot be committed as things are.
func Unfit(err error) bool {
	var unfit *UnfitError
	return Poisoned(err) || errors.As(err, &unfit)
}

// Outcomes collects the results of the transactions of a call.
type Outcomes struct {
	Answers []backend.Outcome // by index; Answer is empty while unknown
	Result  backend.Committed // without Outcomes
}

// NewOutcomes begins a call of n members.
func NewOutcomes(n int) *Outcomes { return &Outcomes{Answers: make([]backend.Outcome, n)} }

// Committed returns the call's reply.
func (o *Outcomes) Committed() backend.Committed {
	o.Result.Outcomes = o.Answers
	return o.Result
}

// Answer answers a member without an error.
func (o *Outcomes) Answer(ord int32, a backend.Answer) { o.Answers[ord] = backend.Outcome{Answer: a} }

// Conclude answers a member of a committed transaction. One that was not applied is a duplicate if created is set, for a
// submission, else stale.
func (o *Outcomes) Conclude(ord int32, applied, created bool) {
	switch {
	case applied:
		o.Answer(ord, backend.Applied)
	case created:
		o.Answer(ord, backend.Duplicate)
	default:
		o.Answer(ord, backend.Stale)
	}
}

// Refuse answers a member that no retry can apply.
func (o *Outcomes) Refuse(ord int32, err error) {
	o.Answers[ord] = backend.Outcome{Answer: backend.Refused, Err: err}
}

// Add adds the results of a transaction, except Outcomes.
func (o *Outcomes) Add(c *backend.Committed) {
	r := &o.Result
	r.Tasks = append(r.Tasks, c.Tasks...)
	r.Ended = append(r.Ended, c.Ended...)
	r.More = r.More || c.More
	if !c.NextDue.IsZero() {
		r.DueAt(c.NextDue)
	}
}

// Accept reports whether a completion is valid, and answers it if it has no program or belongs to another shard.
func (o *Outcomes) Accept(ord int, c *backend.Completion, shard, shards int) bool {
	key := c.Lease.Key
	switch {
	case c.Program == nil:
		o.Refuse(int32(ord), fmt.Errorf("instance %s: a completion without its program", key.Instance))
		return false
	case backend.ShardOf(key.Instance, shards) != shard, !Storable(key.Run.Path):
		o.Answer(int32(ord), backend.Stale)
		return false
	}
	return true
}

// Distinct keeps one of several neighbouring completions of an attempt, because a statement may change a row once only. The
// others are stale in any case.
func Distinct[M Member](o *Outcomes, members []M, lease func(M) backend.Lease) []M {
	kept := members[:0]
	for _, m := range members {
		if len(kept) > 0 && lease(kept[len(kept)-1]) == lease(m) {
			o.Answer(m.Ord(), backend.Stale)
			continue
		}
		kept = append(kept, m)
	}
	return kept
}

// Again answers members that have no answer: they were not committed, though others of the call were.
func Again[M Member](o *Outcomes, members []M, err error) {
	for _, m := range members {
		if a := &o.Answers[m.Ord()]; a.Answer == "" {
			*a = backend.Outcome{Answer: backend.Again, Err: postgres.Explain(err)}
		}
	}
}

// Halve commits members in as few transactions as their data allows: it halves a failing batch until the member at fault is
// alone, and refuses that. Once some are committed, failing ones are answered; before, their error is returned.
func Halve[M Member](o *Outcomes, members []M, commit func([]M) error) error {
	if len(members) == 0 {
		return nil
	}
	err := commit(members)
	switch {
	case err == nil:
		return nil
	case !Unfit(err):
		return err
	case len(members) > 1:
		half := len(members) / 2
		if err := Halve(o, members[:half], commit); err != nil {
			return err
		}
		if err := Halve(o, members[half:], commit); err != nil {
			Again(o, members[half:], err)
		}
		return nil
	}
	if Overflowed(err) {
		err = fmt.Errorf("%w: %w", backend.ErrOverflow, err)
	}
	o.Refuse(members[0].Ord(), fmt.Errorf("instance %s: %w", members[0].Of(), err))
	return nil
}
