package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

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
		stored.Workflows = slices.Clone(l.Workflows)
		if old := limits[l.Name]; old != nil {
			stored.State, stored.Version = old.State, old.Version+1
		}
		limits[l.Name] = stored
		if l.BoundsInstances() {
			b.admitRunning(stored)
		} else {
			delete(b.store.admitted, l.Name)
			stored.State.Admitted = 0
		}
		return nil
	})
}

// admitRunning gives places to the instances that run when a limit is set.
func (b *Backend) admitRunning(l *backend.StoredLimit) {
	places := b.store.admitted[l.Name]
	if places == nil {
		places = map[uuid.UUID]time.Time{}
		b.store.admitted[l.Name] = places
	}
	for id, inst := range b.store.instances {
		if inst.status == backend.Running && l.Covers(inst.program.Workflow()) {
			places[id] = b.clock()
		}
	}
	l.State.Admitted = len(places)
}

// admissionTime is how long an instance that was admitted may take to be stored.
const admissionTime = time.Minute

// Admit implements backend.Limiter.
func (b *Backend) Admit(ctx context.Context, workflow string, ids []uuid.UUID) (full []string, err error) {
	full = make([]string, len(ids))
	err = b.withLimits(ctx, "admit instances", func(limits map[string]*backend.StoredLimit) error {
		var covering []*backend.StoredLimit
		var places []limit.Places
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			one := limits[name]
			if !one.Covers(workflow) {
				continue
			}
			held := b.store.admitted[name]
			b.dropEnded(held)
			p := limit.Places{Free: one.Instances - len(held), Have: make([]bool, len(ids))}
			for i, id := range ids {
				_, p.Have[i] = held[id]
			}
			covering, places = append(covering, one), append(places, p)
		}
		admitted, fullOf := limit.Admit(len(ids), places)
		for i, id := range ids {
			if !admitted[i] {
				full[i] = covering[fullOf[i]].Name
				continue
			}
			for _, one := range covering {
				b.store.admitted[one.Name][id] = b.clock()
			}
		}
		for _, one := range covering {
			one.State.Admitted = len(b.store.admitted[one.Name])
		}
		return nil
	})
	return full, err
}

// dropEnded frees the places of instances that have ended, or were not stored in time.
func (b *Backend) dropEnded(held map[uuid.UUID]time.Time) {
	for id, since := range held {
		inst := b.store.instances[id]
		if inst == nil && b.clock().Sub(since) >= admissionTime || inst != nil && inst.status != backend.Running {
			delete(held, id)
		}
	}
}

// Limits implements backend.Limiter.
func (b *Backend) Limits(ctx context.Context) (found []backend.StoredLimit, now time.Time, err error) {
	err = b.withLimits(ctx, "read limits", func(limits map[string]*backend.StoredLimit) error {
		now = b.clock()
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			one := *limits[name]
			one.Actions, one.Workflows, one.State.Engines = slices.Clone(one.Actions), slices.Clone(one.Workflows), slices.Clone(one.State.Engines)
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
		delete(b.store.admitted, name)
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
