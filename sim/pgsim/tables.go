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

// RunKey is the key of a node run or barrier.
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

// Run returns the node run of a key.
func (k RunKey) Run() graph.Run {
	return graph.Run{Node: graph.NodeID(k.Node), Path: graph.Path(k.Path)}
}

// KeyOf returns the key of a node run.
func KeyOf(inst *world.Instance, run graph.Run) RunKey {
	return RunKey{int32(inst.Index), int32(run.Node), string(run.Path)}
}

// Instance returns the row's instance.
func (k RunKey) Instance() int32 { return k.Inst }

// First sorts before all keys of an instance.
func (RunKey) First(inst int32) RunKey { return RunKey{Inst: inst, Node: firstID} }

// SameNode reports whether two keys have the same instance and node.
func (k RunKey) SameNode(o RunKey) bool { return k.Inst == o.Inst && k.Node == o.Node }

// Value returns the key of an element of the node run.
func (k RunKey) Value(element int32) ValueKey {
	return ValueKey{Inst: k.Inst, ID: k.Node, Path: k.Path, Element: element}
}

// ValueKey is the key of a value. A slot has element -1, and what was appended to it has elements from 0. An aggregate has its
// node instead of the variable.
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

// Instance returns the row's instance.
func (k ValueKey) Instance() int32 { return k.Inst }

// First sorts before all keys of an instance.
func (ValueKey) First(inst int32) ValueKey { return ValueKey{Inst: inst, ID: firstID} }

// SameID reports whether two keys have the same instance and variable or node.
func (k ValueKey) SameID(o ValueKey) bool { return k.Inst == o.Inst && k.ID == o.ID }

func (k ValueKey) slot() plan.Slot {
	return plan.Slot{Var: graph.VarID(k.ID), Scope: graph.Path(k.Path)}
}

// InstanceRow is a row of instances.
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

// Base is what the stores of all designs share.
type Base struct {
	World        *world.World
	Memory       *Memory
	Tokens       db.Sequence
	Instances    *db.Table[int32, InstanceRow]
	Incarnations *db.Table[int, string]
	here         map[int]bool    // sessions of listening engines
	tables       []instanceTable // the design's, with rows of instances
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

// Common returns the base.
func (b *Base) Common() *Base { return b }

// Now returns the server's clock.
func (b *Base) Now() int64 { return b.World.Server.Clock() }

// Key returns the key of a node run or barrier.
func (b *Base) Key(id [16]byte, node int32, path string) RunKey {
	return RunKey{Inst: int32(b.InstanceOf(id).Index), Node: node, Path: path}
}

// Crashed implements world.Store.
func (b *Base) Crashed() { b.Tokens.Crash() }

// Instance implements world.Store.
func (b *Base) Instance(index int) world.Stored {
	row := b.committed(int32(index))
	return world.Stored{Status: row.Status, Result: string(row.Result)}
}

// Status implements judge.Tables.
func (b *Base) Status(index int) backend.Status { return b.committed(int32(index)).Status }

func (b *Base) committed(index int32) (found InstanceRow) {
	b.Instances.CommittedFrom(index, func(key int32, row InstanceRow) bool {
		if key == index {
			found = row
		}
		return false
	})
	return found
}

func (b *Base) ended(index int32) bool {
	s := b.Status(int(index))
	return s != "" && s != backend.Running
}

// Never is later than everything.
const Never = math.MaxInt64

// RunOf returns a row's node run.
func RunOf(node int32, path string) graph.Run {
	return graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}
}

// FirstElement sorts before every element.
const FirstElement = -1 << 31

// firstID sorts before every node and variable.
const firstID = -1 << 31

// YearsBefore returns a server time so many years earlier.
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

func readFailure(text string) *plan.Failure {
	f := &plan.Failure{}
	if err := json.Unmarshal([]byte(text), f); err != nil {
		panic(err)
	}
	return f
}
