package eager

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/eager"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
)

// eagerSQL are the statements of eager, by the names of their files; but for apply.
var eagerSQL = map[string]func(*Store, *pgsim.Statement, []any){
	"born": (*Store).born, "guard": (*Store).guard, "read": (*Store).read, "gather": (*Store).gather,
	"gates": (*Store).gates, "gates_more": (*Store).gatesMore, "barriers": (*Store).barriers, "barriers_now": (*Store).barriersNow,
	"clear": (*Store).clear, "unset": (*Store).unset, "remove": (*Store).remove, "release": (*Store).release,
	"claim": (*Store).claim, "next_due": (*Store).nextDue, "renew": (*Store).renew, "standing": (*Store).standing, "workflows": (*Store).workflows, "leased": (*Store).leased,
	"overdue": (*Store).overdue, "mark_cleaned": (*Store).markCleaned,
	"cleanup_node_ready_state": (*Store).cleanNodes, "cleanup_node_pending_context": (*Store).cleanPending, "cleanup_instance_eval_context": (*Store).cleanContext,
}

var texts = pgsim.ByText(eager.SQL, eagerSQL, map[string]pgsim.Known[*Store]{})

var eagerApplySQL = func() string {
	text, err := eager.SQL("apply")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return text
}()

// nodeKey is the key of a node's row.
func (s *Store) nodeKey(id [16]byte, node int32, place string) pgsim.RunKey {
	return pgsim.RunKey{Inst: int32(s.InstanceOf(id).Index), Node: node, Path: place}
}

func (s *Store) now() int64 { return s.World.Server.Clock() }

// born: see born.sql.
func (s *Store) born(a *pgsim.Statement, args []any) {
	ids, statuses, results, failures := args[1].([][16]byte), args[4].([]string), args[5].([]*string), args[6].([]*string)
	a.Write = true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		row := pgsim.InstanceRow{Inst: s.InstanceOf(ids[i]), Status: backend.Status(statuses[i]), Submitted: s.now()}
		row.End(results[i], failures[i])
		ok, err := s.Instances.InsertNew(x, int32(row.Inst.Index), row)
		if !ok || err != nil {
			return err
		}
		a.Give(ids[i], pgsim.XID(x))
		if row.Status != backend.Running {
			x.Note(judge.Ended{Inst: row.Inst, Status: row.Status})
		}
		return nil
	})
}

// lockNode is a lookup by key that locks: it gives the newest version, where a condition holds of what the statement sees and
// of that.
func (s *Store) lockNode(x *db.Exec, key pgsim.RunKey, policy db.Policy, holds func(nodeRow) bool) (*db.Version[pgsim.RunKey, nodeRow], error) {
	v := s.nodes.Get(x, key)
	if v == nil || !holds(v.Value) {
		return nil, nil
	}
	v, err := s.nodes.Lock(x, v, db.ForUpdate, policy)
	if v == nil || err != nil || !holds(v.Value) {
		return nil, err
	}
	return v, nil
}

// guard: see guard.sql.
func (s *Store) guard(a *pgsim.Statement, args []any) {
	ords, ids, nodes, places, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.Each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		if s.Running(x, ids[i]) == nil && s.World.Bug != cases.BugEndedTwice {
			return nil
		}
		v, err := s.lockNode(x, s.nodeKey(ids[i], nodes[i], places[i]), db.Wait, func(r nodeRow) bool {
			return (r.token == tokens[i] || s.World.Bug == cases.BugTokenIgnored) && r.queued && !r.completed
		})
		if v != nil {
			a.Give(ords[i], v.Value.path, v.Value.attempt, int32(1), pgsim.XID(x))
		}
		return err
	})
}

// read: see read.sql.
func (s *Store) read(a *pgsim.Statement, args []any) {
	ords, ids, vars, scopes := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			from := pgsim.ValueKey{Inst: int32(s.InstanceOf(ids[i]).Index), ID: vars[i], Path: scopes[i], Element: pgsim.FirstID}
			s.context.Each(x, from, func(v *db.Version[pgsim.ValueKey, json.RawMessage]) bool {
				k := v.Row.Key
				if k.Inst != from.Inst || k.ID != from.ID || k.Path != from.Path {
					return false
				}
				a.Give(ords[i], k.ID, k.Path, k.Element, []byte(v.Value))
				return true
			})
		}
		return nil
	})
}

