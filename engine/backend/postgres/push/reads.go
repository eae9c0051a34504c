package push

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// reads are the parameters of read.sql: slots that events need.
type reads struct {
	ord      []int32
	instance [][16]byte
	variable []int32
	path     []string
}

func (r *reads) add(e *event, slots []plan.Slot) {
	for _, s := range slots {
		r.ord = append(r.ord, e.ord)
		r.instance = append(r.instance, e.instance)
		r.variable = append(r.variable, int32(s.Var))
		r.path = append(r.path, string(s.Scope))
	}
}

// take puts what was read into the inboxes of the events.
func (r *reads) take(rows pgx.Rows, events map[int32]*event) error {
	defer rows.Close()
	for rows.Next() {
		var ord, variable int32
		var path string
		var value []byte
		if err := rows.Scan(&ord, &variable, &path, &value); err != nil {
			return err
		}
		e := events[ord]
		if e.inbox.Values == nil {
			e.inbox.Values = map[plan.Slot]json.RawMessage{}
		}
		e.inbox.Values[plan.Slot{Var: graph.VarID(variable), Scope: graph.Path(path)}] = value
	}
	return rows.Err()
}

// read fills the inboxes of completions with one query, or none where nothing is needed.
func (b *Backend) read(ctx context.Context, shard int, events []*event) error {
	var r reads
	byOrd := make(map[int32]*event, len(events))
	for _, e := range events {
		byOrd[e.ord] = e
		r.add(e, e.program.Needs(e.happened()).Slots)
	}
	if len(r.ord) == 0 {
		return nil
	}
	rows, err := b.store.Pool.Query(ctx, readSQL, shard, r.ord, r.instance, r.variable, r.path)
	if err != nil {
		return err
	}
	return r.take(rows, byOrd)
}
