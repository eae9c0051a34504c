package push

import (
	"math"

	"pulley/engine/backend/postgres/push"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

var pushSQL = pgsim.Join(map[string]pgsim.Build[*Store]{
	"read": (*Store).read, "gather": (*Store).gather, "owner": (*Store).owner,
	"fence": (*Store).fence, "commit_slot": (*Store).commitSlot, "delete_old_slots": (*Store).forget,
	"lock_cancelled": (*Store).lockCancelled, "lock_cancelled_more": (*Store).lockCancelledMore, "lock_counters": (*Store).lockCounters,
	"delete_runs": (*Store).dropRuns, "delete_counters": (*Store).dropCounters, "delete_elements": (*Store).dropElements,
	"delete_values": (*Store).dropValues, "end": (*Store).endInstances,
	"claim_by_workflow": (*Store).claimByWorkflow, "claim_by_instance": func(s *Store, a *pgsim.Statement, args []any) { s.queue.ClaimByInstance(a, args) },
}, pgsim.QueueSQL(func(s *Store) *pgsim.Queue[queued, *queued] { return s.queue }),
	pgsim.CleanupSQL[*Store](db.Wait, "queue", "readiness", "elements", "inbox"))

var texts = pgsim.Statements(push.SQL, pushSQL)

func (s *Store) claimByWorkflow(a *pgsim.Statement, args []any) {
	s.queue.ClaimByWorkflow(a, args, func(q *queued) bool { return q.workflow != 0 })
}

func (s *Store) read(a *pgsim.Statement, args []any) {
	numbers, ids, vars, paths := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	a.Then(func(x *db.Exec) error {
		for i := range numbers {
			for _, v := range pgsim.ValuesOf(x, s.inbox, s.Key(ids[i], vars[i], paths[i]).Value(pgsim.FirstElement)) {
				a.AddRow(numbers[i], v.Row.Key.Element, []byte(v.Value))
			}
		}
		return nil
	})
}

// gather is gather.sql. The elements come first, since they are its result.
func (s *Store) gather(a *pgsim.Statement, args []any) {
	ords, ids, nodes, paths := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	type found struct {
		ord int32
		v   *db.Version[pgsim.ValueKey, collected]
	}
	var all []found
	a.Write = true
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			for _, v := range pgsim.ValuesOf(x, s.elements, s.Key(ids[i], nodes[i], paths[i]).Value(pgsim.FirstElement)) {
				all = append(all, found{ords[i], v})
			}
		}
		return nil
	})
	a.Each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		ok, err := s.elements.Delete(x, all[i].v)
		if ok {
			a.AddRow(all[i].ord, all[i].v.Value.places, all[i].v.Value.vals)
		}
		return err
	})
	pgsim.DeletePart(a, s.readiness, func(x *db.Exec) []*db.Version[pgsim.RunKey, readiness] { return s.counters(x, ids, nodes, paths) })
}

func (s *Store) counters(x *db.Exec, ids [][16]byte, nodes []int32, paths []string) (found []*db.Version[pgsim.RunKey, readiness]) {
	for i := range ids {
		if v := s.readiness.Get(x, s.Key(ids[i], nodes[i], paths[i])); v != nil {
			found = append(found, v)
		}
	}
	return found
}

// owner is owner.sql. It draws an id even if the owner exists.
func (s *Store) owner(a *pgsim.Statement, args []any) {
	drawn := int32(0)
	a.Write = true
	a.Then(func(x *db.Exec) error {
		if drawn == 0 {
			drawn = int32(s.ownerIDs.Next())
		}
		id, ok, err := s.owners.Upsert(x, args[0].(string), drawn, func(old int32) (int32, bool, error) { return old, true, nil })
		if ok {
			a.AddRow(id)
		}
		return err
	})
}

// resolvesBlindly reports whether the planted bug is that commits are not resolved.
func (s *Store) resolvesBlindly() bool {
	return s.World.Bug == cases.BugUnknownIsSuccess || s.World.Bug == cases.BugUnknownIsFailure
}

func (s *Store) fence(a *pgsim.Statement, args []any) {
	a.Write = true
	a.Then(func(*db.Exec) error {
		s.World.Note(world.Resolves, 0, int64(len(args[1].([]int32))), 0, 0)
		return nil
	})
	if s.resolvesBlindly() {
		return
	}
	s.queue.LockLeased(a, args, func(x *db.Exec, ord int32, v *db.Version[pgsim.RunKey, queued]) error {
		row := v.Value
		row.Token = s.Tokens.Next()
		ok, err := s.queue.Replace(x, v, row)
		if ok {
			k := v.Row.Key
			x.Note(judge.Fenced{Inst: s.World.Instances[k.Inst], Run: k.Run(), Token: row.Token})
			a.AddRow(ord, row.Token)
		}
		return err
	})
}

func (s *Store) commitSlot(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		v := s.commits.Get(x, commitKey{args[0].(int), args[1].(int64), args[2].(int32)})
		switch took := v != nil && v.Value.number == args[3].(int64); {
		case s.World.Bug == cases.BugUnknownIsSuccess:
			a.AddRow([]int32{})
		case took && s.World.Bug != cases.BugUnknownIsFailure:
			a.AddRow(v.Value.stale)
		}
		return nil
	})
}

func (s *Store) forget(a *pgsim.Statement, args []any) {
	shard, age := args[0].(int), args[1].(int64)*1000
	var before int64
	var found []*db.Version[commitKey, commitRow]
	a.Write = true
	a.Then(func(x *db.Exec) error {
		before = s.Now() - age
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
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := s.commits.Lock(x, found[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || v.Value.at >= before {
			return err
		}
		ok, err := s.commits.Delete(x, v)
		if ok {
			a.Affected++
			x.Note(judge.Step{What: world.Forgets, Shard: int64(shard), Epoch: v.Value.number})
		}
		return err
	})
}
