package explore

import (
	"pulley/engine/backend"
	"pulley/sim/db"
)

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
