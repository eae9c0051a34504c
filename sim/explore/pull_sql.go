package explore

import (
	"encoding/json"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/plan"
	"pulley/sim/db"
)

// pullSQL are the statements of pull, by the names of their files.
var pullSQL = map[string]func(*pullStore, *asked, []any){
	"lock_cycle": (*pullStore).lockCycle, "submit": (*pullStore).submit, "complete": (*pullStore).complete,
	"running": (*pullStore).listRunning, "inputs": (*pullStore).inputs, "scan": (*pullStore).scanLedger,
	"enter": (*pullStore).enter, "drop": (*pullStore).drop, "call_off": (*pullStore).callOff, "lock_runs": (*pullStore).lockRuns,
	"end": (*pullStore).end, "lock_open": (*pullStore).lockOpen, "end_ledger": (*pullStore).endLedger,
	"claim": (*pullStore).claim, "next_due": (*pullStore).nextDue, "overdue": (*pullStore).overdue,
	"renew": (*pullStore).renew, "standing": (*pullStore).standing, "held": (*pullStore).held, "release": (*pullStore).release,
	"end_arrivals": (*pullStore).endArrivals, "end_inbox": (*pullStore).endInbox,
	"runnable": (*pullStore).runnable, "add_values": (*pullStore).addValues, "add_arrivals": (*pullStore).addArrivals,
	"mark": (*pullStore).mark, "read": (*pullStore).read, "gather": (*pullStore).gather, "unset": (*pullStore).unset,
	"resumed": (*pullStore).resumed, "reached": (*pullStore).reached, "clear_ledger": (*pullStore).clearLedger,
	"clear_arrivals": (*pullStore).clearArrivals, "clear_inbox": (*pullStore).clearInbox,
}

var pullTexts = byText(pull.SQL, pullSQL, map[string]known[*pullStore]{})

// at gives an instance of a shard; nil: there is none of that id.
func (s *pullStore) at(shard any, id [16]byte) *instance {
	if inst := s.w.instanceOf(id); inst != nil && inst.shard == shard.(int) {
		return inst
	}
	return nil
}

// runs says whether an instance does, as a statement sees it.
func (s *pullStore) runs(x *db.Exec, inst *instance) bool {
	if inst == nil {
		return false
	}
	v := s.instances.Get(x, int32(inst.index))
	return v != nil && v.Value.status == backend.Running
}

// keyAt is the key of a node run that stands in arrays.
func (s *pullStore) keyAt(shard any, ids [][16]byte, nodes []int32, paths []string, i int) (runKey, bool) {
	inst := s.at(shard, ids[i])
	if inst == nil {
		return runKey{}, false
	}
	return runKey{int32(inst.index), nodes[i], paths[i]}, true
}

// ledgerOf lists what an instance has in the ledger.
func (s *pullStore) ledgerOf(x *db.Exec, inst *instance) (found []*db.Version[runKey, ledgerRow]) {
	if inst == nil {
		return nil
	}
	id := int32(inst.index)
	s.ledger.Each(x, runKey{inst: id, node: math32}, func(v *db.Version[runKey, ledgerRow]) bool {
		if v.Row.Key.inst != id {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

// within lists the rows of node runs under paths: $2 instance, $3 node, $4 path, $5 end of paths.
func (s *pullStore) within(x *db.Exec, args []any) (found []*db.Version[runKey, ledgerRow]) {
	ids, nodes, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	for i := range ids {
		from, ok := s.keyAt(args[0], ids, nodes, first, i)
		if !ok {
			continue
		}
		s.ledger.Each(x, from, func(v *db.Version[runKey, ledgerRow]) bool {
			k := v.Row.Key
			if k.inst != from.inst || k.node != from.node || k.path >= last[i] {
				return false
			}
			found = append(found, v)
			return true
		})
	}
	return found
}

// lockAll locks rows that a statement finds, in their order, and counts those of which something holds then.
func lockAll[K, V any](a *asked, t *db.Table[K, V], find func(*db.Exec) []*db.Version[K, V], holds func(V) bool) {
	var found []*db.Version[K, V]
	n := int64(0)
	a.then(func(x *db.Exec) error {
		found = find(x)
		return nil
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := t.Lock(x, found[i], db.ForUpdate, db.Wait)
		if err == nil && v != nil && holds(v.Value) {
			n++
		}
		return err
	})
	a.then(func(*db.Exec) error {
		a.give(n)
		return nil
	})
}

// deleteAll takes away rows that a statement finds, by their addresses.
func deleteAll[K, V any](a *asked, t *db.Table[K, V], find func(*db.Exec) []*db.Version[K, V], gone func(V)) {
	var found []*db.Version[K, V]
	a.write, a.counts = true, true
	a.then(func(x *db.Exec) error {
		found = find(x)
		return nil
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		ok, err := t.Delete(x, found[i])
		if a.affect(ok); ok && gone != nil {
			gone(found[i].Value)
		}
		return err
	})
}

func (s *pullStore) lockCycle(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		at := s.cycles.Get(x, args[0].(int))
		switch s.w.Bug {
		case bugCyclesTogether:
			return nil
		case bugCycleLeft: // who has it looks anyway
			had, err := s.cycles.Lock(x, at, db.ForUpdate, db.SkipLocked)
			s.leaves[x.Number()] = had == nil
			return err
		}
		_, err := s.cycles.Lock(x, at, db.ForUpdate, db.Wait)
		return err
	})
	a.then(func(x *db.Exec) error {
		x.Note(shardNote{Cycles, int64(args[0].(int)), 0})
		a.give("", xid(x))
		return nil
	})
}

func (s *pullStore) submit(a *asked, args []any) {
	ids := args[1].([][16]byte)
	a.write = true
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst := s.at(args[0], ids[i])
		row := instanceRow{inst: inst, status: backend.Running, submitted: s.w.server.clock()}
		ok, err := s.instances.InsertNew(x, int32(inst.index), row)
		if ok {
			a.give(ids[i])
			x.Note(&happened{inst: inst, born: true, snapshot: x.Begun()})
		}
		return err
	})
}

