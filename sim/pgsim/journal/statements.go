package journal

import (
	"bytes"
	"math"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/journal"
	"pulley/internal/journalstore"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

var journalSQL = map[string]func(*Store, *pgsim.Statement, []any){
	"shard_view": (*Store).shardView, "acquire": (*Store).acquire, "renew": (*Store).renew, "release": (*Store).release,
	"adopt_leases": (*Store).adoptLeases, "drop_leases": (*Store).dropLeases,
	"see_owner": (*Store).seeOwner, "forget_owner": (*Store).forgetOwner,
	"load_instances": (*Store).loadInstances, "load_events": (*Store).loadEvents,
	"load_evicted": (*Store).loadEvicted, "load_named": (*Store).loadNamed,
	"resolve": (*Store).resolve, "absent": (*Store).absent, "adopt": (*Store).adopt,
	"drop_range": (*Store).dropRange, "drop_some": (*Store).deleteSome,
	"insert_request": (*Store).insertRequest, "fetch_answer": (*Store).fetchAnswer, "fetch_requests": (*Store).fetchRequests,
	"answer": (*Store).answer, "withdraw": (*Store).withdraw, "cancel_request": (*Store).cancelRequest,
	"ended_by": (*Store).endedBy, "cancel_free": (*Store).cancelFree,
}

var texts = func() pgsim.Texts[string] {
	out := pgsim.Texts[string]{}
	for name := range journalSQL {
		text, err := journal.SQL(name)
		if err != nil {
			panic(err)
		}
		out.Add(text, name)
	}
	return out
}()

func (s *Store) statement(_ *host, sql string, args []any) *pgsim.Statement {
	name, _ := texts.Find(sql)
	a := s.Memory.Next(name, sql, args)
	journalSQL[a.Name](s, a, args)
	return a
}

func (s *Store) shardView(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		if v := s.shards.Get(x, args[0].(int)); v != nil {
			rest := int64(0)
			if v.Value.owner != "" {
				rest = max(0, (v.Value.expires-s.World.Server.Clock())/1000)
			}
			a.AddRow(v.Value.epoch, v.Value.owner, rest)
		}
		return nil
	})
}

func (s *Store) acquire(a *pgsim.Statement, args []any) {
	shard, name, span, known := args[0].(int), args[1].(string), args[2].(int64)*1000, args[3].(int64)
	mode := db.ForUpdate // the epoch is part of a key
	if s.World.Bug == cases.BugEpochNoKey {
		mode = db.NoKeyUpdate
	}
	a.Write = true
	a.Then(func(x *db.Exec) error {
		row, ok, err := s.shards.UpdateWhere(x, shard, mode,
			func(r shardRow) bool {
				return r.owner == "" || r.owner == name || r.expires <= s.World.Server.Clock() && s.World.Bug != cases.BugNeverReclaimed
			},
			func(r shardRow) shardRow {
				raised := r.epoch + 1
				if s.World.Bug == cases.BugEpochKept && r.epoch > 0 {
					raised = r.epoch
				}
				since := raised
				if r.owner == name {
					since = r.since
				}
				return shardRow{raised, since, name, max(r.expires, s.World.Server.Clock()+span), r.counted && r.owner == ""}
			})
		if ok {
			a.AddRow(row.epoch, row.since <= known || s.World.Bug == cases.BugOtherUnseen)
			x.Note(judge.Step{What: world.Owns, Shard: int64(shard), Epoch: row.epoch})
		}
		return err
	})
}

func (s *Store) renew(a *pgsim.Statement, args []any) {
	name, span, numbers, epochs := args[0].(string), args[1].(int64)*1000, args[2].([]int16), args[3].([]int64)
	a.Write = true
	a.Each(func() int { return len(numbers) }, func(x *db.Exec, i int) error {
		v, err := pgsim.LockRow(x, s.shards, int(numbers[i]), db.NoKeyUpdate, func(r shardRow) bool {
			return r.epoch == epochs[i] && r.owner == name || s.World.Bug == cases.BugRenewUnfenced
		})
		if err != nil || v == nil {
			return err
		}
		row := v.Value
		row.expires = max(row.expires, s.World.Server.Clock()+span)
		ok, err := s.shards.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			a.AddRow(numbers[i])
		}
		return err
	})
}

