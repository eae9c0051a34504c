package pgsim

import (
	"pulley/sim/cases"
	"pulley/sim/db"
)

// Ended is an instance of which the transaction that ended it takes the rows away, unless others are at work on it.
type Ended struct {
	Inst int32

	// Left is whether something else is at work on it, or it has been marked as untidy before.
	Left bool
	mark *db.Version[int32, InstanceRow] // as untidy; nil: it is not to be marked
}

// LookAtEnd finds out what is to be done with an instance that has ended, where others may be at work on it: isBusy says whether they are.
func (b *Base) LookAtEnd(x *db.Exec, inst int32, shared bool, isBusy func() bool) Ended {
	e := Ended{Inst: inst}
	if v := b.Instances.Get(x, inst); shared && v != nil {
		e.Left = v.Value.Untidy || b.World.Bug != cases.BugEndsAlone && isBusy()
		if e.Left && !v.Value.Untidy {
			e.mark = v
		}
	}
	return e
}

// MarkShared adds the steps that mark instances as untidy on which others are at work. Give hears which those are.
func (b *Base) MarkShared(a *Statement, all *[]Ended, give func(i int)) {
	a.Write, a.Counts = true, true
	a.Each(func() int { return len(*all) }, func(x *db.Exec, i int) error {
		mark := (*all)[i].mark
		if mark == nil {
			return nil
		}
		row := mark.Value
		row.Untidy = true
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
		if !e.Left {
			found = append(found, OfInstance(x, t, e.Inst)...)
		}
	}
	return found
}
