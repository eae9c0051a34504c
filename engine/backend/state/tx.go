package state

import (
	"encoding/json"

	"pulley/engine/plan"
)

// Rules are those of a design for what it keeps in memory.
type Rules struct {
	// KeepDone leaves runs that are done and barriers that have opened where they are until they are cleared, so that a
	// second enqueue or arrival is noticed.
	KeepDone bool
}

// Space is what the instances of one shard, or of one store, share. The zero value is empty.
type Space struct {
	Rules
	Orders uint64 // of the enqueues: the last one given
	Bytes  int    // that the instances take

	spare spare
}

// spare is memory that a transaction leaves to the next one: lists without entries.
type spare struct {
	undo  []change
	moved []*Run
}

// spareMost bounds how many entries a list has room for that is kept: one large transaction is not paid for ever after.
const spareMost = 1 << 14

// Tx is a transaction on the instances of a space. Changes are made in place, and each leaves behind what takes it back.
type Tx struct {
	Space *Space
	Now   int64 // one instant for the whole transaction
	Final bool  // what is applied has happened: nothing can be taken back, and nothing finds a queue

	// Passed is told of each step, which fails where it gives an error; nil: nobody is told.
	Passed func(Step) error

	Moved []*Run // what is to find its queue, in order; some more than once
	Timed bool   // something was made to wait for its time; for the caller to set back

	undo []change
}

// Begin begins a transaction, in memory that one before has left.
func (s *Space) Begin(now int64) Tx {
	t := Tx{Space: s, Now: now, undo: s.spare.undo, Moved: s.spare.moved}
	s.spare = spare{}
	return t
}

// Leave ends a transaction whose changes stay, and leaves its memory to the next.
func (t *Tx) Leave() {
	t.Space.spare = spare{Emptied(t.undo), Emptied(t.Moved)}
	t.undo, t.Moved = nil, nil
}

// Emptied gives the memory of a list, without its entries, for the next one; nil where that is too large to be kept.
func Emptied[T any](list []T) []T {
	if cap(list) > spareMost {
		return nil
	}
	clear(list)
	return list[:0]
}

// Savepoint is a place in a transaction to go back to. The zero value is its beginning.
type Savepoint struct{ undo, moved int }

// Savepoint gives the place at which the transaction is.
func (t *Tx) Savepoint() Savepoint { return Savepoint{len(t.undo), len(t.Moved)} }

// Rollback takes back what was changed since a savepoint, last change first.
func (t *Tx) Rollback(to Savepoint) {
	for i := len(t.undo) - 1; i >= to.undo; i-- {
		t.undo[i].back(t)
	}
	clear(t.undo[to.undo:])
	clear(t.Moved[to.moved:])
	t.undo, t.Moved = t.undo[:to.undo], t.Moved[:to.moved]
}

// change is what takes one change back. Which fields it has says its kind.
type change struct {
	kind    kind
	n       int // bytes, or an index, or a length
	inst    *Instance
	at      Address
	run     *Run
	state   RunState // that the run had
	args    []plan.Arg
	barrier *Barrier
	counts  Counts // that the barrier had
	value   Value  // that the slot had
	call    func()
}

type kind uint8

const (
	called         kind = iota // call does it
	runChanged                 // a run has another state
	runDone                    // a run has ended, and stays
	runAdded                   // a run was added
	runRemoved                 // a run was taken away
	bytesChanged               // an instance takes more, or less
	barrierChanged             // a barrier has other counts
	barrierAdded
	barrierRemoved
	elementsGrown // a barrier has room for more elements
	elementPut    // an element came
	slotAdded
	slotChanged // or taken away
)

// back takes the change back. Those that came after it have been taken back before.
func (c *change) back(t *Tx) {
	switch c.kind {
	case called:
		c.call()
	case runChanged:
		c.run.RunState = c.state
	case runDone:
		c.run.RunState, c.run.Args = c.state, c.args
	case runAdded:
		c.inst.Runs.Drop(c.at)
	case runRemoved:
		c.inst.Runs.Put(c.at, c.run)
	case bytesChanged:
		t.Space.Bytes -= c.inst.Bytes - c.n
		c.inst.Bytes = c.n
	case barrierChanged:
		c.barrier.Counts = c.counts
	case barrierAdded:
		c.inst.Barriers.Drop(c.at)
	case barrierRemoved:
		c.inst.Barriers.Put(c.at, c.barrier)
	case elementsGrown:
		c.barrier.Elements = c.barrier.Elements[:c.n]
	case elementPut:
		c.barrier.Elements[c.n] = c.value.Base
	case slotAdded:
		c.inst.Slots.Drop(c.at)
	case slotChanged:
		c.inst.Slots.Put(c.at, c.value)
	}
}

// record adds room for a change to the list; nil where none is to be recorded.
func (t *Tx) record(k kind) *change {
	if t.Final {
		return nil
	}
	if n := len(t.undo); n < cap(t.undo) {
		t.undo = t.undo[:n+1]
	} else {
		t.undo = append(t.undo, change{})
	}
	c := &t.undo[len(t.undo)-1]
	c.kind = k
	return c
}

// Undone has a rollback call f: it takes back what the caller has changed.
func (t *Tx) Undone(f func()) {
	if c := t.record(called); c != nil {
		c.call = f
	}
}

