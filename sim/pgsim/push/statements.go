package push

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"pulley/engine/backend/postgres/push"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// pushSQL are the statements of push, by the names of their files; but for apply.
var pushSQL = map[string]func(*Store, *pgsim.Statement, []any){
	"read": (*Store).read, "gather": (*Store).gather, "owner": (*Store).owner,
	"claim": (*Store).claim, "next_due": (*Store).nextDue, "leased": (*Store).leased, "standing": (*Store).standing, "renew": (*Store).renew,
	"held": (*Store).held, "fence": (*Store).fence, "mark": (*Store).mark, "forget": (*Store).forget,
	"call_off": (*Store).callOff, "call_off_more": (*Store).callOffMore, "hold_counters": (*Store).holdCounters,
	"drop_runs": (*Store).dropRuns, "drop_counters": (*Store).dropCounters, "drop_elements": (*Store).dropElements,
	"drop_values": (*Store).dropValues, "end": (*Store).endInstances,
	"overdue": (*Store).overdue, "mark_cleaned": (*Store).markCleaned,
	"cleanup_queue": (*Store).cleanQueue, "cleanup_readiness": (*Store).cleanReadiness,
	"cleanup_elements": (*Store).cleanElements, "cleanup_inbox": (*Store).cleanInbox,
}

var texts = pgsim.ByText(push.SQL, pushSQL, map[string]pgsim.Known[*Store]{})

// key is that of a node run, or of a barrier.
func (s *Store) key(id [16]byte, node int32, path string) pgsim.RunKey {
	return pgsim.RunKey{Inst: int32(s.InstanceOf(id).Index), Node: node, Path: path}
}

func (s *Store) now() int64 { return s.World.Server.Clock() }

// read: see read.sql.
func (s *Store) read(a *pgsim.Statement, args []any) {
	numbers, ids, vars, paths := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	a.Then(func(x *db.Exec) error {
		for i := range numbers {
			from := pgsim.ValueKey{Inst: int32(s.InstanceOf(ids[i]).Index), ID: vars[i], Path: paths[i], Element: pgsim.FirstID}
			s.inbox.Each(x, from, func(v *db.Version[pgsim.ValueKey, json.RawMessage]) bool {
				k := v.Row.Key
				if k.Inst != from.Inst || k.ID != from.ID || k.Path != from.Path {
					return false
				}
				a.Give(numbers[i], k.Element, []byte(v.Value))
				return true
			})
		}
		return nil
	})
}

// gather: see gather.sql. The values come first, since they are what it gives.
func (s *Store) gather(a *pgsim.Statement, args []any) {
	ords, ids, nodes, paths := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	type found struct {
		ord int32
		v   *db.Version[pgsim.ValueKey, collected]
	}
	var all []found
	counters := pgsim.Deletion[pgsim.RunKey, readiness]{Table: s.readiness}
	a.Write = true
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			key := s.key(ids[i], nodes[i], paths[i])
			if v := s.readiness.Get(x, key); v != nil {
				counters.Found = append(counters.Found, v)
			}
			s.elements.Each(x, pgsim.ValueKey{Inst: key.Inst, ID: key.Node, Path: key.Path, Element: pgsim.FirstID}, func(v *db.Version[pgsim.ValueKey, collected]) bool {
				if k := v.Row.Key; k.Inst != key.Inst || k.ID != key.Node || k.Path != key.Path {
					return false
				}
				all = append(all, found{ords[i], v})
				return true
			})
		}
		return nil
	})
	a.Each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		ok, err := s.elements.Delete(x, all[i].v)
		if ok {
			a.Give(all[i].ord, all[i].v.Value.places, all[i].v.Value.vals)
		}
		return err
	})
	a.Then(func(x *db.Exec) error { return counters.Run(x) })
}

// owner: see owner.sql. The number that a new owner would have is drawn in any case.
func (s *Store) owner(a *pgsim.Statement, args []any) {
	drawn := int32(0)
	a.Write = true
	a.Then(func(x *db.Exec) error {
		if drawn == 0 {
			drawn = int32(s.ownerIDs.Next())
		}
		id, ok, err := s.owners.Upsert(x, args[0].(string), drawn, func(old int32) (int32, bool, error) { return old, true, nil })
		if ok {
			a.Give(id)
		}
		return err
	})
}

