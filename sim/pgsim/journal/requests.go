package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

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

func (s *Store) dropRange(a *pgsim.Statement, args []any) {
	shard, epoch, from, to := args[0].(int), args[1].(int64), args[2].(int64), args[3].(int64)
	var found []*db.Version[eventKey, eventRow]
	a.Write = true
	holds := s.fence(a, shard, epoch)
	a.Then(func(x *db.Exec) error {
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
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		ok, err := pgsim.Remove(x, s.events, found[i], func(eventRow) bool { return true })
		a.Affect(ok)
		return err
	})
}

func (s *Store) deleteSome(a *pgsim.Statement, args []any) {
	shard, seqs := args[0].(int), args[2].([]int64)
	a.Write = true
	holds := s.fence(a, shard, args[1].(int64))
	a.Each(func() int { return len(seqs) }, func(x *db.Exec, i int) error {
		v := s.events.Get(x, eventKey{shard, seqs[i]})
		if v == nil || !*holds {
			return nil
		}
		ok, err := s.events.Delete(x, v)
		a.Affect(ok)
		return err
	})
}

func (s *Store) insertRequest(a *pgsim.Statement, args []any) {
	shard, id, drop := args[0].(int), uuid.UUID(args[1].([16]byte)), args[5].([][16]byte)
	a.Write, a.Affected = true, 1
	a.Each(func() int { return len(drop) }, func(x *db.Exec, i int) error {
		v := s.requests.Get(x, requestKey{shard, drop[i]})
		if v == nil {
			return nil
		}
		_, err := s.requests.Delete(x, v)
		return err
	})
	a.Then(func(x *db.Exec) error {
		x.Note(judge.Step{What: world.Requests, Shard: int64(shard), Epoch: 0})
		return s.requests.Insert(x, requestKey{shard, id}, requestRow{body: args[2].([]byte), sent: s.World.Server.Clock()})
	})
	a.Notify(args[3].(string), args[4].(string))
}

func (s *Store) fetchAnswer(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		if v := s.requests.Get(x, requestKey{args[0].(int), args[1].([16]byte)}); v != nil {
			a.AddRow(v.Value.answer)
		}
		return nil
	})
}

func (s *Store) fetchRequests(a *pgsim.Statement, args []any) {
	shard, after := args[0].(int), args[1].(int64)*1000
	a.Write = true
	a.Then(func(x *db.Exec) error {
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
			s.fetchOpen(a, found, stale, after)
		}
		return nil
	})
}

// open reports whether the request is neither fetched nor withdrawn.
func (r requestRow) open() bool { return !r.isTaken && !r.withdrawn }

// forgets reports whether a finished request is old enough to be deleted.
func (s *Store) forgets(r requestRow, after int64) bool {
	return !r.open() && r.sent < s.World.Server.Clock()-after
}

// fetchOpen returns open requests and deletes old ones.
func (s *Store) fetchOpen(a *pgsim.Statement, found, stale []*db.Version[requestKey, requestRow], after int64) {
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		key := found[i].Row.Key
		row, ok, err := s.requests.UpdateWhere(x, key, db.NoKeyUpdate, requestRow.open, func(r requestRow) requestRow {
			r.isTaken = true
			return r
		})
		if ok {
			a.AddRow(key.id, row.body)
		}
		return err
	})
	a.Each(func() int { return len(stale) }, func(x *db.Exec, i int) error {
		_, err := pgsim.Remove(x, s.requests, stale[i], func(r requestRow) bool { return s.forgets(r, after) })
		return err
	})
}

func (s *Store) answer(a *pgsim.Statement, args []any) {
	a.Write = true
	a.Then(func(x *db.Exec) error {
		_, ok, err := s.requests.UpdateWhere(x, requestKey{args[0].(int), args[1].([16]byte)}, db.NoKeyUpdate,
			func(r requestRow) bool { return !r.withdrawn },
			func(r requestRow) requestRow {
				r.answer = args[2].([]byte)
				return r
			})
		if ok {
			a.Affected = 1
			x.Note(world.Notice{Channel: args[3].(string), Payload: args[4].(string)})
		}
		return err
	})
}

func addRequest(a *pgsim.Statement, r requestRow, alive bool) {
	a.AddRow(r.isTaken, r.answer, slices.Clone(r.applied), alive)
}

func (s *Store) withdraw(a *pgsim.Statement, args []any) {
	a.Write = true
	a.Then(func(x *db.Exec) error {
		row, ok, err := s.requests.UpdateWhere(x, requestKey{args[0].(int), args[1].([16]byte)}, db.NoKeyUpdate,
			func(requestRow) bool { return true },
			func(r requestRow) requestRow {
				r.withdrawn = true
				return r
			})
		if ok {
			x.Note(judge.Step{What: world.Withdraws, Shard: 0, Epoch: 0})
			addRequest(a, row, true)
		}
		return err
	})
}

func (s *Store) cancelRequest(a *pgsim.Statement, args []any) {
	a.Write = true
	a.Then(func(x *db.Exec) error {
		row := requestRow{withdrawn: true, sent: s.World.Server.Clock()}
		row, ok, err := s.requests.Upsert(x, requestKey{args[0].(int), args[1].([16]byte)}, row, func(old requestRow) (requestRow, bool, error) {
			old.withdrawn = true
			return old, true, nil
		})
		if ok {
			life := s.Incarnations.Get(x, 0)
			addRequest(a, row, life != nil && life.Value == args[2].(string) || s.World.Bug == cases.BugCrashedRequest)
		}
		return err
	})
}

