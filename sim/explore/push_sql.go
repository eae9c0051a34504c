package explore

import (
	"cmp"
	"encoding/json"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/sim/db"
)

// pushRead is read.sql.
type pushRead struct {
	s     *pushStore
	wants []want
}

// want is a slot that events need.
type want struct {
	inst *instance
	slot plan.Slot
	by   []*pushEvent
}

func (r *pushRead) add(e *pushEvent, slots []plan.Slot) {
	for _, s := range slots {
		i := slices.IndexFunc(r.wants, func(w want) bool { return w.inst == e.inst && w.slot == s })
		if i < 0 {
			i = len(r.wants)
			r.wants = append(r.wants, want{inst: e.inst, slot: s})
		}
		if by := r.wants[i].by; len(by) == 0 || by[len(by)-1] != e {
			r.wants[i].by = append(by, e)
		}
	}
}

// Run implements db.Statement.
func (r *pushRead) Run(x *db.Exec) error {
	for _, n := range r.wants {
		from := valueKey{int32(n.inst.index), int32(n.slot.Var), string(n.slot.Scope), -1}
		r.s.inbox.Each(x, from, func(v *db.Version[valueKey, json.RawMessage]) bool {
			k := v.Row.Key
			if k.inst != from.inst || k.id != from.id || k.path != from.path {
				return false
			}
			for _, e := range n.by {
				e.inbox.Put(n.slot, int(k.element), v.Value)
			}
			return true
		})
	}
	return nil
}

// pushGather is gather.sql.
type pushGather struct {
	s        *pushStore
	events   []*pushEvent
	counters []*db.Version[runKey, readiness]
	parts    []elementsOf
	begun    bool
	i, j     int
}

type elementsOf struct {
	e *pushEvent
	v *db.Version[valueKey, collected]
}

// Run implements db.Statement.
func (g *pushGather) Run(x *db.Exec) error {
	if !g.begun {
		g.begun = true
		for _, e := range g.events {
			if v := g.s.readiness.Get(x, e.key()); v != nil {
				g.counters = append(g.counters, v)
			}
			from := valueKey{int32(e.inst.index), int32(e.fired.Node), string(e.fired.Path), -1}
			g.s.elements.Each(x, from, func(v *db.Version[valueKey, collected]) bool {
				if k := v.Row.Key; k.inst != from.inst || k.id != from.id || k.path != from.path {
					return false
				}
				g.parts = append(g.parts, elementsOf{e, v})
				return true
			})
		}
	}
	for ; g.i < len(g.parts); g.i++ {
		p := g.parts[g.i]
		ok, err := g.s.elements.Delete(x, p.v)
		if err != nil {
			return err
		}
		for i, place := range p.v.Value.places {
			if ok {
				p.e.inbox.Elements = append(p.e.inbox.Elements, plan.Element{Barrier: p.e.fired, Index: place, Value: p.v.Value.vals[i]})
			}
		}
	}
	for ; g.j < len(g.counters); g.j++ {
		if _, err := g.s.readiness.Delete(x, g.counters[g.j]); err != nil {
			return err
		}
	}
	return nil
}

// pushClaim is claim.sql.
type pushClaim struct {
	s     *pushStore
	shard int
	most  int
	owner int32
	lease int64

	begun  bool
	due    []*db.Version[runKey, queued]
	locked []*db.Version[runKey, queued]
	i, j   int
	tasks  []claimedRun
}

type claimedRun struct {
	inst *instance
	run  graph.Run
	queued
}

func (c *pushClaim) writes() bool { return true }

// Run implements db.Statement.
func (c *pushClaim) Run(x *db.Exec) error {
	s := c.s
	if !c.begun {
		c.begun = true
		c.due = s.due(x, c.shard)
		now := s.w.server.clock()
		c.due = slices.DeleteFunc(c.due, func(v *db.Version[runKey, queued]) bool {
			return v.Value.due > now || s.w.Bug == bugNeverReclaimed && v.Value.owner != 0
		})
	}
	for ; c.i < len(c.due) && len(c.locked) < c.most; c.i++ {
		v, err := s.queue.Lock(x, c.due[c.i], db.ForUpdate, db.SkipLocked)
		if err != nil {
			return err
		}
		if v != nil && v.Value.due <= s.w.server.clock() {
			c.locked = append(c.locked, v)
		}
	}
	for ; c.j < len(c.locked); c.j++ {
		v := c.locked[c.j]
		row := v.Value
		if s.w.Bug != bugLeaseNotFenced {
			row.token = s.tokens.Next()
		}
		if s.w.Bug == bugAttemptsForgotten && row.owner != 0 {
			row.attempt = 1
		}
		row.due, row.owner = s.w.server.clock()+c.lease, c.owner+1
		ok, err := s.queue.Update(x, v, db.NoKeyUpdate, row)
		if err != nil {
			return err
		}
		if ok {
			k := v.Row.Key
			inst := s.w.insts[k.inst]
			c.tasks = append(c.tasks, claimedRun{inst, k.run(), row})
			x.Note(leasedNote{inst, k.run(), row.token, row.attempt, x.Begun()})
		}
	}
	return nil
}

