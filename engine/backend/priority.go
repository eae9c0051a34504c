package backend

import (
	"errors"
	"time"

	"pulley/engine/plan"
)

// PriorityStep is how much earlier a node run is handed out for each step of its priority: before those of a priority less by one that
// became ready up to so long before it, and after those that wait longer. So nothing waits for ever: waiting makes up for priority, which
// is known as aging (Silberschatz, Galvin, Gagne, Operating System Concepts, priority scheduling).
const PriorityStep = time.Minute

// HeadStart is how much earlier a program's node runs are handed out than others that became ready at the same time.
func HeadStart(p *plan.Program) time.Duration { return time.Duration(PriorityOf(p)) * PriorityStep }

// HeadStart is how long a node run of priority 0 must have waited for Claim to lease it.
func (g *Grant) HeadStart() time.Duration { return time.Duration(g.Priority) * PriorityStep }

// Holds reports whether a grant lets a call lease node runs of a program that the call itself made ready.
func (g *Grant) Holds(p *plan.Program) bool { return PriorityOf(p) >= g.Priority }

// PriorityOf returns a program's priority; zero without a program.
func PriorityOf(p *plan.Program) int {
	if p == nil {
		return 0
	}
	return p.Priority()
}

// Prioritizer is a backend that hands out node runs by their priority, and then by when they became ready: see PriorityStep.
type Prioritizer interface {
	Backend

	// OrdersByPriority does nothing.
	OrdersByPriority()
}

// ErrNoPriorities means that a backend does not hand out node runs by priority.
var ErrNoPriorities = errors.New("the backend has no priorities; push and journal have")

// CheckPriority returns ErrNoPriorities if a store, a Backend, does not hand out the program's node runs by its priority.
func CheckPriority(store any, p *plan.Program) error {
	if _, ok := store.(Prioritizer); ok || PriorityOf(p) == 0 {
		return nil
	}
	return ErrNoPriorities
}
