package explore

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"pulley/engine/backend/postgres/push"
	"pulley/sim/db"
)

// pushSQL are the statements of push, by the names of their files; but for apply.
var pushSQL = map[string]func(*pushStore, *asked, []any){
	"read": (*pushStore).read, "gather": (*pushStore).gather, "owner": (*pushStore).owner,
	"claim": (*pushStore).claim, "next_due": (*pushStore).nextDue, "leased": (*pushStore).leased, "standing": (*pushStore).standing, "renew": (*pushStore).renew,
	"held": (*pushStore).held, "fence": (*pushStore).fence, "mark": (*pushStore).mark, "forget": (*pushStore).forget,
	"call_off": (*pushStore).callOff, "call_off_more": (*pushStore).callOffMore, "hold_counters": (*pushStore).holdCounters,
	"drop_runs": (*pushStore).dropRuns, "drop_counters": (*pushStore).dropCounters, "drop_elements": (*pushStore).dropElements,
	"drop_values": (*pushStore).dropValues, "end": (*pushStore).endInstances,
	"overdue": (*pushStore).overdue, "untidy": (*pushStore).untidy, "tidy": (*pushStore).tidy,
	"tidy_queue": (*pushStore).tidyQueue, "tidy_readiness": (*pushStore).tidyReadiness,
	"tidy_elements": (*pushStore).tidyElements, "tidy_inbox": (*pushStore).tidyInbox,
}

var pushTexts = byText(push.SQL, pushSQL, map[string]known[*pushStore]{})

// key is that of a node run, or of a barrier.
func (s *pushStore) key(id [16]byte, node int32, path string) runKey {
	return runKey{int32(s.instanceOf(id).index), node, path}
}

func (s *pushStore) now() int64 { return s.w.server.clock() }

// read: see read.sql.
func (s *pushStore) read(a *asked, args []any) {
	numbers, ids, vars, paths := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	a.then(func(x *db.Exec) error {
		for i := range numbers {
			from := valueKey{int32(s.instanceOf(ids[i]).index), vars[i], paths[i], math32}
			s.inbox.Each(x, from, func(v *db.Version[valueKey, json.RawMessage]) bool {
				k := v.Row.Key
				if k.inst != from.inst || k.id != from.id || k.path != from.path {
					return false
				}
				a.give(numbers[i], k.element, []byte(v.Value))
				return true
			})
		}
		return nil
	})
}

// gather: see gather.sql. The values come first, since they are what it gives.
func (s *pushStore) gather(a *asked, args []any) {
	ords, ids, nodes, paths := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	type found struct {
		ord int32
		v   *db.Version[valueKey, collected]
	}
	var all []found
	counters := deletion[runKey, readiness]{table: s.readiness}
	a.write = true
	a.then(func(x *db.Exec) error {
		for i := range ords {
			key := s.key(ids[i], nodes[i], paths[i])
			if v := s.readiness.Get(x, key); v != nil {
				counters.found = append(counters.found, v)
			}
			s.elements.Each(x, valueKey{key.inst, key.node, key.path, math32}, func(v *db.Version[valueKey, collected]) bool {
				if k := v.Row.Key; k.inst != key.inst || k.id != key.node || k.path != key.path {
					return false
				}
				all = append(all, found{ords[i], v})
				return true
			})
		}
		return nil
	})
	a.each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		ok, err := s.elements.Delete(x, all[i].v)
		if ok {
			a.give(all[i].ord, all[i].v.Value.places, all[i].v.Value.vals)
		}
		return err
	})
	a.then(func(x *db.Exec) error { return counters.run(x) })
}

// owner: see owner.sql. The number that a new owner would have is drawn in any case.
func (s *pushStore) owner(a *asked, args []any) {
	drawn := int32(0)
	a.write = true
	a.then(func(x *db.Exec) error {
		if drawn == 0 {
			drawn = int32(s.ownerIDs.Next())
		}
		id, ok, err := s.owners.Upsert(x, args[0].(string), drawn, func(old int32) (int32, bool, error) { return old, true, nil })
		if ok {
			a.give(id)
		}
		return err
	})
}

// due gives the runs of a shard's running instances that are wanted, by the time when they are due.
func (s *pushStore) due(x *db.Exec, shard int, wanted func(queued) bool) (found []*db.Version[runKey, queued]) {
	last, runs := int32(-1), false
	s.queue.All(x, func(v *db.Version[runKey, queued]) bool {
		if !wanted(v.Value) {
			return true
		}
		if inst := v.Row.Key.inst; inst != last {
			last = inst
			runs = s.w.insts[inst].shard == shard && s.running(x, s.w.insts[inst].id) != nil
		}
		if runs {
			found = append(found, v)
		}
		return true
	})
	slices.SortFunc(found, byDue)
	return found
}

