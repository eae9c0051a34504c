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

var pullSQL = pgsim.Join(map[string]pgsim.Build[*Store]{
	"lock_scan": (*Store).lockScan, "submit": (*Store).submit, "complete": (*Store).complete,
	"running": (*Store).listRunning, "inputs": (*Store).inputs, "scan": (*Store).scanLedger,
	"enter": (*Store).enter, "drop": (*Store).drop, "cancel_runs": (*Store).cancelRuns, "lock_runs": (*Store).lockRuns,
	"end": (*Store).end, "lock_open": (*Store).lockOpen, "end_ledger": (*Store).endLedger,
	"claim": (*Store).claim, "next_due": (*Store).nextDue,
	"end_arrivals": (*Store).endArrivals, "end_inbox": (*Store).endInbox,
	"runnable": (*Store).runnable, "add_values": (*Store).addValues, "add_arrivals": (*Store).addArrivals,
	"mark_opened": (*Store).markOpened, "read": (*Store).read, "gather": (*Store).gather, "unset": (*Store).unset,
	"resumed": (*Store).resumed, "reached_counts": (*Store).reached, "clear_ledger": (*Store).clearLedger,
	"clear_arrivals": (*Store).clearArrivals, "clear_inbox": (*Store).clearInbox,
}, pgsim.QueueSQL(func(s *Store) *pgsim.Queue[ledgerRow, *ledgerRow] { return s.ledger }))

var texts = pgsim.Statements(pull.SQL, pullSQL)

func (s *Store) runs(x *db.Exec, id [16]byte) bool { return s.Running(x, id) != nil }

// ledgerWithin returns the rows of node runs under paths: $2 instance, $3 node, $4 path, $5 end of paths.
func (s *Store) ledgerWithin(x *db.Exec, args []any) (found []*db.Version[pgsim.RunKey, ledgerRow]) {
	ids, nodes, first, last := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	for i := range ids {
		from := s.Key(ids[i], nodes[i], first[i])
		found = append(found, pgsim.Find(x, s.ledger.Table, from, func(k pgsim.RunKey) bool { return k.SameNode(from) && k.Path < last[i] })...)
	}
	return found
}

func endRows[K pgsim.InstanceKey[K], V any](s *Store, a *pgsim.Statement, t *db.Table[K, V], args []any) {
	pgsim.DeleteAll(a, t, func(x *db.Exec) []*db.Version[K, V] { return pgsim.OfInstances(x, &s.Base, t, args[1].([][16]byte)) })
}

func (s *Store) lockScan(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		at := s.scanLocks.Get(x, args[0].(int))
		switch s.World.Bug {
		case cases.BugScansTogether:
			return nil
		case cases.BugScanLeft: // the scan proceeds although another engine holds the lock
			had, err := s.scanLocks.Lock(x, at, db.ForUpdate, db.SkipLocked)
			s.leaves[x.Number()] = had == nil
			return err
		}
		_, err := s.scanLocks.Lock(x, at, db.ForUpdate, db.Wait)
		return err
	})
	a.Then(func(x *db.Exec) error {
		x.Note(judge.Step{What: world.Scans, Shard: int64(args[0].(int)), Epoch: 0})
		a.AddRow("", pgsim.XID(x))
		return nil
	})
}

func (s *Store) submit(a *pgsim.Statement, args []any) {
	ids := args[1].([][16]byte)
	a.Write = true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst := s.InstanceOf(ids[i])
		row := pgsim.InstanceRow{Inst: inst, Status: backend.Running, Submitted: s.Now()}
		ok, err := s.Instances.InsertNew(x, int32(inst.Index), row)
		if ok {
			a.AddRow(ids[i])
			x.Note(&judge.Event{Inst: inst, Creates: true, Snapshot: x.Begun()})
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
		if !s.runs(x, ids[i]) {
			return nil
		}
		key := s.Key(ids[i], nodes[i], paths[i])
		seen := s.ledger.Get(x, key)
		if seen == nil {
			return nil
		}
		v, err := s.ledger.Lock(x, seen, db.ForUpdate, db.Wait)
		if err != nil || v == nil || !v.Value.Leased() || v.Value.Token != tokens[i] && s.World.Bug != cases.BugTokenIgnored {
			return err
		}
		if v != seen { // a newer version has another address and is not found
			missed = append(missed, ords[i])
			return nil
		}
		row := v.Value
		row.Redeliveries = 0
		h := &judge.Event{Inst: s.InstanceOf(ids[i]), Run: key.Run(), Token: tokens[i], Lease: tokens[i], Snapshot: x.Begun()}
		if row.Due = s.Now(); waits[i] != nil {
			row.status, row.Attempt, row.Due, row.done = ledgerQueued, row.Attempt+1, row.Due+*waits[i]*1000, 0
			if h.Retried = true; s.World.Bug == cases.BugAttemptsForgotten {
				row.Attempt--
			}
		} else {
			row.status, row.done, row.completed = ledgerCompleted, s.Tokens.Next(), h
		}
		row.result, row.failure = results[i], failures[i]
		if _, err = s.ledger.Replace(x, v, row); err != nil {
			return err
		}
		a.AddRow(ords[i], true)
		if results[i] != nil {
			h.Result = json.RawMessage(*results[i])
		}
		if failures[i] != nil {
			h.Failure = &plan.Failure{}
			if err := json.Unmarshal([]byte(*failures[i]), h.Failure); err != nil {
				panic(err)
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
		for _, h := range ended { // after the retried ones, which they may cancel
			x.Note(h)
		}
		for _, ord := range missed {
			a.AddRow(ord, false)
		}
		return nil
	})
}

func (s *Store) listRunning(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		s.Instances.All(x, func(v *db.Version[int32, pgsim.InstanceRow]) bool {
			if inst := v.Value.Inst; inst.Shard == args[0].(int) && v.Value.Status == backend.Running {
				a.AddRow([16]byte(inst.ID))
			}
			return true
		})
		return nil
	})
}

