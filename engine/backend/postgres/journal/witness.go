package journal

import (
	"embed"
	"encoding/json"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/journal/internal/forward"
	"pulley/engine/backend/postgres/journal/internal/ownership"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// A simulated host sees through the following what a backend sends, and what its memory has.

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

// Append is what one append makes durable.
type Append struct {
	Shard        int
	Epoch        int64
	SkipExisting bool // existing instances are skipped, no error
	Events       []AppendedEvent
	Ends         []AppendedEnd
	Created      []AppendedEnd
}

// AppendedEvent is the end of an attempt, a snapshot, or a count of deliveries.
type AppendedEvent struct {
	Instance uuid.UUID
	Run      graph.Run
	Seq      int64 // zero: not stored, since its instance ends with this append
	Kind     int16
	Timed    bool
	Token    int64
	Data     []byte
}

// The kinds of events: a result, a failure, a failure that is retried, a snapshot, and the deliveries of an attempt.
const (
	KindResult   = kindResult
	KindFailure  = kindFailure
	KindRetry    = kindRetry
	KindSnapshot = kindSnapshot
	KindDelivery = kindDelivery
)

// AppendedEnd is an instance that ends, or a new one.
type AppendedEnd struct {
	Instance backend.Instance
	Input    json.RawMessage
	Token    int64
}

// Append returns what a statement appends, and whether it is an append.
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

// Memory receives an instance as its owner remembers it.
type Memory struct {
	Run     func(run graph.Run, attempt int)
	Barrier func(run graph.Run, required, completed, elements int, soft bool)
	Value   func(slot plan.Slot, base json.RawMessage, appended int)
}

// Memory passes an instance of the append's shard to m, and reports whether memory has it.
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
