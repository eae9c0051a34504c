package explore

import (
	"bytes"
	"math"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/journal"
	"pulley/sim/db"
)

// journalSQL are the statements of the journal that stand for themselves, by the names of their files.
var journalSQL = map[string]func(*journalStore, *asked, []any){
	"standing": (*journalStore).standing, "acquire": (*journalStore).acquire, "renew": (*journalStore).renew, "release": (*journalStore).release,
	"take_leases": (*journalStore).takeLeases, "drop_leases": (*journalStore).dropLeases,
	"see_owner": (*journalStore).seeOwner, "forget_owner": (*journalStore).forgetOwner,
	"load_instances": (*journalStore).loadInstances, "load_events": (*journalStore).loadEvents,
	"load_parked": (*journalStore).loadParked, "load_named": (*journalStore).loadNamed,
	"settle": (*journalStore).settle, "absent": (*journalStore).absent, "adopt": (*journalStore).adopt,
	"drop_range": (*journalStore).dropRange, "drop_some": (*journalStore).dropSome,
	"ask": (*journalStore).ask, "fetch_answer": (*journalStore).fetchAnswer, "take_requests": (*journalStore).takeRequests,
	"answer": (*journalStore).answer, "withdraw": (*journalStore).withdraw, "call_off": (*journalStore).callOff,
	"ended_by": (*journalStore).endedBy, "cancel_free": (*journalStore).cancelFree,
}

// journalTexts are their names, by what is sent.
var journalTexts = func() map[string]string {
	out := map[string]string{}
	for name := range journalSQL {
		text, err := journal.SQL(name)
		if err != nil {
			panic(err) // the files are part of the program
		}
		out[text] = name
	}
	return out
}()

// statement is what a text stands for.
func (s *journalStore) statement(_ *journalHost, sql string, args []any) *asked {
	a := s.memory.next(journalTexts[sql], sql, args)
	journalSQL[a.name](s, a, args)
	return a
}

func (s *journalStore) standing(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		if v := s.shards.Get(x, args[0].(int)); v != nil {
			rest := int64(0)
			if v.Value.owner != "" {
				rest = max(0, (v.Value.expires-s.w.server.clock())/1000)
			}
			a.give(v.Value.epoch, v.Value.owner, rest)
		}
		return nil
	})
}

func (s *journalStore) acquire(a *asked, args []any) {
	shard, name, span := args[0].(int), args[1].(string), args[2].(int64)*1000
	mode := db.ForUpdate // the epoch is part of a key
	if s.w.Bug == bugEpochNoKey {
		mode = db.NoKeyUpdate
	}
	a.write = true
	a.then(func(x *db.Exec) error {
		row, ok, err := s.shards.UpdateWhere(x, shard, mode,
			func(r shardRow) bool {
				return r.owner == "" || r.owner == name || r.expires <= s.w.server.clock() && s.w.Bug != bugNeverReclaimed
			},
			func(r shardRow) shardRow {
				raised := r.epoch + 1
				if s.w.Bug == bugEpochKept && r.epoch > 0 {
					raised = r.epoch
				}
				return shardRow{raised, name, r.owner, max(r.expires, s.w.server.clock()+span)}
			})
		if ok {
			a.give(row.epoch, row.previous == name)
			x.Note(shardNote{Owns, int64(shard), row.epoch})
		}
		return err
	})
}

func (s *journalStore) renew(a *asked, args []any) {
	name, span, numbers, epochs := args[0].(string), args[1].(int64)*1000, args[2].([]int16), args[3].([]int64)
	a.write = true
	a.each(func() int { return len(numbers) }, func(x *db.Exec, i int) error {
		v, err := lockOne(x, s.shards, int(numbers[i]), db.NoKeyUpdate, func(r shardRow) bool {
			return r.epoch == epochs[i] && r.owner == name || s.w.Bug == bugRenewUnfenced
		})
		if err != nil || v == nil {
			return err
		}
		row := v.Value
		row.expires = max(row.expires, s.w.server.clock()+span)
		ok, err := s.shards.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			a.give(numbers[i])
		}
		return err
	})
}

func (s *journalStore) release(a *asked, args []any) {
	shard, owner := args[0].(int), args[1].(string)
	ids, nodes, paths := args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	tokens, rests := args[5].([]int64), args[6].([]int64)
	freed := false
	a.write = true
	a.then(func(x *db.Exec) (err error) {
		_, freed, err = s.shards.UpdateWhere(x, shard, db.NoKeyUpdate, func(r shardRow) bool { return r.owner == owner },
			func(r shardRow) shardRow {
				r.owner, r.expires = "", s.w.server.clock()
				return r
			})
		return err
	})
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		if !freed {
			return nil
		}
		inst := s.instanceOf(ids[i])
		key := leaseKey{shard, keyOf(inst, runOf(nodes[i], paths[i]))}
		x.Note(shardNote{HandsOver, int64(inst.index), tokens[i]})
		_, err := s.leases.InsertNew(x, key, leaseRow{inst, tokens[i], s.w.server.clock() + rests[i]*1000})
		return err
	})
	a.then(func(x *db.Exec) error {
		if freed {
			a.affected = 1
			x.Note(notice{args[7].(string), args[8].(string)})
		}
		return nil
	})
}

