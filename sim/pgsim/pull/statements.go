package pull

import (
	"encoding/json"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/plan"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// pullSQL are the statements of pull, by the names of their files.
var pullSQL = map[string]func(*Store, *pgsim.Statement, []any){
	"lock_cycle": (*Store).lockCycle, "submit": (*Store).submit, "complete": (*Store).complete,
	"running": (*Store).listRunning, "inputs": (*Store).inputs, "scan": (*Store).scanLedger,
	"enter": (*Store).enter, "drop": (*Store).drop, "call_off": (*Store).callOff, "lock_runs": (*Store).lockRuns,
	"end": (*Store).end, "lock_open": (*Store).lockOpen, "end_ledger": (*Store).endLedger,
	"claim": (*Store).claim, "next_due": (*Store).nextDue, "overdue": (*Store).overdue,
	"renew": (*Store).renew, "standing": (*Store).standing, "held": (*Store).held, "release": (*Store).release,
	"end_arrivals": (*Store).endArrivals, "end_inbox": (*Store).endInbox,
	"runnable": (*Store).runnable, "add_values": (*Store).addValues, "add_arrivals": (*Store).addArrivals,
	"mark": (*Store).mark, "read": (*Store).read, "gather": (*Store).gather, "unset": (*Store).unset,
	"resumed": (*Store).resumed, "reached": (*Store).reached, "clear_ledger": (*Store).clearLedger,
	"clear_arrivals": (*Store).clearArrivals, "clear_inbox": (*Store).clearInbox,
}

var texts = pgsim.ByText(pull.SQL, pullSQL, map[string]pgsim.Known[*Store]{})

// at gives an instance of a shard; nil: there is none of that id.
func (s *Store) at(shard any, id [16]byte) *world.Instance {
	if inst := s.World.InstanceOf(id); inst != nil && inst.Shard == shard.(int) {
		return inst
	}
	return nil
}

// runs says whether an instance does, as a statement sees it.
func (s *Store) runs(x *db.Exec, inst *world.Instance) bool {
	if inst == nil {
		return false
	}
	v := s.Instances.Get(x, int32(inst.Index))
	return v != nil && v.Value.Status == backend.Running
}

// keyAt is the key of a node run that stands in arrays.
func (s *Store) keyAt(shard any, ids [][16]byte, nodes []int32, paths []string, i int) (pgsim.RunKey, bool) {
	inst := s.at(shard, ids[i])
	if inst == nil {
		return pgsim.RunKey{}, false
	}
	return pgsim.RunKey{Inst: int32(inst.Index), Node: nodes[i], Path: paths[i]}, true
}

// ledgerOf lists what an instance has in the ledger.
func (s *Store) ledgerOf(x *db.Exec, inst *world.Instance) (found []*db.Version[pgsim.RunKey, ledgerRow]) {
	if inst == nil {
		return nil
	}
	id := int32(inst.Index)
	s.ledger.Each(x, pgsim.RunKey{Inst: id, Node: pgsim.FirstID}, func(v *db.Version[pgsim.RunKey, ledgerRow]) bool {
		if v.Row.Key.Inst != id {
			return false
		}
		found = append(found, v)
		return true
	})
	return found
}

// within lists the rows of node runs under paths: $2 instance, $3 node, $4 path, $5 end of paths.
func (s *Store) within(x *db.Exec, args []any) (found []*db.Version[pgsim.RunKey, ledgerRow]) {
	ids, nodes, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	for i := range ids {
		from, ok := s.keyAt(args[0], ids, nodes, first, i)
		if !ok {
			continue
		}
		s.ledger.Each(x, from, func(v *db.Version[pgsim.RunKey, ledgerRow]) bool {
			k := v.Row.Key
			if k.Inst != from.Inst || k.Node != from.Node || k.Path >= last[i] {
				return false
			}
			found = append(found, v)
			return true
		})
	}
	return found
}

// lockAll locks rows that a statement finds, in their order, and counts those of which something holds then.
func lockAll[K, V any](a *pgsim.Statement, t *db.Table[K, V], find func(*db.Exec) []*db.Version[K, V], holds func(V) bool) {
	var found []*db.Version[K, V]
	n := int64(0)
	a.Then(func(x *db.Exec) error {
		found = find(x)
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := t.Lock(x, found[i], db.ForUpdate, db.Wait)
		if err == nil && v != nil && holds(v.Value) {
			n++
		}
		return err
	})
	a.Then(func(*db.Exec) error {
		a.Give(n)
		return nil
	})
}

// deleteAll takes away rows that a statement finds, by their addresses.
func deleteAll[K, V any](a *pgsim.Statement, t *db.Table[K, V], find func(*db.Exec) []*db.Version[K, V], gone func(V)) {
	var found []*db.Version[K, V]
	a.Write, a.Counts = true, true
	a.Then(func(x *db.Exec) error {
		found = find(x)
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		ok, err := t.Delete(x, found[i])
		if a.Affect(ok); ok && gone != nil {
			gone(found[i].Value)
		}
		return err
	})
}

func (s *Store) lockCycle(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		at := s.cycles.Get(x, args[0].(int))
		switch s.World.Bug {
		case cases.BugCyclesTogether:
			return nil
		case cases.BugCycleLeft: // the engine that has the turn looks anyway
			had, err := s.cycles.Lock(x, at, db.ForUpdate, db.SkipLocked)
			s.leaves[x.Number()] = had == nil
			return err
		}
		_, err := s.cycles.Lock(x, at, db.ForUpdate, db.Wait)
		return err
	})
	a.Then(func(x *db.Exec) error {
		x.Note(judge.Step{What: world.Cycles, Shard: int64(args[0].(int)), Epoch: 0})
		a.Give("", pgsim.XID(x))
		return nil
	})
}