func (s *Store) inputs(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for i, id := range args[1].([][16]byte) {
			if s.runs(x, id) && !s.leaves[x.Number()] {
				a.AddRow(int32(i+1), int32(1), []byte(s.World.Workload.Input))
			}
		}
		return nil
	})
}

func (s *Store) scanLedger(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for i, id := range args[1].([][16]byte) {
			for _, v := range pgsim.OfInstance(x, s.ledger.Table, int32(s.InstanceOf(id).Index)) {
				r := &v.Value
				var done any
				if r.done != 0 {
					done = r.done
				}
				a.AddRow(int32(i+1), v.Row.Key.Node, v.Row.Key.Path, done, text(r.result), text(r.failure))
			}
		}
		return nil
	})
}

func text(s *string) any {
	if s == nil {
		return nil
	}
	return []byte(*s)
}

func (s *Store) enter(a *pgsim.Statement, args []any) {
	ids, nodes, paths, kept := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]*string)
	waits, leased, owner, lease := args[5].([]int64), args[6].([]bool), args[7], args[8].(int64)*1000
	a.Write = true
	tokens := make([]int64, len(ids))
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		key := s.Key(ids[i], nodes[i], paths[i])
		if tokens[i] == 0 {
			tokens[i] = s.Tokens.Next()
		}
		row := ledgerRow{Queued: pgsim.Queued{Token: tokens[i], Due: s.Now() + waits[i]*1000, Attempt: 1}, status: ledgerQueued, args: kept[i]}
		if leased[i] {
			row.Lease(owner)
			row.Due = s.Now() + lease
		}
		err := s.ledger.Insert(x, key, row)
		if err == nil && leased[i] {
			a.AddRow(ids[i], nodes[i], paths[i], row.Token)
			x.Note(judge.Leased{Inst: s.InstanceOf(ids[i]), Run: key.Run(), Token: row.Token, Attempt: 1, Deliveries: 1, Snapshot: x.Begun()})
		}
		return err
	})
}

// isRemoved notes that the completion of a deleted row was cancelled.
func (s *Store) isRemoved(r ledgerRow) {
	if r.completed != nil {
		r.completed.Dropped = true
	}
}

func (s *Store) drop(a *pgsim.Statement, args []any) {
	ids, nodes, paths := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	a.Write, a.Counts = true, true
	pgsim.DeletePart(a, s.ledger.Table, func(x *db.Exec) (found []*db.Version[pgsim.RunKey, ledgerRow]) {
		for i := range ids {
			if v := s.ledger.Get(x, s.Key(ids[i], nodes[i], paths[i])); v != nil && s.World.Bug != cases.BugNotCancelled {
				found = append(found, v)
			}
		}
		return found
	}, s.isRemoved, func(ledgerRow) { a.Affected++ })
}

func (s *Store) cancelRuns(a *pgsim.Statement, args []any) {
	pgsim.DeleteAll(a, s.ledger.Table, func(x *db.Exec) []*db.Version[pgsim.RunKey, ledgerRow] {
		if s.World.Bug == cases.BugNotCancelled {
			return nil
		}
		return slices.DeleteFunc(s.ledgerWithin(x, args), func(v *db.Version[pgsim.RunKey, ledgerRow]) bool { return !v.Value.Ready() })
	})
}

func (s *Store) lockRuns(a *pgsim.Statement, args []any) {
	pgsim.LockAll(a, s.ledger.Table, db.Wait, func(x *db.Exec) []*db.Version[pgsim.RunKey, ledgerRow] { return s.ledgerWithin(x, args) }, pgsim.Any)
}

func (s *Store) end(a *pgsim.Statement, args []any) {
	ids, statuses, results, failures := args[1].([][16]byte), args[2].([]string), args[3].([]*string), args[4].([]*string)
	running := func(r pgsim.InstanceRow) bool {
		return r.Status == backend.Running || s.World.Bug == cases.BugEndedTwice
	}
	a.Write = true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst := s.InstanceOf(ids[i])
		v, err := pgsim.LockRow(x, s.Instances, int32(inst.Index), db.ForUpdate, running)
		if v == nil || err != nil {
			return err
		}
		row := v.Value
		row.Status, row.Result, row.Failure = backend.Status(statuses[i]), nil, nil
		row.End(results[i], failures[i])
		ok, err := s.Instances.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			a.AddRow(ids[i])
			x.Note(judge.Ended{Inst: inst, Status: row.Status})
		}
		return err
	})
}

func (s *Store) lockOpen(a *pgsim.Statement, args []any) {
	open := func(r ledgerRow) bool { return r.done == 0 }
	pgsim.LockAll(a, s.ledger.Table, db.Wait, func(x *db.Exec) []*db.Version[pgsim.RunKey, ledgerRow] {
		if s.World.Bug == cases.BugEndUnlocked {
			return nil
		}
		return slices.DeleteFunc(pgsim.OfInstances(x, &s.Base, s.ledger.Table, args[1].([][16]byte)),
			func(v *db.Version[pgsim.RunKey, ledgerRow]) bool { return !open(v.Value) })
	}, open)
}

func (s *Store) endLedger(a *pgsim.Statement, args []any) { endRows(s, a, s.ledger.Table, args) }

func (s *Store) endArrivals(a *pgsim.Statement, args []any) { endRows(s, a, s.arrivals, args) }

func (s *Store) endInbox(a *pgsim.Statement, args []any) { endRows(s, a, s.inbox, args) }
