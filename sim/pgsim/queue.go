package pgsim

import (
	"cmp"
	"slices"
	"strconv"

	"pulley/engine/graph"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/world"
)

// Queued are the columns that rows of every queue have.
type Queued struct {
	Token   int64 // zero: null
	Due     int64 // on the server's clock
	Attempt int32

	Redeliveries int32

	place int64 // position in the table; later versions come after earlier ones
}

// Columns returns the columns.
func (q *Queued) Columns() *Queued { return q }

// Run returns the node run of a row with a key.
func (*Queued) Run(key RunKey) graph.Run { return key.Run() }

// QueueRow is a row of a design's queue. It differs between designs where their pgstore.Table does.
type QueueRow[V any] interface {
	*V
	Columns() *Queued
	Run(key RunKey) graph.Run
	Ready() bool     // it waits only for its due time and is not completed; it may be leased already
	Leased() bool    // it has an owner
	Lease(owner any) // records a new owner
	Free()           // records that the lease was returned
}

// Queue is a design's table of waiting and leased node runs, with the statements that designs share.
type Queue[V any, Row QueueRow[V]] struct {
	*db.Table[RunKey, V]
	ByToken   bool                                            // orders rows of equal due time by token; else by place
	Arguments func(x *db.Exec, key RunKey, row *V) []byte     // as stored
	PutFirst  func(x *db.Exec, inst *world.Instance, row Row) // called with a row that overdue puts first; nil: none

	base   *Base
	placed int64
}

// NewQueue adds a queue to a design.
func NewQueue[V any, Row QueueRow[V]](b *Base, name string) *Queue[V, Row] {
	return &Queue[V, Row]{Table: NewTable[RunKey, V](b, name, CompareRun), base: b}
}

// QueueSQL returns the statements that all queues share, by name.
func QueueSQL[S Store, V any, Row QueueRow[V]](of func(S) *Queue[V, Row]) map[string]Build[S] {
	all := map[string]Build[S]{}
	for name, build := range map[string]func(*Queue[V, Row], *Statement, []any){
		"claim": (*Queue[V, Row]).claim, "claim_urgent": (*Queue[V, Row]).claim, "next_due": (*Queue[V, Row]).nextDue, "overdue": (*Queue[V, Row]).overdue,
		"renew": (*Queue[V, Row]).renew, "give_back": (*Queue[V, Row]).returnLeases, "release": (*Queue[V, Row]).release,
		"leased": (*Queue[V, Row]).leased, "standing": (*Queue[V, Row]).leasedRunning, "held": (*Queue[V, Row]).leasedRows,
	} {
		all[name] = func(s S, a *Statement, args []any) { build(of(s), a, args) }
	}
	return all
}

// Insert adds a row after all earlier ones.
func (q *Queue[V, Row]) Insert(x *db.Exec, key RunKey, row V) error {
	return q.Table.Insert(x, key, q.behind(row))
}

// Replace replaces a row's version, found by address, by one after all earlier ones.
func (q *Queue[V, Row]) Replace(x *db.Exec, v *db.Version[RunKey, V], row V) (bool, error) {
	return q.Update(x, v, db.NoKeyUpdate, q.behind(row))
}

func (q *Queue[V, Row]) behind(row V) V {
	q.placed++
	Row(&row).Columns().place = q.placed
	return row
}

func (q *Queue[V, Row]) compare(a, b *db.Version[RunKey, V]) int {
	one, other := Row(&a.Value).Columns(), Row(&b.Value).Columns()
	if c := cmp.Compare(one.Due, other.Due); c != 0 {
		return c
	}
	if c := cmp.Compare(one.Token, other.Token); c != 0 && q.ByToken {
		return c
	}
	return cmp.Compare(one.place, other.place)
}

// Sorted returns the wanted rows of a shard in the order of their due times.
func (q *Queue[V, Row]) Sorted(x *db.Exec, shard int, wanted func(key RunKey, row Row) bool) (found []*db.Version[RunKey, V]) {
	q.All(x, func(v *db.Version[RunKey, V]) bool {
		if k := v.Row.Key; q.base.World.Instances[k.Inst].Shard == shard && wanted(k, &v.Value) {
			found = append(found, v)
		}
		return true
	})
	slices.SortFunc(found, q.compare)
	return found
}

