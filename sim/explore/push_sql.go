package explore

import (
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
				e.put(n.slot, int(k.element), v.Value)
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

// deletion takes rows away by their addresses, one by one.
type deletion[K, V any] struct {
	table *db.Table[K, V]
	found []*db.Version[K, V]
	i     int
}

func (d *deletion[K, V]) run(x *db.Exec) error {
	for ; d.i < len(d.found); d.i++ {
		if _, err := d.table.Delete(x, d.found[d.i]); err != nil {
			return err
		}
	}
	return nil
}

// pushDrop is the statements that take away what events clear, in their order: drop_runs, drop_counters, drop_elements,
// drop_values, end. Each has a snapshot of its own; part says which it is.
type pushDrop struct {
	s    *pushStore
	part int
	mark mark
	sure bool
	d    *drops

	begun    bool
	runs     deletion[runKey, queued]
	counters deletion[runKey, readiness]
	elements deletion[valueKey, collected]
	values   deletion[valueKey, json.RawMessage]
}

// Run implements db.Statement.
func (p *pushDrop) Run(x *db.Exec) error {
	if !p.begun {
		p.begun = true
		p.find(x)
	}
	if err := p.runs.run(x); err != nil {
		return err
	}
	if err := p.counters.run(x); err != nil {
		return err
	}
	if err := p.values.run(x); err != nil {
		return err
	}
	return p.elements.run(x)
}

// took says which events took place: all, or those that the mark of this transaction does not name.
func (p *pushDrop) took(x *db.Exec) func(ord int32) bool {
	if p.sure {
		return func(int32) bool { return true }
	}
	v := p.s.commits.Get(x, p.mark.key())
	if v == nil || v.Value.number != p.mark.number {
		return func(int32) bool { return false }
	}
	return func(ord int32) bool { return !slices.Contains(v.Value.stale, ord) }
}

func (p *pushDrop) find(x *db.Exec) {
	s, took := p.s, p.took(x)
	p.runs.table, p.counters.table, p.elements.table, p.values.table = s.queue, s.readiness, s.elements, s.inbox
	switch p.part {
	case 0:
		p.runs.found = findRuns(x, s.queue, p.d.runs, took)
	case 1:
		p.counters.found = findRuns(x, s.readiness, p.d.counters, took)
	case 2:
		p.elements.found = findValues(x, s.elements, p.d.elements, took)
	case 3:
		p.values.found = findValues(x, s.inbox, p.d.values, took)
	case 4:
		var all []span
		for _, e := range p.d.ended {
			if took(e.ord) {
				all = append(all, span{inst: int32(e.inst.index), id: -1})
			}
		}
		for _, a := range all {
			p.counters.found = append(p.counters.found, ofInstance(x, s.readiness, runKey{inst: a.inst, node: math32}, func(k runKey) int32 { return k.inst })...)
			p.values.found = append(p.values.found, ofInstance(x, s.inbox, valueKey{inst: a.inst, id: math32}, func(k valueKey) int32 { return k.inst })...)
			p.elements.found = append(p.elements.found, ofInstance(x, s.elements, valueKey{inst: a.inst, id: math32}, func(k valueKey) int32 { return k.inst })...)
		}
	}
}

// math32 is before every node and variable.
const math32 = -1 << 31

func findRuns[V any](x *db.Exec, t *db.Table[runKey, V], all []span, took func(int32) bool) (found []*db.Version[runKey, V]) {
	for _, s := range all {
		if !took(s.ord) {
			continue
		}
		t.Each(x, runKey{s.inst, s.id, s.low}, func(v *db.Version[runKey, V]) bool {
			k := v.Row.Key
			if k.inst != s.inst || k.node != s.id || k.path >= s.high {
				return false
			}
			if !slices.Contains(found, v) {
				found = append(found, v)
			}
			return true
		})
	}
	return found
}

func findValues[V any](x *db.Exec, t *db.Table[valueKey, V], all []span, took func(int32) bool) (found []*db.Version[valueKey, V]) {
	for _, s := range all {
		if !took(s.ord) {
			continue
		}
		t.Each(x, valueKey{s.inst, s.id, s.low, math32}, func(v *db.Version[valueKey, V]) bool {
			k := v.Row.Key
			if k.inst != s.inst || k.id != s.id || k.path >= s.high {
				return false
			}
			if k.element >= s.first && !slices.Contains(found, v) {
				found = append(found, v)
			}
			return true
		})
	}
	return found
}

// ofInstance gives all rows of an instance in a table.
func ofInstance[K, V any](x *db.Exec, t *db.Table[K, V], from K, inst func(K) int32) (found []*db.Version[K, V]) {
	of := inst(from)
	t.Each(x, from, func(v *db.Version[K, V]) bool {
		if inst(v.Row.Key) != of {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

// pushCallOff is call_off.sql and call_off_more.sql: it locks the runs of regions in key order, and counts them.
type pushCallOff struct {
	s      *pushStore
	all    []span
	policy db.Policy
	found  []*db.Version[runKey, queued]
	begun  bool
	i      int
	count  int
}

// Run implements db.Statement.
func (c *pushCallOff) Run(x *db.Exec) error {
	if !c.begun {
		c.begun = true
		c.found = findRuns(x, c.s.queue, c.all, func(int32) bool { return true })
	}
	for ; c.i < len(c.found); c.i++ {
		v, err := c.s.queue.Lock(x, c.found[c.i], db.ForUpdate, c.policy)
		if err != nil {
			return err
		}
		if v != nil {
			c.count++
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
	slices.SortStableFunc(found, func(a, b *db.Version[runKey, queued]) int {
		switch {
		case a.Value.due < b.Value.due:
			return -1
		case a.Value.due > b.Value.due:
			return 1
		}
		return 0
	})
	return found
}

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

// pushTidy is tidy_queue.sql and the like, and tidy.sql: table by table of an instance that has ended.
type pushTidy struct {
	s       *pushStore
	inst    *instance
	table   int // 4: mark it as tidy
	begun   bool
	i       int
	runs    deletion[runKey, queued]
	counts  deletion[runKey, readiness]
	parts   deletion[valueKey, collected]
	values  deletion[valueKey, json.RawMessage]
	removed int
}

// Run implements db.Statement.
func (t *pushTidy) Run(x *db.Exec) error {
	s, id := t.s, int32(t.inst.index)
	runs, values := runKey{inst: id, node: math32}, valueKey{inst: id, id: math32}
	ofRun, ofValue := func(k runKey) int32 { return k.inst }, func(k valueKey) int32 { return k.inst }
	if !t.begun {
		t.begun = true
		t.runs.table, t.counts.table, t.parts.table, t.values.table = s.queue, s.readiness, s.elements, s.inbox
		switch t.table {
		case 0:
			t.runs.found = ofInstance(x, s.queue, runs, ofRun)
		case 1:
			t.counts.found = ofInstance(x, s.readiness, runs, ofRun)
		case 2:
			t.parts.found = ofInstance(x, s.elements, values, ofValue)
		case 3:
			t.values.found = ofInstance(x, s.inbox, values, ofValue)
		}
	}
	if t.table == 4 {
		v := s.instances.Get(x, id)
		if v == nil || !v.Value.untidy || len(ofInstance(x, s.queue, runs, ofRun))+len(ofInstance(x, s.readiness, runs, ofRun))+
			len(ofInstance(x, s.elements, values, ofValue))+len(ofInstance(x, s.inbox, values, ofValue)) > 0 {
			return nil
		}
		row := v.Value
		row.untidy = false
		_, err := s.instances.Update(x, v, db.NoKeyUpdate, row)
		return err
	}
	if err := tidyRows(x, &t.runs, &t.removed); err != nil {
		return err
	}
	if err := tidyRows(x, &t.counts, &t.removed); err != nil {
		return err
	}
	if err := tidyRows(x, &t.parts, &t.removed); err != nil {
		return err
	}
	return tidyRows(x, &t.values, &t.removed)
}

// tidyRows locks rows and takes them away by the addresses that they have then.
func tidyRows[K, V any](x *db.Exec, d *deletion[K, V], removed *int) error {
	for ; d.i < len(d.found); d.i++ {
		v, err := d.table.Lock(x, d.found[d.i], db.ForUpdate, db.Wait)
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		ok, err := d.table.Delete(x, v)
		if err != nil {
			return err
		}
		if ok {
			*removed++
		}
	}
	return nil
}

// pushUntidy is untidy.sql.
type pushUntidy struct {
	s     *base
	shard int
	found []*instance
}

// Run implements db.Statement.
func (u *pushUntidy) Run(x *db.Exec) error {
	u.s.instances.All(x, func(v *db.Version[int32, instanceRow]) bool {
		if v.Value.untidy && v.Value.inst.shard == u.shard {
			u.found = append(u.found, v.Value.inst)
		}
		return true
	})
	return nil
}

// cancelRunning is cancel.sql.
type cancelRunning struct {
	s     *base
	inst  *instance
	at    *db.Version[int32, instanceRow]
	ended bool
}

// Run implements db.Statement.
func (c *cancelRunning) Run(x *db.Exec) error {
	v := c.s.instances.Get(x, int32(c.inst.index))
	if v == nil || v.Value.status != backend.Running {
		return nil
	}
	if c.at == nil {
		var err error
		if v, err = c.s.instances.Lock(x, v, db.ForUpdate, db.Wait); err != nil {
			return err
		}
		if v == nil || v.Value.status != backend.Running {
			return nil
		}
		c.at = v
	}
	row := c.at.Value
	row.status, row.untidy = backend.Canceled, true
	ok, err := c.s.instances.Update(x, c.at, db.NoKeyUpdate, row)
	if err == nil && ok {
		c.ended = true
		x.Note(endedNote{c.inst, backend.Canceled})
	}
	return err
}

// lookedUp is lookup.sql.
type lookedUp struct {
	s      *base
	inst   *instance
	status backend.Status
}

// Run implements db.Statement.
func (l *lookedUp) Run(x *db.Exec) error {
	if v := l.s.instances.Get(x, int32(l.inst.index)); v != nil {
		l.status = v.Value.status
	}
	return nil
}