// gather: see gather.sql.
func (s *Store) gather(a *pgsim.Statement, args []any) {
	ords, ids, nodes, places := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	type found struct {
		ord int32
		v   *db.Version[pgsim.ValueKey, json.RawMessage]
	}
	var all []found
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			from := pgsim.ValueKey{Inst: int32(s.InstanceOf(ids[i]).Index), ID: nodes[i], Path: places[i], Element: 0}
			s.pending.Each(x, from, func(v *db.Version[pgsim.ValueKey, json.RawMessage]) bool {
				k := v.Row.Key
				if k.Inst != from.Inst || k.ID != from.ID || k.Path != from.Path {
					return false
				}
				all = append(all, found{ords[i], v})
				return true
			})
		}
		return nil
	})
	a.Each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		ok, err := s.pending.Delete(x, all[i].v)
		if ok {
			a.Give(all[i].ord, all[i].v.Row.Key.Element, []byte(all[i].v.Value))
		}
		return err
	})
}

// between gives the rows of nodes from one place to another, in order.
func (s *Store) between(x *db.Exec, id [16]byte, node int32, low, high string, wanted func(nodeRow) bool) (found []*db.Version[pgsim.RunKey, nodeRow]) {
	from := s.nodeKey(id, node, low)
	s.nodes.Each(x, from, func(v *db.Version[pgsim.RunKey, nodeRow]) bool {
		k := v.Row.Key
		if k.Inst != from.Inst || k.Node != from.Node || k.Path > high {
			return false
		}
		if wanted(v.Value) {
			found = append(found, v)
		}
		return true
	})
	return found
}

// gates: see gates.sql.
func (s *Store) gates(a *pgsim.Statement, args []any) { s.lockGates(a, args, db.Wait) }

// gatesMore: see gates_more.sql.
func (s *Store) gatesMore(a *pgsim.Statement, args []any) { s.lockGates(a, args, db.NoWait) }

func (s *Store) lockGates(a *pgsim.Statement, args []any, policy db.Policy) {
	ids, nodes, lows, highs := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	var found []*db.Version[pgsim.RunKey, nodeRow]
	count := int64(0)
	a.Then(func(x *db.Exec) error {
		for i := range ids {
			found = append(found, s.between(x, ids[i], nodes[i], lows[i], highs[i], nodeRow.open)...)
		}
		switch s.World.Bug {
		case cases.BugGatesOpen:
			found = nil
		case cases.BugMapOrder:
			s.World.Rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		}
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := s.nodes.Lock(x, found[i], db.ForUpdate, policy)
		if v != nil && v.Value.open() {
			count++
		}
		return err
	})
	a.Then(func(*db.Exec) error {
		a.Give(count)
		return nil
	})
}

// barriers: see barriers.sql.
func (s *Store) barriers(a *pgsim.Statement, args []any) { s.lockBarriers(a, args, db.Wait) }

// barriersNow: see barriers_now.sql.
func (s *Store) barriersNow(a *pgsim.Statement, args []any) {
	s.lockBarriers(a, args, db.NoWait)
}

func (s *Store) lockBarriers(a *pgsim.Statement, args []any, policy db.Policy) {
	ids, nodes, places := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	count := int64(0)
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		v, err := s.lockNode(x, s.nodeKey(ids[i], nodes[i], places[i]), policy, func(nodeRow) bool { return true })
		if v != nil {
			count++
		}
		return err
	})
	a.Then(func(*db.Exec) error {
		a.Give(count)
		return nil
	})
}

