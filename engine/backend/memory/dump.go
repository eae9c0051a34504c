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
	for _, a := range inst.rows.sorted() {
		inst.rows.at[a].dump(out)
	}
	for _, a := range inst.readiness.sorted() {
		c := inst.readiness.at[a]
		fmt.Fprintf(out, "  readiness node=%d path=%q completed=%d required=%d soft=%t\n",
			a.id, a.path, c.completed, c.required, c.soft)
	}
	for _, a := range inst.slots.sorted() {
		v := inst.slots.at[a]
		fmt.Fprintf(out, "  slot var=%d scope=%q value=%s\n", a.id, a.path, v.base)
		for i, more := range v.appended {
			fmt.Fprintf(out, "  appended var=%d scope=%q index=%d value=%s\n", a.id, a.path, i, more)
		}
	}
	for _, a := range inst.elements.sorted() {
		for _, i := range slices.Sorted(maps.Keys(inst.elements.at[a])) {
			fmt.Fprintf(out, "  element node=%d path=%q index=%d value=%s\n",
				a.id, a.path, i, inst.elements.at[a][i])
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
		inst.count(left)
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

// Held counts, by kind, what is stored for instances that run. Values that were appended to lists are
// counted as "appended", since they alone grow with the rounds of a loop.
func (b *Backend) Held(ctx context.Context) (map[string]int, error) {
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

func (h *held) count(into map[string]int) {
	count(into, "rows", len(h.rows.at))
	count(into, "readiness", len(h.readiness.at))
	count(into, "slots", len(h.slots.at))
	for _, v := range h.slots.at {
		count(into, "appended", len(v.appended))
	}
	for _, e := range h.elements.at {
		count(into, "elements", len(e))
	}
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
	for a, c := range inst.readiness.at {
		if c.completed > c.required || c.required < 1 {
			return fmt.Errorf("barrier %d at %q has %d of %d arrivals (I2)", a.id, a.path, c.completed, c.required)
		}
	}
	for _, r := range inst.rows.at {
		h, run := s.shards[inst.shard].heap(r.place), r.run
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

// sorted lists where a table's values stand, by node or variable and then by path.
func (tb *table[V]) sorted() []address {
	return slices.SortedFunc(maps.Keys(tb.at), func(x, y address) int {
		return cmp.Or(cmp.Compare(x.id, y.id), comparePaths(x.path, y.path))
	})
}

// comparePaths orders "2" before "10": shorter parts are smaller numbers.
func comparePaths(x, y graph.Path) int {
	a, b := strings.Split(string(x), "."), strings.Split(string(y), ".")
	return slices.CompareFunc(a, b, func(p, q string) int {
		return cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q))
	})
}
