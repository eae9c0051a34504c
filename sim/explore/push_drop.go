package explore

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend/postgres/push"
	"pulley/sim/db"
)

// pushDrop is the statements that take away what events clear, in their order: drop_runs, drop_counters, drop_elements,
// drop_values, end. Each has a snapshot of its own; part says which it is.
type pushDrop struct {
	s    *pushStore
	part int
	mark mark
	sure bool
	d    *push.Drops

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
		p.runs.found = findRuns(x, s, s.queue, p.d.Runs, took)
	case 1:
		p.counters.found = findRuns(x, s, s.readiness, p.d.Counters, took)
	case 2:
		p.elements.found = findValues(x, s, s.elements, p.d.Elements, took)
	case 3:
		p.values.found = findValues(x, s, s.inbox, p.d.Values, took)
	case 4:
		for _, e := range p.d.Ended {
			if !took(e.Ord()) {
				continue
			}
			inst := s.index(e.Of())
			p.counters.found = append(p.counters.found, ofInstance(x, s.readiness, runKey{inst: inst, node: math32}, func(k runKey) int32 { return k.inst })...)
			p.values.found = append(p.values.found, ofInstance(x, s.inbox, valueKey{inst: inst, id: math32}, func(k valueKey) int32 { return k.inst })...)
			p.elements.found = append(p.elements.found, ofInstance(x, s.elements, valueKey{inst: inst, id: math32}, func(k valueKey) int32 { return k.inst })...)
		}
	}
}

// math32 is before every node and variable.
const math32 = -1 << 31

// index is that of an instance, in keys.
func (b *base) index(id uuid.UUID) int32 { return int32(b.w.instanceOf(id).index) }

func findRuns[V any](x *db.Exec, b *pushStore, t *db.Table[runKey, V], all []push.Span, took func(int32) bool) (found []*db.Version[runKey, V]) {
	for _, s := range all {
		if !took(s.Ord) {
			continue
		}
		inst := b.index(s.Instance)
		t.Each(x, runKey{inst, s.ID, s.Low}, func(v *db.Version[runKey, V]) bool {
			k := v.Row.Key
			if k.inst != inst || k.node != s.ID || k.path >= s.High {
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

func findValues[V any](x *db.Exec, b *pushStore, t *db.Table[valueKey, V], all []push.Span, took func(int32) bool) (found []*db.Version[valueKey, V]) {
	for _, s := range all {
		if !took(s.Ord) {
			continue
		}
		inst := b.index(s.Instance)
		t.Each(x, valueKey{inst, s.ID, s.Low, math32}, func(v *db.Version[valueKey, V]) bool {
			k := v.Row.Key
			if k.inst != inst || k.id != s.ID || k.path >= s.High {
				return false
			}
			if k.element >= s.First && !slices.Contains(found, v) {
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
	all    []push.Span
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
		c.found = findRuns(x, c.s, c.s.queue, c.all, func(int32) bool { return true })
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

// pushHoldCounters is hold_counters.sql: it locks counters that are there, in key order.
type pushHoldCounters struct {
	s     *pushStore
	all   []push.Span
	found []*db.Version[runKey, readiness]
	begun bool
	i     int
}

// Run implements db.Statement.
func (h *pushHoldCounters) Run(x *db.Exec) error {
	if !h.begun {
		h.begun = true
		for _, s := range h.all {
			if v := h.s.readiness.Get(x, runKey{h.s.index(s.Instance), s.ID, s.Low}); v != nil {
				h.found = append(h.found, v)
			}
		}
	}
	for ; h.i < len(h.found); h.i++ {
		if _, err := h.s.readiness.Lock(x, h.found[h.i], db.ForUpdate, db.Wait); err != nil {
			return err
		}
	}
	return nil
}

// pushTidy is tidy_queue.sql and the like, and tidy.sql: table by table of an instance that has ended.
type pushTidy struct {
	s       *pushStore
	inst    *instance
	table   int // 4: mark it as tidy
	begun   bool
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
