package journal

import (
	"embed"

	"github.com/google/uuid"

	"pulley/engine/backend/postgres/journal/internal/forward"
	"pulley/engine/backend/postgres/journal/internal/ownership"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/journalstore"
	"pulley/internal/pgstore"
)

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL returns a statement as it is sent, by file name. Appends have no fixed text.
func SQL(name string) (string, error) {
	for _, of := range []func(string) (string, error){forward.SQL, ownership.SQL} {
		if text, err := of(name); err == nil {
			return text, nil
		}
	}
	return pgstore.Statement(statementFiles, name)
}

// Append implements journalstore.Appending.
func (t *tx) Append() journalstore.Append {
	a := journalstore.Append{Shard: t.sh.number, Epoch: t.sh.epoch.Load(), SkipExisting: t.sh.buf.kinds&skipExisting != 0}
	seq := t.sh.seq
	for i := range t.events {
		e := &t.events[i]
		out := journalstore.AppendedEvent{Instance: e.inst.ID, Run: e.key, Kind: e.kind, Timed: e.timed, Token: e.token, Data: e.data}
		if !e.inst.Detached {
			out.Seq = seq
			seq++
		}
		a.Events = append(a.Events, out)
	}
	for i := range t.ends {
		a.Ends = append(a.Ends, journalstore.AppendedEnd{Instance: t.ends[i].public, Token: t.ends[i].token})
	}
	for i := range t.created {
		a.Created = append(a.Created, journalstore.AppendedEnd{Instance: t.created[i].public, Input: t.created[i].input, Token: t.created[i].token})
	}
	return a
}

// Memory implements journalstore.Appending.
func (t *tx) Memory(id uuid.UUID, m journalstore.Memory) bool {
	inst := t.sh.instances[id]
	if inst == nil {
		return false
	}
	inst.Runs.Each(func(_ state.Address, r *state.Run) { m.Run(r.Key, int(r.Attempt)) })
	inst.Barriers.Each(func(a state.Address, b *state.Barrier) {
		n := 0
		for _, e := range b.Elements {
			if e != nil {
				n++
			}
		}
		m.Barrier(graph.Run{Node: graph.NodeID(a.ID), Path: a.Path}, int(b.Required), int(b.Completed), n, b.Soft)
	})
	inst.Slots.Each(func(a state.Address, v state.Value) {
		m.Value(plan.Slot{Var: graph.VarID(a.ID), Scope: a.Path}, v.Base, len(v.Appended))
	})
	return true
}
