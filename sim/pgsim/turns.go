package pgsim

import (
	"bytes"
	"cmp"
	"slices"

	"pulley/sim/db"
)

// ClaimByWorkflow is claim_by_turns.sql for workflows. A world has one workflow, whose turn it always is; turns says which rows have them.
func (q *Queue[V, Row]) ClaimByWorkflow(a *Statement, args []any, turns func(Row) bool) {
	q.claimFrom(a, args, 0, func(x *db.Exec, claimable func(Row) bool) ([]*db.Version[RunKey, V], int) {
		return q.due(x, args[0].(int), func(row Row) bool { return turns(row) && claimable(row) }), args[1].(int)
	})
}

// moreRows is how many rows of an instance claim_by_turns.sql looks at, beside those that it wants.
const moreRows = 100

// looksAt is at how many instances it looks.
func looksAt(most int) int { return 8 + 2*most }

// ClaimByInstance is claim_by_turns.sql for instances: those behind the last one that had a turn, by their ids.
func (q *Queue[V, Row]) ClaimByInstance(a *Statement, args []any) {
	shard, most, after := args[0].(int), args[1].(int), args[4].([16]byte)
	turns := 0
	var until any // the instance up to which it looked; nil: it is the last one
	q.claimFrom(a, args, 0, func(x *db.Exec, claimable func(Row) bool) (due []*db.Version[RunKey, V], share int) {
		turns, until = 0, nil
		last, rows := int32(-1), 0
		for _, v := range q.byInstance(x, shard, after) {
			key := v.Row.Key
			if key.Inst != last {
				if turns == looksAt(most) {
					break
				}
				turns, rows, last = turns+1, 0, key.Inst
			}
			if rows++; rows <= moreRows+most && claimable(&v.Value) && q.runs(x, q.base.World.Instances[key.Inst].ID) {
				due = append(due, v)
			}
		}
		if turns == looksAt(most) {
			until = [16]byte(q.base.World.Instances[last].ID)
		}
		return due, (most + turns - 1) / max(turns, 1)
	})
	a.Then(func(*db.Exec) error {
		for i, row := range a.Out.List {
			a.Out.List[i] = append(row, until)
		}
		if len(a.Out.List) == 0 && turns > 0 {
			a.AddRow(nil, nil, nil, nil, nil, nil, nil, nil, nil, until)
		}
		return nil
	})
}

// byInstance lists the rows of a shard's instances behind one, by their ids and then by their keys.
func (q *Queue[V, Row]) byInstance(x *db.Exec, shard int, after [16]byte) []*db.Version[RunKey, V] {
	id := func(key RunKey) []byte { return q.base.World.Instances[key.Inst].ID[:] }
	rows := q.Sorted(x, shard, func(key RunKey, _ Row) bool { return bytes.Compare(id(key), after[:]) > 0 })
	slices.SortFunc(rows, func(a, b *db.Version[RunKey, V]) int {
		return cmp.Or(bytes.Compare(id(a.Row.Key), id(b.Row.Key)), CompareRun(a.Row.Key, b.Row.Key))
	})
	return rows
}