func (s *pullStore) complete(a *asked, args []any) {
	ords, ids, nodes, paths := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	tokens, waits, results, failures := args[5].([]int64), args[6].([]*int64), args[7].([]*string), args[8].([]*string)
	var missed []int32
	var ended []*happened
	a.write = true
	a.each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		key, ok := s.keyAt(args[0], ids, nodes, paths, i)
		if !ok || !s.runs(x, s.w.insts[key.inst]) {
			return nil
		}
		seen := s.ledger.Get(x, key)
		if seen == nil {
			return nil
		}
		v, err := s.ledger.Lock(x, seen, db.ForUpdate, db.Wait)
		if err != nil || v == nil || v.Value.status != ledgerLeased || v.Value.token != tokens[i] && s.w.Bug != bugTokenIgnored {
			return err
		}
		if v != seen { // what has come meanwhile is not met by its address
			missed = append(missed, ords[i])
			return nil
		}
		row := v.Value
		h := &happened{inst: row.inst, run: key.run(), token: tokens[i], lease: tokens[i], snapshot: x.Begun()}
		if row.due = s.w.server.clock(); waits[i] != nil {
			row.status, row.attempt, row.due, row.done = ledgerQueued, row.attempt+1, row.due+*waits[i]*1000, 0
			if h.retried = true; s.w.Bug == bugAttemptsForgotten {
				row.attempt--
			}
		} else {
			row.status, row.done, row.completed = ledgerCompleted, s.tokens.Next(), h
		}
		row.result, row.failure = results[i], failures[i]
		if _, err = s.ledger.Update(x, v, db.NoKeyUpdate, row); err != nil {
			return err
		}
		a.give(ords[i], true)
		if results[i] != nil {
			h.result = json.RawMessage(*results[i])
		}
		if failures[i] != nil {
			h.failure = &plan.Failure{}
			if err := json.Unmarshal([]byte(*failures[i]), h.failure); err != nil {
				panic(err) // the backend has written it
			}
		}
		if h.retried {
			x.Note(h)
		} else {
			ended = append(ended, h)
		}
		return nil
	})
	a.then(func(x *db.Exec) error {
		for _, h := range ended { // after those that are tried again, which they may call off
			x.Note(h)
		}
		for _, ord := range missed {
			a.give(ord, false)
		}
		return nil
	})
}

func (s *pullStore) listRunning(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		s.instances.All(x, func(v *db.Version[int32, instanceRow]) bool {
			if inst := v.Value.inst; inst.shard == args[0].(int) && v.Value.status == backend.Running {
				a.give([16]byte(inst.id))
			}
			return true
		})
		return nil
	})
}

func (s *pullStore) inputs(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		for i, id := range args[1].([][16]byte) {
			if s.runs(x, s.at(args[0], id)) && !s.leaves[x.Number()] {
				a.give(int32(i+1), int32(1), []byte(s.w.load.Input))
			}
		}
		return nil
	})
}

func (s *pullStore) scanLedger(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		for i, id := range args[1].([][16]byte) {
			for _, v := range s.ledgerOf(x, s.at(args[0], id)) {
				r := &v.Value
				var done any
				if r.done != 0 {
					done = r.done
				}
				a.give(int32(i+1), v.Row.Key.node, v.Row.Key.path, done, text(r.result), text(r.failure))
			}
		}
		return nil
	})
}

