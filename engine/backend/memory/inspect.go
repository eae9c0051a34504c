package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
)

// Leftovers counts, by kind, what is stored for ended instances (I10). It is empty unless the store is broken.
func (b *Backend) Leftovers(ctx context.Context) (map[string]int, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, fmt.Errorf("memory: leftovers: %w", err)
	}
	left := map[string]int{}
	for _, inst := range s.instances {
		if inst.status == backend.Running {
			continue
		}
		inst.count(left)
	}
	for _, sh := range s.shards {
		for _, h := range []state.Heap{sh.ready, sh.waiting, sh.leased} {
			for _, r := range h {
				if r.Inst.Detached {
					count(left, "queued", 1)
				}
			}
		}
	}
	return left, nil
}

// StoredCounts counts, by kind, what is stored for running instances. Values appended to lists count as "appended", since only
// they grow with the rounds of a loop.
func (b *Backend) StoredCounts(ctx context.Context) (map[string]int, error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, fmt.Errorf("memory: held: %w", err)
	}
	held := map[string]int{}
	for _, inst := range s.instances {
		if inst.status == backend.Running {
			inst.count(held)
		}
	}
	return held, nil
}

func (inst *instance) count(into map[string]int) {
	count(into, "rows", inst.Runs.Len())
	count(into, "slots", inst.Slots.Len())
	inst.Slots.Each(func(_ state.Address, v state.Value) { count(into, "appended", len(v.Appended)) })
	inst.Barriers.Each(func(_ state.Address, b *state.Barrier) {
		if b.Required != 0 {
			count(into, "readiness", 1)
		}
		for _, v := range b.Elements {
			if v != nil {
				count(into, "elements", 1)
			}
		}
	})
}

func count(into map[string]int, kind string, n int) {
	if n > 0 {
		into[kind] += n
	}
}

// Check looks for a row that is not where its state says, a counter beyond its required count, and anything that an ended
// instance left.
func (b *Backend) Check() error {
	left, err := b.Leftovers(context.Background())
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("memory: left by instances that ended: %v (I10)", left)
	}
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.SortedFunc(maps.Keys(s.instances), func(x, y uuid.UUID) int { return slices.Compare(x[:], y[:]) }) {
		if err := s.checkInstance(s.instances[id]); err != nil {
			return fmt.Errorf("memory: instance %s: %w", id, err)
		}
	}
	return nil
}

func (s *store) checkInstance(inst *instance) error {
	for _, e := range sorted(&inst.Barriers) {
		if b := e.v; b.Completed > b.Required || b.Required < 1 && b.Elements == nil {
			return fmt.Errorf("barrier %d at %q has %d of %d arrivals (I2)", e.ID, e.Path, b.Completed, b.Required)
		}
	}
	for _, e := range sorted(&inst.Runs) {
		r, sh := e.v, inst.shard
		h := sh.heap(r.Place)
		switch {
		case !r.In(h) && !(h != nil && r.In(&sh.ready)): // once due
			return fmt.Errorf("node %d at %q is not in the heap of its place, %d", e.ID, e.Path, r.Place)
		case r.Place == state.Leased && r.Token == 0, r.Place == state.Waiting && r.Token != 0, r.Token > s.token:
			return fmt.Errorf("node %d at %q has token %d in place %d", e.ID, e.Path, r.Token, r.Place)
		}
	}
	if n := inst.Size(); inst.status == backend.Running && n != inst.Bytes {
		return fmt.Errorf("it takes %d bytes, and %d were counted", n, inst.Bytes)
	}
	return nil
}

type placed[V any] struct {
	state.Address
	v V
}

func sorted[V any](tb *state.Table[V]) []placed[V] {
	var all []placed[V]
	tb.Each(func(a state.Address, v V) { all = append(all, placed[V]{a, v}) })
	slices.SortFunc(all, func(x, y placed[V]) int {
		return cmp.Or(cmp.Compare(x.ID, y.ID), comparePaths(x.Path, y.Path))
	})
	return all
}

// comparePaths orders "2" before "10".
func comparePaths(x, y graph.Path) int {
	a, b := strings.Split(string(x), "."), strings.Split(string(y), ".")
	return slices.CompareFunc(a, b, func(p, q string) int {
		return cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q))
	})
}
