package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/limit"
)

var _ backend.Limiter = (*Backend)(nil)

// withLimits calls body with the store locked. Calls of limits pass no crash points: each is one change.
func (b *Backend) withLimits(ctx context.Context, what string, body func(limits map[string]*backend.StoredLimit) error) error {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	err := b.usable(ctx)
	if err == nil {
		err = body(b.store.limits)
	}
	if err != nil {
		return fmt.Errorf("memory: %s: %w", what, err)
	}
	return nil
}

// SetLimit implements backend.Limiter.
func (b *Backend) SetLimit(ctx context.Context, l limit.Limit) error {
	if err := l.Validate(); err != nil {
		return fmt.Errorf("memory: set a limit: %w", err)
	}
	return b.withLimits(ctx, "set a limit", func(limits map[string]*backend.StoredLimit) error {
		for name, other := range limits {
			for _, action := range l.Actions {
				if name != l.Name && slices.Contains(other.Actions, action) {
					return fmt.Errorf("%w, and limit %s has %s", backend.ErrActionLimited, name, action)
				}
			}
		}
		stored := &backend.StoredLimit{Limit: l, Version: b.clock().UnixMicro()}
		stored.Actions = slices.Clone(l.Actions)
		if old := limits[l.Name]; old != nil {
			stored.State, stored.Version = old.State, old.Version+1
		}
		limits[l.Name] = stored
		return nil
	})
}

// Limits implements backend.Limiter.
func (b *Backend) Limits(ctx context.Context) (found []backend.StoredLimit, now time.Time, err error) {
	err = b.withLimits(ctx, "read limits", func(limits map[string]*backend.StoredLimit) error {
		now = b.clock()
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			one := *limits[name]
			one.Actions, one.State.Engines = slices.Clone(one.Actions), slices.Clone(one.State.Engines)
			found = append(found, one)
		}
		return nil
	})
	return found, now, err
}

// RemoveLimit implements backend.Limiter.
func (b *Backend) RemoveLimit(ctx context.Context, name string) (removed bool, err error) {
	err = b.withLimits(ctx, "remove a limit", func(limits map[string]*backend.StoredLimit) error {
		_, removed = limits[name]
		delete(limits, name)
		return nil
	})
	return removed, err
}

// SaveLimits implements backend.Limiter.
func (b *Backend) SaveLimits(ctx context.Context, saves []backend.LimitSave) (saved []bool, err error) {
	saved = make([]bool, len(saves))
	err = b.withLimits(ctx, "save limits", func(limits map[string]*backend.StoredLimit) error {
		for i, save := range saves {
			if one := limits[save.Name]; one != nil && one.Version == save.Version {
				one.State, one.Version, saved[i] = save.State, one.Version+1, true
			}
		}
		return nil
	})
	return saved, err
}