// Set gives a run another state, and has it find its queue.
func (t *Tx) Set(r *Run, state RunState) {
	if c := t.record(runChanged); c != nil {
		c.run, c.state = r, r.RunState
		t.Moved = append(t.Moved, r)
	}
	r.RunState = state
}

// addRun adds a run, which is not there, and has it find its queue.
func (t *Tx) addRun(a Address, r *Run) {
	r.Inst.Runs.Put(a, r)
	if c := t.record(runAdded); c != nil {
		c.inst, c.at = r.Inst, a
		t.Moved = append(t.Moved, r)
	}
}

// removeRun takes a run away, which is there.
func (t *Tx) removeRun(a Address, r *Run) {
	r.Inst.Runs.Drop(a)
	if c := t.record(runRemoved); c != nil {
		c.inst, c.at, c.run = r.Inst, a, r
	}
}

// Done notes that a run has ended. Its plan is still to be applied.
func (t *Tx) Done(r *Run) {
	over := RunState{Attempt: r.Attempt}
	t.KeepBytes(r.Inst)
	t.Grow(r.Inst, -r.size())
	if !t.Space.KeepDone {
		t.Set(r, over)
		t.removeRun(OfRun(r.Key), r)
		return
	}
	if c := t.record(runDone); c != nil {
		c.run, c.state, c.args = r, r.RunState, r.Args
		t.Moved = append(t.Moved, r)
	}
	r.RunState, r.Args = over, nil
	t.Grow(r.Inst, r.size())
}

// Grow notes that an instance takes so much more. What was noted before [Tx.KeepBytes] stays after a rollback.
func (t *Tx) Grow(inst *Instance, n int) {
	inst.Bytes += n
	t.Space.Bytes += n
}

// KeepBytes has a rollback bring back what an instance takes now.
func (t *Tx) KeepBytes(inst *Instance) {
	if c := t.record(bytesChanged); c != nil {
		c.inst, c.n = inst, inst.Bytes
	}
}

// putBarrier adds a barrier, which is not there.
func (t *Tx) putBarrier(inst *Instance, a Address, b *Barrier) {
	inst.Barriers.Put(a, b)
	t.Grow(inst, b.size())
	if c := t.record(barrierAdded); c != nil {
		c.inst, c.at = inst, a
	}
}

// removeBarrier takes a barrier away, which is there.
func (t *Tx) removeBarrier(inst *Instance, a Address, b *Barrier) {
	inst.Barriers.Drop(a)
	t.Grow(inst, -b.size())
	if c := t.record(barrierRemoved); c != nil {
		c.inst, c.at, c.barrier = inst, a, b
	}
}

// count has a barrier's counts come back with a rollback.
func (t *Tx) count(b *Barrier) {
	if c := t.record(barrierChanged); c != nil {
		c.barrier, c.counts = b, b.Counts
	}
}

// putElement puts an element at a barrier.
func (t *Tx) putElement(inst *Instance, b *Barrier, index int, v json.RawMessage) {
	if had := len(b.Elements); index >= had {
		grown := make([]json.RawMessage, max(index+1, int(b.Required)))
		copy(grown, b.Elements)
		t.Grow(inst, elementBytes*(len(grown)-had))
		b.Elements = grown
		if c := t.record(elementsGrown); c != nil {
			c.barrier, c.n = b, had
		}
	}
	old := b.Elements[index]
	t.Grow(inst, len(v)-len(old))
	b.Elements[index] = v
	if c := t.record(elementPut); c != nil {
		c.barrier, c.n, c.value.Base = b, index, old
	}
}

// putSlot puts a value into a slot, in the place of old, where it had one.
func (t *Tx) putSlot(inst *Instance, a Address, old Value, had bool, v Value) {
	inst.Slots.Put(a, v)
	if !had {
		if c := t.record(slotAdded); c != nil {
			c.inst, c.at = inst, a
		}
		return
	}
	if c := t.record(slotChanged); c != nil {
		c.inst, c.at, c.value = inst, a, old
	}
}

// removeSlot takes away what a slot holds.
func (t *Tx) removeSlot(inst *Instance, a Address, old Value) {
	inst.Slots.Drop(a)
	t.Grow(inst, -old.size())
	if c := t.record(slotChanged); c != nil {
		c.inst, c.at, c.value = inst, a, old
	}
}

// Empty takes everything out of an instance that has ended or leaves memory. Its runs are over, and leave their queues.
func (t *Tx) Empty(inst *Instance) {
	inst.Runs.Each(func(_ Address, r *Run) {
		if r.Place != Over {
			t.Set(r, RunState{Attempt: r.Attempt})
		}
	})
	if !t.Final {
		runs, barriers, slots, n := inst.Runs, inst.Barriers, inst.Slots, inst.Bytes
		t.Undone(func() {
			inst.Gone, inst.Runs, inst.Barriers, inst.Slots = false, runs, barriers, slots
			t.Grow(inst, n-inst.Bytes)
		})
	}
	inst.Gone, inst.Runs, inst.Barriers, inst.Slots = true, Table[*Run]{}, Table[*Barrier]{}, Table[Value]{}
	t.Grow(inst, -inst.Bytes)
}
