package state

import "pulley/engine/plan"

// undo is what takes the changes of a transaction back. What only some changes have stands in lists of its own, of which each
// such change has the last entry when its turn has come: so that a change is small.
type undo struct {
	changes []change
	states  []RunState
	args    [][]plan.Arg
	values  []Value
	calls   []func()
}

// change is what takes one change back. Which fields it has says its kind.
type change struct {
	kind    kind
	counts  Counts // that the barrier had
	n       int    // bytes, or an index, or a length
	inst    *Instance
	at      Address
	run     *Run
	barrier *Barrier
}

type kind uint8

const (
	called         kind = iota // a function does it
	runChanged                 // a run has another state
	runAdded                   // a run was added
	runRemoved                 // a run was taken away
	argsDropped                // the arguments of a run went
	bytesChanged               // an instance takes more, or less
	barrierAdded               // a barrier was added
	barrierRemoved             // a barrier was taken away
	barrierChanged             // a barrier has other counts
	elementsGrown              // a barrier has room for more elements
	elementAdded               // an element came
	elementChanged             // an element came in the place of another
	slotAdded                  // a slot that was empty has a value
	slotChanged                // a slot has another value, or none
)

// record notes a change, and says whether it may be taken back.
func (t *Tx) record(c change) bool {
	if t.Final {
		return false
	}
	t.undo.changes = append(t.undo.changes, c)
	return true
}

// back takes back what was changed since there were n changes, last change first.
func (u *undo) back(t *Tx, n int) {
	for i := len(u.changes) - 1; i >= n; i-- {
		u.revertChange(t, &u.changes[i])
	}
	clear(u.changes[n:])
	u.changes = u.changes[:n]
}

// revertChange takes a change back. Those that came after it have been taken back before.
func (u *undo) revertChange(t *Tx, c *change) {
	switch c.kind {
	case called:
		pop(&u.calls)()
	case runChanged:
		c.run.RunState = pop(&u.states)
	case runAdded:
		c.run.Inst.Runs.Drop(OfRun(c.run.Key))
	case runRemoved:
		c.run.Inst.Runs.Put(OfRun(c.run.Key), c.run)
	case argsDropped:
		c.run.Args = pop(&u.args)
	case bytesChanged:
		t.Space.Bytes -= c.inst.Bytes - c.n
		c.inst.Bytes = c.n
	case barrierAdded:
		c.inst.Barriers.Drop(c.at)
	case barrierRemoved:
		c.inst.Barriers.Put(c.at, c.barrier)
	case barrierChanged:
		c.barrier.Counts = c.counts
	case elementsGrown:
		c.barrier.Elements = c.barrier.Elements[:c.n]
	case elementAdded:
		c.barrier.Elements[c.n] = nil
	case elementChanged:
		c.barrier.Elements[c.n] = pop(&u.values).Base
	case slotAdded:
		c.inst.Slots.Drop(c.at)
	case slotChanged:
		c.inst.Slots.Put(c.at, pop(&u.values))
	}
}

// pop takes the last entry of a list.
func pop[T any](list *[]T) T {
	last := len(*list) - 1
	v := (*list)[last]
	clear((*list)[last:])
	*list = (*list)[:last]
	return v
}

// emptied gives the memory of the lists for the next transaction.
func (u *undo) emptied() undo {
	return undo{Emptied(u.changes), Emptied(u.states), Emptied(u.args), Emptied(u.values), Emptied(u.calls)}
}