func (s *Store) cancelFree(a *pgsim.Statement, args []any) {
	shard, ids := args[0].(int), args[1].([][16]byte)
	failure := &plan.Failure{}
	if err := json.Unmarshal([]byte(args[2].(string)), failure); err != nil {
		panic(err)
	}
	fenced, epoch, missed := false, int64(-1), 0
	a.Write = true
	a.Then(func(x *db.Exec) error {
		v, err := pgsim.LockRow(x, s.shards, shard, db.NoKeyUpdate, s.free)
		if v != nil {
			epoch = v.Value.epoch
		}
		return err
	})
	a.Then(func(x *db.Exec) (err error) {
		_, fenced, err = s.shards.UpdateWhere(x, shard, db.ForUpdate, func(r shardRow) bool { return r.epoch == epoch }, func(r shardRow) shardRow {
			r.epoch, r.owner, r.counted = r.epoch+1, "", r.counted && r.owner == ""
			return r
		})
		return err
	})
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		if !fenced {
			return nil
		}
		inst := s.InstanceOf(ids[i])
		v, err := pgsim.LockRow(x, s.Instances, int32(inst.Index), db.ForUpdate, func(r pgsim.InstanceRow) bool { return r.Status == backend.Running })
		if v == nil || err != nil {
			return err
		}
		row := v.Value
		row.Status, row.Failure, row.Pending = backend.Canceled, failure, false
		ok, err := s.Instances.Update(x, v, db.NoKeyUpdate, row)
		switch {
		case ok:
			x.Note(judge.Ended{Inst: inst, Status: backend.Canceled})
		case err == nil:
			missed++
		}
		return err
	})
	a.Then(func(*db.Exec) error {
		n := 0
		if fenced {
			n = 1
		}
		a.AddRow(n, missed)
		return nil
	})
}

func (s *Store) prepared(_ *host, p journalstore.Prepared) *pgsim.Statement {
	a := s.Memory.Next(p.Name, p.SQL, nil)
	a.Write = true
	if s.World.Server.Shadow != nil {
		for _, param := range p.Params { // the caller may reuse its memory if it gives up
			a.Params = append(a.Params, slices.Clone(param))
		}
	}
	if p.Appending != nil {
		s.append(a, p.Appending)
		return a
	}
	switch p.Name {
	case "journal_mark":
		s.markRequest(a, p)
	case "journal_submit_pending":
		s.submitPending(a, p)
	default:
		panic(fmt.Sprintf("journal: no such statement: %s", p.Name))
	}
	return a
}

func (s *Store) markRequest(a *pgsim.Statement, p journalstore.Prepared) {
	shard, epoch := int(binary.BigEndian.Uint16(p.Params[0])), pgstore.Int8(p.Params[1])
	id := uuid.UUID(p.Params[2])
	var tokens []int64
	for e := pgstore.ReadArray(p.Params[3]); e.Len() > 0; {
		tokens = append(tokens, e.Int8())
	}
	a.Then(func(x *db.Exec) error {
		owned := s.shards.Get(x, shard).Value.epoch == epoch
		_, ok, err := s.requests.UpdateWhere(x, requestKey{shard, id}, db.NoKeyUpdate,
			func(r requestRow) bool { return owned && (!r.withdrawn || s.World.Bug == cases.BugWithdrawnApplied) },
			func(r requestRow) requestRow {
				r.applied = append(slices.Clone(r.applied), tokens...)
				return r
			})
		if err == nil && !ok {
			err = db.ErrDivision
		}
		a.Wire = [][]byte{bigEndian4(1)}
		return err
	})
}

func (s *Store) submitPending(a *pgsim.Statement, p journalstore.Prepared) {
	ids, statuses := pgstore.ReadArray(p.Params[1]), pgstore.ReadArray(p.Params[4])
	results, failures := pgstore.ReadArray(p.Params[5]), pgstore.ReadArray(p.Params[6])
	var all []pgsim.InstanceRow
	for ids.Len() > 0 {
		id, _ := uuid.FromBytes(ids.Next())
		row := pgsim.InstanceRow{Inst: s.InstanceOf(id), Status: backend.Status(statuses.Next()), Result: slices.Clone(results.Next())}
		if f := failures.Next(); f != nil {
			row.Failure = &plan.Failure{}
			if err := json.Unmarshal(f, row.Failure); err != nil {
				panic(err)
			}
		}
		row.Pending = row.Status == backend.Running
		all = append(all, row)
	}
	if s.World.Bug != cases.BugSubmissionsUnordered {
		slices.SortFunc(all, func(a, b pgsim.InstanceRow) int { return bytes.Compare(a.Inst.ID[:], b.Inst.ID[:]) })
	}
	channel, payload := string(p.Params[7]), string(p.Params[8])
	created := pgstore.UUIDs()
	a.Each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		row := all[i]
		row.Submitted = s.World.Server.Clock()
		ok, err := s.Instances.InsertNew(x, int32(row.Inst.Index), row)
		if ok {
			created.UUID(row.Inst.ID)
			s.addCreatedNotes(x, row)
		}
		return err
	})
	a.Then(func(x *db.Exec) error {
		x.Note(world.Notice{Channel: channel, Payload: payload})
		a.Wire = [][]byte{bigEndian4(1), created.Append(nil), {}}
		return nil
	})
}

func (s *Store) addCreatedNotes(x *db.Exec, row pgsim.InstanceRow) {
	x.Note(&judge.Event{Inst: row.Inst, Creates: true, BegunLater: row.Pending, Snapshot: x.Begun()})
	if row.Status != backend.Running {
		x.Note(judge.Ended{Inst: row.Inst, Status: row.Status})
	}
}
