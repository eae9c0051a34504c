package db

import "slices"

// Statement is what a session executes. Run is called again as long as it returns a wait. The statement keeps its own progress
// and result.
type Statement interface {
	Run(x *Exec) error
}

// Exec is the context of a running statement.
type Exec struct {
	Server   *Server
	tx       *Tx
	snapshot uint64
	passed   bool // it yielded here and continues now
	yielded  bool
	computed any // for the row that the statement waits for
}

// Note adds a note for Server.Committed.
func (x *Exec) Note(note any) { x.tx.Notes = append(x.tx.Notes, note) }

// Begun returns the number of the last commit before the transaction began.
func (x *Exec) Begun() uint64 { return x.tx.begun }

// Session returns the executing session.
func (x *Exec) Session() *Session { return x.tx.session }

// Number returns the transaction's number: pg_current_xact_id.
func (x *Exec) Number() uint64 { return x.Server.number(x.tx) }

// Yield returns a wait if others are to run first.
func (x *Exec) Yield() error {
	if x.yields() {
		return errWait
	}
	x.passed = false
	return nil
}

func (x *Exec) yields() bool {
	if x.passed || x.Server.Yield == nil || !x.Server.Yield() {
		return false
	}
	x.passed, x.yielded = true, true
	return true
}

// skipDeleted skips a deleted row, even if the transaction waited for the one that deleted it.
func (x *Exec) skipDeleted(l *lock) {
	x.passed = false
	if x.tx.waits == l {
		x.tx.stopWaiting()
	}
}

type control uint8

// Begin, Commit and Rollback are statements about transactions.
const (
	Begin control = iota + 1
	Commit
	Rollback
	LockTimeout // SET LOCAL lock_timeout: lock waits time out
)

// Run implements Statement; the session executes a control itself.
func (control) Run(*Exec) error { return nil }

// State is a session's state.
type State uint8

// The states.
const (
	Idle State = iota // outside a transaction
	InTx              // between two batches of a transaction
	Running
	Waiting // for a lock
	TxEnded
	StatesMax = iota
)

func (s State) String() string {
	return [...]string{"idle", "between statements", "in a statement", "waiting for a lock", "gone"}[s]
}

// Session is the server's end of a connection.
type Session struct {
	ID   int
	Data any

	server   *Server
	tx       *Tx
	explicit bool
	failed   bool // and then something failed
	batch    []Statement
	at       int
	exec     Exec
	started  bool // the current statement has its snapshot
	done     func(error)
	state    State
	ready    bool // resumed and not yet run
}

// Open begins a session.
func (s *Server) Open(id int) *Session {
	session := &Session{ID: id, server: s}
	s.sessions = append(s.sessions, session)
	return session
}

// State returns the session's state.
func (s *Session) State() State { return s.state }

// OnlyCommitLeft reports whether only the commit of the batch is left.
func (s *Session) OnlyCommitLeft() bool {
	return s.at == len(s.batch) || s.batch[s.at] == Statement(Commit)
}

// Tx returns the open transaction; nil: none.
func (s *Session) Tx() *Tx { return s.tx }

// Execute begins a batch, which Run executes. The first error ends it. done is called at its end.
func (s *Session) Execute(batch []Statement, done func(error)) {
	s.batch, s.at, s.done, s.state = batch, 0, done, Running
	s.started = false
	s.exec = Exec{Server: s.server}
}

// Run executes the batch until it ends, waits or yields. It returns true if it yielded and is to be called again.
func (s *Session) Run() (again bool) {
	s.ready = false
	for s.state == Running || s.state == Waiting {
		if s.at == len(s.batch) {
			if s.tx != nil && !s.explicit && s.exec.yields() {
				s.exec.yielded = false
				return true
			}
			s.finish(nil)
			return false
		}
		err := s.stepStatement(s.batch[s.at])
		switch {
		case err == nil:
			s.at++
		case Waits(err) && s.exec.yielded:
			s.exec.yielded = false
			s.state = Running
			return true
		case Waits(err):
			s.state = Waiting
			s.server.Waits++
			return false
		default:
			if err == ErrDeadlock {
				s.server.Deadlocks++
			}
			s.finish(err)
			return false
		}
	}
	return false
}

func (s *Session) stepStatement(statement Statement) error {
	if c, ok := statement.(control); ok {
		return s.control(c)
	}
	if s.failed {
		return ErrFailed
	}
	if s.tx == nil {
		s.tx = s.server.begin(s)
	}
	x := &s.exec
	if !s.started {
		s.started = true
		s.tx.command++
		*x = Exec{Server: s.server, tx: s.tx, snapshot: s.server.seq}
		s.server.active++
	}
	s.state = Running
	err := statement.Run(x)
	if err == nil || !Waits(err) {
		s.started = false
		s.server.active--
		s.tx.stopWaiting()
	}
	return err
}

func (s *Session) control(c control) error {
	switch {
	case c == Begin:
		s.explicit = true
		if s.tx == nil {
			s.tx = s.server.begin(s)
		}
	case c == LockTimeout && s.failed:
		return ErrFailed
	case c == LockTimeout:
		if s.tx != nil {
			s.tx.timesOut = true
		}
	case c == Rollback || s.failed:
		if s.tx != nil {
			s.server.abort(s.tx)
		}
		failed := s.failed
		s.tx, s.explicit, s.failed = nil, false, false
		if failed && c == Commit {
			return ErrNoRollback
		}
	default:
		if s.tx == nil {
			return nil
		}
		x := &s.exec
		if x.Server = s.server; x.yields() {
			return errWait
		}
		x.passed = false
		tx := s.tx
		s.tx, s.explicit = nil, false
		s.server.commit(tx)
	}
	return nil
}

func (s *Session) finish(err error) {
	switch {
	case err != nil && s.explicit:
		if !s.failed && s.tx != nil {
			s.server.abort(s.tx) // its locks are released at once
			s.tx = s.server.begin(s)
		}
		s.failed = true
	case err != nil && s.tx != nil:
		s.server.abort(s.tx)
		s.tx = nil
	case s.tx != nil && !s.explicit:
		tx := s.tx
		s.tx = nil
		s.server.commit(tx)
	}
	s.state = Idle
	if s.explicit {
		s.state = InTx
	}
	done := s.done
	s.batch, s.done = nil, nil
	s.server.collect()
	if done != nil {
		done(err)
	}
}

// Fail ends the running batch, if there is one, with an error.
func (s *Session) Fail(err error) {
	if s.state != Running && s.state != Waiting {
		return
	}
	if s.started {
		s.started = false
		s.server.active--
	}
	s.finish(err)
}

// End closes the session and aborts its transaction. It does not call done.
func (s *Session) End() { s.end() }

func (s *Session) end() {
	if s.state == TxEnded {
		return
	}
	if s.started {
		s.started = false
		s.server.active--
	}
	s.state, s.done, s.batch = TxEnded, nil, nil
	if s.tx != nil {
		tx := s.tx
		s.tx = nil
		s.server.abort(tx)
	}
	s.server.sessions = slices.DeleteFunc(s.server.sessions, func(o *Session) bool { return o == s })
	s.server.collect()
}

func (s *Session) resume() {
	if s.state != Waiting || s.ready {
		return
	}
	s.ready = true
	if s.server.Ready != nil {
		s.server.Ready(s)
	}
}
