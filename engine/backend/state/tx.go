package state

import "encoding/json"

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
	undo     undo
	requeued []*Run
}

// spareMax bounds how many entries a list has room for that is kept: one large transaction is not paid for ever after.
const spareMax = 1 << 14

// Tx is a transaction on the instances of a space. Changes are made in place, and each leaves behind what takes it back.
type Tx struct {
	Space *Space
	Now   int64 // one instant for the whole transaction
	Final bool  // what is applied has happened: nothing can be taken back, and nothing finds a queue

	// Passed is told of each step, which fails where it gives an error; nil: nobody is told.
	Passed func(Step) error

	Requeued []*Run // what is to find its queue, in order; some more than once
	Timed    bool   // something was made to wait for its time; for the caller to set back

	undo undo
}

// Begin begins a transaction, in memory that one before has left.
func (s *Space) Begin(now int64) Tx {
	t := Tx{Space: s, Now: now, undo: s.spare.undo, Requeued: s.spare.requeued}
	s.spare = spare{}
	return t
}

// Leave ends a transaction whose changes stay, and leaves its memory to the next.
func (t *Tx) Leave() {
	t.Space.spare = spare{t.undo.emptied(), Emptied(t.Requeued)}
	t.undo, t.Requeued = undo{}, nil
}

// Emptied gives the memory of a list, without its entries, for the next one; nil where that is too large to be kept.
func Emptied[T any](list []T) []T {
	if cap(list) > spareMax {
		return nil
	}
	clear(list)
	return list[:0]
}

// Savepoint is a place in a transaction to go back to. The zero value is its beginning.
type Savepoint struct{ undo, requeued int }

// Savepoint gives the place at which the transaction is.
func (t *Tx) Savepoint() Savepoint { return Savepoint{len(t.undo.changes), len(t.Requeued)} }

// Rollback takes back what was changed since a savepoint, last change first.
func (t *Tx) Rollback(to Savepoint) {
	t.undo.back(t, to.undo)
	clear(t.Requeued[to.requeued:])
	t.Requeued = t.Requeued[:to.requeued]
}

// Undone has a rollback call f: it takes back what the caller has changed.
func (t *Tx) Undone(f func()) {
	if t.record(change{kind: called}) {
		t.undo.calls = append(t.undo.calls, f)
	}
}

// Set gives a run another state, and has it find its queue.
func (t *Tx) Set(r *Run, state RunState) {
	if t.record(change{kind: runChanged, run: r}) {
		t.undo.states = append(t.undo.states, r.RunState)
		t.Requeued = append(t.Requeued, r)
	}
	r.RunState = state
}

// addRun adds a run, which is not there, and has it find its queue.
func (t *Tx) addRun(a Address, r *Run) {
	r.Inst.Runs.Put(a, r)
	if t.record(change{kind: runAdded, run: r}) {
		t.Requeued = append(t.Requeued, r)
	}
}

// removeRun takes a run away, which is there.
func (t *Tx) removeRun(a Address, r *Run) {
	r.Inst.Runs.Drop(a)
	t.record(change{kind: runRemoved, run: r})
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
	if t.record(change{kind: argsDropped, run: r}) {
		t.undo.args = append(t.undo.args, r.Args)
	}
	r.Args = nil
	t.Set(r, over)
	t.Grow(r.Inst, r.size())
}

// Grow notes that an instance takes so much more. What was noted before [Tx.KeepBytes] stays after a rollback.
func (t *Tx) Grow(inst *Instance, n int) {
	inst.Bytes += n
	t.Space.Bytes += n
}

// KeepBytes has a rollback bring back what an instance takes now.
func (t *Tx) KeepBytes(inst *Instance) {
	t.record(change{kind: bytesChanged, inst: inst, n: inst.Bytes})
}

// putBarrier adds a barrier, which is not there.
func (t *Tx) putBarrier(inst *Instance, a Address, b *Barrier) {
	inst.Barriers.Put(a, b)
	t.Grow(inst, b.size())
	t.record(change{kind: barrierAdded, inst: inst, at: a})
}

// removeBarrier takes a barrier away, which is there.
func (t *Tx) removeBarrier(inst *Instance, a Address, b *Barrier) {
	inst.Barriers.Drop(a)
	t.Grow(inst, -b.size())
	t.record(change{kind: barrierRemoved, inst: inst, at: a, barrier: b})
}

// count has a barrier's counts come back with a rollback.
func (t *Tx) count(b *Barrier) {
	t.record(change{kind: barrierChanged, barrier: b, counts: b.Counts})
}

// putElement puts an element at a barrier.
func (t *Tx) putElement(inst *Instance, b *Barrier, index int, v json.RawMessage) {
	if had := len(b.Elements); index >= had {
		grown := make([]json.RawMessage, max(index+1, int(b.Required)))
		copy(grown, b.Elements)
		t.Grow(inst, elementBytes*(len(grown)-had))
		b.Elements = grown
		t.record(change{kind: elementsGrown, barrier: b, n: had})
	}
	old := b.Elements[index]
	t.Grow(inst, len(v)-len(old))
	b.Elements[index] = v
	switch {
	case old == nil:
		t.record(change{kind: elementAdded, barrier: b, n: index})
	case t.record(change{kind: elementChanged, barrier: b, n: index}):
		t.undo.values = append(t.undo.values, Value{Base: old})
	}
}

// putSlot puts a value into a slot, in the place of old, where it had one.
func (t *Tx) putSlot(inst *Instance, a Address, old Value, had bool, v Value) {
	inst.Slots.Put(a, v)
	switch {
	case !had:
		t.record(change{kind: slotAdded, inst: inst, at: a})
	case t.record(change{kind: slotChanged, inst: inst, at: a}):
		t.undo.values = append(t.undo.values, old)
	}
}

// removeSlot takes away what a slot holds.
func (t *Tx) removeSlot(inst *Instance, a Address, old Value) {
	inst.Slots.Drop(a)
	t.Grow(inst, -old.size())
	if t.record(change{kind: slotChanged, inst: inst, at: a}) {
		t.undo.values = append(t.undo.values, old)
	}
}

// Empty takes everything out of an instance that has ended or leaves memory. Its runs are over, and leave their queues.
func (t *Tx) Empty(inst *Instance) {
	inst.Runs.Each(func(_ Address, r *Run) {
		if r.Place != NoQueue {
			t.Set(r, RunState{Attempt: r.Attempt})
		}
	})
	if !t.Final {
		runs, barriers, slots, n := inst.Runs, inst.Barriers, inst.Slots, inst.Bytes
		t.Undone(func() {
			inst.Detached, inst.Runs, inst.Barriers, inst.Slots = false, runs, barriers, slots
			t.Grow(inst, n-inst.Bytes)
		})
	}
	inst.Detached, inst.Runs, inst.Barriers, inst.Slots = true, Table[*Run]{}, Table[*Barrier]{}, Table[Value]{}
	t.Grow(inst, -inst.Bytes)
}