func (s *Store) submit(a *pgsim.Statement, args []any) {
	ids := args[1].([][16]byte)
	a.Write = true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst := s.at(args[0], ids[i])
		row := pgsim.InstanceRow{Inst: inst, Status: backend.Running, Submitted: s.World.Server.Clock()}
		ok, err := s.Instances.InsertNew(x, int32(inst.Index), row)
		if ok {
			a.Give(ids[i])
			x.Note(&judge.Event{Inst: inst, Born: true, Snapshot: x.Begun()})
		}
		return err
	})
}

func (s *Store) complete(a *pgsim.Statement, args []any) {
	ords, ids, nodes, paths := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	tokens, waits, results, failures := args[5].([]int64), args[6].([]*int64), args[7].([]*string), args[8].([]*string)
	var missed []int32
	var ended []*judge.Event
	a.Write = true
	a.Each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		key, ok := s.keyAt(args[0], ids, nodes, paths, i)
		if !ok || !s.runs(x, s.World.Instances[key.Inst]) {
			return nil
		}
		seen := s.ledger.Get(x, key)
		if seen == nil {
			return nil
		}
		v, err := s.ledger.Lock(x, seen, db.ForUpdate, db.Wait)
		if err != nil || v == nil || v.Value.status != ledgerLeased || v.Value.token != tokens[i] && s.World.Bug != cases.BugTokenIgnored {
			return err
		}
		if v != seen { // what has come meanwhile is not met by its address
			missed = append(missed, ords[i])
			return nil
		}
		row := v.Value
		h := &judge.Event{Inst: row.inst, Run: key.Run(), Token: tokens[i], Lease: tokens[i], Snapshot: x.Begun()}
		if row.due = s.World.Server.Clock(); waits[i] != nil {
			row.status, row.attempt, row.due, row.done = ledgerQueued, row.attempt+1, row.due+*waits[i]*1000, 0
			if h.Retried = true; s.World.Bug == cases.BugAttemptsForgotten {
				row.attempt--
			}
		} else {
			row.status, row.done, row.completed = ledgerCompleted, s.Tokens.Next(), h
		}
		row.result, row.failure = results[i], failures[i]
		if _, err = s.ledger.Update(x, v, db.NoKeyUpdate, row); err != nil {
			return err
		}
		a.Give(ords[i], true)
		if results[i] != nil {
			h.Result = json.RawMessage(*results[i])
		}
		if failures[i] != nil {
			h.Failure = &plan.Failure{}
			if err := json.Unmarshal([]byte(*failures[i]), h.Failure); err != nil {
				panic(err) // the backend has written it
			}
		}
		if h.Retried {
			x.Note(h)
		} else {
			ended = append(ended, h)
		}
		return nil
	})
	a.Then(func(x *db.Exec) error {
		for _, h := range ended { // after those that are tried again, which they may cancel
			x.Note(h)
		}
		for _, ord := range missed {
			a.Give(ord, false)
		}
		return nil
	})
}

func (s *Store) listRunning(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		s.Instances.All(x, func(v *db.Version[int32, pgsim.InstanceRow]) bool {
			if inst := v.Value.Inst; inst.Shard == args[0].(int) && v.Value.Status == backend.Running {
				a.Give([16]byte(inst.ID))
			}
			return true
		})
		return nil
	})
}

func (s *Store) inputs(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for i, id := range args[1].([][16]byte) {
			if s.runs(x, s.at(args[0], id)) && !s.leaves[x.Number()] {
				a.Give(int32(i+1), int32(1), []byte(s.World.Workload.Input))
			}
		}
		return nil
	})
}