// due is Sorted for running instances.
func (q *Queue[V, Row]) due(x *db.Exec, shard int, wanted func(Row) bool) []*db.Version[RunKey, V] {
	last, runs := int32(-1), false
	return q.Sorted(x, shard, func(key RunKey, row Row) bool {
		if !wanted(row) {
			return false
		}
		if key.Inst != last {
			last, runs = key.Inst, q.base.Running(x, q.base.World.Instances[key.Inst].ID) != nil
		}
		return runs
	})
}

// Claimable reports whether a row may be claimed at a time.
func (q *Queue[V, Row]) Claimable(row Row, at int64) bool {
	return row.Ready() && row.Columns().Due <= at && !(q.base.World.Bug == cases.BugNeverReclaimed && row.Leased())
}

func (q *Queue[V, Row]) claim(a *Statement, args []any) {
	waited := int64(0)
	if len(args) > 4 {
		waited = args[4].(int64) * 1000
	}
	q.claimFrom(a, args, waited, func(x *db.Exec, claimable func(Row) bool) ([]*db.Version[RunKey, V], int) {
		return q.due(x, args[0].(int), claimable), args[1].(int)
	})
}

// claimFrom leases rows that have been due for a time, in the order in which find lists them, and at most so many of an instance as it says.
func (q *Queue[V, Row]) claimFrom(a *Statement, args []any, waited int64, find func(x *db.Exec, claimable func(Row) bool) ([]*db.Version[RunKey, V], int)) {
	most := args[1].(int)
	var begun int64
	var due []*db.Version[RunKey, V]
	taken, share, of := 0, 0, map[int32]int{}
	claimable := func(row Row) bool { return q.Claimable(row, begun-waited) }
	a.Write = true
	a.Then(func(x *db.Exec) error {
		begun = q.base.Now()
		due, share = find(x, claimable)
		return nil
	})
	a.Each(func() int { return len(due) }, func(x *db.Exec, i int) error {
		if taken >= most || of[due[i].Row.Key.Inst] >= share {
			return nil
		}
		v, err := q.Lock(x, due[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || !claimable(&v.Value) {
			return err
		}
		taken++
		of[v.Row.Key.Inst]++
		row := v.Value
		if Row(&row).Leased() && q.base.World.Bug == cases.BugAttemptsForgotten {
			Row(&row).Columns().Attempt = 1
		}
		return q.LeaseRow(x, a, v, row, args, true)
	})
}

// LeaseRow leases a locked row for a claim: $3 owner, $4 lease in µs. It also returns when the row was due, if the statement tells that.
func (q *Queue[V, Row]) LeaseRow(x *db.Exec, a *Statement, v *db.Version[RunKey, V], row V, args []any, tellsDue bool) error {
	c := Row(&row).Columns()
	was := c.Due
	if Row(&row).Leased() && q.base.World.Bug != cases.BugDeliveriesForgotten {
		c.Redeliveries++
	}
	Row(&row).Lease(args[2])
	c.Due = q.base.Now() + args[3].(int64)*1000
	if q.base.World.Bug != cases.BugLeaseNotFenced {
		c.Token = q.base.Tokens.Next()
	}
	ok, err := q.Replace(x, v, row)
	if !ok || err != nil {
		return err
	}
	inst, run := q.base.World.Instances[v.Row.Key.Inst], Row(&row).Run(v.Row.Key)
	x.Note(judge.Leased{Inst: inst, Run: run, Token: c.Token, Attempt: int(c.Attempt), Deliveries: int(c.Redeliveries) + 1, Snapshot: x.Begun()})
	columns := []any{[16]byte(inst.ID), int32(run.Node), string(run.Path), c.Token, c.Attempt, int32(1), q.Arguments(x, v.Row.Key, &row), c.Redeliveries + 1}
	if tellsDue {
		columns = append(columns, (was-q.base.Now())/1000)
	}
	a.AddRow(columns...)
	return nil
}

func (q *Queue[V, Row]) nextDue(a *Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		q.AddNextDue(a, q.due(x, args[0].(int), Row.Ready))
		return nil
	})
}

