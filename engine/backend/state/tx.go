package state

import "encoding/json"

// Rules are a design's choices for its memory.
type Rules struct {
	// KeepDone keeps finished runs and opened barriers until they are cleared, so that a second enqueue or arrival is detected.
	KeepDone bool
}

// Space is what the instances of one shard, or of one store, share. The zero value is empty.
type Space struct {
	Rules
	Orders uint64 // the last number of an enqueue
	Bytes  int    // of all instances

	spare spare
}

type spare struct {
	undo     undo
	requeued []*Run
}

// spareMax bounds the capacity of a list that is kept, so that one large transaction does not hold memory for ever.
const spareMax = 1 << 14

// Tx is a transaction on the instances of a space. Each change records how to undo it.
type Tx struct {
	Space *Space
	Now   int64 // one instant for the whole transaction
	Final bool  // it replays the past: nothing can be undone, and nothing is queued

	// Passed, if not nil, is called after each step; its error makes the step fail.
	Passed func(Step) error

	Requeued []*Run // runs to queue, in order; some more than once
	Timed    bool   // something waits for its time; the caller resets it

	undo undo
}

// Begin begins a transaction in the memory of the previous one.
func (s *Space) Begin(now int64) Tx {
	t := Tx{Space: s, Now: now, undo: s.spare.undo, Requeued: s.spare.requeued}
	s.spare = spare{}
	return t
}

// Leave ends a transaction whose changes stay, and keeps its memory for the next.
func (t *Tx) Leave() {
	t.Space.spare = spare{t.undo.emptied(), Emptied(t.Requeued)}
	t.undo, t.Requeued = undo{}, nil
}

// Emptied returns a list without its entries, for reuse; nil if it is too large to keep.
func Emptied[T any](list []T) []T {
	if cap(list) > spareMax {
		return nil
	}
	clear(list)
	return list[:0]
}

// Savepoint is a point of a transaction. The zero value is its beginning.
type Savepoint struct{ undo, requeued int }

// Savepoint returns the current point.
func (t *Tx) Savepoint() Savepoint { return Savepoint{len(t.undo.changes), len(t.Requeued)} }

// Rollback undoes the changes since a savepoint, last change first.
func (t *Tx) Rollback(to Savepoint) {
	t.undo.back(t, to.undo)
	clear(t.Requeued[to.requeued:])
	t.Requeued = t.Requeued[:to.requeued]
}

// Undone makes a rollback call f, which undoes a change of the caller.
func (t *Tx) Undone(f func()) {
	if t.record(change{kind: called}) {
		t.undo.calls = append(t.undo.calls, f)
	}
}

// Set changes the state of a run, which is queued again.
func (t *Tx) Set(r *Run, state RunState) {
	if t.record(change{kind: runChanged, run: r}) {
		t.undo.states = append(t.undo.states, r.RunState)
		t.Requeued = append(t.Requeued, r)
	}
	r.RunState = state
}

func (t *Tx) addRun(a Address, r *Run) {
	r.Inst.Runs.Put(a, r)
	if t.record(change{kind: runAdded, run: r}) {
		t.Requeued = append(t.Requeued, r)
	}
}

func (t *Tx) removeRun(a Address, r *Run) {
	r.Inst.Runs.Drop(a)
	t.record(change{kind: runRemoved, run: r})
}

// Done ends a run, before its plan is applied.
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

// Grow adds to the bytes of an instance. A rollback keeps what was added before [Tx.KeepBytes].
func (t *Tx) Grow(inst *Instance, n int) {
	inst.Bytes += n
	t.Space.Bytes += n
}

// KeepBytes makes a rollback restore the instance's current bytes.
func (t *Tx) KeepBytes(inst *Instance) {
	t.record(change{kind: bytesChanged, inst: inst, n: inst.Bytes})
}

func (t *Tx) putBarrier(inst *Instance, a Address, b *Barrier) {
	inst.Barriers.Put(a, b)
	t.Grow(inst, b.size())
	t.record(change{kind: barrierAdded, inst: inst, at: a})
}

func (t *Tx) removeBarrier(inst *Instance, a Address, b *Barrier) {
	inst.Barriers.Drop(a)
	t.Grow(inst, -b.size())
	t.record(change{kind: barrierRemoved, inst: inst, at: a, barrier: b})
}

func (t *Tx) count(b *Barrier) {
	t.record(change{kind: barrierChanged, barrier: b, counts: b.Counts})
}

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

func (t *Tx) putSlot(inst *Instance, a Address, old Value, had bool, v Value) {
	inst.Slots.Put(a, v)
	switch {
	case !had:
		t.record(change{kind: slotAdded, inst: inst, at: a})
	case t.record(change{kind: slotChanged, inst: inst, at: a}):
		t.undo.values = append(t.undo.values, old)
	}
}

func (t *Tx) removeSlot(inst *Instance, a Address, old Value) {
	inst.Slots.Drop(a)
	t.Grow(inst, -old.size())
	if t.record(change{kind: slotChanged, inst: inst, at: a}) {
		t.undo.values = append(t.undo.values, old)
	}
}

// Empty removes everything from an instance that has ended or leaves memory. Its runs leave their queues.
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
