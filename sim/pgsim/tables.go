package pgsim

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"time"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/sim/db"
	"pulley/sim/world"
)

// RunKey is a node run's, and a barrier's, in a table.
type RunKey struct {
	Inst int32
	Node int32
	Path string
}

// CompareRun orders keys.
func CompareRun(a, b RunKey) int {
	switch {
	case a.Inst != b.Inst:
		return cmp.Compare(a.Inst, b.Inst)
	case a.Node != b.Node:
		return cmp.Compare(a.Node, b.Node)
	}
	return strings.Compare(a.Path, b.Path)
}

// Run is the node run of a key.
func (k RunKey) Run() graph.Run {
	return graph.Run{Node: graph.NodeID(k.Node), Path: graph.Path(k.Path)}
}

// KeyOf is the key of a node run.
func KeyOf(inst *world.Instance, run graph.Run) RunKey {
	return RunKey{int32(inst.Index), int32(run.Node), string(run.Path)}
}

// Instance is that of the row.
func (k RunKey) Instance() int32 { return k.Inst }

// First is before all keys of an instance.
func (RunKey) First(inst int32) RunKey { return RunKey{Inst: inst, Node: firstID} }

// SameNode says whether two are of runs of the same node, in the same instance.
func (k RunKey) SameNode(o RunKey) bool { return k.Inst == o.Inst && k.Node == o.Node }

// Value is the key of an element that a node run has in a table of values.
func (k RunKey) Value(element int32) ValueKey {
	return ValueKey{Inst: k.Inst, ID: k.Node, Path: k.Path, Element: element}
}

// ValueKey is a value's: of a slot with element -1, of what was appended to it from 0; of an aggregate, with its node in
// the place of the variable.
type ValueKey struct {
	Inst    int32
	ID      int32
	Path    string
	Element int32
}

// CompareValue orders keys.
func CompareValue(a, b ValueKey) int {
	switch {
	case a.Inst != b.Inst:
		return cmp.Compare(a.Inst, b.Inst)
	case a.ID != b.ID:
		return cmp.Compare(a.ID, b.ID)
	case a.Path != b.Path:
		return strings.Compare(a.Path, b.Path)
	}
	return cmp.Compare(a.Element, b.Element)
}

// Instance is that of the row.
func (k ValueKey) Instance() int32 { return k.Inst }

// First is before all keys of an instance.
func (ValueKey) First(inst int32) ValueKey { return ValueKey{Inst: inst, ID: firstID} }

// SameID says whether two are of the same variable, or of the same node, in the same instance.
func (k ValueKey) SameID(o ValueKey) bool { return k.Inst == o.Inst && k.ID == o.ID }

func (k ValueKey) slot() plan.Slot {
	return plan.Slot{Var: graph.VarID(k.ID), Scope: graph.Path(k.Path)}
}

// InstanceRow is an instance's.
type InstanceRow struct {
	Inst         *world.Instance
	Status       backend.Status
	NeedsCleanup bool
	Pending      bool
	Result       json.RawMessage
	Failure      *plan.Failure
	EndedBy      int64
	Snapshot     int64
	Submitted    int64 // on the server's clock
}

// Base is what the stores of all designs on the database have.
type Base struct {
	World        *world.World
	Memory       *Memory
	Tokens       db.Sequence
	Instances    *db.Table[int32, InstanceRow]
	Incarnations *db.Table[int, string] // one row
	here         map[int]bool           // the sessions of engines that listen
	tables       []instanceTable        // of the design, by which it knows what is left of an instance
}

// NewBase makes the tables that all designs have.
func NewBase(w *world.World, memory *Memory) Base {
	b := Base{
		World: w, Memory: memory, here: map[int]bool{}, Instances: db.NewTable[int32, InstanceRow](w.Server.Server, "instances", cmp.Compare[int32]),
		Incarnations: db.NewTable[int, string](w.Server.Server, "incarnation", cmp.Compare[int]),
	}
	b.Incarnations.Unlogged = true
	return b
}

// Common is what the stores of all designs have.
func (b *Base) Common() *Base { return b }

// Now is what the server's clock says.
func (b *Base) Now() int64 { return b.World.Server.Clock() }

// Key is the key of a node run, or of a barrier.
func (b *Base) Key(id [16]byte, node int32, path string) RunKey {
	return RunKey{Inst: int32(b.InstanceOf(id).Index), Node: node, Path: path}
}

// Crashed implements store.
func (b *Base) Crashed() { b.Tokens.Crash() }

// Instance implements store.
func (b *Base) Instance(index int) world.Stored {
	row := b.committed(int32(index))
	return world.Stored{Status: row.Status, Result: string(row.Result)}
}

// Status implements judge.Tables.
func (b *Base) Status(index int) backend.Status { return b.committed(int32(index)).Status }

// committed is an instance as is committed; empty: it is not stored.
func (b *Base) committed(index int32) (found InstanceRow) {
	b.Instances.CommittedFrom(index, func(key int32, row InstanceRow) bool {
		if key == index {
			found = row
		}
		return false
	})
	return found
}

// ended says whether an instance has ended, as is committed.
func (b *Base) ended(index int32) bool {
	s := b.Status(int(index))
	return s != "" && s != backend.Running
}

// Never is later than everything.
const Never = math.MaxInt64

// RunOf is a node run of a row.
func RunOf(node int32, path string) graph.Run {
	return graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}
}

// FirstElement is before every element.
const FirstElement = -1 << 31

// firstID is before every node and variable.
const firstID = -1 << 31

// YearsBefore is an instant of the server's so many years before another.
func YearsBefore(at int64, years int) int64 {
	return int64(world.Epoch.Add(time.Duration(at)).AddDate(-years, 0, 0).Sub(world.Epoch))
}

// End fills in how an instance ended.
func (r *InstanceRow) End(result, failure *string) {
	if result != nil {
		r.Result = json.RawMessage(*result)
	}
	if failure != nil {
		r.Failure = readFailure(*failure)
	}
}

// readFailure reads what a backend has written.
func readFailure(text string) *plan.Failure {
	f := &plan.Failure{}
	if err := json.Unmarshal([]byte(text), f); err != nil {
		panic(err)
	}
	return f
}