func (s *Store) release(a *pgsim.Statement, args []any) {
	shard, owner := args[0].(int), args[1].(string)
	ids, nodes, paths := args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	tokens, rests := args[5].([]int64), args[6].([]int64)
	known, epoch := args[10].(int64), args[11].(int64)
	var row shardRow
	freed := false
	a.Write = true
	a.Then(func(x *db.Exec) (err error) {
		row, freed, err = s.shards.UpdateWhere(x, shard, db.NoKeyUpdate, func(r shardRow) bool { return r.owner == owner && r.epoch == epoch },
			func(r shardRow) shardRow {
				r.owner, r.expires, r.counted = "", s.World.Server.Clock(), args[9].(bool) && r.since <= known
				return r
			})
		return err
	})
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		if !freed || row.since > known && s.World.Bug != cases.BugOtherUnseen {
			return nil
		}
		inst := s.InstanceOf(ids[i])
		key := leaseKey{shard, pgsim.KeyOf(inst, pgsim.RunOf(nodes[i], paths[i]))}
		x.Note(judge.Step{What: world.ReleasesShard, Shard: int64(inst.Index), Epoch: tokens[i]})
		_, err := s.leases.InsertNew(x, key, leaseRow{inst, tokens[i], s.World.Server.Clock() + rests[i]*1000})
		return err
	})
	a.Then(func(x *db.Exec) error {
		if freed {
			a.Affected = 1
			x.Note(world.Notice{Channel: args[7].(string), Payload: args[8].(string)})
		}
		return nil
	})
}