// due gives the runs of a shard's running instances by the time when they are due.
func (s *pushStore) due(x *db.Exec, shard int) (found []*db.Version[runKey, queued]) {
	s.queue.All(x, func(v *db.Version[runKey, queued]) bool {
		if s.w.insts[v.Row.Key.inst].shard != shard {
			return true
		}
		if in := s.instances.Get(x, v.Row.Key.inst); in != nil && in.Value.status == backend.Running {
			found = append(found, v)
		}
		return true
	})
	slices.SortStableFunc(found, byDue)
	return found
}

func byDue(a, b *db.Version[runKey, queued]) int { return cmp.Compare(a.Value.due, b.Value.due) }

// pushNextDue is next_due.sql.
type pushNextDue struct {
	s     *pushStore
	shard int
	none  bool
	in    int64
}

// Run implements db.Statement.
func (n *pushNextDue) Run(x *db.Exec) error {
	due := n.s.due(x, n.shard)
	if n.none = len(due) == 0; !n.none {
		n.in = due[0].Value.due - n.s.w.server.clock()
	}
	return nil
}

// heldRun is a lease, as statements about leases take it.
type heldRun struct {
	ord   int32
	inst  *instance
	run   graph.Run
	token int64
}

// pushLeases is held.sql, fence.sql and extend.sql: it locks rows and changes those whose token is the one.
type pushLeases struct {
	s      *pushStore
	leases []heldRun
	fence  bool // give new tokens
	extend int64

	begun bool
	found []*db.Version[runKey, queued]
	i     int
	at    *db.Version[runKey, queued]
	held  map[int32]int64 // by ord: the token
}

func (l *pushLeases) writes() bool { return l.fence || l.extend > 0 }

// Run implements db.Statement.
func (l *pushLeases) Run(x *db.Exec) error {
	s := l.s
	if !l.begun {
		l.begun, l.held = true, map[int32]int64{}
		for _, h := range l.leases {
			v := s.queue.Get(x, keyOf(h.inst, h.run))
			if l.extend > 0 && v != nil {
				if in := s.instances.Get(x, int32(h.inst.index)); in == nil || in.Value.status != backend.Running {
					v = nil
				}
			}
			l.found = append(l.found, v)
		}
	}
	for ; l.i < len(l.found); l.i, l.at = l.i+1, nil {
		h := l.leases[l.i]
		if l.found[l.i] == nil {
			continue
		}
		if l.at == nil {
			v, err := s.queue.Lock(x, l.found[l.i], db.ForUpdate, db.Wait)
			if err != nil {
				return err
			}
			if v == nil || v.Value.token != h.token {
				continue
			}
			l.at = v
		}
		row := l.at.Value
		switch {
		case l.fence:
			row.token = s.tokens.Next()
		case l.extend > 0 && s.w.Bug == bugExtension:
		case l.extend > 0:
			row.due = s.w.server.clock() + l.extend
		default:
			l.held[h.ord] = row.token
			continue
		}
		ok, err := s.queue.Update(x, l.at, db.NoKeyUpdate, row)
		if err != nil {
			return err
		}
		if ok {
			l.held[h.ord] = row.token
			if l.fence {
				x.Note(fencedNote{h.inst, h.run, row.token})
			}
		}
	}
	return nil
}

// pushLeased is leased.sql.
type pushLeased struct {
	s      *pushStore
	leases []heldRun
	stand  map[int32]bool // by ord
}

// Run implements db.Statement.
func (l *pushLeased) Run(x *db.Exec) error {
	for _, h := range l.leases {
		v := l.s.queue.Get(x, keyOf(h.inst, h.run))
		if l.s.w.Bug == bugGivenCalledOff || v != nil && v.Value.token == h.token {
			l.stand[h.ord] = true
		}
	}
	return nil
}

// pushMark is mark.sql.
type pushMark struct {
	s     *pushStore
	mark  mark
	took  bool
	stale []int32
}

// Run implements db.Statement.
func (m *pushMark) Run(x *db.Exec) error {
	if v := m.s.commits.Get(x, m.mark.key()); v != nil && v.Value.number == m.mark.number {
		m.took, m.stale = true, v.Value.stale
	}
	return nil
}