// text gives a column of JSON; nil: null.
func text(s *string) any {
	if s == nil {
		return nil
	}
	return []byte(*s)
}

func (s *pullStore) enter(a *asked, args []any) {
	ids, nodes, paths, kept := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]*string)
	waits, leased, owner, lease := args[5].([]int64), args[6].([]bool), args[7].(string), args[8].(int64)*1000
	a.write = true
	tokens := make([]int64, len(ids))
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		key, _ := s.keyAt(args[0], ids, nodes, paths, i)
		if tokens[i] == 0 {
			tokens[i] = s.tokens.Next()
		}
		row := ledgerRow{
			inst: s.w.insts[key.inst], status: ledgerQueued, due: s.w.server.clock() + waits[i]*1000, token: tokens[i], attempt: 1, args: kept[i],
		}
		if leased[i] {
			row.status, row.due, row.owner = ledgerLeased, s.w.server.clock()+lease, owner
		}
		err := s.ledger.Insert(x, key, row)
		if err == nil && leased[i] {
			a.give(ids[i], nodes[i], paths[i], row.token)
			x.Note(leasedNote{row.inst, key.run(), row.token, 1, x.Begun()})
		}
		return err
	})
}

// taken says, of rows that go, that what was completed with them has been called off.
func (s *pullStore) taken(r ledgerRow) {
	if r.completed != nil {
		r.completed.dropped = true
	}
}

func (s *pullStore) drop(a *asked, args []any) {
	deleteAll(a, s.ledger, func(x *db.Exec) (found []*db.Version[runKey, ledgerRow]) {
		ids, nodes, paths := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
		for i := range ids {
			if key, ok := s.keyAt(args[0], ids, nodes, paths, i); ok && s.w.Bug != bugNotCalledOff {
				if v := s.ledger.Get(x, key); v != nil {
					found = append(found, v)
				}
			}
		}
		return found
	}, s.taken)
}

func (s *pullStore) callOff(a *asked, args []any) {
	deleteAll(a, s.ledger, func(x *db.Exec) []*db.Version[runKey, ledgerRow] {
		if s.w.Bug == bugNotCalledOff {
			return nil
		}
		return slices.DeleteFunc(s.within(x, args), func(v *db.Version[runKey, ledgerRow]) bool { return v.Value.status == ledgerCompleted })
	}, nil)
}

func (s *pullStore) lockRuns(a *asked, args []any) {
	lockAll(a, s.ledger, func(x *db.Exec) []*db.Version[runKey, ledgerRow] { return s.within(x, args) },
		func(ledgerRow) bool { return true })
}

func (s *pullStore) end(a *asked, args []any) {
	ids, statuses, results, failures := args[1].([][16]byte), args[2].([]string), args[3].([]*string), args[4].([]*string)
	running := func(r instanceRow) bool { return r.status == backend.Running || s.w.Bug == bugEndedTwice }
	a.write = true
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst := s.at(args[0], ids[i])
		if inst == nil {
			return nil
		}
		v, err := lockOne(x, s.instances, int32(inst.index), db.ForUpdate, running)
		if v == nil || err != nil {
			return err
		}
		row := v.Value
		row.status, row.result, row.failure = backend.Status(statuses[i]), nil, nil
		if results[i] != nil {
			row.result = json.RawMessage(*results[i])
		}
		if failures[i] != nil {
			row.failure = &plan.Failure{}
			if err := json.Unmarshal([]byte(*failures[i]), row.failure); err != nil {
				panic(err) // the backend has written it
			}
		}
		ok, err := s.instances.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			a.give(ids[i])
			x.Note(endedNote{inst, row.status})
		}
		return err
	})
}

// all lists what instances have in the ledger: $1 shard; $2 instances.
func (s *pullStore) all(x *db.Exec, args []any) (found []*db.Version[runKey, ledgerRow]) {
	for _, id := range args[1].([][16]byte) {
		found = append(found, s.ledgerOf(x, s.at(args[0], id))...)
	}
	return found
}

func (s *pullStore) lockOpen(a *asked, args []any) {
	open := func(r ledgerRow) bool { return r.done == 0 }
	lockAll(a, s.ledger, func(x *db.Exec) []*db.Version[runKey, ledgerRow] {
		if s.w.Bug == bugEndUnlocked {
			return nil
		}
		return slices.DeleteFunc(s.all(x, args), func(v *db.Version[runKey, ledgerRow]) bool { return !open(v.Value) })
	}, open)
}

func (s *pullStore) endLedger(a *asked, args []any) {
	deleteAll(a, s.ledger, func(x *db.Exec) []*db.Version[runKey, ledgerRow] { return s.all(x, args) }, nil)
}