// due gives the runs of a shard's running instances that are wanted, by the time when they are due.
func (s *Store) due(x *db.Exec, shard int, wanted func(queued) bool) (found []*db.Version[pgsim.RunKey, queued]) {
	last, runs := int32(-1), false
	s.queue.All(x, func(v *db.Version[pgsim.RunKey, queued]) bool {
		if !wanted(v.Value) {
			return true
		}
		if inst := v.Row.Key.Inst; inst != last {
			last = inst
			runs = s.World.Instances[inst].Shard == shard && s.Running(x, s.World.Instances[inst].ID) != nil
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
func byDue(a, b *db.Version[pgsim.RunKey, queued]) int {
	return cmp.Or(cmp.Compare(a.Value.due, b.Value.due), cmp.Compare(a.Value.place, b.Value.place))
}

// enqueue adds a row behind all that were written before.
func (s *Store) enqueue(x *db.Exec, key pgsim.RunKey, row queued) error {
	s.placed++
	row.place = s.placed
	return s.queue.Insert(x, key, row)
}

// requeue replaces a version of a row that was found by its address, by one behind all that were written before.
func (s *Store) requeue(x *db.Exec, v *db.Version[pgsim.RunKey, queued], row queued) (bool, error) {
	s.placed++
	row.place = s.placed
	return s.queue.Update(x, v, db.NoKeyUpdate, row)
}

// claim: see claim.sql.
func (s *Store) claim(a *pgsim.Statement, args []any) {
	shard, most, owner, lease := args[0].(int), args[1].(int), args[2].(int32), args[3].(int64)*1000
	var begun int64
	var due []*db.Version[pgsim.RunKey, queued]
	taken := 0
	claimable := func(q queued) bool {
		return q.due <= begun && !(s.World.Bug == cases.BugNeverReclaimed && q.owner != 0)
	}
	a.Write = true
	a.Then(func(x *db.Exec) error {
		begun = s.now()
		due = s.due(x, shard, claimable)
		return nil
	})
	a.Each(func() int { return len(due) }, func(x *db.Exec, i int) error {
		if taken >= most {
			return nil
		}
		v, err := s.queue.Lock(x, due[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || !claimable(v.Value) {
			return err
		}
		taken++
		row := v.Value
		if row.owner != 0 && s.World.Bug == cases.BugAttemptsForgotten {
			row.attempt = 1
		}
		row.due, row.owner = s.now()+lease, owner
		if s.World.Bug != cases.BugLeaseNotFenced {
			row.token = s.Tokens.Next()
		}
		ok, err := s.requeue(x, v, row)
		if !ok || err != nil {
			return err
		}
		k := v.Row.Key
		inst := s.World.Instances[k.Inst]
		x.Note(judge.Leased{Inst: inst, Run: k.Run(), Token: row.token, Attempt: int(row.attempt), Snapshot: x.Begun()})
		a.Give([16]byte(inst.ID), k.Node, k.Path, row.token, row.attempt, int32(1), []byte(row.args))
		return nil
	})
}

// nextDue: see next_due.sql.
func (s *Store) nextDue(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		if due := s.due(x, args[0].(int), func(queued) bool { return true }); len(due) > 0 {
			a.Give((due[0].Value.due - s.now()) / 1000)
		}
		return nil
	})
}

// leased: see queue/leased.sql.
func (s *Store) leased(a *pgsim.Statement, args []any) { s.stand(a, args, always) }

// standing: see queue/leased.sql.
func (s *Store) standing(a *pgsim.Statement, args []any) { s.stand(a, args, s.goesOn) }

// goesOn says whether an instance runs.
func (s *Store) goesOn(x *db.Exec, id [16]byte) bool { return s.Running(x, id) != nil }

func (s *Store) stand(a *pgsim.Statement, args []any, wanted func(x *db.Exec, id [16]byte) bool) {
	ords, ids, nodes, paths, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			if !wanted(x, ids[i]) {
				continue
			}
			v := s.queue.Get(x, s.key(ids[i], nodes[i], paths[i]))
			if s.World.Bug == cases.BugGivenCalledOff || leasedWith(v, tokens[i]) {
				a.Give(ords[i])
			}
		}
		return nil
	})
}

// leasedWith says whether a row is leased with a token.
func leasedWith(v *db.Version[pgsim.RunKey, queued], token int64) bool {
	return v != nil && v.Value.token == token && v.Value.owner != 0
}

// locked adds a step that looks rows up by their leases and locks them, and does something with those that are held.
func (s *Store) locked(a *pgsim.Statement, args []any, policy db.Policy, wanted func(x *db.Exec, id [16]byte) bool, do func(x *db.Exec, ord int32, v *db.Version[pgsim.RunKey, queued]) error) {
	ords, ids, nodes, paths, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.Each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
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
func (s *Store) renew(a *pgsim.Statement, args []any) {
	lease := args[6].(int64) * 1000
	a.Write = true
	s.locked(a, args, db.SkipLocked, s.goesOn, func(x *db.Exec, ord int32, v *db.Version[pgsim.RunKey, queued]) error {
		row := v.Value
		if s.World.Bug != cases.BugExtension {
			row.due = s.now() + lease
		}
		ok, err := s.requeue(x, v, row)
		if ok {
			a.Give(ord)
		}
		return err
	})
}

// held: see queue/leased.sql.
func (s *Store) held(a *pgsim.Statement, args []any) {
	s.locked(a, args, db.Wait, always, func(_ *db.Exec, ord int32, _ *db.Version[pgsim.RunKey, queued]) error {
		a.Give(ord)
		return nil
	})
}

// settlesBlindly says whether a bug is planted by which nobody looks what became of a commit.
func (s *Store) settlesBlindly() bool {
	return s.World.Bug == cases.BugUnknownIsSuccess || s.World.Bug == cases.BugUnknownIsFailure
}

// fence: see fence.sql.
func (s *Store) fence(a *pgsim.Statement, args []any) {
	a.Write = true
	a.Then(func(*db.Exec) error {
		s.World.Note(world.Settles, 0, int64(len(args[1].([]int32))), 0, 0)
		return nil
	})
	if s.settlesBlindly() {
		return
	}
	s.locked(a, args, db.Wait, always, func(x *db.Exec, ord int32, v *db.Version[pgsim.RunKey, queued]) error {
		row := v.Value
		row.token = s.Tokens.Next()
		ok, err := s.requeue(x, v, row)
		if ok {
			k := v.Row.Key
			x.Note(judge.Fenced{Inst: s.World.Instances[k.Inst], Run: k.Run(), Token: row.token})
			a.Give(ord, row.token)
		}
		return err
	})
}

// mark: see mark.sql.
func (s *Store) mark(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		v := s.commits.Get(x, commitKey{args[0].(int), args[1].(int64), args[2].(int32)})
		switch took := v != nil && v.Value.number == args[3].(int64); {
		case s.World.Bug == cases.BugUnknownIsSuccess:
			a.Give([]int32{})
		case took && s.World.Bug != cases.BugUnknownIsFailure:
			a.Give(v.Value.stale)
		}
		return nil
	})
}

