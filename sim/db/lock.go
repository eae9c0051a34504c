package db

import "slices"

// Mode is the strength of a row lock.
type Mode uint8

// The modes, weakest first.
const (
	KeyShare    Mode = iota + 1 // FOR KEY SHARE: the key stays
	NoKeyUpdate                 // FOR NO KEY UPDATE, and updates that keep the key
	ForUpdate                   // FOR UPDATE, deletes, and updates of a key
)

// conflicts reports whether two transactions cannot lock a row in these modes together.
func conflicts(a, b Mode) bool {
	if a > b {
		a, b = b, a
	}
	return a == KeyShare && b == ForUpdate || a >= NoKeyUpdate
}

// lock is a row's lock: its holders, and its waiters in order.
type lock struct {
	holders []rowLock
	waiters []rowLock
	inline  [1]rowLock // backs holders: most rows have one
}

type rowLock struct {
	tx   *Tx
	mode Mode
}

func (l *lock) holds(tx *Tx, mode Mode) bool {
	for _, g := range l.holders {
		if g.tx == tx && g.mode >= mode {
			return true
		}
	}
	return false
}

// free reports whether a transaction can lock the row now: no other holder conflicts, and no earlier waiter does.
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
		return true // a holder passes the waiters, and so does a newcomer that conflicts with no holder
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

// wait queues a transaction. It fails if that closes a circle, unless a waiter in the circle has a lock timeout.
func (l *lock) wait(tx *Tx, mode Mode) error {
	if tx.waits != l {
		tx.stopWaiting() // for a row that has changed since, so that the statement no longer needs it
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

// blockedBy reports whether a waiting transaction waits, directly or through others, for goal. Transactions that this check has
// visited are skipped.
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
			return false // a holder of a weaker mode passes the waiters
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

func (l *lock) leave(tx *Tx) {
	l.waiters = slices.DeleteFunc(l.waiters, func(g rowLock) bool { return g.tx == tx })
	tx.waits = nil
}

// stopWaiting ends a transaction's wait, if there is one, and resumes those behind it.
func (tx *Tx) stopWaiting() {
	if l := tx.waits; l != nil {
		l.leave(tx)
		l.wake()
	}
}

func (l *lock) drop(tx *Tx) {
	l.holders = slices.DeleteFunc(l.holders, func(g rowLock) bool { return g.tx == tx })
	l.wake()
}

func (l *lock) wake() {
	for _, g := range l.waiters {
		if l.free(g.tx, g.mode) {
			g.tx.session.resume()
		}
	}
}
