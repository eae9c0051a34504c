package explore

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
)

// runKey is a node run's, and a barrier's, in a table.
type runKey struct {
	inst int32
	node int32
	path string
}

// compareRun orders keys.
func compareRun(a, b runKey) int {
	if c := cmp.Or(cmp.Compare(a.inst, b.inst), cmp.Compare(a.node, b.node)); c != 0 {
		return c
	}
	return strings.Compare(a.path, b.path)
}

// run is the node run of a key.
func (k runKey) run() graph.Run {
	return graph.Run{Node: graph.NodeID(k.node), Path: graph.Path(k.path)}
}

// keyOf is the key of a node run.
func keyOf(inst *instance, run graph.Run) runKey {
	return runKey{int32(inst.index), int32(run.Node), string(run.Path)}
}

// valueKey is a value's: of a slot with element -1, of what was appended to it from 0; of an aggregate, with its node in
// the place of the variable.
type valueKey struct {
	inst    int32
	id      int32
	path    string
	element int32
}

// compareValue orders keys.
func compareValue(a, b valueKey) int {
	if c := cmp.Or(cmp.Compare(a.inst, b.inst), cmp.Compare(a.id, b.id)); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(a.path, b.path), cmp.Compare(a.element, b.element))
}

func (k valueKey) slot() plan.Slot {
	return plan.Slot{Var: graph.VarID(k.id), Scope: graph.Path(k.path)}
}

// instanceRow is an instance's.
type instanceRow struct {
	inst      *instance
	status    backend.Status
	untidy    bool
	pending   bool
	result    json.RawMessage
	failure   *plan.Failure
	endedBy   int64
	snapshot  int64
	submitted int64 // on the server's clock
}

// base is what the stores of all designs on the database have.
type base struct {
	w         *world
	memory    *statements
	tokens    db.Sequence
	instances *db.Table[int32, instanceRow]
	lives     *db.Table[int, string] // one row
	here      map[int]bool           // the sessions of engines that listen
}

// newBase makes the tables that all designs have.
func newBase(w *world, memory *statements) base {
	b := base{
		w: w, memory: memory, here: map[int]bool{}, instances: db.NewTable[int32, instanceRow](w.server.Server, "instances", cmp.Compare[int32]),
		lives: db.NewTable[int, string](w.server.Server, "lives", cmp.Compare[int]),
	}
	b.lives.Unlogged = true
	return b
}

// crashed implements store.
func (b *base) crashed() { b.tokens.Crash() }

// instance implements store.
func (b *base) instance(index int) stored {
	var s stored
	b.instances.CommittedFrom(int32(index), func(key int32, row instanceRow) bool {
		if key == int32(index) {
			s = stored{status: row.status, result: string(row.result)}
		}
		return false
	})
	return s
}

// ended says whether an instance has ended, as is committed.
func (b *base) ended(index int32) bool {
	s := b.instance(int(index)).status
	return s != "" && s != backend.Running
}

// deletion takes rows away by their addresses, one by one.
type deletion[K, V any] struct {
	table *db.Table[K, V]
	found []*db.Version[K, V]
	i     int
}

// run goes on with it.
func (d *deletion[K, V]) run(x *db.Exec) error {
	for ; d.i < len(d.found); d.i++ {
		if _, err := d.table.Delete(x, d.found[d.i]); err != nil {
			return err
		}
	}
	return nil
}

// never is later than everything.
const never = math.MaxInt64

// runOf is a node run of a row.
func runOf(node int32, path string) graph.Run {
	return graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}
}

// math32 is before every node and variable.
const math32 = -1 << 31

// instOfRun is the instance of a key, for those who look for all of its rows.
func instOfRun(k runKey) int32 { return k.inst }

// instOfValue is that of a value's key.
func instOfValue(k valueKey) int32 { return k.inst }

// yearsBefore is an instant of the server's so many years before another.
func yearsBefore(at int64, years int) int64 {
	return int64(epoch.Add(time.Duration(at)).AddDate(-years, 0, 0).Sub(epoch))
}

// end fills in how an instance ended.
func (r *instanceRow) end(result, failure *string) {
	if result != nil {
		r.result = json.RawMessage(*result)
	}
	if failure != nil {
		r.failure = readFailure(*failure)
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
