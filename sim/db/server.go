package db

import "slices"

// Server is a database server.
type Server struct {
	// Yield is asked before each lock and change whether others go on first; nil: they do not.
	Yield func() bool
	// Ready is told of a session that can go on: Session.Run is to be called.
	Ready func(*Session)
	// Committed is told of each transaction that has been committed, before anybody else can see it.
	Committed func(*Tx)

	tables         []computedResetter
	sessions       []*Session
	seq            uint64 // of the last commit
	active         int    // statements under way, whose snapshots keep old versions
	garbage        []changed
	lists          []lists    // of transactions that are over, empty
	deadlockChecks uint64     // for circles of waiters
	ends           []TxStatus // of transactions, by their numbers from 1
	onDisk         int        // how many of these numbers a crash does not give again
	spare          []*Tx      // that are over, and that nothing refers to

	Deadlocks int // that were found
	Waits     int // of statements for others
}

type computedResetter interface{ crashed() }

// changed is a row, to a transaction.
type changed interface {
	undo(*Tx)
	prune()
}

// TxStatus is what has become of a transaction, in the server's words.
type TxStatus string

// The ends of a transaction.
const (
	InProgress TxStatus = "in progress"
	Done       TxStatus = "committed"
	Aborted    TxStatus = "aborted"
)

// Status says what has become of the transaction that has a number; empty: none has it yet. After a crash it may be another
// one than before.
func (s *Server) Status(number uint64) TxStatus {
	if number == 0 || number > uint64(len(s.ends)) {
		return ""
	}
	return s.ends[number-1]
}

// number gives a transaction its number, which it has from its first change on.
func (s *Server) number(t *Tx) uint64 {
	if t.number == 0 {
		s.ends = append(s.ends, InProgress)
		t.number = uint64(len(s.ends))
	}
	return t.number
}

// Tx is a transaction.
type Tx struct {
	Session *Session
	Notes   []any // of its statements, for who is told of the commit

	session *Session
	begun   uint64
	number  uint64 // zero: it has none yet
	seq     uint64 // of the commit; zero: it is not committed
	command int
	lists
	waits         *lock
	waitMode      Mode
	deadlockCheck uint64 // for a circle, the last time that somebody came by
	timesOut      bool   // it does not wait for long
}

// TimesOut says whether a statement of the transaction that waits is to be failed with ErrLockTimeout soon.
func (tx *Tx) TimesOut() bool { return tx.timesOut }

// Seq is the number of the commit; zero: there was none.
func (tx *Tx) Seq() uint64 { return tx.seq }

// lists are what a transaction has locked and changed.
type lists struct {
	locks   []*lock
	changed []changed
}

func (s *Server) begin(session *Session) *Tx {
	var t *Tx
	if n := len(s.spare); n > 0 {
		t, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		t = &Tx{}
	}
	*t = Tx{Session: session, session: session, command: 1, begun: s.seq}
	if n := len(s.lists); n > 0 {
		t.lists, s.lists = s.lists[n-1], s.lists[:n-1]
	}
	return t
}

// commit makes a transaction durable and visible.
func (s *Server) commit(t *Tx) {
	if len(t.changed) > 0 || len(t.Notes) > 0 {
		s.seq++
		t.seq = s.seq
		s.onDisk = len(s.ends)
		if s.Committed != nil {
			s.Committed(t)
		}
	} else {
		t.seq = s.seq
	}
	s.releaseLocks(t, Done)
}

// abort takes back what a transaction did.
func (s *Server) abort(t *Tx) {
	for _, c := range slices.Backward(t.changed) {
		c.undo(t)
	}
	s.releaseLocks(t, Aborted)
}

// releaseLocks lets go of what a transaction has locked.
func (s *Server) releaseLocks(t *Tx, end TxStatus) {
	if t.number != 0 {
		s.ends[t.number-1] = end
	}
	t.stopWaiting()
	for _, l := range t.locks {
		l.drop(t)
	}
	if len(t.changed) == 0 && len(t.Notes) == 0 {
		s.spare = append(s.spare, t)
	}
	s.garbage = append(s.garbage, t.changed...)
	clear(t.locks)
	clear(t.changed)
	s.lists = append(s.lists, lists{t.locks[:0], t.changed[:0]})
	t.lists = lists{}
	s.collect()
}

// collect forgets old versions if no statement can see them.
func (s *Server) collect() {
	if s.active > 0 || len(s.garbage) == 0 {
		return
	}
	for _, c := range s.garbage {
		c.prune()
	}
	clear(s.garbage)
	s.garbage = s.garbage[:0]
}

// Crash ends all sessions and what they had under way. What was committed stays.
func (s *Server) Crash() {
	for _, session := range slices.Clone(s.sessions) {
		session.end()
	}
	for _, t := range s.tables {
		t.crashed()
	}
	s.ends = s.ends[:s.onDisk]
}

// Sessions gives those that are open, in the order in which they began.
func (s *Server) Sessions() []*Session { return s.sessions }

// Sequence counts; what was counted stays counted.
type Sequence struct{ last, logged int64 }

// sequenceAhead is how many numbers are logged ahead.
const sequenceAhead = 32

// Next gives the next number.
func (q *Sequence) Next() int64 {
	q.last++
	if q.last > q.logged {
		q.logged = q.last + sequenceAhead
	}
	return q.last
}

// Last is the number that was given last; zero: none was.
func (q *Sequence) Last() int64 { return q.last }

// Crash leaves out what was logged ahead.
func (q *Sequence) Crash() { q.last = q.logged }
