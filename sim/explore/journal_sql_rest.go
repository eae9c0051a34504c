package explore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/plan"
	"pulley/sim/db"
)

func (s *journalStore) dropRange(a *asked, args []any) {
	shard, epoch, from, to := args[0].(int), args[1].(int64), args[2].(int64), args[3].(int64)
	var found []*db.Version[eventKey, eventRow]
	a.write = true
	holds := s.fence(a, shard, epoch)
	a.then(func(x *db.Exec) error {
		s.events.Each(x, eventKey{shard, from}, func(v *db.Version[eventKey, eventRow]) bool {
			k := v.Row.Key
			if k.shard != shard || k.seq >= to || !*holds {
				return false
			}
			found = append(found, v)
			return true
		})
		return nil
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		ok, err := remove(x, s.events, found[i], func(eventRow) bool { return true })
		a.affect(ok)
		return err
	})
}

func (s *journalStore) dropSome(a *asked, args []any) {
	shard, seqs := args[0].(int), args[2].([]int64)
	a.write = true
	holds := s.fence(a, shard, args[1].(int64))
	a.each(func() int { return len(seqs) }, func(x *db.Exec, i int) error {
		v := s.events.Get(x, eventKey{shard, seqs[i]})
		if v == nil || !*holds {
			return nil
		}
		ok, err := s.events.Delete(x, v)
		a.affect(ok)
		return err
	})
}

func (s *journalStore) ask(a *asked, args []any) {
	shard, id, drop := args[0].(int), uuid.UUID(args[1].([16]byte)), args[5].([][16]byte)
	a.write, a.affected = true, 1
	a.each(func() int { return len(drop) }, func(x *db.Exec, i int) error {
		v := s.requests.Get(x, requestKey{shard, drop[i]})
		if v == nil {
			return nil
		}
		_, err := s.requests.Delete(x, v)
		return err
	})
	a.then(func(x *db.Exec) error {
		x.Note(shardNote{Asks, int64(shard), 0})
		return s.requests.Insert(x, requestKey{shard, id}, requestRow{body: args[2].([]byte), sent: s.w.server.clock()})
	})
	a.notify(args[3].(string), args[4].(string))
}

func (s *journalStore) fetchAnswer(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		if v := s.requests.Get(x, requestKey{args[0].(int), args[1].([16]byte)}); v != nil {
			a.give(v.Value.answer)
		}
		return nil
	})
}

func (s *journalStore) takeRequests(a *asked, args []any) {
	shard, after := args[0].(int), args[1].(int64)*1000
	a.write = true
	a.then(func(x *db.Exec) error {
		var found, stale []*db.Version[requestKey, requestRow]
		s.requests.Each(x, requestKey{shard: shard}, func(v *db.Version[requestKey, requestRow]) bool {
			switch {
			case v.Row.Key.shard != shard:
				return false
			case v.Value.open():
				found = append(found, v)
			case s.forgets(v.Value, after):
				stale = append(stale, v)
			}
			return true
		})
		if len(found)+len(stale) > 0 {
			s.takeOpen(a, found, stale, after)
		}
		return nil
	})
}

// open says whether nobody has taken the request, and who made it waits.
func (r requestRow) open() bool { return !r.taken && !r.withdrawn }

// forgets says whether a request that is dealt with was sent so long ago that it goes.
func (s *journalStore) forgets(r requestRow, after int64) bool {
	return !r.open() && r.sent < s.w.server.clock()-after
}

// takeOpen gives requests, and removes old ones.
func (s *journalStore) takeOpen(a *asked, found, stale []*db.Version[requestKey, requestRow], after int64) {
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		key := found[i].Row.Key
		row, ok, err := s.requests.UpdateWhere(x, key, db.NoKeyUpdate, requestRow.open, func(r requestRow) requestRow {
			r.taken = true
			return r
		})
		if ok {
			a.give(key.id, row.body)
		}
		return err
	})
	a.each(func() int { return len(stale) }, func(x *db.Exec, i int) error {
		_, err := remove(x, s.requests, stale[i], func(r requestRow) bool { return s.forgets(r, after) })
		return err
	})
}

func (s *journalStore) answer(a *asked, args []any) {
	a.write = true
	a.then(func(x *db.Exec) error {
		_, ok, err := s.requests.UpdateWhere(x, requestKey{args[0].(int), args[1].([16]byte)}, db.NoKeyUpdate,
			func(r requestRow) bool { return !r.withdrawn },
			func(r requestRow) requestRow {
				r.answer = args[2].([]byte)
				return r
			})
		if ok {
			a.affected = 1
		}
		return err
	})
}

func (a *asked) giveRequest(r requestRow, alive bool) {
	a.give(r.taken, r.answer, slices.Clone(r.applied), alive)
}

func (s *journalStore) withdraw(a *asked, args []any) {
	a.write = true
	a.then(func(x *db.Exec) error {
		row, ok, err := s.requests.UpdateWhere(x, requestKey{args[0].(int), args[1].([16]byte)}, db.NoKeyUpdate,
			func(requestRow) bool { return true },
			func(r requestRow) requestRow {
				r.withdrawn = true
				return r
			})
		if ok {
			x.Note(shardNote{Withdraws, 0, 0})
			a.giveRequest(row, true)
		}
		return err
	})
}

func (s *journalStore) callOff(a *asked, args []any) {
	a.write = true
	a.then(func(x *db.Exec) error {
		row := requestRow{withdrawn: true, sent: s.w.server.clock()}
		row, ok, err := s.requests.Upsert(x, requestKey{args[0].(int), args[1].([16]byte)}, row, func(old requestRow) (requestRow, bool, error) {
			old.withdrawn = true
			return old, true, nil
		})
		if ok {
			life := s.lives.Get(x, 0)
			a.giveRequest(row, life != nil && life.Value == args[2].(string) || s.w.Bug == bugCrashedRequest)
		}
		return err
	})
}

