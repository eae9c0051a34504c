package push

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

type reads struct {
	slots []ownedSlot
	by    map[ownedSlot][]*commitEvent
}

type ownedSlot struct {
	instance uuid.UUID
	slot     plan.Slot
}

func (r *reads) add(e *commitEvent, slots []plan.Slot) {
	for _, s := range slots {
		o := ownedSlot{e.instance, s}
		if r.by == nil {
			r.by = map[ownedSlot][]*commitEvent{}
		}
		by := r.by[o]
		if by == nil {
			r.slots = append(r.slots, o)
		}
		if len(by) == 0 || by[len(by)-1] != e {
			r.by[o] = append(by, e)
		}
	}
}

func (r *reads) parameters(shard int) []any {
	var keys pgstore.Keys
	for i, o := range r.slots {
		keys.Add(int32(i), o.instance, int32(o.slot.Var), o.slot.Scope)
	}
	return keys.Parameters(shard)
}

func (r *reads) fillInboxes(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var number, element int32
		var value []byte
		if err := rows.Scan(&number, &element, &value); err != nil {
			return err
		}
		o := r.slots[number]
		for _, e := range r.by[o] {
			e.inbox.Put(o.slot, int(element), value)
		}
	}
	return rows.Err()
}

func (r *reads) fill(ctx context.Context, store *pgstore.Store, shard int) error {
	if len(r.slots) == 0 {
		return nil
	}
	rows, err := store.Pool.Query(ctx, readSQL, r.parameters(shard)...)
	if err != nil {
		return err
	}
	return r.fillInboxes(rows)
}

func (b *Backend) read(ctx context.Context, shard int, events []*commitEvent) error {
	var r reads
	for _, e := range events {
		r.add(e, e.program.Needs(e.coreEvent()).Slots)
	}
	return r.fill(ctx, b.store, shard)
}