// AddNextDue returns the time until the first row is due, in µs.
func (q *Queue[V, Row]) AddNextDue(a *Statement, due []*db.Version[RunKey, V]) {
	if len(due) > 0 {
		a.AddRow((Row(&due[0].Value).Columns().Due - q.base.Now()) / 1000)
	}
}

func isLeasedWith[V any, Row QueueRow[V]](v *db.Version[RunKey, V], token int64) bool {
	if v == nil {
		return false
	}
	row := Row(&v.Value)
	return row.Columns().Token == token && row.Leased()
}

func (q *Queue[V, Row]) leased(a *Statement, args []any) { q.findLeased(a, args, q.always) }

func (q *Queue[V, Row]) leasedRunning(a *Statement, args []any) { q.findLeased(a, args, q.runs) }

func (q *Queue[V, Row]) always(*db.Exec, [16]byte) bool { return true }

func (q *Queue[V, Row]) runs(x *db.Exec, id [16]byte) bool { return q.base.Running(x, id) != nil }

func (q *Queue[V, Row]) findLeased(a *Statement, args []any, wanted func(x *db.Exec, id [16]byte) bool) {
	ords, ids, nodes, paths, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.Then(func(x *db.Exec) error {
		for i := range ords {
			v := q.Get(x, q.base.Key(ids[i], nodes[i], paths[i]))
			if wanted(x, ids[i]) && (q.base.World.Bug == cases.BugCancelledHandedOut || isLeasedWith[V, Row](v, tokens[i])) {
				a.AddRow(ords[i])
			}
		}
		return nil
	})
}

func (q *Queue[V, Row]) leasedRows(a *Statement, args []any) {
	q.LockLeased(a, args, func(_ *db.Exec, ord int32, _ *db.Version[RunKey, V]) error {
		a.AddRow(ord)
		return nil
	})
}

// LockLeased adds a step that locks rows by their leases and calls do with those still leased.
func (q *Queue[V, Row]) LockLeased(a *Statement, args []any, do func(x *db.Exec, ord int32, v *db.Version[RunKey, V]) error) {
	q.lock(a, args, db.Wait, q.always, do)
}

func (q *Queue[V, Row]) lock(a *Statement, args []any, policy db.Policy, wanted func(x *db.Exec, id [16]byte) bool,
	do func(x *db.Exec, ord int32, v *db.Version[RunKey, V]) error) {
	ords, ids, nodes, paths, tokens := args[1].([]int32), args[2].([][16]byte), args[3].([]int32), args[4].([]string), args[5].([]int64)
	a.Each(func() int { return len(ords) }, func(x *db.Exec, i int) error {
		v := q.Get(x, q.base.Key(ids[i], nodes[i], paths[i]))
		if !isLeasedWith[V, Row](v, tokens[i]) || !wanted(x, ids[i]) {
			return nil
		}
		v, err := q.Lock(x, v, db.ForUpdate, policy)
		if err != nil || !isLeasedWith[V, Row](v, tokens[i]) {
			return err
		}
		return do(x, ords[i], v)
	})
}

func (q *Queue[V, Row]) renew(a *Statement, args []any) {
	policy := db.SkipLocked
	if bug := q.base.World.Bug; bug == cases.BugRenewalWaits || bug == cases.BugRemovalWaits {
		policy = db.Wait
	}
	a.Write = true
	q.lock(a, args, policy, q.runs, func(x *db.Exec, ord int32, v *db.Version[RunKey, V]) error {
		row := v.Value
		if q.base.World.Bug != cases.BugRenewalInWordsOnly {
			Row(&row).Columns().Due = q.base.Now() + args[6].(int64)*1000
		}
		ok, err := q.Replace(x, v, row)
		if ok {
			a.AddRow(ord)
		}
		return err
	})
}