func (s *Store) leasesOf(x *db.Exec, shard int) (found []*db.Version[leaseKey, leaseRow]) {
	s.leases.Each(x, leaseKey{shard, pgsim.RunKey{Inst: -1}}, func(v *db.Version[leaseKey, leaseRow]) bool {
		if v.Row.Key.shard != shard {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

func (s *Store) adoptLeases(a *pgsim.Statement, args []any) {
	shard, epoch := args[0].(int), args[1].(int64)
	latest := int64(math.MinInt64)
	var found []*db.Version[leaseKey, leaseRow]
	a.Write = true
	holds := s.fence(a, shard, epoch)
	a.Then(func(x *db.Exec) error {
		if !*holds {
			return nil
		}
		if s.World.Bug != cases.BugLeasesForgotten {
			found = s.leasesOf(x, shard)
		}
		counted := s.shards.Get(x, shard).Value.counted
		for _, v := range found {
			latest = max(latest, v.Value.expires)
			a.AddRow([16]byte(v.Value.inst.ID), v.Row.Key.Node, v.Row.Key.Path, v.Value.token, -s.micros(v.Value.expires), counted)
		}
		if len(found) == 0 {
			a.AddRow(nil, nil, nil, nil, nil, counted)
		}
		return nil
	})
	a.Then(func(x *db.Exec) error {
		if len(found) == 0 {
			return nil
		}
		_, _, err := s.shards.UpdateWhere(x, shard, db.NoKeyUpdate, func(r shardRow) bool { return r.epoch == epoch && r.expires < latest },
			func(r shardRow) shardRow {
				r.expires = latest
				return r
			})
		return err
	})
}

func (s *Store) dropLeases(a *pgsim.Statement, args []any) {
	a.Write = true
	var found []*db.Version[leaseKey, leaseRow]
	holds := s.fence(a, args[0].(int), args[1].(int64))
	a.Then(func(x *db.Exec) error {
		if *holds {
			a.Affected, found = 1, s.leasesOf(x, args[0].(int))
		}
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		_, err := pgsim.Remove(x, s.leases, found[i], func(leaseRow) bool { return true })
		return err
	})
}

func (s *Store) seeOwner(a *pgsim.Statement, args []any) {
	a.Write = true
	a.Then(func(x *db.Exec) error {
		name, looks := args[0].(string), args[2].(bool)
		var removed []*db.Version[string, int64]
		others, free, known, told := 0, 0, false, any(nil)
		since := s.World.Server.Clock() - args[1].(int64)*1000
		s.owners.All(x, func(v *db.Version[string, int64]) bool {
			switch {
			case v.Row.Key == name:
				known = true
			case v.Value < since:
				removed = append(removed, v)
			default:
				others++
			}
			return true
		})
		s.shards.All(x, func(v *db.Version[int, shardRow]) bool {
			if s.free(v.Value) {
				free++
			}
			return true
		})
		if looks && !known {
			x.Note(world.Notice{Channel: args[3].(string), Payload: args[4].(string)})
			told = ""
		}
		a.AddRow(others, free, told)
		if looks {
			now := s.World.Server.Clock() // taken before any wait for the row
			a.Then(func(x *db.Exec) error {
				_, _, err := s.owners.Upsert(x, name, now, func(int64) (int64, bool, error) { return now, true, nil })
				return err
			})
		}
		if len(removed) > 0 {
			s.dropOwners(a, removed, args[1].(int64)*1000)
		}
		return nil
	})
}

func (s *Store) dropOwners(a *pgsim.Statement, removed []*db.Version[string, int64], after int64) {
	a.Each(func() int { return len(removed) }, func(x *db.Exec, i int) error {
		v, err := s.owners.Lock(x, removed[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || v.Value >= s.World.Server.Clock()-after {
			return err
		}
		_, err = s.owners.Delete(x, v)
		return err
	})
}

func (s *Store) forgetOwner(a *pgsim.Statement, args []any) {
	a.Write, a.Affected = true, 1
	a.Then(func(x *db.Exec) error {
		v := s.owners.Get(x, args[0].(string))
		if v == nil {
			return nil
		}
		_, err := pgsim.Remove(x, s.owners, v, func(int64) bool { return true })
		return err
	})
	a.Notify(args[1].(string), args[2].(string))
}

func (s *Store) addInstance(a *pgsim.Statement, r pgsim.InstanceRow) {
	var input []byte
	if r.Snapshot == 0 {
		input = s.World.Workload.Input
	} else {
		s.World.Note(world.ReadsState, 0, int64(r.Inst.Index), r.Snapshot, 0)
	}
	a.AddRow([16]byte(r.Inst.ID), int32(1), input, s.micros(r.Submitted), r.Snapshot)
}

func bySubmission(a, b pgsim.InstanceRow) int {
	if a.Submitted != b.Submitted {
		return int(min(max(a.Submitted-b.Submitted, -1), 1))
	}
	return bytes.Compare(a.Inst.ID[:], b.Inst.ID[:])
}

func (s *Store) loadInstances(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		var found []pgsim.InstanceRow
		s.Instances.All(x, func(v *db.Version[int32, pgsim.InstanceRow]) bool {
			if r := v.Value; r.Inst.Shard == args[0].(int) && r.Status == backend.Running && !r.Pending {
				found = append(found, r)
			}
			return true
		})
		slices.SortFunc(found, bySubmission)
		for _, r := range found {
			s.addInstance(a, r)
		}
		return nil
	})
}

func (s *Store) addEvent(a *pgsim.Statement, seq int64, e eventRow) {
	age := int64(0)
	if e.happenedAt != pgsim.Never {
		age = s.micros(e.happenedAt)
	}
	a.AddRow(seq, [16]byte(e.inst.ID), e.kind, int32(e.run.Node), string(e.run.Path), age, e.data)
}

func (s *Store) loadEvents(a *pgsim.Statement, args []any) {
	shard := args[0].(int)
	a.Then(func(x *db.Exec) error {
		s.World.Note(world.Replays, 0, int64(shard), args[1].(int64), 0)
		s.events.Each(x, eventKey{shard, args[1].(int64)}, func(v *db.Version[eventKey, eventRow]) bool {
			if v.Row.Key.shard != shard || len(a.Out.List) == args[2].(int) {
				return false
			}
			s.addEvent(a, v.Row.Key.seq, v.Value)
			return true
		})
		if s.World.Bug == cases.BugReplayOrder {
			slices.Reverse(a.Out.List)
		}
		return nil
	})
}

func (s *Store) loadEvicted(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			if v := s.Instances.Get(x, int32(s.InstanceOf(id).Index)); v != nil && v.Value.Status == backend.Running {
				s.addInstance(a, v.Value)
			}
		}
		return nil
	})
}

func (s *Store) loadNamed(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for _, seq := range args[1].([]int64) {
			if v := s.events.Get(x, eventKey{args[0].(int), seq}); v != nil {
				s.addEvent(a, seq, v.Value)
			}
		}
		return nil
	})
}

