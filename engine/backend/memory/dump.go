package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Dump prints everything that is stored, one line each, sorted, so that two stores hold the same if
// and only if their dumps are equal. Sequences are not part of it: like a database's, they do not go
// back with a call that fails.
func (b *Backend) Dump() string {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Collect(maps.Values(s.instances))
	slices.SortFunc(all, func(x, y *instance) int {
		return cmp.Or(cmp.Compare(x.shard, y.shard), slices.Compare(x.id[:], y.id[:]))
	})
	var out strings.Builder
	for _, inst := range all {
		inst.dump(&out)
	}
	return out.String()
}

func (inst *instance) dump(out *strings.Builder) {
	hash := inst.program.Hash()
	fmt.Fprintf(out, "instance %s shard=%d program=%x status=%s", inst.id, inst.shard, hash[:6], inst.status)
	if inst.result != nil {
		fmt.Fprintf(out, " result=%s", inst.result)
	}
	if f := inst.failure; f != nil {
		fmt.Fprintf(out, " failure=%q message=%q action=%q position=%s", f.Type, f.Message, f.Action, f.Pos)
	}
	out.WriteByte('\n')
	for _, run := range sortedRuns(inst.rows) {
		inst.rows[run].dump(out)
	}
	for _, run := range sortedRuns(inst.readiness) {
		c := inst.readiness[run]
		fmt.Fprintf(out, "  readiness node=%d path=%q completed=%d required=%d soft=%t\n",
			run.Node, run.Path, c.completed, c.required, c.soft)
	}
	for _, slot := range slices.SortedFunc(maps.Keys(inst.slots), compareSlots) {
		fmt.Fprintf(out, "  slot var=%d scope=%q value=%s\n", slot.Var, slot.Scope, inst.slots[slot])
	}
	for _, run := range sortedRuns(inst.elements) {
		for _, i := range slices.Sorted(maps.Keys(inst.elements[run])) {
			fmt.Fprintf(out, "  element node=%d path=%q index=%d value=%s\n",
				run.Node, run.Path, i, inst.elements[run][i])
		}
	}
}

func (r *row) dump(out *strings.Builder) {
	state, at := "ready", "since"
	switch {
	case r.done:
		fmt.Fprintf(out, "  queue node=%d path=%q done attempt=%d\n", r.run.Node, r.run.Path, r.attempt)
		return
	case r.token != 0:
		state, at = fmt.Sprintf("leased token=%d owner=%q", r.token, r.owner), "until"
	case r.place == inWaiting:
		state, at = "waiting", "until"
	}
	fmt.Fprintf(out, "  queue node=%d path=%q %s %s=%s seq=%d attempt=%d action=%q",
		r.run.Node, r.run.Path, state, at, r.at.UTC().Format(time.RFC3339Nano), r.seq, r.attempt, r.action)
	for _, a := range r.args {
		if a.Ref != nil {
			fmt.Fprintf(out, " %s=<%s>", a.Name, backend.FormatSlot(*a.Ref))
		} else {
			fmt.Fprintf(out, " %s=%s", a.Name, a.Value)
		}
	}
	out.WriteByte('\n')
}

// Leftovers counts, by kind, what is stored for instances that have ended (I10). It is empty unless the
// store is broken.
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
		count(left, "rows", len(inst.rows))
		count(left, "readiness", len(inst.readiness))
		count(left, "slots", len(inst.slots))
		count(left, "elements", len(inst.elements))
	}
	for _, sh := range s.shards {
		for _, p := range []place{inReady, inWaiting, inLeased} {
			for _, r := range sh.heap(p).rows {
				if r.inst.status != backend.Running {
					count(left, "queued", 1)
				}
			}
		}
	}
	return left, nil
}

func count(into map[string]int, kind string, n int) {
	if n > 0 {
		into[kind] += n
	}
}

// Check looks for what must never be: a row that is not where its state says, a counter beyond its
// required count, or something left by an instance that ended. It is for tests and simulations.
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
	for run, c := range inst.readiness {
		if c.completed > c.required || c.required < 1 {
			return fmt.Errorf("barrier %d at %q has %d of %d arrivals (I2)", run.Node, run.Path, c.completed, c.required)
		}
	}
	for run, r := range inst.rows {
		h := s.shards[inst.shard].heap(r.place)
		switch {
		case r.done != (h == nil):
			return fmt.Errorf("node %d at %q: done is %t, and its place is %d", run.Node, run.Path, r.done, r.place)
		case h != nil && (r.pos >= h.len() || h.rows[r.pos] != r):
			return fmt.Errorf("node %d at %q is not in the heap that it says", run.Node, run.Path)
		case r.place == inLeased && r.token == 0, r.place == inWaiting && r.token != 0, r.token > s.token:
			return fmt.Errorf("node %d at %q has token %d in place %d", run.Node, run.Path, r.token, r.place)
		}
	}
	return nil
}

func sortedRuns[V any](m map[graph.Run]V) []graph.Run {
	return slices.SortedFunc(maps.Keys(m), func(x, y graph.Run) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), comparePaths(x.Path, y.Path))
	})
}

func compareSlots(x, y plan.Slot) int {
	return cmp.Or(cmp.Compare(x.Var, y.Var), comparePaths(x.Scope, y.Scope))
}

// comparePaths orders "2" before "10": shorter parts are smaller numbers.
func comparePaths(x, y graph.Path) int {
	a, b := strings.Split(string(x), "."), strings.Split(string(y), ".")
	return slices.CompareFunc(a, b, func(p, q string) int {
		return cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q))
	})
}