// returnLeases is a variant of queue/renew.sql.
func (q *Queue[V, Row]) returnLeases(a *Statement, args []any) {
	a.Write = true
	q.lock(a, args, db.SkipLocked, q.runs, func(x *db.Exec, ord int32, v *db.Version[RunKey, V]) error {
		row := v.Value
		Row(&row).Free()
		c := Row(&row).Columns()
		c.Token, c.Due = q.base.Tokens.Next(), YearsBefore(q.base.Now(), 100)
		if pause := args[6].(int64); pause > 0 {
			c.Due = q.base.Now() + pause*1000
		}
		ok, err := q.Replace(x, v, row)
		if ok {
			a.AddRow(ord)
			x.Note(judge.LeaseReturned{Inst: q.base.World.Instances[v.Row.Key.Inst], Run: Row(&row).Run(v.Row.Key), Token: c.Token})
		}
		return err
	})
}

func (q *Queue[V, Row]) release(a *Statement, args []any) {
	number, err := strconv.ParseUint(args[2].(string), 10, 64)
	if err != nil {
		panic(err)
	}
	lost := func(v *db.Version[RunKey, V]) bool {
		return Row(&v.Value).Leased() && (v.By() == number || q.base.World.Bug == cases.BugReleasedOthers)
	}
	var found []*db.Version[RunKey, V]
	a.Write, a.Counts = true, true
	a.Then(func(x *db.Exec) error {
		found = slices.DeleteFunc(OfInstances(x, q.base, q.Table, args[1].([][16]byte)), func(v *db.Version[RunKey, V]) bool { return !lost(v) })
		return nil
	})
	a.Each(func() int { return len(found) }, func(x *db.Exec, i int) error {
		v, err := q.Lock(x, found[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || !lost(v) {
			return err
		}
		row := v.Value
		Row(&row).Free()
		Row(&row).Columns().Due = q.base.Now()
		ok, err := q.Replace(x, v, row)
		if a.Affect(ok); ok {
			x.Note(judge.LeaseReturned{Inst: q.base.World.Instances[v.Row.Key.Inst], Run: Row(&row).Run(v.Row.Key)})
		}
		return err
	})
}

func (q *Queue[V, Row]) overdue(a *Statement, args []any) {
	shard, most := args[0].(int), args[1].(int)
	if q.base.World.Bug == cases.BugSweptBack {
		q.rescue(a, shard)
		return
	}
	var recent []*db.Version[RunKey, V]
	a.Write, a.Counts = true, true
	a.Then(func(x *db.Exec) error {
		now := q.base.Now()
		since := YearsBefore(now, 50)
		recent = q.Sorted(x, shard, func(_ RunKey, row Row) bool {
			due := row.Columns().Due
			return row.Ready() && due <= now && due > since
		})
		slices.Reverse(recent)
		recent = recent[:min(len(recent), most)]
		return nil
	})
	a.Each(func() int { return len(recent) }, func(x *db.Exec, i int) error {
		if !Row(&recent[i].Value).Leased() {
			return nil
		}
		v, err := q.Lock(x, recent[i], db.ForUpdate, db.SkipLocked)
		if v == nil || err != nil || v != recent[i] { // the statement finds it by address
			return err
		}
		row := v.Value
		Row(&row).Columns().Due = YearsBefore(Row(&row).Columns().Due, 100)
		ok, err := q.Replace(x, v, row)
		if a.Affect(ok); ok && q.PutFirst != nil {
			q.PutFirst(x, q.base.World.Instances[v.Row.Key.Inst], &row)
		}
		return err
	})
}

// rescue plants a bug: a sweep that restores rows of expired leases as it saw them when it began.
func (q *Queue[V, Row]) rescue(a *Statement, shard int) {
	var stuck []*db.Version[RunKey, V]
	a.Write = true
	a.Then(func(x *db.Exec) error {
		stuck = q.due(x, shard, func(row Row) bool { return row.Leased() && row.Columns().Due <= q.base.Now() })
		return nil
	})
	a.Each(func() int { return len(stuck) }, func(x *db.Exec, i int) error {
		_, _, err := q.Upsert(x, stuck[i].Row.Key, stuck[i].Value, func(old V) (V, bool, error) {
			Row(&old).Columns().Due = Row(&stuck[i].Value).Columns().Due
			return old, true, nil
		})
		return err
	})
}
