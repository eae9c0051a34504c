package journal

import (
	"reflect"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
)

// TestUndo makes every kind of change to an instance, some twice, and takes them back one savepoint after the other:
// each finds what was there when it was made.
func TestUndo(t *testing.T) {
	sh := &shardState{b: &Backend{clock: postgres.Machine{}}, instances: map[uuid.UUID]*instance{}}
	inst := &instance{id: uuid.New(), bytes: 7}
	sh.instances[inst.id], sh.bytes = inst, 10
	runs := make([]*run, 2*fewMax) // more than a table keeps as a list
	for i := range runs {
		runs[i] = &run{inst: inst, key: graph.Run{Node: graph.NodeID(i)}, runState: runState{place: leased, attempt: 1, due: int64(i), token: int64(i)}}
	}
	for _, r := range runs[:fewMax] {
		inst.runs.put(ofRun(r.key), r)
	}
	was := picture(sh, inst)
	tx := sh.begin()
	called := 0
	changes := []func(){
		func() { tx.keepBytes(inst); tx.grow(inst, 5) },
		func() { tx.set(runs[0], runState{place: ready, attempt: 2}) },
		func() { tx.removeRun(inst, ofRun(runs[0].key), runs[0]) },
		func() { tx.set(runs[1], runState{place: waiting, attempt: 3}); tx.set(runs[1], runState{attempt: 4}) },
		func() {
			for _, r := range runs[fewMax:] {
				tx.putRun(inst, ofRun(r.key), r)
			}
		},
		func() { tx.undone(func() { called++ }) },
		func() { tx.keepBytes(inst); tx.grow(inst, -3) },
	}
	var places []savepoint
	var before []map[string]any
	for _, change := range changes {
		places, before = append(places, tx.savepoint()), append(before, picture(sh, inst))
		change()
	}
	for i := len(places) - 1; i >= 0; i-- {
		tx.rollback(places[i])
		if got := picture(sh, inst); !reflect.DeepEqual(got, before[i]) {
			t.Errorf("after change %d was taken back: %v; want %v", i, got, before[i])
		}
	}
	if got := picture(sh, inst); !reflect.DeepEqual(got, was) || called != 1 || len(tx.moved) != 0 {
		t.Errorf("after the rollback: %v, %d calls, %d moved; want %v, 1, 0", got, called, len(tx.moved), was)
	}
}

// picture is what a rollback has to bring back.
func picture(sh *shardState, inst *instance) map[string]any {
	out := map[string]any{"shard": sh.bytes, "instance": inst.bytes}
	inst.runs.each(func(a address, r *run) { out[string('A'+a.id)] = r.runState })
	return out
}

// TestTransactionsLeaveMemory has two transactions open at once: neither may write into the other's lists, and what is left
// to the next holds nothing.
func TestTransactionsLeaveMemory(t *testing.T) {
	sh := &shardState{b: &Backend{clock: postgres.Machine{}}}
	first := sh.begin()
	first.set(&run{}, runState{attempt: 1})
	first.leave()
	if n := len(sh.spare.undo) + len(sh.spare.moved) + len(sh.spare.events); n != 0 || cap(sh.spare.undo) == 0 || cap(sh.spare.moved) == 0 {
		t.Fatalf("a transaction leaves %d entries, with room for %d and %d; want none, and some", n, cap(sh.spare.undo), cap(sh.spare.moved))
	}
	if u := sh.spare.undo[:1][0]; u.run != nil {
		t.Errorf("a transaction leaves %+v", u)
	}
	one, two := sh.begin(), sh.begin()
	a, b := &run{}, &run{}
	one.set(a, runState{attempt: 1})
	two.set(b, runState{attempt: 2})
	if one.undo[0].run != a || one.moved[0] != a || two.undo[0].run != b || two.moved[0] != b {
		t.Error("two transactions share their memory")
	}
	one.undo = make([]undo, 1, spareMost+1)
	if one.leave(); sh.spare.undo != nil {
		t.Errorf("room for %d entries is kept; want at most %d", cap(sh.spare.undo), spareMost)
	}
}