// release: see release.sql.
func (s *Store) release(a *pgsim.Statement, args []any) {
	ids := args[1].([][16]byte)
	number, err := strconv.ParseUint(args[2].(string), 10, 64)
	if err != nil {
		panic(err) // the server has given it
	}
	lost := func(v *db.Version[pgsim.RunKey, nodeRow]) bool {
		return v.By() == number && v.Value.queued && !v.Value.completed
	}
	var found []*db.Version[pgsim.RunKey, nodeRow]
	a.Write = true
	a.Then(func(x *db.Exec) error {
		for _, id := range ids {
			for _, v := range pgsim.OfInstance(x, s.nodes, s.nodeKey(id, pgsim.FirstID, ""), pgsim.InstOfRun) {
				if lost(v) {
					found = append(found, v)
				}
			}
		}
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := s.nodes.Lock(x, found[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || !lost(v) {
			return err
		}
		row := v.Value
		row.queued, row.due, row.owner = false, s.now(), ""
		_, err = s.nodes.Update(x, v, db.NoKeyUpdate, row)
		return err
	})
}

// claim: see claim.sql.
func (s *Store) claim(a *pgsim.Statement, args []any) {
	shard, most, owner, lease := args[0].(int), args[1].(int), args[2].(string), args[3].(int64)*1000
	var begun int64
	var due []*db.Version[pgsim.RunKey, nodeRow]
	taken := 0
	claimable := func(r nodeRow) bool {
		return r.ready() && r.due <= begun && !(s.World.Bug == cases.BugNeverReclaimed && r.queued)
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
		v, err := s.nodes.Lock(x, due[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || !claimable(v.Value) {
			return err
		}
		taken++
		row := v.Value
		if row.queued && s.World.Bug == cases.BugAttemptsForgotten {
			row.attempt = 1
		}
		row.queued, row.due, row.owner = true, s.now()+lease, owner
		if s.World.Bug != cases.BugLeaseNotFenced {
			row.token = s.Tokens.Next()
		}
		ok, err := s.nodes.Update(x, v, db.NoKeyUpdate, row)
		if !ok || err != nil {
			return err
		}
		k := v.Row.Key
		inst := s.World.Instances[k.Inst]
		x.Note(judge.Leased{Inst: inst, Run: pgsim.RunOf(k.Node, row.path), Token: row.token, Attempt: int(row.attempt), Snapshot: x.Begun()})
		a.Give([16]byte(inst.ID), k.Node, row.path, row.token, row.attempt, int32(1), row.argument())
		return nil
	})
}

func (r nodeRow) argument() []byte {
	if r.args == "" {
		return nil
	}
	return []byte(r.args)
}

// due gives the ready nodes of a shard's running instances that are wanted, by the time when they are due.
func (s *Store) due(x *db.Exec, shard int, wanted func(nodeRow) bool) (found []*db.Version[pgsim.RunKey, nodeRow]) {
	last, runs := int32(-1), false
	s.nodes.All(x, func(v *db.Version[pgsim.RunKey, nodeRow]) bool {
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
	slices.SortFunc(found, func(a, b *db.Version[pgsim.RunKey, nodeRow]) int {
		return compareDue(a.Value, b.Value)
	})
	return found
}

func compareDue(a, b nodeRow) int {
	return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.token, b.token))
}

// nextDue: see next_due.sql.
func (s *Store) nextDue(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		if due := s.due(x, args[0].(int), nodeRow.ready); len(due) > 0 {
			a.Give((due[0].Value.due - s.now()) / 1000)
		}
		return nil
	})
}

// renew: see queue/renew.sql.
func (s *Store) renew(a *pgsim.Statement, args []any) {
	policy := db.SkipLocked
	if s.World.Bug == cases.BugExtendWaits || s.World.Bug == cases.BugRemovalWaits {
		policy = db.Wait
	}
	ords, ids, nodes, places, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	lease := args[6].(int64) * 1000
	a.Write = true
	a.Each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		if s.Running(x, ids[i]) == nil {
			return nil
		}
		v, err := s.lockNode(x, s.nodeKey(ids[i], nodes[i], places[i]), policy, func(r nodeRow) bool {
			return r.token == tokens[i] && r.queued && !r.completed
		})
		if v == nil || err != nil {
			return err
		}
		row := v.Value
		row.due = s.now() + lease
		ok, err := s.nodes.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			a.Give(ords[i])
		}
		return err
	})
}

// workflows: see workflows.sql.
func (s *Store) workflows(a *pgsim.Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			if s.Running(x, id) != nil {
				a.Give(id, int32(1))
			}
		}
		return nil
	})
}

// leased: see queue/leased.sql.
func (s *Store) leased(a *pgsim.Statement, args []any) {
	s.stand(a, args, func(*db.Exec, [16]byte) bool { return true })
}

// standing: see queue/leased.sql.
func (s *Store) standing(a *pgsim.Statement, args []any) {
	s.stand(a, args, func(x *db.Exec, id [16]byte) bool { return s.Running(x, id) != nil })
}

func (s *Store) stand(a *pgsim.Statement, args []any, wanted func(x *db.Exec, id [16]byte) bool) {
	ords, ids, nodes, places, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			if !wanted(x, ids[i]) {
				continue
			}
			v := s.nodes.Get(x, s.nodeKey(ids[i], nodes[i], places[i]))
			if s.World.Bug == cases.BugGivenCalledOff || v != nil && v.Value.token == tokens[i] && v.Value.queued && !v.Value.completed {
				a.Give(ords[i])
			}
		}
		return nil
	})
}
