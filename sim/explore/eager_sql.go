package explore

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/eager"
	"pulley/sim/db"
)

// eagerSQL are the statements of eager, by the names of their files; but for apply.
var eagerSQL = map[string]func(*eagerStore, *asked, []any){
	"born": (*eagerStore).born, "guard": (*eagerStore).guard, "read": (*eagerStore).read, "gather": (*eagerStore).gather,
	"gates": (*eagerStore).gates, "gates_more": (*eagerStore).gatesMore, "barriers": (*eagerStore).barriers, "barriers_now": (*eagerStore).barriersNow,
	"clear": (*eagerStore).clear, "unset": (*eagerStore).unset, "remove": (*eagerStore).remove, "release": (*eagerStore).release,
	"claim": (*eagerStore).claim, "next_due": (*eagerStore).nextDue, "renew": (*eagerStore).renew, "standing": (*eagerStore).standing, "workflows": (*eagerStore).workflows, "leased": (*eagerStore).leased,
	"overdue": (*eagerStore).overdue, "untidy": (*eagerStore).untidy, "tidy": (*eagerStore).tidy,
	"tidy_ready": (*eagerStore).tidyReady, "tidy_pending": (*eagerStore).tidyPending, "tidy_context": (*eagerStore).tidyContext,
}

var eagerTexts = byText(eager.SQL, eagerSQL, map[string]known[*eagerStore]{})

var eagerApplySQL = func() string {
	text, err := eager.SQL("apply")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return text
}()

// nodeKey is the key of a node's row.
func (s *eagerStore) nodeKey(id [16]byte, node int32, place string) runKey {
	return runKey{int32(s.instanceOf(id).index), node, place}
}

func (s *eagerStore) now() int64 { return s.w.server.clock() }

// born: see born.sql.
func (s *eagerStore) born(a *asked, args []any) {
	ids, statuses, results, failures := args[1].([][16]byte), args[4].([]string), args[5].([]*string), args[6].([]*string)
	a.write = true
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		row := instanceRow{inst: s.instanceOf(ids[i]), status: backend.Status(statuses[i]), submitted: s.now()}
		row.end(results[i], failures[i])
		ok, err := s.instances.InsertNew(x, int32(row.inst.index), row)
		if !ok || err != nil {
			return err
		}
		a.give(ids[i], xid(x))
		if row.status != backend.Running {
			x.Note(endedNote{row.inst, row.status})
		}
		return nil
	})
}

// lockNode is a lookup by key that locks: it gives the newest version, where a condition holds of what the statement sees and
// of that.
func (s *eagerStore) lockNode(x *db.Exec, key runKey, policy db.Policy, holds func(nodeRow) bool) (*db.Version[runKey, nodeRow], error) {
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
func (s *eagerStore) guard(a *asked, args []any) {
	ords, ids, nodes, places, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		if s.running(x, ids[i]) == nil && s.w.Bug != bugEndedTwice {
			return nil
		}
		v, err := s.lockNode(x, s.nodeKey(ids[i], nodes[i], places[i]), db.Wait, func(r nodeRow) bool {
			return (r.token == tokens[i] || s.w.Bug == bugTokenIgnored) && r.queued && !r.completed
		})
		if v != nil {
			a.give(ords[i], v.Value.path, v.Value.attempt, int32(1), xid(x))
		}
		return err
	})
}

// read: see read.sql.
func (s *eagerStore) read(a *asked, args []any) {
	ords, ids, vars, scopes := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	a.then(func(x *db.Exec) error {
		for i := range ords {
			from := valueKey{int32(s.instanceOf(ids[i]).index), vars[i], scopes[i], math32}
			s.context.Each(x, from, func(v *db.Version[valueKey, json.RawMessage]) bool {
				k := v.Row.Key
				if k.inst != from.inst || k.id != from.id || k.path != from.path {
					return false
				}
				a.give(ords[i], k.id, k.path, k.element, []byte(v.Value))
				return true
			})
		}
		return nil
	})
}