func (s *Store) scanLedger(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for i, id := range args[1].([][16]byte) {
			for _, v := range s.ledgerOf(x, s.at(args[0], id)) {
				r := &v.Value
				var done any
				if r.done != 0 {
					done = r.done
				}
				a.Give(int32(i+1), v.Row.Key.Node, v.Row.Key.Path, done, text(r.result), text(r.failure))
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

func (s *Store) enter(a *pgsim.Statement, args []any) {
	ids, nodes, paths, kept := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]*string)
	waits, leased, owner, lease := args[5].([]int64), args[6].([]bool), args[7].(string), args[8].(int64)*1000
	a.Write = true
	tokens := make([]int64, len(ids))
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		key, _ := s.keyAt(args[0], ids, nodes, paths, i)
		if tokens[i] == 0 {
			tokens[i] = s.Tokens.Next()
		}
		row := ledgerRow{
			inst: s.World.Instances[key.Inst], status: ledgerQueued, due: s.World.Server.Clock() + waits[i]*1000, token: tokens[i], attempt: 1, args: kept[i],
		}
		if leased[i] {
			row.status, row.due, row.owner = ledgerLeased, s.World.Server.Clock()+lease, owner
		}
		err := s.ledger.Insert(x, key, row)
		if err == nil && leased[i] {
			a.Give(ids[i], nodes[i], paths[i], row.token)
			x.Note(judge.Leased{Inst: row.inst, Run: key.Run(), Token: row.token, Attempt: 1, Snapshot: x.Begun()})
		}
		return err
	})
}

// taken says, of rows that go, that what was completed with them has been cancelled.
func (s *Store) taken(r ledgerRow) {
	if r.completed != nil {
		r.completed.Dropped = true
	}
}

func (s *Store) drop(a *pgsim.Statement, args []any) {
	deleteAll(a, s.ledger, func(x *db.Exec) (found []*db.Version[pgsim.RunKey, ledgerRow]) {
		ids, nodes, paths := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
		for i := range ids {
			if key, ok := s.keyAt(args[0], ids, nodes, paths, i); ok && s.World.Bug != cases.BugNotCalledOff {
				if v := s.ledger.Get(x, key); v != nil {
					found = append(found, v)
				}
			}
		}
		return found
	}, s.taken)
}

func (s *Store) callOff(a *pgsim.Statement, args []any) {
	deleteAll(a, s.ledger, func(x *db.Exec) []*db.Version[pgsim.RunKey, ledgerRow] {
		if s.World.Bug == cases.BugNotCalledOff {
			return nil
		}
		return slices.DeleteFunc(s.within(x, args), func(v *db.Version[pgsim.RunKey, ledgerRow]) bool { return v.Value.status == ledgerCompleted })
	}, nil)
}

func (s *Store) lockRuns(a *pgsim.Statement, args []any) {
	lockAll(a, s.ledger, func(x *db.Exec) []*db.Version[pgsim.RunKey, ledgerRow] { return s.within(x, args) },
		func(ledgerRow) bool { return true })
}

func (s *Store) end(a *pgsim.Statement, args []any) {
	ids, statuses, results, failures := args[1].([][16]byte), args[2].([]string), args[3].([]*string), args[4].([]*string)
	running := func(r pgsim.InstanceRow) bool {
		return r.Status == backend.Running || s.World.Bug == cases.BugEndedTwice
	}
	a.Write = true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst := s.at(args[0], ids[i])
		if inst == nil {
			return nil
		}
		v, err := pgsim.LockOne(x, s.Instances, int32(inst.Index), db.ForUpdate, running)
		if v == nil || err != nil {
			return err
		}
		row := v.Value
		row.Status, row.Result, row.Failure = backend.Status(statuses[i]), nil, nil
		if results[i] != nil {
			row.Result = json.RawMessage(*results[i])
		}
		if failures[i] != nil {
			row.Failure = &plan.Failure{}
			if err := json.Unmarshal([]byte(*failures[i]), row.Failure); err != nil {
				panic(err) // the backend has written it
			}
		}
		ok, err := s.Instances.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			a.Give(ids[i])
			x.Note(judge.Ended{Inst: inst, Status: row.Status})
		}
		return err
	})
}

// all lists what instances have in the ledger: $1 shard; $2 instances.
func (s *Store) all(x *db.Exec, args []any) (found []*db.Version[pgsim.RunKey, ledgerRow]) {
	for _, id := range args[1].([][16]byte) {
		found = append(found, s.ledgerOf(x, s.at(args[0], id))...)
	}
	return found
}

func (s *Store) lockOpen(a *pgsim.Statement, args []any) {
	open := func(r ledgerRow) bool { return r.done == 0 }
	lockAll(a, s.ledger, func(x *db.Exec) []*db.Version[pgsim.RunKey, ledgerRow] {
		if s.World.Bug == cases.BugEndUnlocked {
			return nil
		}
		return slices.DeleteFunc(s.all(x, args), func(v *db.Version[pgsim.RunKey, ledgerRow]) bool { return !open(v.Value) })
	}, open)
}

func (s *Store) endLedger(a *pgsim.Statement, args []any) {
	deleteAll(a, s.ledger, func(x *db.Exec) []*db.Version[pgsim.RunKey, ledgerRow] { return s.all(x, args) }, nil)
}
