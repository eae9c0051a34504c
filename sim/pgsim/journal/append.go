package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/internal/journalstore"
	"pulley/internal/pgstore"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// append is append.sql. Its parts run in the server's order: last first, since no result is read from them; except that new
// instances come first if some may exist.
func (s *Store) append(a *pgsim.Statement, from journalstore.Appending) {
	ap := from.Append()
	holds := s.fence(a, ap.Shard, ap.Epoch)
	var created, ended []pgsim.InstanceRow
	if !ap.SkipExisting {
		s.snapshots(a, ap, holds)
	}
	s.insertInstances(a, ap, holds, &created)
	if ap.SkipExisting {
		s.snapshots(a, ap, holds)
	}
	s.ends(a, ap, holds, &ended)
	s.insertEvents(a, ap, holds)
	a.Then(func(x *db.Exec) error {
		s.report(x, a, from, ap, *holds, created, ended)
		return nil
	})
}

func (s *Store) insertInstances(a *pgsim.Statement, ap journalstore.Append, holds *bool, created *[]pgsim.InstanceRow) {
	if s.World.Bug != cases.BugSubmissionsUnordered {
		slices.SortFunc(ap.Created, func(a, b journalstore.AppendedEnd) int { return bytes.Compare(a.Instance.ID[:], b.Instance.ID[:]) })
	}
	a.Each(func() int { return len(ap.Created) }, func(x *db.Exec, i int) error {
		if !*holds {
			return nil
		}
		e := &ap.Created[i]
		row := pgsim.InstanceRow{
			Inst: s.InstanceOf(e.Instance.ID), Status: e.Instance.Status, Result: e.Instance.Result, Failure: e.Instance.Failure,
			EndedBy: e.Token, Submitted: s.World.Server.Clock(),
		}
		ok, err := s.Instances.InsertNew(x, int32(row.Inst.Index), row)
		if err == nil && !ok && !ap.SkipExisting {
			return db.ErrUnique
		}
		if ok {
			*created = append(*created, row)
		}
		return err
	})
}

func (s *Store) insertEvents(a *pgsim.Statement, ap journalstore.Append, holds *bool) {
	a.Each(func() int { return len(ap.Events) }, func(x *db.Exec, i int) error {
		e := &ap.Events[i]
		if !*holds || e.Seq == 0 || e.Kind == journalstore.KindRetry && s.World.Bug == cases.BugAttemptsForgotten ||
			e.Kind == journalstore.KindSnapshot && s.World.Bug == cases.BugStateForgotten ||
			e.Kind == journalstore.KindDelivery && s.World.Bug == cases.BugDeliveriesForgotten {
			return nil
		}
		row := eventRow{epoch: ap.Epoch, kind: e.Kind, inst: s.InstanceOf(e.Instance), run: e.Run, data: e.Data, happenedAt: pgsim.Never}
		if e.Timed {
			row.happenedAt = s.World.Server.Clock()
		}
		return s.events.Insert(x, eventKey{ap.Shard, e.Seq}, row)
	})
}

func (s *Store) ends(a *pgsim.Statement, ap journalstore.Append, holds *bool, ended *[]pgsim.InstanceRow) {
	running := func(r pgsim.InstanceRow) bool {
		return r.Status == backend.Running || s.World.Bug == cases.BugEndedTwice
	}
	a.Each(func() int { return len(ap.Ends) }, func(x *db.Exec, i int) error {
		e := &ap.Ends[i]
		inst := s.InstanceOf(e.Instance.ID)
		v := s.Instances.Get(x, int32(inst.Index))
		if !*holds || v == nil || !running(v.Value) {
			return nil
		}
		row := v.Value
		row.Status, row.Result, row.Failure = e.Instance.Status, e.Instance.Result, e.Instance.Failure
		row.Pending, row.EndedBy = false, e.Token
		ok, err := s.Instances.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			*ended = append(*ended, row)
		}
		return err
	})
}

// snapshots notes the events that hold the instances' snapshots.
func (s *Store) snapshots(a *pgsim.Statement, ap journalstore.Append, holds *bool) {
	a.Each(func() int { return len(ap.Events) }, func(x *db.Exec, i int) error {
		e := &ap.Events[i]
		if !*holds || e.Seq == 0 || e.Kind != journalstore.KindSnapshot {
			return nil
		}
		v, err := pgsim.LockRow(x, s.Instances, int32(s.InstanceOf(e.Instance).Index), db.ForUpdate, func(pgsim.InstanceRow) bool { return true })
		if v == nil || err != nil {
			return err
		}
		row := v.Value
		row.Snapshot = e.Seq
		x.Note(judge.Step{What: world.WritesState, Shard: int64(row.Inst.Index), Epoch: e.Seq})
		_, err = s.Instances.Update(x, v, db.NoKeyUpdate, row)
		return err
	})
}

func (s *Store) report(x *db.Exec, a *pgsim.Statement, from journalstore.Appending, ap journalstore.Append, holds bool, created, ended []pgsim.InstanceRow) {
	ids := pgstore.UUIDs()
	if !holds {
		a.Wire = answered(ap, 0, ids)
		return
	}
	x.Note(judge.Do(func() { s.last = from }))
	for _, row := range created {
		ids.UUID(row.Inst.ID)
		s.addCreatedNotes(x, row)
	}
	a.Wire = answered(ap, 1, ids)
	for i := range ap.Events {
		e := &ap.Events[i]
		switch e.Kind {
		case journalstore.KindSnapshot:
			continue
		case journalstore.KindDelivery:
			n, _ := binary.Varint(e.Data)
			x.Note(judge.Delivery{Inst: s.InstanceOf(e.Instance), Run: e.Run, Count: int(n)})
			continue
		}
		h := &judge.Event{Inst: s.InstanceOf(e.Instance), Run: e.Run, Token: e.Token, Lease: e.Token, Snapshot: x.Begun(), Retried: e.Kind == journalstore.KindRetry}
		switch e.Kind {
		case journalstore.KindResult:
			h.Result = e.Data
		case journalstore.KindFailure:
			h.Failure = &plan.Failure{}
			_ = json.Unmarshal(e.Data, h.Failure) // written by the backend
		}
		x.Note(h)
	}
	for _, row := range ended {
		x.Note(judge.Ended{Inst: row.Inst, Status: row.Status})
	}
}

func answered(ap journalstore.Append, holds int, created pgstore.Array) [][]byte {
	if ap.SkipExisting {
		return [][]byte{bigEndian4(holds), created.Append(nil)}
	}
	return [][]byte{bigEndian4(holds)}
}
