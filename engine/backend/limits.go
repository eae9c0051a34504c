package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/limit"
)

// Limiter is a backend that stores limits. It decides nothing: engines read them, decide with package limit, and store the
// decision.
//
// A version guards each limit: it rises with every change, and a save with an older one changes nothing.
type Limiter interface {
	// SetLimit stores a limit, or replaces the one of its name; what engines hold of that one stays theirs. It fails with
	// ErrActionLimited if one of the actions is in another limit, and with limit.Validate's errors.
	SetLimit(ctx context.Context, l limit.Limit) error

	// Limits reads all limits, ordered by name, and the store's time.
	Limits(ctx context.Context) ([]StoredLimit, time.Time, error)

	// RemoveLimit removes a limit, and reports whether there was one.
	RemoveLimit(ctx context.Context, name string) (bool, error)

	// Admit gives instances of a workflow, each named once, places under the limits of instances that cover it, in order, and
	// returns for each the name of the limit that is full; empty: it has its places. A place is an instance's until it has ended, or
	// if it is not stored a minute later. A limit that is set gives places to the instances that run, even more than it allows.
	Admit(ctx context.Context, workflow string, ids []uuid.UUID) (full []string, err error)

	// SaveLimits stores states, each on its own, and reports for each whether it was stored: only if the version is current.
	SaveLimits(ctx context.Context, saves []LimitSave) ([]bool, error)
}

// ErrActionLimited means that another limit has the action.
var ErrActionLimited = errors.New("an action can be in one limit only")

// StoredLimit is a limit and where it stands.
type StoredLimit struct {
	limit.Limit
	State   limit.State
	Version int64
}

// LimitSave is a state to be stored.
type LimitSave struct {
	Name    string
	Version int64 // that the state follows from
	State   limit.State
}

// LimitTurn is an engine's turn with all limits of a store.
type LimitTurn struct {
	Limits []LimitGrant // by name
	Now    time.Time    // the store's, of the turn

	// BoundsInstances reports that there are limits of instances, which are not among Limits.
	BoundsInstances bool

	// Asked and Answered enclose Now on the engine's clock.
	Asked, Answered time.Time
}

// LimitGrant is what a turn came to for one limit.
type LimitGrant struct {
	limit.Limit
	Grant limit.Grant
	Taken bool // false: another engine saved first, so take another turn; Grant is empty
}

// TakeLimitTurn takes an engine's turn with all limits. needs are by the limits' names; without one, an engine needs nothing, and
// gives up what it has. An error means that nothing was granted, though a save whose answer was lost may keep others from what it
// took, for a lease.
func TakeLimitTurn(ctx context.Context, store Limiter, clock func() time.Time, engine string, needs map[string]limit.Need, times limit.Times) (LimitTurn, error) {
	turn := LimitTurn{Asked: clock()}
	found, now, err := store.Limits(ctx)
	if err != nil {
		return turn, fmt.Errorf("reading limits: %w", err)
	}
	all := len(found)
	found = slices.DeleteFunc(found, func(l StoredLimit) bool { return l.BoundsInstances() })
	turn.BoundsInstances = len(found) < all
	turn.Answered, turn.Now, turn.Limits = clock(), now, make([]LimitGrant, len(found))
	var saves []LimitSave
	var saved []int
	for i, l := range found {
		turn.Limits[i] = LimitGrant{Limit: l.Limit, Taken: true}
		need := needs[l.Name]
		if need == (limit.Need{}) && !l.State.Has(engine) {
			continue
		}
		var next limit.State
		next, turn.Limits[i].Grant = l.Decide(l.State, now, engine, need, times)
		saves, saved = append(saves, LimitSave{l.Name, l.Version, next}), append(saved, i)
	}
	if len(saves) == 0 {
		return turn, nil
	}
	stored, err := store.SaveLimits(ctx, saves)
	if err != nil {
		return turn, fmt.Errorf("saving limits: %w", err)
	}
	for j, i := range saved {
		if !stored[j] {
			turn.Limits[i].Taken, turn.Limits[i].Grant = false, limit.Grant{}
		}
	}
	return turn, nil
}