func (s *journalStore) cancelFree(a *asked, args []any) {
	shard, ids := args[0].(int), args[1].([][16]byte)
	failure := &plan.Failure{}
	if err := json.Unmarshal([]byte(args[2].(string)), failure); err != nil {
		panic(err) // the backend has written it
	}
	fenced, epoch, missed := false, int64(-1), 0
	a.write = true
	a.then(func(x *db.Exec) error {
		v, err := lockOne(x, s.shards, shard, db.NoKeyUpdate, s.free)
		if v != nil {
			epoch = v.Value.epoch
		}
		return err
	})
	a.then(func(x *db.Exec) (err error) {
		_, fenced, err = s.shards.UpdateWhere(x, shard, db.ForUpdate, func(r shardRow) bool { return r.epoch == epoch }, func(r shardRow) shardRow {
			r.epoch, r.owner = r.epoch+1, ""
			return r
		})
		return err
	})
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		if !fenced {
			return nil
		}
		inst := s.instanceOf(ids[i])
		v, err := lockOne(x, s.instances, int32(inst.index), db.ForUpdate, func(r instanceRow) bool { return r.status == backend.Running })
		if v == nil || err != nil {
			return err
		}
		row := v.Value
		row.status, row.failure, row.pending = backend.Canceled, failure, false
		ok, err := s.instances.Update(x, v, db.NoKeyUpdate, row)
		switch {
		case ok:
			x.Note(endedNote{inst, backend.Canceled})
		case err == nil:
			missed++
		}
		return err
	})
	a.then(func(*db.Exec) error {
		n := 0
		if fenced {
			n = 1
		}
		a.give(n, missed)
		return nil
	})
}

// prepared is what a prepared statement stands for.
func (s *journalStore) prepared(_ *journalHost, p journal.Prepared) *asked {
	a := s.memory.next(p.Name, p.SQL, nil)
	a.write = true
	if s.w.server.shadow != nil {
		for _, param := range p.Params { // which are the caller's again, should it give up
			a.params = append(a.params, slices.Clone(param))
		}
	}
	if ap, ok := p.Append(); ok {
		s.append(a, p, ap)
		return a
	}
	switch p.Name {
	case "journal_mark":
		s.mark(a, p)
	case "journal_submit_pending":
		s.submitPending(a, p)
	default:
		panic(fmt.Sprintf("explore: no such statement: %s", p.Name))
	}
	return a
}

func (s *journalStore) mark(a *asked, p journal.Prepared) {
	shard, epoch := int(binary.BigEndian.Uint16(p.Params[0])), postgres.Int8(p.Params[1])
	id := uuid.UUID(p.Params[2])
	var tokens []int64
	for e := postgres.ReadArray(p.Params[3]); e.Len() > 0; {
		tokens = append(tokens, e.Int8())
	}
	a.then(func(x *db.Exec) error {
		owned := s.shards.Get(x, shard).Value.epoch == epoch
		_, ok, err := s.requests.UpdateWhere(x, requestKey{shard, id}, db.NoKeyUpdate,
			func(r requestRow) bool { return owned && (!r.withdrawn || s.w.Bug == bugWithdrawnApplied) },
			func(r requestRow) requestRow {
				r.applied = append(slices.Clone(r.applied), tokens...)
				return r
			})
		if err == nil && !ok {
			err = db.ErrDivision
		}
		a.wire = [][]byte{bigEndian4(1)}
		return err
	})
}

func (s *journalStore) submitPending(a *asked, p journal.Prepared) {
	ids, statuses := postgres.ReadArray(p.Params[1]), postgres.ReadArray(p.Params[4])
	results, failures := postgres.ReadArray(p.Params[5]), postgres.ReadArray(p.Params[6])
	var all []instanceRow
	for ids.Len() > 0 {
		id, _ := uuid.FromBytes(ids.Next())
		row := instanceRow{inst: s.instanceOf(id), status: backend.Status(statuses.Next()), result: slices.Clone(results.Next())}
		if f := failures.Next(); f != nil {
			row.failure = &plan.Failure{}
			if err := json.Unmarshal(f, row.failure); err != nil {
				panic(err) // the backend has written it
			}
		}
		row.pending = row.status == backend.Running
		all = append(all, row)
	}
	if s.w.Bug != bugBirthsUnordered {
		slices.SortFunc(all, func(a, b instanceRow) int { return bytes.Compare(a.inst.id[:], b.inst.id[:]) })
	}
	channel, payload := string(p.Params[7]), string(p.Params[8])
	born := postgres.UUIDs()
	a.each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		row := all[i]
		row.submitted = s.w.server.clock()
		ok, err := s.instances.InsertNew(x, int32(row.inst.index), row)
		if ok {
			born.UUID(row.inst.id)
			s.bornNotes(x, row)
		}
		return err
	})
	a.then(func(x *db.Exec) error {
		x.Note(notice{channel, payload})
		a.wire = [][]byte{bigEndian4(1), born.Append(nil), {}}
		return nil
	})
}

// bornNotes leaves notes of a new instance.
func (s *journalStore) bornNotes(x *db.Exec, row instanceRow) {
	x.Note(&happened{inst: row.inst, born: true, later: row.pending, snapshot: x.Begun()})
	if row.status != backend.Running {
		x.Note(endedNote{row.inst, row.status})
	}
}
