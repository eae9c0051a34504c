package journal

import (
	"embed"
	"encoding/json"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal/forward"
	"pulley/engine/backend/postgres/journal/ownership"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// What follows lets a simulated host see what a backend asks it, and hold what it remembers against what is durable.

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL gives a statement as it is sent, by the name of its file. Appends are cut down, and have no text here.
func SQL(name string) (string, error) {
	for _, of := range []func(string) (string, error){forward.SQL, ownership.SQL} {
		if text, err := of(name); err == nil {
			return text, nil
		}
	}
	return postgres.Statement(statementFiles, name)
}

// Append is what one append is to make durable.
type Append struct {
	Shard        int
	Epoch        int64
	SkipExisting bool // new instances that are there already are left out, instead of an error
	Events       []AppendedEvent
	Ends         []AppendedEnd
	Created      []AppendedEnd
}

// AppendedEvent is the end of an attempt, or an instance's state.
type AppendedEvent struct {
	Instance uuid.UUID
	Run      graph.Run
	Seq      int64 // zero: it is not stored, since its instance ends with this append
	Kind     int16
	Timed    bool
	Token    int64
	Data     []byte
}

// Result, failure, a failure that is tried again, state, and how often an attempt was delivered: the kinds of events.
const (
	KindResult   = kindResult
	KindFailure  = kindFailure
	KindRetry    = kindRetry
	KindSnapshot = kindSnapshot
	KindDelivery = kindDelivery
)

// AppendedEnd is an instance that ends, or one that is new.
type AppendedEnd struct {
	Instance backend.Instance
	Input    json.RawMessage
	Token    int64
}

// Append gives what a statement is to append; none where it is not an append.
func (p Prepared) Append() (a Append, ok bool) {
	t := p.tx
	if t == nil {
		return a, false
	}
	a = Append{Shard: t.sh.number, Epoch: t.sh.epoch.Load(), SkipExisting: t.sh.buf.kinds&skipExisting != 0}
	seq := t.sh.seq
	for i := range t.events {
		e := &t.events[i]
		out := AppendedEvent{Instance: e.inst.ID, Run: e.key, Kind: e.kind, Timed: e.timed, Token: e.token, Data: e.data}
		if !e.inst.Detached {
			out.Seq = seq
			seq++
		}
		a.Events = append(a.Events, out)
	}
	for i := range t.ends {
		a.Ends = append(a.Ends, AppendedEnd{Instance: t.ends[i].public, Token: t.ends[i].token})
	}
	for i := range t.created {
		a.Created = append(a.Created, AppendedEnd{Instance: t.created[i].public, Input: t.created[i].input, Token: t.created[i].token})
	}
	return a, true
}

// Memory is told what the owner of a shard remembers of an instance.
type Memory struct {
	Run     func(run graph.Run, attempt int)
	Barrier func(run graph.Run, required, completed, elements int, soft bool)
	Value   func(slot plan.Slot, base json.RawMessage, appended int)
}

// Memory tells what the shard that an append is of has in memory of an instance, and says whether it is there.
func (p Prepared) Memory(id uuid.UUID, m Memory) bool {
	if p.tx == nil {
		return false
	}
	inst := p.tx.sh.instances[id]
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
