package db

import "slices"

// Mode is how strongly a row is locked.
type Mode uint8

// The modes, weakest first.
const (
	KeyShare    Mode = iota + 1 // FOR KEY SHARE: the key stays
	NoKeyUpdate                 // FOR NO KEY UPDATE, and updates that leave the key alone
	ForUpdate                   // FOR UPDATE, deletes, and updates of a key
)

// conflicts says whether two transactions cannot have a row in these modes together.
func conflicts(a, b Mode) bool {
	if a > b {
		a, b = b, a
	}
	return a == KeyShare && b == ForUpdate || a >= NoKeyUpdate
}

// lock is a row's: who has it, and who waits for it, in the order in which they came.
type lock struct {
	holders []rowLock
	waiters []rowLock
	inline  [1]rowLock // where holders begin: most rows never have more
}

type rowLock struct {
	tx   *Tx
	mode Mode
}

// holds says whether a transaction has the row in the mode or a stronger one.
func (l *lock) holds(tx *Tx, mode Mode) bool {
	for _, g := range l.holders {
		if g.tx == tx && g.mode >= mode {
			return true
		}
	}
	return false
}

// free says whether nothing keeps a transaction from the row: no holder, and nobody who came before.
func (l *lock) free(tx *Tx, mode Mode) bool {
	has := false
	for _, g := range l.holders {
		if g.tx == tx {
			has = true
		} else if conflicts(g.mode, mode) {
			return false
		}
	}
	if has || len(l.holders) > 0 && tx.waits != l {
		return true // who has it already goes first, and so does who comes and gets on with all that have it
	}
	for _, g := range l.waiters {
		if g.tx == tx {
			break
		}
		if conflicts(g.mode, mode) {
			return false
		}
	}
	return true
}

// grant gives the row to a transaction, which stops waiting.
func (l *lock) grant(tx *Tx, mode Mode) {
	if tx.waits == l {
		l.leave(tx)
	}
	for i := range l.holders {
		if l.holders[i].tx == tx {
			l.holders[i].mode = max(l.holders[i].mode, mode)
			return
		}
	}
	if l.holders == nil {
		l.holders = l.inline[:0]
	}
	l.holders = append(l.holders, rowLock{tx, mode})
	tx.locks = append(tx.locks, l)
}

// wait puts a transaction behind the others that wait. It fails where that closes a circle, but for one in which somebody
// will soon give up waiting.
func (l *lock) wait(tx *Tx, mode Mode) error {
	if tx.waits != l {
		tx.stopWaiting() // for a row that has changed meanwhile, so that the statement passes it by
		l.waiters = append(l.waiters, rowLock{tx, mode})
		tx.waits = l
		tx.waitMode = mode
	}
	server := tx.session.server
	server.deadlockChecks++
	if !tx.timesOut && l.blockedBy(tx, mode, tx, server.deadlockChecks) {
		tx.stopWaiting()
		return ErrDeadlock
	}
	return errWait
}

// blockedBy says whether a transaction that waits in the mode waits, directly or by others, for a goal. Whom the look has
// come by before does not lead there.
func (l *lock) blockedBy(tx *Tx, mode Mode, goal *Tx, look uint64) bool {
	reaches := func(g rowLock) bool {
		if g.tx == tx || !conflicts(g.mode, mode) {
			return false
		}
		if g.tx == goal {
			return true
		}
		next := g.tx.waits
		if next == nil || g.tx.timesOut || g.tx.deadlockCheck == look {
			return false
		}
		g.tx.deadlockCheck = look
		return next.blockedBy(g.tx, g.tx.waitMode, goal, look)
	}
	if slices.ContainsFunc(l.holders, reaches) {
		return true
	}
	for _, g := range l.holders {
		if g.tx == tx {
			return false // who has the row in a weaker mode goes before those that wait
		}
	}
	for _, g := range l.waiters {
		if g.tx == tx {
			return false
		}
		if reaches(g) {
			return true
		}
	}
	return false
}

// leave takes a transaction from those that wait.
func (l *lock) leave(tx *Tx) {
	l.waiters = slices.DeleteFunc(l.waiters, func(g rowLock) bool { return g.tx == tx })
	tx.waits = nil
}

// stopWaiting takes a transaction from where it waits, if it does, and lets those go on that stood behind it.
func (tx *Tx) stopWaiting() {
	if l := tx.waits; l != nil {
		l.leave(tx)
		l.wake()
	}
}

// drop takes the row from a transaction that is over, and lets those go on that can.
func (l *lock) drop(tx *Tx) {
	l.holders = slices.DeleteFunc(l.holders, func(g rowLock) bool { return g.tx == tx })
	l.wake()
}

// wake tells those that waited and can go on.
func (l *lock) wake() {
	for _, g := range l.waiters {
		if l.free(g.tx, g.mode) {
			g.tx.session.resume()
		}
	}
}