// gather: see gather.sql.
func (s *eagerStore) gather(a *asked, args []any) {
	ords, ids, nodes, places := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string)
	type found struct {
		ord int32
		v   *db.Version[valueKey, json.RawMessage]
	}
	var all []found
	a.then(func(x *db.Exec) error {
		for i := range ords {
			from := valueKey{int32(s.instanceOf(ids[i]).index), nodes[i], places[i], 0}
			s.pending.Each(x, from, func(v *db.Version[valueKey, json.RawMessage]) bool {
				k := v.Row.Key
				if k.inst != from.inst || k.id != from.id || k.path != from.path {
					return false
				}
				all = append(all, found{ords[i], v})
				return true
			})
		}
		return nil
	})
	a.each(func() int { return len(all) }, func(x *db.Exec, i int) error {
		ok, err := s.pending.Delete(x, all[i].v)
		if ok {
			a.give(all[i].ord, all[i].v.Row.Key.element, []byte(all[i].v.Value))
		}
		return err
	})
}

// between gives the rows of nodes from one place to another, in order.
func (s *eagerStore) between(x *db.Exec, id [16]byte, node int32, low, high string, wanted func(nodeRow) bool) (found []*db.Version[runKey, nodeRow]) {
	from := s.nodeKey(id, node, low)
	s.nodes.Each(x, from, func(v *db.Version[runKey, nodeRow]) bool {
		k := v.Row.Key
		if k.inst != from.inst || k.node != from.node || k.path > high {
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
func (s *eagerStore) gates(a *asked, args []any) { s.lockGates(a, args, db.Wait) }

// gatesMore: see gates_more.sql.
func (s *eagerStore) gatesMore(a *asked, args []any) { s.lockGates(a, args, db.NoWait) }

func (s *eagerStore) lockGates(a *asked, args []any, policy db.Policy) {
	ids, nodes, lows, highs := args[1].([][16]byte), args[2].([]int32), args[3].([]string), args[4].([]string)
	var found []*db.Version[runKey, nodeRow]
	count := int64(0)
	a.then(func(x *db.Exec) error {
		for i := range ids {
			found = append(found, s.between(x, ids[i], nodes[i], lows[i], highs[i], nodeRow.open)...)
		}
		switch s.w.Bug {
		case bugGatesOpen:
			found = nil
		case bugMapOrder:
			s.w.rng.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		}
		return nil
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := s.nodes.Lock(x, found[i], db.ForUpdate, policy)
		if v != nil && v.Value.open() {
			count++
		}
		return err
	})
	a.then(func(*db.Exec) error {
		a.give(count)
		return nil
	})
}

// barriers: see barriers.sql.
func (s *eagerStore) barriers(a *asked, args []any) { s.lockBarriers(a, args, db.Wait) }

// barriersNow: see barriers_now.sql.
func (s *eagerStore) barriersNow(a *asked, args []any) {
	s.lockBarriers(a, args, db.NoWait)
}

func (s *eagerStore) lockBarriers(a *asked, args []any, policy db.Policy) {
	ids, nodes, places := args[1].([][16]byte), args[2].([]int32), args[3].([]string)
	count := int64(0)
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		v, err := s.lockNode(x, s.nodeKey(ids[i], nodes[i], places[i]), policy, func(nodeRow) bool { return true })
		if v != nil {
			count++
		}
		return err
	})
	a.then(func(*db.Exec) error {
		a.give(count)
		return nil
	})
}

// release: see release.sql.
func (s *eagerStore) release(a *asked, args []any) {
	ids := args[1].([][16]byte)
	number, err := strconv.ParseUint(args[2].(string), 10, 64)
	if err != nil {
		panic(err) // the server has given it
	}
	lost := func(v *db.Version[runKey, nodeRow]) bool {
		return v.By() == number && v.Value.queued && !v.Value.completed
	}
	var found []*db.Version[runKey, nodeRow]
	a.write = true
	a.then(func(x *db.Exec) error {
		for _, id := range ids {
			for _, v := range ofInstance(x, s.nodes, s.nodeKey(id, math32, ""), instOfRun) {
				if lost(v) {
					found = append(found, v)
				}
			}
		}
		return nil
	})
	a.each(func() int { return len(found) }, func(x *db.Exec, i int) error {
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
func (s *eagerStore) claim(a *asked, args []any) {
	shard, most, owner, lease := args[0].(int), args[1].(int), args[2].(string), args[3].(int64)*1000
	var begun int64
	var due []*db.Version[runKey, nodeRow]
	taken := 0
	claimable := func(r nodeRow) bool {
		return r.ready() && r.due <= begun && !(s.w.Bug == bugNeverReclaimed && r.queued)
	}
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
		v, err := s.nodes.Lock(x, due[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || !claimable(v.Value) {
			return err
		}
		taken++
		row := v.Value
		if row.queued && s.w.Bug == bugAttemptsForgotten {
			row.attempt = 1
		}
		row.queued, row.due, row.owner = true, s.now()+lease, owner
		if s.w.Bug != bugLeaseNotFenced {
			row.token = s.tokens.Next()
		}
		ok, err := s.nodes.Update(x, v, db.NoKeyUpdate, row)
		if !ok || err != nil {
			return err
		}
		k := v.Row.Key
		inst := s.w.insts[k.inst]
		x.Note(leasedNote{inst, runOf(k.node, row.path), row.token, int(row.attempt), x.Begun()})
		a.give([16]byte(inst.id), k.node, row.path, row.token, int(row.attempt), int32(1), row.argument())
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
func (s *eagerStore) due(x *db.Exec, shard int, wanted func(nodeRow) bool) (found []*db.Version[runKey, nodeRow]) {
	last, runs := int32(-1), false
	s.nodes.All(x, func(v *db.Version[runKey, nodeRow]) bool {
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
	slices.SortFunc(found, func(a, b *db.Version[runKey, nodeRow]) int {
		return compareDue(a.Value, b.Value)
	})
	return found
}

func compareDue(a, b nodeRow) int {
	return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.token, b.token))
}

// nextDue: see next_due.sql.
func (s *eagerStore) nextDue(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		if due := s.due(x, args[0].(int), nodeRow.ready); len(due) > 0 {
			a.give((due[0].Value.due - s.now()) / 1000)
		}
		return nil
	})
}

// renew: see queue/renew.sql.
func (s *eagerStore) renew(a *asked, args []any) {
	policy := db.SkipLocked
	if s.w.Bug == bugExtendWaits || s.w.Bug == bugRemovalWaits {
		policy = db.Wait
	}
	ords, ids, nodes, places, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	lease := args[6].(int64) * 1000
	a.write = true
	a.each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		if s.running(x, ids[i]) == nil {
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
			a.give(ords[i])
		}
		return err
	})
}

// workflows: see workflows.sql.
func (s *eagerStore) workflows(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			if s.running(x, id) != nil {
				a.give(id, int32(1))
			}
		}
		return nil
	})
}

// leased: see queue/leased.sql.
func (s *eagerStore) leased(a *asked, args []any) {
	s.stand(a, args, func(*db.Exec, [16]byte) bool { return true })
}

// standing: see queue/leased.sql.
func (s *eagerStore) standing(a *asked, args []any) {
	s.stand(a, args, func(x *db.Exec, id [16]byte) bool { return s.running(x, id) != nil })
}

func (s *eagerStore) stand(a *asked, args []any, wanted func(x *db.Exec, id [16]byte) bool) {
	ords, ids, nodes, places, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.then(func(x *db.Exec) error {
		for i := range ords {
			if !wanted(x, ids[i]) {
				continue
			}
			v := s.nodes.Get(x, s.nodeKey(ids[i], nodes[i], places[i]))
			if s.w.Bug == bugGivenCalledOff || v != nil && v.Value.token == tokens[i] && v.Value.queued && !v.Value.completed {
				a.give(ords[i])
			}
		}
		return nil
	})
}