// forget: see forget.sql.
func (s *Store) forget(a *pgsim.Statement, args []any) {
	shard, age := args[0].(int), args[1].(int64)*1000
	var before int64
	var found []*db.Version[commitKey, commitRow]
	a.Write = true
	a.Then(func(x *db.Exec) error {
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

// overdue: see overdue.sql.
func (s *Store) overdue(a *pgsim.Statement, args []any) {
	shard, most := args[0].(int), args[1].(int)
	if s.World.Bug == cases.BugSweptBack {
		s.rescue(a, shard)
		return
	}
	var begun int64
	var recent []*db.Version[pgsim.RunKey, queued]
	over := func(q queued) bool { return q.owner != 0 && q.due <= begun }
	a.Write = true
	a.Then(func(x *db.Exec) error {
		begun = s.now()
		s.queue.All(x, func(v *db.Version[pgsim.RunKey, queued]) bool {
			if q := v.Value; s.World.Instances[v.Row.Key.Inst].Shard == shard && q.due <= begun && q.due > pgsim.YearsBefore(begun, 50) {
				recent = append(recent, v)
			}
			return true
		})
		slices.SortFunc(recent, func(a, b *db.Version[pgsim.RunKey, queued]) int { return -byDue(a, b) })
		recent = recent[:min(len(recent), most)]
		return nil
	})
	a.Each(func() int { return len(recent) }, func(x *db.Exec, i int) error {
		if !over(recent[i].Value) {
			return nil
		}
		v, err := s.queue.Lock(x, recent[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || v != recent[i] { // it is looked for by its address
			return err
		}
		row := v.Value
		row.due = pgsim.YearsBefore(row.due, 100)
		ok, err := s.requeue(x, v, row)
		if ok {
			a.Affected++
			x.Note(judge.Step{What: world.PutsFirst, Shard: int64(shard), Epoch: row.token})
		}
		return err
	})
}

// rescue is a bug: a sweep that puts runs back whose lease is over, as it saw them when it began.
func (s *Store) rescue(a *pgsim.Statement, shard int) {
	var stuck []*db.Version[pgsim.RunKey, queued]
	a.Write = true
	a.Then(func(x *db.Exec) error {
		stuck = s.due(x, shard, func(q queued) bool { return q.owner != 0 && q.due <= s.now() })
		return nil
	})
	a.Each(func() int { return len(stuck) }, func(x *db.Exec, i int) error {
		_, _, err := s.queue.Upsert(x, stuck[i].Row.Key, stuck[i].Value, func(old queued) (queued, bool, error) {
			old.due = stuck[i].Value.due
			return old, true, nil
		})
		return err
	})
}
