package journal

// undo is what takes one change of a transaction back. The changes that every completion makes are kept as they are, in
// memory that transactions of a shard use one after the other: a closure for each would cost more than the change.
type undo struct {
	kind  undoKind
	inst  *instance
	run   *run
	at    address  // of the run
	state runState // that the run had
	bytes int      // that the instance took
	call  func()
}

type undoKind uint8

const (
	undoCall   undoKind = iota // call does it
	undoSet                    // a run was changed
	undoPut                    // a run was added
	undoRemove                 // a run was taken away
	undoBytes                  // an instance takes more, or less
)

// back takes the change back. Those that came after it have been taken back before.
func (u *undo) back(t *tx) {
	switch u.kind {
	case undoCall:
		u.call()
	case undoSet:
		u.run.runState = u.state
	case undoPut:
		u.inst.runs.drop(u.at)
	case undoRemove:
		u.inst.runs.put(u.at, u.run)
	case undoBytes:
		t.sh.bytes -= u.inst.bytes - u.bytes
		u.inst.bytes = u.bytes
	}
}

// spare is memory that a transaction leaves to the next one: lists without entries.
type spare struct {
	undo   []undo
	moved  []*run
	events []event
}

// spareMost bounds how many entries a list has room for that is kept: one large transaction is not paid for ever after.
const spareMost = 1 << 14

// leave ends a committed transaction, and leaves its memory to the next.
func (t *tx) leave() {
	t.sh.spare = spare{emptied(t.undo), emptied(t.moved), emptied(t.events)}
	t.undo, t.moved, t.events = nil, nil, nil
}

func emptied[T any](list []T) []T {
	if cap(list) > spareMost {
		return nil
	}
	clear(list)
	return list[:0]
}
