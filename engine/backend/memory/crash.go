package memory

import (
	"pulley/engine/backend"
	"pulley/engine/backend/state"
)

type operation string

const (
	opSubmit   operation = "submit"
	opClaim    operation = "claim"
	opComplete operation = "complete"
	opRenew    operation = "renew"
	opCancel   operation = "cancel"
)

// The points at which a call can crash, besides the steps of applying a plan.
const (
	pointBegin     = "begin"     // nothing was changed
	pointInstance  = "instance"  // an instance's row is stored, nothing of its plan
	pointGuard     = "guard"     // a completion's token was current and its row is done
	pointRetry     = "retry"     // a failed attempt waits for its retry
	pointEnd       = "end"       // an instance has ended
	pointLease     = "lease"     // a node run was leased
	pointCommit    = "commit"    // everything is changed, nothing committed
	pointCommitted = "committed" // everything is committed, the caller has no answer
)

var steps = []struct {
	op     operation
	points []string
}{
	{opSubmit, []string{
		pointBegin, pointInstance, string(state.Written), string(state.Appended), string(state.Elements), string(state.Opened), string(state.Arrived),
		string(state.Enqueued), string(state.Fired), string(state.Cleared), pointEnd, pointLease, pointCommit, pointCommitted,
	}},
	{opClaim, []string{pointBegin, pointLease, pointCommit, pointCommitted}},
	{opComplete, []string{
		pointBegin, pointGuard, string(state.Written), string(state.Appended), string(state.Elements), string(state.Opened), string(state.Arrived), string(state.Enqueued),
		string(state.Fired), string(state.Cleared), pointRetry, pointEnd, pointLease, pointCommit, pointCommitted,
	}},
	{opRenew, []string{pointBegin, pointLease, pointCommit, pointCommitted}},
	{opCancel, []string{pointBegin, pointEnd, pointCommit, pointCommitted}},
}

// Points lists the names with which Options.Crash may be called, such as "complete.arrivals". A test that crashes at each point
// can check its list against this.
func Points() []string {
	var names []string
	for _, s := range steps {
		for _, p := range s.points {
			names = append(names, s.op.point(p))
		}
	}
	return names
}

// Committed reports whether a crash at the point comes after the commit, so that the call fails with backend.ErrUnknown although
// it was applied.
func Committed(point string) bool {
	for _, s := range steps {
		if point == s.op.point(pointCommitted) {
			return true
		}
	}
	return false
}

func (op operation) point(step string) string { return string(op) + "." + step }

// at passes a crash point.
func (t *tx) at(step string) error {
	if t.b.crash == nil {
		return nil
	}
	t.crashed = t.b.crash(t.op.point(step))
	return t.crashed
}

func (t *tx) attempt(body func(*tx) (backend.Committed, error)) (backend.Committed, error) {
	if err := t.at(pointBegin); err != nil {
		return backend.Committed{}, err
	}
	out, err := body(t)
	if err != nil {
		return backend.Committed{}, err
	}
	return out, t.at(pointCommit)
}
