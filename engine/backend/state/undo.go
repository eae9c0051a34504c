package state

import "pulley/engine/plan"

// undo is the log of a transaction's changes. Data that only some changes have is in separate lists, each used as a stack, so
// that a change is small.
type undo struct {
	changes []change
	states  []RunState
	args    [][]plan.Arg
	values  []Value
	calls   []func()
}

// change is an undo record. Its kind tells which fields it uses.
type change struct {
	kind    kind
	counts  Counts // the barrier's earlier counts
	n       int    // bytes, an index, or a length
	inst    *Instance
	at      Address
	run     *Run
	barrier *Barrier
}

type kind uint8

const (
	called kind = iota // calls a function
	runChanged
	runAdded
	runRemoved
	argsDropped
	bytesChanged
	barrierAdded
	barrierRemoved
	barrierChanged
	elementsGrown // a barrier's room for elements
	elementAdded
	elementChanged // an element was replaced
	slotAdded      // an empty slot got a value
	slotChanged    // a slot's value was replaced or removed
)

// record adds a change, and reports whether it may be undone.
func (t *Tx) record(c change) bool {
	if t.Final {
		return false
	}
	t.undo.changes = append(t.undo.changes, c)
	return true
}

func (u *undo) back(t *Tx, n int) {
	for i := len(u.changes) - 1; i >= n; i-- {
		u.revertChange(t, &u.changes[i])
	}
	clear(u.changes[n:])
	u.changes = u.changes[:n]
}

// revertChange undoes a change, after all later ones.
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

func pop[T any](list *[]T) T {
	last := len(*list) - 1
	v := (*list)[last]
	clear((*list)[last:])
	*list = (*list)[:last]
	return v
}

func (u *undo) emptied() undo {
	return undo{Emptied(u.changes), Emptied(u.states), Emptied(u.args), Emptied(u.values), Emptied(u.calls)}
}
