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
	if c := cmp.Or(cmp.Compare(a.Inst, b.Inst), cmp.Compare(a.Node, b.Node)); c != 0 {
		return c
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
	if c := cmp.Or(cmp.Compare(a.Inst, b.Inst), cmp.Compare(a.ID, b.ID)); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Element, b.Element))
}

func (k ValueKey) slot() plan.Slot {
	return plan.Slot{Var: graph.VarID(k.ID), Scope: graph.Path(k.Path)}
}

// InstanceRow is an instance's.
type InstanceRow struct {
	Inst      *world.Instance
	Status    backend.Status
	Untidy    bool
	Pending   bool
	Result    json.RawMessage
	Failure   *plan.Failure
	EndedBy   int64
	Snapshot  int64
	Submitted int64 // on the server's clock
}

// Base is what the stores of all designs on the database have.
type Base struct {
	World     *world.World
	Memory    *Memory
	Tokens    db.Sequence
	Instances *db.Table[int32, InstanceRow]
	Lives     *db.Table[int, string] // one row
	here      map[int]bool           // the sessions of engines that listen
}

// NewBase makes the tables that all designs have.
func NewBase(w *world.World, memory *Memory) Base {
	b := Base{
		World: w, Memory: memory, here: map[int]bool{}, Instances: db.NewTable[int32, InstanceRow](w.Server.Server, "instances", cmp.Compare[int32]),
		Lives: db.NewTable[int, string](w.Server.Server, "lives", cmp.Compare[int]),
	}
	b.Lives.Unlogged = true
	return b
}

// Crashed implements store.
func (b *Base) Crashed() { b.Tokens.Crash() }

// Instance implements store.
func (b *Base) Instance(index int) world.Stored {
	var s world.Stored
	b.Instances.CommittedFrom(int32(index), func(key int32, row InstanceRow) bool {
		if key == int32(index) {
			s = world.Stored{Status: row.Status, Result: string(row.Result)}
		}
		return false
	})
	return s
}

// ended says whether an instance has ended, as is committed.
func (b *Base) ended(index int32) bool {
	s := b.Instance(int(index)).Status
	return s != "" && s != backend.Running
}

// Deletion takes rows away by their addresses, one by one.
type Deletion[K, V any] struct {
	Table *db.Table[K, V]
	Found []*db.Version[K, V]
	i     int
}

// Run goes on with it.
func (d *Deletion[K, V]) Run(x *db.Exec) error {
	for ; d.i < len(d.Found); d.i++ {
		if _, err := d.Table.Delete(x, d.Found[d.i]); err != nil {
			return err
		}
	}
	return nil
}

// Never is later than everything.
const Never = math.MaxInt64

// RunOf is a node run of a row.
func RunOf(node int32, path string) graph.Run {
	return graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}
}

// FirstID is before every node and variable.
const FirstID = -1 << 31

// InstOfRun is the instance of a key, for those who look for all of its rows.
func InstOfRun(k RunKey) int32 { return k.Inst }

// InstOfValue is that of a value's key.
func InstOfValue(k ValueKey) int32 { return k.Inst }

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
