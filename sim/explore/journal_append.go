package explore

import (
	"bytes"
	"encoding/json"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/plan"
	"pulley/sim/db"
)

// append is append.sql: its parts in the order in which the server does them, which is from the last to the first, since
// nothing reads what they give; but for new instances where some may be known.
func (s *journalStore) append(a *asked, p journal.Prepared, ap journal.Append) {
	holds := s.fence(a, ap.Shard, ap.Epoch)
	var born, ended []instanceRow
	if !ap.Known {
		s.snapshots(a, ap, holds)
	}
	s.births(a, ap, holds, &born)
	if ap.Known {
		s.snapshots(a, ap, holds)
	}
	s.ends(a, ap, holds, &ended)
	s.happenings(a, ap, holds)
	a.then(func(x *db.Exec) error {
		s.report(x, a, p, ap, *holds, born, ended)
		return nil
	})
}

// births stores new instances.
func (s *journalStore) births(a *asked, ap journal.Append, holds *bool, born *[]instanceRow) {
	if s.w.Bug != bugBirthsUnordered {
		slices.SortFunc(ap.Births, func(a, b journal.AppendedEnd) int { return bytes.Compare(a.Instance.ID[:], b.Instance.ID[:]) })
	}
	a.each(func() int { return len(ap.Births) }, func(x *db.Exec, i int) error {
		if !*holds {
			return nil
		}
		e := &ap.Births[i]
		row := instanceRow{
			inst: s.instanceOf(e.Instance.ID), status: e.Instance.Status, result: e.Instance.Result, failure: e.Instance.Failure,
			endedBy: e.Token, submitted: s.w.server.clock(),
		}
		ok, err := s.instances.InsertNew(x, int32(row.inst.index), row)
		if err == nil && !ok && !ap.Known {
			return db.ErrUnique
		}
		if ok {
			*born = append(*born, row)
		}
		return err
	})
}

// happenings stores events.
func (s *journalStore) happenings(a *asked, ap journal.Append, holds *bool) {
	a.each(func() int { return len(ap.Events) }, func(x *db.Exec, i int) error {
		e := &ap.Events[i]
		if !*holds || e.Seq == 0 || e.Kind == journal.KindRetry && s.w.Bug == bugAttemptsForgotten ||
			e.Kind == journal.KindSnapshot && s.w.Bug == bugStateForgotten {
			return nil
		}
		row := eventRow{epoch: ap.Epoch, kind: e.Kind, inst: s.instanceOf(e.Instance), run: e.Run, data: e.Data, happened: never}
		if e.Timed {
			row.happened = s.w.server.clock()
		}
		return s.events.Insert(x, eventKey{ap.Shard, e.Seq}, row)
	})
}

// ends ends instances.
func (s *journalStore) ends(a *asked, ap journal.Append, holds *bool, ended *[]instanceRow) {
	running := func(r instanceRow) bool { return r.status == backend.Running || s.w.Bug == bugEndedTwice }
	a.each(func() int { return len(ap.Ends) }, func(x *db.Exec, i int) error {
		e := &ap.Ends[i]
		inst := s.instanceOf(e.Instance.ID)
		v := s.instances.Get(x, int32(inst.index))
		if !*holds || v == nil || !running(v.Value) {
			return nil
		}
		row := v.Value
		row.status, row.result, row.failure = e.Instance.Status, e.Instance.Result, e.Instance.Failure
		row.pending, row.endedBy = false, e.Token
		ok, err := s.instances.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			*ended = append(*ended, row)
		}
		return err
	})
}

// snapshots notes where instances have their state.
func (s *journalStore) snapshots(a *asked, ap journal.Append, holds *bool) {
	a.each(func() int { return len(ap.Events) }, func(x *db.Exec, i int) error {
		e := &ap.Events[i]
		if !*holds || e.Seq == 0 || e.Kind != journal.KindSnapshot {
			return nil
		}
		v, err := lockOne(x, s.instances, int32(s.instanceOf(e.Instance).index), db.ForUpdate, func(instanceRow) bool { return true })
		if v == nil || err != nil {
			return err
		}
		row := v.Value
		row.snapshot = e.Seq
		x.Note(shardNote{WritesState, int64(row.inst.index), e.Seq})
		_, err = s.instances.Update(x, v, db.NoKeyUpdate, row)
		return err
	})
}

// report gives the answer, and leaves notes of what took place.
func (s *journalStore) report(x *db.Exec, a *asked, p journal.Prepared, ap journal.Append, holds bool, born, ended []instanceRow) {
	ids := postgres.UUIDs()
	if !holds {
		a.wire = answered(ap, 0, ids)
		return
	}
	x.Note(doNote(func() { s.last = p }))
	for _, row := range born {
		ids.UUID(row.inst.id)
		s.bornNotes(x, row)
	}
	a.wire = answered(ap, 1, ids)
	for i := range ap.Events {
		e := &ap.Events[i]
		if e.Kind == journal.KindSnapshot {
			continue
		}
		h := &happened{inst: s.instanceOf(e.Instance), run: e.Run, token: e.Token, lease: e.Token, snapshot: x.Begun(), retried: e.Kind == journal.KindRetry}
		switch e.Kind {
		case journal.KindResult:
			h.result = e.Data
		case journal.KindFailure:
			h.failure = &plan.Failure{}
			_ = json.Unmarshal(e.Data, h.failure) // the backend has written it
		}
		x.Note(h)
	}
	for _, row := range ended {
		x.Note(endedNote{row.inst, row.status})
	}
}

// answered is the row that an append gives.
func answered(ap journal.Append, holds int, born postgres.Array) [][]byte {
	if ap.Known {
		return [][]byte{bigEndian4(holds), born.Append(nil)}
	}
	return [][]byte{bigEndian4(holds)}
}