// byDue is the order of the index of times: of rows that are due together, it is that of their places in the table.
func byDue(a, b *db.Version[runKey, queued]) int {
	return cmp.Or(cmp.Compare(a.Value.due, b.Value.due), cmp.Compare(a.Value.place, b.Value.place))
}

// enqueue adds a row behind all that were written before.
func (s *pushStore) enqueue(x *db.Exec, key runKey, row queued) error {
	s.placed++
	row.place = s.placed
	return s.queue.Insert(x, key, row)
}

// requeue replaces a version of a row that was found by its address, by one behind all that were written before.
func (s *pushStore) requeue(x *db.Exec, v *db.Version[runKey, queued], row queued) (bool, error) {
	s.placed++
	row.place = s.placed
	return s.queue.Update(x, v, db.NoKeyUpdate, row)
}

// claim: see claim.sql.
func (s *pushStore) claim(a *asked, args []any) {
	shard, most, owner, lease := args[0].(int), args[1].(int), args[2].(int32), args[3].(int64)*1000
	var begun int64
	var due []*db.Version[runKey, queued]
	taken := 0
	claimable := func(q queued) bool { return q.due <= begun && !(s.w.Bug == bugNeverReclaimed && q.owner != 0) }
	a.write = true
	a.then(func(x *db.Exec) error {
		begun = s.now()
		due = s.due(x, shard, claimable)
		return nil
	})
	a.each(func() int { return len(due) }, func(x *db.Exec, i int) error {
		if taken >= most {
			return nil
		}
		v, err := s.queue.Lock(x, due[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || !claimable(v.Value) {
			return err
		}
		taken++
		row := v.Value
		if row.owner != 0 && s.w.Bug == bugAttemptsForgotten {
			row.attempt = 1
		}
		row.due, row.owner = s.now()+lease, owner
		if s.w.Bug != bugLeaseNotFenced {
			row.token = s.tokens.Next()
		}
		ok, err := s.requeue(x, v, row)
		if !ok || err != nil {
			return err
		}
		k := v.Row.Key
		inst := s.w.insts[k.inst]
		x.Note(leasedNote{inst, k.run(), row.token, int(row.attempt), x.Begun()})
		a.give([16]byte(inst.id), k.node, k.path, row.token, row.attempt, int32(1), []byte(row.args))
		return nil
	})
}

// nextDue: see next_due.sql.
func (s *pushStore) nextDue(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		if due := s.due(x, args[0].(int), func(queued) bool { return true }); len(due) > 0 {
			a.give((due[0].Value.due - s.now()) / 1000)
		}
		return nil
	})
}

// leased: see queue/leased.sql.
func (s *pushStore) leased(a *asked, args []any) { s.stand(a, args, always) }

// standing: see queue/leased.sql.
func (s *pushStore) standing(a *asked, args []any) { s.stand(a, args, s.goesOn) }

// goesOn says whether an instance runs.
func (s *pushStore) goesOn(x *db.Exec, id [16]byte) bool { return s.running(x, id) != nil }

func (s *pushStore) stand(a *asked, args []any, wanted func(x *db.Exec, id [16]byte) bool) {
	ords, ids, nodes, paths, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.then(func(x *db.Exec) error {
		for i := range ords {
			if !wanted(x, ids[i]) {
				continue
			}
			v := s.queue.Get(x, s.key(ids[i], nodes[i], paths[i]))
			if s.w.Bug == bugGivenCalledOff || leasedWith(v, tokens[i]) {
				a.give(ords[i])
			}
		}
		return nil
	})
}

// leasedWith says whether a row is leased with a token.
func leasedWith(v *db.Version[runKey, queued], token int64) bool {
	return v != nil && v.Value.token == token && v.Value.owner != 0
}

// locked adds a step that looks rows up by their leases and locks them, and does something with those that are held.
func (s *pushStore) locked(a *asked, args []any, policy db.Policy, wanted func(x *db.Exec, id [16]byte) bool, do func(x *db.Exec, ord int32, v *db.Version[runKey, queued]) error) {
	ords, ids, nodes, paths, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		v := s.queue.Get(x, s.key(ids[i], nodes[i], paths[i]))
		if !leasedWith(v, tokens[i]) || !wanted(x, ids[i]) {
			return nil
		}
		v, err := s.queue.Lock(x, v, db.ForUpdate, policy)
		if err != nil || !leasedWith(v, tokens[i]) {
			return err
		}
		return do(x, ords[i], v)
	})
}

func always(*db.Exec, [16]byte) bool { return true }

// renew: see queue/renew.sql.
func (s *pushStore) renew(a *asked, args []any) {
	lease := args[6].(int64) * 1000
	a.write = true
	s.locked(a, args, db.SkipLocked, s.goesOn, func(x *db.Exec, ord int32, v *db.Version[runKey, queued]) error {
		row := v.Value
		if s.w.Bug != bugExtension {
			row.due = s.now() + lease
		}
		ok, err := s.requeue(x, v, row)
		if ok {
			a.give(ord)
		}
		return err
	})
}

