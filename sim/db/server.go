package db

import "slices"

// Server is a database server.
type Server struct {
	// Yield reports, before each lock and change, whether others run first; nil: never.
	Yield func() bool
	// Ready is called with a session that can continue: Session.Run is to be called.
	Ready func(*Session)
	// Committed is called with each committed transaction before others can see it.
	Committed func(*Tx)

	tables         []computedResetter
	sessions       []*Session
	seq            uint64
	active         int // running statements, whose snapshots keep old versions
	garbage        []changed
	lists          []lists    // of ended transactions, for reuse
	deadlockChecks uint64     // number of deadlock checks
	ends           []TxStatus // of transactions, by their numbers from 1
	onDisk         int        // how many of these numbers a crash does not reuse
	spare          []*Tx      // ended and unreferenced, for reuse

	Deadlocks int
	Waits     int
}

type computedResetter interface{ crashed() }

// changed is a row as its transaction needs it.
type changed interface {
	undo(*Tx)
	prune()
}

// TxStatus is a transaction's status, in the server's words.
type TxStatus string

// The states of a transaction.
const (
	InProgress TxStatus = "in progress"
	Done       TxStatus = "committed"
	Aborted    TxStatus = "aborted"
)

// Status returns the status of the transaction with a number; empty: none has it yet. A crash can give the number to another
// transaction.
func (s *Server) Status(number uint64) TxStatus {
	if number == 0 || number > uint64(len(s.ends)) {
		return ""
	}
	return s.ends[number-1]
}

// number returns a transaction's number, and assigns one at its first change.
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
	Notes   []any // of its statements, for Server.Committed

	session *Session
	begun   uint64
	number  uint64 // zero: none yet
	seq     uint64 // of the commit; zero: not committed
	command int
	lists
	waits         *lock
	waitMode      Mode
	deadlockCheck uint64 // the last deadlock check that visited it
	timesOut      bool   // its lock waits time out
}

// TimesOut reports whether the transaction's lock waits are to fail with ErrLockTimeout.
func (tx *Tx) TimesOut() bool { return tx.timesOut }

// Seq returns the number of the commit; zero: there was none.
func (tx *Tx) Seq() uint64 { return tx.seq }

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

func (s *Server) abort(t *Tx) {
	for _, c := range slices.Backward(t.changed) {
		c.undo(t)
	}
	s.releaseLocks(t, Aborted)
}

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

// collect removes old versions if no statement is running.
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

// Crash ends all sessions and aborts their transactions.
func (s *Server) Crash() {
	for _, session := range slices.Clone(s.sessions) {
		session.end()
	}
	for _, t := range s.tables {
		t.crashed()
	}
	s.ends = s.ends[:s.onDisk]
}

// Sessions returns the open sessions in the order in which they began.
func (s *Server) Sessions() []*Session { return s.sessions }

// Sequence counts; rollbacks do not affect it.
type Sequence struct{ last, logged int64 }

// sequenceAhead is how many numbers are logged ahead.
const sequenceAhead = 32

// Next returns the next number.
func (q *Sequence) Next() int64 {
	q.last++
	if q.last > q.logged {
		q.logged = q.last + sequenceAhead
	}
	return q.last
}

// Last returns the last number drawn; zero: none.
func (q *Sequence) Last() int64 { return q.last }

// Crash skips the numbers logged ahead.
func (q *Sequence) Crash() { q.last = q.logged }
