package pgsim

import (
	"pulley/sim/cases"
	"pulley/sim/db"
)

// Ended is an instance that a transaction ends. The transaction deletes the instance's rows, unless another node run can be open.
type Ended struct {
	Inst int32

	// NeedsCleanup is whether another node run is open, or the instance needed cleanup before.
	NeedsCleanup bool
	row          *db.Version[int32, InstanceRow] // to be marked; nil: it is not
}

// CleanupAtEnd decides whether an ended instance needs cleanup. If shared, isBusy reports whether another node run is open.
func (b *Base) CleanupAtEnd(x *db.Exec, inst int32, shared bool, isBusy func() bool) Ended {
	e := Ended{Inst: inst}
	if v := b.Instances.Get(x, inst); shared && v != nil {
		e.NeedsCleanup = v.Value.NeedsCleanup || b.World.Bug != cases.BugEndsAlone && isBusy()
		if e.NeedsCleanup && !v.Value.NeedsCleanup {
			e.row = v
		}
	}
	return e
}

// MarkNeedsCleanup adds the step that marks instances as needing cleanup. give is called with the index of each.
func (b *Base) MarkNeedsCleanup(a *Statement, all *[]Ended, give func(i int)) {
	a.Write, a.Counts = true, true
	a.Each(func() int { return len(*all) }, func(x *db.Exec, i int) error {
		mark := (*all)[i].row
		if mark == nil {
			return nil
		}
		row := mark.Value
		row.NeedsCleanup = true
		ok, err := b.Instances.Update(x, mark, db.NoKeyUpdate, row)
		if ok {
			a.Affected++
			give(i)
		}
		return err
	})
}

// OfEnded finds the rows of instances that need no cleanup.
func OfEnded[K InstanceKey[K], V any](x *db.Exec, t *db.Table[K, V], all []Ended) (found []*db.Version[K, V]) {
	for _, e := range all {
		if !e.NeedsCleanup {
			found = append(found, OfInstance(x, t, e.Inst)...)
		}
	}
	return found
}