// held: see queue/leased.sql.
func (s *pushStore) held(a *asked, args []any) {
	s.locked(a, args, db.Wait, always, func(_ *db.Exec, ord int32, _ *db.Version[runKey, queued]) error {
		a.give(ord)
		return nil
	})
}

// settlesBlindly says whether a bug is planted by which nobody looks what became of a commit.
func (s *pushStore) settlesBlindly() bool {
	return s.w.Bug == bugUnknownIsSuccess || s.w.Bug == bugUnknownIsFailure
}

// fence: see fence.sql.
func (s *pushStore) fence(a *asked, args []any) {
	a.write = true
	a.then(func(*db.Exec) error {
		s.w.note(Settles, 0, int64(len(args[1].([]int32))), 0, 0)
		return nil
	})
	if s.settlesBlindly() {
		return
	}
	s.locked(a, args, db.Wait, always, func(x *db.Exec, ord int32, v *db.Version[runKey, queued]) error {
		row := v.Value
		row.token = s.tokens.Next()
		ok, err := s.requeue(x, v, row)
		if ok {
			k := v.Row.Key
			x.Note(fencedNote{s.w.insts[k.inst], k.run(), row.token})
			a.give(ord, row.token)
		}
		return err
	})
}

// mark: see mark.sql.
func (s *pushStore) mark(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		v := s.commits.Get(x, commitKey{args[0].(int), args[1].(int64), args[2].(int32)})
		switch took := v != nil && v.Value.number == args[3].(int64); {
		case s.w.Bug == bugUnknownIsSuccess:
			a.give([]int32{})
		case took && s.w.Bug != bugUnknownIsFailure:
			a.give(v.Value.stale)
		}
		return nil
	})
}

// forget: see forget.sql.
func (s *pushStore) forget(a *asked, args []any) {
	shard, age := args[0].(int), args[1].(int64)*1000
	var before int64
	var found []*db.Version[commitKey, commitRow]
	a.write = true
	a.then(func(x *db.Exec) error {
		before = s.now() - age
		s.commits.Each(x, commitKey{shard, math.MinInt64, math.MinInt32}, func(v *db.Version[commitKey, commitRow]) bool {
			if v.Row.Key.shard != shard {
				return false
			}
			if v.Value.at < before {
				found = append(found, v)
			}
			return true
		})
		return nil
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := s.commits.Lock(x, found[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || v.Value.at >= before {
			return err
		}
		ok, err := s.commits.Delete(x, v)
		if ok {
			a.affected++
			x.Note(shardNote{Forgets, int64(shard), v.Value.number})
		}
		return err
	})
}

// overdue: see overdue.sql.
func (s *pushStore) overdue(a *asked, args []any) {
	shard, most := args[0].(int), args[1].(int)
	if s.w.Bug == bugSweptBack {
		s.rescue(a, shard)
		return
	}
	var begun int64
	var recent []*db.Version[runKey, queued]
	over := func(q queued) bool { return q.owner != 0 && q.due <= begun }
	a.write = true
	a.then(func(x *db.Exec) error {
		begun = s.now()
		s.queue.All(x, func(v *db.Version[runKey, queued]) bool {
			if q := v.Value; s.w.insts[v.Row.Key.inst].shard == shard && q.due <= begun && q.due > yearsBefore(begun, 50) {
				recent = append(recent, v)
			}
			return true
		})
		slices.SortFunc(recent, func(a, b *db.Version[runKey, queued]) int { return -byDue(a, b) })
		recent = recent[:min(len(recent), most)]
		return nil
	})
	a.each(func() int { return len(recent) }, func(x *db.Exec, i int) error {
		if !over(recent[i].Value) {
			return nil
		}
		v, err := s.queue.Lock(x, recent[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || v != recent[i] { // it is looked for by its address
			return err
		}
		row := v.Value
		row.due = yearsBefore(row.due, 100)
		ok, err := s.requeue(x, v, row)
		if ok {
			a.affected++
			x.Note(shardNote{PutsFirst, int64(shard), row.token})
		}
		return err
	})
}

// rescue is a bug: a sweep that puts runs back whose lease is over, as it saw them when it began.
func (s *pushStore) rescue(a *asked, shard int) {
	var stuck []*db.Version[runKey, queued]
	a.write = true
	a.then(func(x *db.Exec) error {
		stuck = s.due(x, shard, func(q queued) bool { return q.owner != 0 && q.due <= s.now() })
		return nil
	})
	a.each(func() int { return len(stuck) }, func(x *db.Exec, i int) error {
		_, _, err := s.queue.Upsert(x, stuck[i].Row.Key, stuck[i].Value, func(old queued) (queued, bool, error) {
			old.due = stuck[i].Value.due
			return old, true, nil
		})
		return err
	})
}
