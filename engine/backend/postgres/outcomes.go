package postgres

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

// Member is one of what a call commits: a completion or a new instance.
type Member interface {
	Ord() int32 // its place in the call
	Of() uuid.UUID
}

// UnfitError is the error of a member that cannot be committed whatever is done: it does not fit its workflow,
// or the store and the workflow disagree.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return e.Err.Error() }
func (e *UnfitError) Unwrap() error { return e.Err }

// Unfit says whether an error is the fault of a member: it cannot be committed, alone or with others, as things are.
func Unfit(err error) bool {
	var unfit *UnfitError
	return Poisoned(err) || errors.As(err, &unfit)
}

// Outcomes collects what several transactions of one call did.
type Outcomes struct {
	Answers []backend.Outcome // by place; without an Answer where nothing is known yet
	Result  backend.Committed // all but its Outcomes
}

// NewOutcomes begins a call of n members.
func NewOutcomes(n int) *Outcomes { return &Outcomes{Answers: make([]backend.Outcome, n)} }

// Committed gives the call's reply.
func (o *Outcomes) Committed() backend.Committed {
	o.Result.Outcomes = o.Answers
	return o.Result
}

// Answer answers a member that is at no fault.
func (o *Outcomes) Answer(ord int32, a backend.Answer) { o.Answers[ord] = backend.Outcome{Answer: a} }

// Conclude answers a member of a transaction that was applied: where the member did not are applied in it, it is a duplicate if it is
// born with it, and stale if not.
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

// Refuse answers a member that no repetition will make right.
func (o *Outcomes) Refuse(ord int32, err error) {
	o.Answers[ord] = backend.Outcome{Answer: backend.Refused, Err: err}
}

// Add takes in what a transaction did, but for its Outcomes.
func (o *Outcomes) Add(c *backend.Committed) {
	r := &o.Result
	r.Tasks = append(r.Tasks, c.Tasks...)
	r.Ended = append(r.Ended, c.Ended...)
	r.More = r.More || c.More
	if !c.NextDue.IsZero() {
		r.DueAt(c.NextDue)
	}
}

// Accept answers a completion that can be none, without a program or of an instance that another shard would
// have, and says whether it can be one.
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

// Distinct leaves one of several completions of the same attempt, which stand side by side: a statement meets each row once. The
// others are stale whatever happens to the one.
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

// Again answers what was not committed although something else of the call was.
func Again[M Member](o *Outcomes, members []M, err error) {
	for _, m := range members {
		if a := &o.Answers[m.Ord()]; a.Answer == "" {
			*a = backend.Outcome{Answer: backend.Again, Err: Explain(err)}
		}
	}
}

// Halve commits members in as few transactions as their data allows: when one of them is at fault, they are
// halved until it stands alone and is refused. Once some have been committed, the others are answered where they
// cannot be; else the error is the call's.
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