// leasesOf lists the leases that came with a shard.
func (s *journalStore) leasesOf(x *db.Exec, shard int) (found []*db.Version[leaseKey, leaseRow]) {
	s.leases.Each(x, leaseKey{shard, runKey{inst: -1}}, func(v *db.Version[leaseKey, leaseRow]) bool {
		if v.Row.Key.shard != shard {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

func (s *journalStore) takeLeases(a *asked, args []any) {
	shard, epoch := args[0].(int), args[1].(int64)
	latest := int64(math.MinInt64)
	var found []*db.Version[leaseKey, leaseRow]
	a.write = true
	holds := s.fence(a, shard, epoch)
	a.then(func(x *db.Exec) error {
		if !*holds {
			return nil
		}
		if s.w.Bug != bugLeasesForgotten {
			found = s.leasesOf(x, shard)
		}
		for _, v := range found {
			latest = max(latest, v.Value.expires)
			a.give([16]byte(v.Value.inst.id), v.Row.Key.node, v.Row.Key.path, v.Value.token, -s.micros(v.Value.expires))
		}
		if len(found) == 0 {
			a.give(nil, nil, nil, nil, nil)
		}
		return nil
	})
	a.then(func(x *db.Exec) error {
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

func (s *journalStore) dropLeases(a *asked, args []any) {
	a.write = true
	var found []*db.Version[leaseKey, leaseRow]
	holds := s.fence(a, args[0].(int), args[1].(int64))
	a.then(func(x *db.Exec) error {
		if *holds {
			a.affected, found = 1, s.leasesOf(x, args[0].(int))
		}
		return nil
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		_, err := remove(x, s.leases, found[i], func(leaseRow) bool { return true })
		return err
	})
}

func (s *journalStore) seeOwner(a *asked, args []any) {
	a.write = true
	a.then(func(x *db.Exec) error {
		name, looks := args[0].(string), args[2].(bool)
		var gone []*db.Version[string, int64]
		others, free, known, told := 0, 0, false, any(nil)
		since := s.w.server.clock() - args[1].(int64)*1000
		s.owners.All(x, func(v *db.Version[string, int64]) bool {
			switch {
			case v.Row.Key == name:
				known = true
			case v.Value < since:
				gone = append(gone, v)
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
			x.Note(notice{args[3].(string), args[4].(string)})
			told = ""
		}
		a.give(others, free, told)
		if looks {
			now := s.w.server.clock() // however long it waits for the row
			a.then(func(x *db.Exec) error {
				_, _, err := s.owners.Upsert(x, name, now, func(int64) (int64, bool, error) { return now, true, nil })
				return err
			})
		}
		if len(gone) > 0 {
			s.dropOwners(a, gone, args[1].(int64)*1000)
		}
		return nil
	})
}

// dropOwners removes owners that have not been heard of for a time.
func (s *journalStore) dropOwners(a *asked, gone []*db.Version[string, int64], after int64) {
	a.each(func() int { return len(gone) }, func(x *db.Exec, i int) error {
		v, err := s.owners.Lock(x, gone[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || v.Value >= s.w.server.clock()-after {
			return err
		}
		_, err = s.owners.Delete(x, v)
		return err
	})
}

func (s *journalStore) forgetOwner(a *asked, args []any) {
	a.write, a.affected = true, 1
	a.then(func(x *db.Exec) error {
		v := s.owners.Get(x, args[0].(string))
		if v == nil {
			return nil
		}
		_, err := remove(x, s.owners, v, func(int64) bool { return true })
		return err
	})
	a.notify(args[1].(string), args[2].(string))
}

// give a stored instance to who loads it.
func (s *journalStore) giveInstance(a *asked, r instanceRow) {
	var input []byte
	if r.snapshot == 0 {
		input = s.w.load.Input
	} else {
		s.w.note(ReadsState, 0, int64(r.inst.index), r.snapshot, 0)
	}
	a.give([16]byte(r.inst.id), int32(1), input, s.micros(r.submitted), r.snapshot)
}

func bySubmission(a, b instanceRow) int {
	if a.submitted != b.submitted {
		return int(min(max(a.submitted-b.submitted, -1), 1))
	}
	return bytes.Compare(a.inst.id[:], b.inst.id[:])
}

func (s *journalStore) loadInstances(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		var found []instanceRow
		s.instances.All(x, func(v *db.Version[int32, instanceRow]) bool {
			if r := v.Value; r.inst.shard == args[0].(int) && r.status == backend.Running && !r.pending {
				found = append(found, r)
			}
			return true
		})
		slices.SortFunc(found, bySubmission)
		for _, r := range found {
			s.giveInstance(a, r)
		}
		return nil
	})
}

func (s *journalStore) giveEvent(a *asked, seq int64, e eventRow) {
	age := int64(0)
	if e.happened != never {
		age = s.micros(e.happened)
	}
	a.give(seq, [16]byte(e.inst.id), e.kind, int32(e.run.Node), string(e.run.Path), age, e.data)
}

func (s *journalStore) loadEvents(a *asked, args []any) {
	shard := args[0].(int)
	a.then(func(x *db.Exec) error {
		s.w.note(Replays, 0, int64(shard), args[1].(int64), 0)
		s.events.Each(x, eventKey{shard, args[1].(int64)}, func(v *db.Version[eventKey, eventRow]) bool {
			if v.Row.Key.shard != shard || len(a.out.list) == args[2].(int) {
				return false
			}
			s.giveEvent(a, v.Row.Key.seq, v.Value)
			return true
		})
		if s.w.Bug == bugReplayOrder {
			slices.Reverse(a.out.list)
		}
		return nil
	})
}

func (s *journalStore) loadParked(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			if v := s.instances.Get(x, int32(s.instanceOf(id).index)); v != nil && v.Value.status == backend.Running {
				s.giveInstance(a, v.Value)
			}
		}
		return nil
	})
}

func (s *journalStore) loadNamed(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		for _, seq := range args[1].([]int64) {
			if v := s.events.Get(x, eventKey{args[0].(int), seq}); v != nil {
				s.giveEvent(a, seq, v.Value)
			}
		}
		return nil
	})
}

func (s *journalStore) settle(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		s.w.note(Settles, 0, 0, 0, 0)
		still := s.shards.Get(x, args[0].(int)).Value.epoch == args[4].(int64) || s.w.Bug == bugLookUnfenced
		v := s.events.Get(x, eventKey{args[0].(int), args[1].(int64)})
		there := v != nil && v.Value.epoch == args[2].(int64) || s.w.Bug == bugUnknownIsSuccess
		for _, id := range args[3].([][16]byte) {
			if in := s.instances.Get(x, int32(s.instanceOf(id).index)); in != nil {
				a.give(still, there, id, string(in.Value.status), in.Value.endedBy, in.Value.pending)
			}
		}
		if len(a.out.list) == 0 {
			a.give(still, there, nil, nil, int64(0), nil)
		}
		return nil
	})
}

func (s *journalStore) absent(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		shard, ids, seqs := args[0].(int), args[1].([][16]byte), args[2].([]int64)
		there, proved := false, false
		for i, id := range ids {
			inst := s.instanceOf(id)
			in := s.instances.Get(x, int32(inst.index))
			if in == nil {
				continue
			}
			if v := s.events.Get(x, eventKey{shard, seqs[i]}); v != nil && v.Value.epoch == args[3].(int64) {
				there = true
			}
			if in.Value.status != backend.Running {
				continue
			}
			later := false
			s.events.Each(x, eventKey{shard, seqs[i]}, func(v *db.Version[eventKey, eventRow]) bool {
				later = later || v.Row.Key.shard == shard && v.Value.inst == inst && v.Value.kind == journal.KindSnapshot
				return v.Row.Key.shard == shard
			})
			proved = proved || !later
		}
		a.give(there, proved)
		return nil
	})
}

