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

	tables   []keeper
	sessions []*Session
	seq      uint64 // of the last commit
	txs      uint64
	active   int // statements under way, whose snapshots keep old versions
	garbage  []changed

	Deadlocks int // that were found
	Waits     int // of statements for others
}

type keeper interface{ crashed() }

// changed is a row, to a transaction.
type changed interface {
	undo(*Tx)
	prune()
}

// Tx is a transaction.
type Tx struct {
	Session *Session
	Notes   []any // of its statements, for who is told of the commit

	session  *Session
	begun    uint64
	seq      uint64 // of the commit; zero: it is not committed
	command  int
	locks    []*lock
	changed  []changed
	waits    *lock
	waitMode Mode
}

// Wrote says whether the transaction has changed something.
func (t *Tx) Wrote() bool { return len(t.changed) > 0 }

// Seq is the number of the commit; zero: there was none.
func (t *Tx) Seq() uint64 { return t.seq }

func (s *Server) begin(session *Session) *Tx {
	s.txs++
	return &Tx{Session: session, session: session, command: 1, begun: s.seq}
}

// commit makes a transaction durable and visible.
func (s *Server) commit(t *Tx) {
	if len(t.changed) > 0 || len(t.Notes) > 0 {
		s.seq++
		t.seq = s.seq
		if s.Committed != nil {
			s.Committed(t)
		}
	} else {
		t.seq = s.seq
	}
	s.over(t)
}

// abort takes back what a transaction did.
func (s *Server) abort(t *Tx) {
	for _, c := range slices.Backward(t.changed) {
		c.undo(t)
	}
	s.over(t)
}

// over lets go of what a transaction has locked.
func (s *Server) over(t *Tx) {
	t.stopWaiting()
	for _, l := range t.locks {
		l.drop(t)
	}
	t.locks = nil
	s.garbage = append(s.garbage, t.changed...)
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

// Crash leaves out what was logged ahead.
func (q *Sequence) Crash() { q.last = q.logged }
