package explore

import (
	"math"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/push"
	"pulley/sim/db"
)

// sweep is Backend.Sweep.
func (c *pushClient) sweep(shard int, k func(backend.Swept, error)) {
	looks := []db.Statement{
		&pushForget{s: c.s, shard: shard, age: c.s.w.marksKept()},
		&pushOverdue{s: c.s, shard: shard},
	}
	if c.s.w.Bug == bugSweptBack {
		looks = append(looks, &pushRescue{s: c.s, shard: shard})
	}
	var look func(i int)
	look = func(i int) {
		if i == len(looks) {
			c.sweepUntidy(shard, k)
			return
		}
		c.p.query(func(err error) {
			if err != nil {
				k(backend.Swept{}, err)
				return
			}
			look(i + 1)
		}, looks[i])
	}
	look(0)
}

// sweepUntidy is what is left of Sweeper.Sweep.
func (c *pushClient) sweepUntidy(shard int, k func(backend.Swept, error)) {
	u := &pushUntidy{s: &c.s.base, shard: shard}
	c.p.query(func(err error) {
		if err != nil {
			k(backend.Swept{}, err)
			return
		}
		var swept backend.Swept
		var next func(i int)
		next = func(i int) {
			if i == len(u.found) {
				swept.More = swept.Rows > 0
				k(swept, nil)
				return
			}
			c.piece(u.found[i], 0, 0, func(removed int, err error) {
				if err != nil {
					k(swept, err)
					return
				}
				swept.Rows += removed
				next(i + 1)
			})
		}
		next(0)
	}, u)
}

// piece removes some of what an instance left.
func (c *pushClient) piece(inst *instance, table, removed int, k func(int, error)) {
	if table == 4 && removed > 0 {
		k(removed, nil)
		return
	}
	t := &pushTidy{s: c.s, inst: inst, table: table}
	c.p.query(func(err error) {
		if err != nil || table == 4 {
			k(removed, err)
			return
		}
		c.piece(inst, table+1, removed+t.removed, k)
	}, t)
}

// tidy sweeps what an instance left that has just ended.
func (c *pushClient) tidy(inst *instance, pass int, k func()) {
	c.piece(inst, 0, 0, func(removed int, err error) {
		if err != nil || removed == 0 || pass+1 == tidyPasses {
			k()
			return
		}
		c.tidy(inst, pass+1, k)
	})
}

// tidyAfter begins to sweep what instances left that a commit ended.
func (c *pushClient) tidyAfter(t *pushTx, k func()) {
	var next func(i int)
	next = func(i int) {
		for i < len(t.ended) && (t.ended[i].submission != nil || push.TakesAll(t.ended[i])) {
			i++
		}
		if i == len(t.ended) || c.s.w.Bug == bugEndedTwice {
			k()
			return
		}
		c.tidy(t.ended[i].inst, 0, func() { next(i + 1) })
	}
	next(0)
}

// marksLeases is for how many leases marks of commits are kept: as many as of an engine with the lease that is usual.
const marksLeases = 12

// marksKept is how long they are kept, in ns.
func (w *world) marksKept() int64 {
	if w.MarksUS > 0 {
		return us(w.MarksUS)
	}
	return marksLeases * us(w.LeaseUS)
}

// pushForget is forget.sql.
type pushForget struct {
	s     *pushStore
	shard int
	age   int64

	begun bool
	found []*db.Version[commitKey, commitRow]
	old   deletion[commitKey, commitRow]
	i     int
}

// Run implements db.Statement.
func (f *pushForget) Run(x *db.Exec) error {
	before := f.s.w.server.clock() - f.age
	if !f.begun {
		f.begun, f.old.table = true, f.s.commits
		f.s.commits.Each(x, commitKey{int64(f.shard), math.MinInt64, math.MinInt32}, func(v *db.Version[commitKey, commitRow]) bool {
			if v.Row.Key.shard != int64(f.shard) {
				return false
			}
			if v.Value.at < before {
				f.found = append(f.found, v)
			}
			return true
		})
	}
	for ; f.i < len(f.found); f.i++ {
		v, err := f.s.commits.Lock(x, f.found[f.i], db.ForUpdate, db.SkipLocked)
		if err != nil {
			return err
		}
		if v != nil && v.Value.at < before {
			x.Note(shardNote{Forgets, int64(f.shard), v.Value.number})
			f.old.found = append(f.old.found, v)
		}
	}
	return f.old.run(x)
}

// pushOverdue is overdue.sql. A shard never has more rows that are due than it looks at.
type pushOverdue struct {
	s     *pushStore
	shard int

	begun  bool
	found  []*db.Version[runKey, queued]
	locked []*db.Version[runKey, queued]
	i, j   int
}

func (o *pushOverdue) writes() bool { return true }

// Run implements db.Statement.
func (o *pushOverdue) Run(x *db.Exec) error {
	s, now := o.s, o.s.w.server.clock()
	if !o.begun {
		o.begun = true
		long := yearsBefore(now, 50) // who is due for longer was put first before
		s.queue.All(x, func(v *db.Version[runKey, queued]) bool {
			q := &v.Value
			if s.w.insts[v.Row.Key.inst].shard == o.shard && q.owner != 0 && q.due <= now && q.due > long {
				o.found = append(o.found, v)
			}
			return true
		})
		slices.SortStableFunc(o.found, func(a, b *db.Version[runKey, queued]) int { return -byDue(a, b) })
	}
	for ; o.i < len(o.found); o.i++ {
		v, err := s.queue.Lock(x, o.found[o.i], db.ForUpdate, db.SkipLocked)
		if err != nil {
			return err
		}
		if v != nil && v.Value.owner != 0 && v.Value.due <= now {
			o.locked = append(o.locked, v)
		}
	}
	for ; o.j < len(o.locked); o.j++ {
		v := o.locked[o.j]
		row := v.Value
		row.due = yearsBefore(row.due, 100)
		ok, err := s.queue.Update(x, v, db.NoKeyUpdate, row)
		if err != nil {
			return err
		}
		if ok {
			x.Note(shardNote{PutsFirst, int64(o.shard), row.token})
		}
	}
	return nil
}

// pushRescue is a bug: a sweep that puts runs back whose lease is over, as it saw them when it began.
type pushRescue struct {
	s     *pushStore
	shard int
	begun bool
	stuck []*db.Version[runKey, queued]
	i     int
}

// Run implements db.Statement.
func (r *pushRescue) Run(x *db.Exec) error {
	if !r.begun {
		r.begun = true
		for _, v := range r.s.due(x, r.shard) {
			if v.Value.owner != 0 && v.Value.due <= r.s.w.server.clock() {
				r.stuck = append(r.stuck, v)
			}
		}
	}
	for ; r.i < len(r.stuck); r.i++ {
		v := r.stuck[r.i]
		_, _, err := r.s.queue.Upsert(x, v.Row.Key, v.Value, func(old queued) (queued, bool, error) {
			old.due = v.Value.due
			return old, true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