func (s *journalStore) adopt(a *asked, args []any) {
	a.write = true
	holds := s.fence(a, args[0].(int), args[1].(int64))
	a.then(func(x *db.Exec) error {
		if !*holds {
			return nil
		}
		shard, most := args[0].(int), args[2].(int)
		var found []*db.Version[int32, instanceRow]
		s.instances.All(x, func(v *db.Version[int32, instanceRow]) bool {
			if v.Value.pending && v.Value.inst.shard == shard {
				found = append(found, v)
			}
			return len(found) < most
		})
		if len(found) > 0 {
			s.take(a, found)
		}
		return nil
	})
}

// take gives instances that were stored to be taken up.
func (s *journalStore) take(a *asked, found []*db.Version[int32, instanceRow]) {
	var locked []*db.Version[int32, instanceRow]
	var taken []instanceRow
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := lockOne(x, s.instances, found[i].Row.Key, db.ForUpdate, func(r instanceRow) bool { return r.pending })
		if v != nil {
			locked = append(locked, v)
		}
		return err
	})
	a.each(func() int { return len(locked) }, func(x *db.Exec, i int) error {
		row := locked[i].Value
		row.pending = s.w.Bug == bugAdoptedTwice
		ok, err := s.instances.Update(x, locked[i], db.NoKeyUpdate, row)
		if ok {
			x.Note(shardNote{Adopts, int64(row.inst.index), 0})
			taken = append(taken, row)
		}
		return err
	})
	a.then(func(*db.Exec) error {
		slices.SortFunc(taken, bySubmission)
		for _, r := range taken {
			if r.status == backend.Running {
				a.give([16]byte(r.inst.id), int32(1), []byte(s.w.load.Input), s.micros(r.submitted), int64(0))
			}
		}
		return nil
	})
}

func (s *journalStore) endedBy(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		for i, id := range args[1].([][16]byte) {
			v := s.instances.Get(x, int32(s.instanceOf(id).index))
			if v != nil && v.Value.status != backend.Running && v.Value.endedBy == args[2].([]int64)[i] {
				a.give(uuid.UUID(id))
			}
		}
		return nil
	})
}
