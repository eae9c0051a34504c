package push

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// reads are slots that events need. One that several of them need is read once.
type reads struct {
	slots []ownedSlot
	by    map[ownedSlot][]*event // who needs it
}

// ownedSlot is a slot of an instance.
type ownedSlot struct {
	instance uuid.UUID
	slot     plan.Slot
}

// add has an event read slots. One that may stand in a bundle is looked for there, too.
func (r *reads) add(e *event, slots []plan.Slot) {
	for _, s := range slots {
		r.addSlot(e, s)
		if e.program != nil && e.program.WrittenOnce(s.Var) {
			r.addSlot(e, plan.Slot{Var: bundleOf(s.Var)})
		}
	}
}

func (r *reads) addSlot(e *event, s plan.Slot) {
	o := ownedSlot{e.instance, s}
	if r.by == nil {
		r.by = map[ownedSlot][]*event{}
	}
	by := r.by[o]
	if by == nil {
		r.slots = append(r.slots, o)
	}
	if len(by) == 0 || by[len(by)-1] != e {
		r.by[o] = append(by, e)
	}
}

// parameters gives the values of read.sql, in which a slot's number is its place in r.slots.
func (r *reads) parameters(shard int) []any {
	var keys postgres.Keys
	for i, o := range r.slots {
		keys.Add(int32(i), o.instance, int32(o.slot.Var), o.slot.Scope)
	}
	return keys.Parameters(shard)
}

// take puts what was read into the inboxes of the events.
func (r *reads) take(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var number, element int32
		var value []byte
		if err := rows.Scan(&number, &element, &value); err != nil {
			return err
		}
		o := r.slots[number]
		if o.slot.Var < 0 {
			if err := r.unbundle(o, value); err != nil {
				return fmt.Errorf("instance %s: %w", o.instance, err)
			}
			continue
		}
		for _, e := range r.by[o] {
			e.inbox.Put(o.slot, int(element), value)
		}
	}
	return rows.Err()
}

// unbundle puts those values of a bundle into the inboxes of events that these need.
func (r *reads) unbundle(o ownedSlot, row []byte) error {
	return eachBundled(row, func(v graph.VarID, value json.RawMessage) {
		slot := plan.Slot{Var: v}
		for _, e := range r.by[ownedSlot{o.instance, slot}] {
			e.inbox.Put(slot, -1, value)
		}
	})
}

// fill reads the slots with one query, or none where nothing is needed.
func (r *reads) fill(ctx context.Context, store *postgres.Store, shard int) error {
	if len(r.slots) == 0 {
		return nil
	}
	rows, err := store.Pool.Query(ctx, readSQL, r.parameters(shard)...)
	if err != nil {
		return err
	}
	return r.take(rows)
}

// read fills the inboxes of completions.
func (b *Backend) read(ctx context.Context, shard int, events []*event) error {
	var r reads
	for _, e := range events {
		r.add(e, e.program.Needs(e.happened()).Slots)
	}
	return r.fill(ctx, b.store, shard)
}