func (s *Store) resolve(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		s.World.Note(world.Resolves, 0, 0, 0, 0)
		still := s.shards.Get(x, args[0].(int)).Value.epoch == args[4].(int64) || s.World.Bug == cases.BugResolveUnfenced
		v := s.events.Get(x, eventKey{args[0].(int), args[1].(int64)})
		there := v != nil && v.Value.epoch == args[2].(int64) || s.World.Bug == cases.BugUnknownIsSuccess
		for _, id := range args[3].([][16]byte) {
			if in := s.Instances.Get(x, int32(s.InstanceOf(id).Index)); in != nil {
				a.AddRow(still, there, id, string(in.Value.Status), in.Value.EndedBy, in.Value.Pending)
			}
		}
		if len(a.Out.List) == 0 {
			a.AddRow(still, there, nil, nil, int64(0), nil)
		}
		return nil
	})
}

func (s *Store) absent(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		shard, ids, seqs := args[0].(int), args[1].([][16]byte), args[2].([]int64)
		there, proved := false, false
		for i, id := range ids {
			inst := s.InstanceOf(id)
			in := s.Instances.Get(x, int32(inst.Index))
			if in == nil {
				continue
			}
			if v := s.events.Get(x, eventKey{shard, seqs[i]}); v != nil && v.Value.epoch == args[3].(int64) {
				there = true
			}
			if in.Value.Status != backend.Running {
				continue
			}
			later := false
			s.events.Each(x, eventKey{shard, seqs[i]}, func(v *db.Version[eventKey, eventRow]) bool {
				later = later || v.Row.Key.shard == shard && v.Value.inst == inst && v.Value.kind == journalstore.KindSnapshot
				return v.Row.Key.shard == shard
			})
			proved = proved || !later
		}
		a.AddRow(there, proved)
		return nil
	})
}

func (s *Store) adopt(a *pgsim.Statement, args []any) {
	a.Write = true
	holds := s.fence(a, args[0].(int), args[1].(int64))
	a.Then(func(x *db.Exec) error {
		if !*holds {
			return nil
		}
		shard, most := args[0].(int), args[2].(int)
		var found []*db.Version[int32, pgsim.InstanceRow]
		s.Instances.All(x, func(v *db.Version[int32, pgsim.InstanceRow]) bool {
			if v.Value.Pending && v.Value.Inst.Shard == shard {
				found = append(found, v)
			}
			return len(found) < most
		})
		if len(found) > 0 {
			s.adoptRows(a, found)
		}
		return nil
	})
}

func (s *Store) adoptRows(a *pgsim.Statement, found []*db.Version[int32, pgsim.InstanceRow]) {
	var locked []*db.Version[int32, pgsim.InstanceRow]
	var taken []pgsim.InstanceRow
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := pgsim.LockRow(x, s.Instances, found[i].Row.Key, db.ForUpdate, func(r pgsim.InstanceRow) bool { return r.Pending })
		if v != nil {
			locked = append(locked, v)
		}
		return err
	})
	a.Each(func() int { return len(locked) }, func(x *db.Exec, i int) error {
		row := locked[i].Value
		row.Pending = s.World.Bug == cases.BugAdoptedTwice
		ok, err := s.Instances.Update(x, locked[i], db.NoKeyUpdate, row)
		if ok {
			x.Note(judge.Step{What: world.Adopts, Shard: int64(row.Inst.Index), Epoch: 0})
			taken = append(taken, row)
		}
		return err
	})
	a.Then(func(*db.Exec) error {
		slices.SortFunc(taken, bySubmission)
		for _, r := range taken {
			if r.Status == backend.Running {
				a.AddRow([16]byte(r.Inst.ID), int32(1), []byte(s.World.Workload.Input), s.micros(r.Submitted), int64(0))
			}
		}
		return nil
	})
}

func (s *Store) endedBy(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for i, id := range args[1].([][16]byte) {
			v := s.Instances.Get(x, int32(s.InstanceOf(id).Index))
			if v != nil && v.Value.Status != backend.Running && v.Value.EndedBy == args[2].([]int64)[i] {
				a.AddRow(uuid.UUID(id))
			}
		}
		return nil
	})
}
