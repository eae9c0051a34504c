package pgsim

import (
	"pulley/sim/cases"
	"pulley/sim/db"
)

// Ended is an instance of which the transaction that ended it takes the rows away, unless others are at work on it.
type Ended struct {
	Inst int32

	// NeedsCleanup is whether something else is at work on it, or it needed cleanup before.
	NeedsCleanup bool
	row          *db.Version[int32, InstanceRow] // with needs_cleanup set; nil: it is not to be marked
}

// CleanupAtEnd finds out what is to be done with an instance that has ended, where others may be at work on it: isBusy says whether they are.
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

// MarkNeedsCleanup adds the steps that mark instances with needs_cleanup on which others are at work. Give hears which those are.
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

// OfEnded finds the rows of instances on which nothing else is at work.
func OfEnded[K InstanceKey[K], V any](x *db.Exec, t *db.Table[K, V], all []Ended) (found []*db.Version[K, V]) {
	for _, e := range all {
		if !e.NeedsCleanup {
			found = append(found, OfInstance(x, t, e.Inst)...)
		}
	}
	return found
}
