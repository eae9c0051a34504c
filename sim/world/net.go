package world

import (
	"errors"
	"io"

	"github.com/jackc/pgx/v5/pgconn"

	"pulley/sim/db"
)

// Server is the database's process and its clock.
type Server struct {
	*db.Server
	w     *World
	up    bool
	epoch int   // number of its incarnation
	ahead int64 // how far its clock is ahead, in ns
	ids   int   // last session id
	full  int64 // until when its disk is full
	conns []*Conn

	Turn   *db.Session
	Shadow shadow // nil: none
}

func newServer(w *World) *Server {
	s := &Server{Server: &db.Server{}, w: w, up: true}
	if w.Grain > 0 {
		grain := uint32(1<<32/uint64(w.Grain) - 1)
		s.Yield = func() bool { return w.Rand.Uint32() <= grain }
	}
	s.Ready = func(session *db.Session) { session.Data.(*Conn).Ready(w.Rand.Int64N(NS(50))) }
	return s
}

// SetUp executes a statement before the world begins.
func (s *Server) SetUp(statement db.Statement) {
	session, yield := s.Open(0), s.Yield
	s.Yield = nil
	session.Execute([]db.Statement{statement}, nil)
	session.Run()
	s.Yield = yield
	session.End()
}

// shadow is a real server that executes the same statements and compares the results.
type shadow interface {
	Began(c *Conn, batch []db.Statement) // the server is about to execute a batch
	Stepped(c *Conn)                     // the session has run; Ended may have come before
	Ended(c *Conn, err error)            // the batch has ended
	Closed(c *Conn)                      // the session was closed and its transaction rolled back
	Crashed()                            // all sessions were closed by a crash
}

// Clock returns the server's time in ns since Epoch, in whole microseconds.
func (s *Server) Clock() int64 { return (s.w.Now + s.ahead) / 1000 * 1000 }

// Ready schedules the connection's session to run after a time.
func (c *Conn) Ready(after int64) { c.p.World.put(c.p.World.Now+after, nil, c, connRun) }

// run runs a connection's session until it waits, ends or yields.
func (s *Server) run(c *Conn) {
	session := c.Session
	if session.State() == db.TxEnded {
		return
	}
	s.Turn = session
	if session.Run() {
		s.w.put(s.w.Now+s.stall(), nil, c, connRun)
	} else if session.State() == db.Waiting {
		s.w.Note(Waits, session.ID, 0, 0, 0)
		if session.Tx().TimesOut() {
			c.waitsUntil = s.w.Now + c.LockTimeout
			s.w.put(c.waitsUntil, nil, c, connGiveUp)
		}
	}
	if s.Shadow != nil {
		s.Shadow.Stepped(c)
	}
}

// stall draws how long a session yields: mostly moments, seldom as long as a process may wait for a disk or a processor.
func (s *Server) stall() int64 {
	if s.w.Rand.IntN(32) == 0 {
		return s.w.Rand.Int64N(NS(s.w.LeaseUS) / 8)
	}
	return s.w.Rand.Int64N(NS(300))
}

// Phase is the stage of a connection's request.
type Phase uint8

// The phases, in the order in which a request goes through them, and their count.
const (
	unused     Phase = iota // no request
	requesting              // the request is on its way
	Serving                 // the server executes it
	answering               // the answer is on its way
	Phases     = iota
)

func (p Phase) String() string {
	return [...]string{"quiet", "request under way", "at the server", "answer under way"}[p]
}

// Conn is a connection of a process.
type Conn struct {
	p           *Process
	Session     *db.Session
	epoch       int
	phase       Phase
	Broken      bool  // one end knows that it is broken
	clientDied  bool  // the client's end is closed
	KnowsBroken bool  // the client knows that it is broken
	reply       reply // recipient of the answer
	lost        bool  // the next answer is lost
	waitsUntil  int64 // when the session's lock wait times out
	batch       []db.Statement
	err         error       // the answer that is on its way
	onServed    func(error) // c.served, allocated once
	BorrowedAs  any         // the process's own wrapper of this connection

	LockTimeout int64 // the session's lock_timeout in ns, if its transaction has set one
}

// reply is the recipient of an answer: a wait of a thread, or a function.
type reply struct {
	t    *thread
	wait int
	k    func(error)
}

func (r reply) awaited() bool { return r.t != nil || r.k != nil }

func (r reply) send(err error) {
	if r.t != nil {
		r.t.signal(r.wait, err)
		return
	}
	r.k(err)
}

const (
	connArrive = iota // its request reaches the server
	connRun           // its session can run
	connAnswer        // the answer reaches the client
	connGiveUp        // its session's lock wait times out
)

func (*Conn) isStale(int) bool { return false }

func (c *Conn) do(act int) {
	switch act {
	case connArrive:
		c.arrive()
	case connRun:
		c.p.World.Server.run(c)
	case connAnswer:
		c.answer()
	case connGiveUp:
		if c.Session.State() == db.Waiting && c.p.World.Now >= c.waitsUntil {
			c.Session.Fail(db.ErrLockTimeout)
		}
	}
}

// The errors that a process receives for a lost connection and for one that it cannot open.
var (
	ErrConn    = io.ErrUnexpectedEOF
	errConnect = errors.New("connection refused")
)

// Connect gives a process a connection. Opening a new one takes two messages' time.
func (p *Process) Connect(k func(*Conn, error)) {
	if c := p.pooled(); c != nil {
		k(c, nil)
		return
	}
	w := p.World
	s := w.Server
	if w.Now < p.disconnectedUntil || !s.up {
		w.after(w.mean(NS(w.LatencyUS)), p, func() { k(nil, errConnect) })
		return
	}
	s.ids++
	c := &Conn{p: p, Session: s.Open(s.ids), epoch: s.epoch}
	c.Session.Data, c.onServed = c, c.served
	s.conns = append(s.conns, c)
	w.after(p.latency()+p.latency(), p, func() {
		if c.Broken {
			c.KnowsBroken = true
			k(nil, errConnect)
			return
		}
		k(c, nil)
	})
}

func (p *Process) pooled() *Conn {
	for len(p.free) > 0 {
		c := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		if !c.KnowsBroken {
			return c
		}
	}
	return nil
}

// Watch has end called when the idle connection is found broken.
func (c *Conn) Watch(end func(error)) { c.reply = reply{k: end} }

// Unwatch undoes Watch.
func (c *Conn) Unwatch() { c.reply = reply{} }

// Release returns a connection to the pool. It closes one that is inside a transaction, as a real pool does.
func (c *Conn) Release() {
	switch {
	case c.KnowsBroken || c.Broken && c.clientDied:
	case c.Session.State() == db.InTx || c.Session.State() == db.TxEnded:
		c.Close()
	default:
		c.p.free = append(c.p.free, c)
	}
}

// Close closes a connection at the client's end.
func (c *Conn) Close() {
	c.KnowsBroken, c.clientDied = true, true
	c.p.World.after(c.p.latency(), nil, c.hangUp)
}

// hangUp closes the server's end, at once or after the current batch.
func (c *Conn) hangUp() {
	c.clientDied = true
	if s := c.Session.State(); s == db.Idle || s == db.InTx {
		c.end()
	}
}

func (c *Conn) end() {
	c.Session.End()
	s := c.p.World.Server
	if s.Shadow != nil {
		s.Shadow.Closed(c)
	}
	for i, o := range s.conns {
		if o == c {
			s.conns = append(s.conns[:i], s.conns[i+1:]...)
			break
		}
	}
}

// Send makes a round trip with a batch of statements.
func (c *Conn) Send(batch []db.Statement, k func(error)) { c.request(batch, reply{k: k}) }

// request is Send with any recipient of the answer.
func (c *Conn) request(batch []db.Statement, from reply) {
	w := c.p.World
	c.reply, c.phase, c.batch = from, requesting, batch
	w.Note(Sends, c.p.Index, int64(c.Session.ID), int64(len(batch)), 0)
	if c.Broken {
		c.Fail(ErrConn)
		return
	}
	w.put(w.Now+c.p.latency(), nil, c, connArrive)
}

// arrive handles a request at the server. Its client may be dead by then.
func (c *Conn) arrive() {
	w, batch := c.p.World, c.batch
	c.batch = nil
	if c.Broken || c.Session.State() == db.TxEnded || c.clientDied && w.Rand.IntN(2) == 0 {
		return
	}
	c.phase = Serving
	if w.Now < w.Server.full && writes(batch) {
		batch = []db.Statement{failing{db.ErrDiskFull}}
	}
	c.Session.Execute(batch, c.onServed)
	if s := w.Server.Shadow; s != nil {
		s.Began(c, batch)
	}
	w.Server.run(c)
}

type failing struct{ err error }

func (f failing) Run(*db.Exec) error { return f.err }

func writes(batch []db.Statement) bool {
	for _, s := range batch {
		if w, ok := s.(interface{ NeedsDisk() bool }); ok && w.NeedsDisk() {
			return true
		}
	}
	return false
}

func (c *Conn) served(err error) {
	w := c.p.World
	c.phase = answering
	if s := w.Server.Shadow; s != nil {
		s.Ended(c, err)
	}
	w.Note(Served, c.Session.ID, ErrorCode(err), 0, 0)
	if err != nil && w.Trace != nil {
		w.Trace.Say(err.Error())
	}
	if c.clientDied {
		c.end()
		return
	}
	if c.lost {
		c.lost = false
		c.snap(0)
		return
	}
	c.err = err
	w.put(w.Now+c.p.latency(), c.p, c, connAnswer)
}

func (c *Conn) answer() {
	if c.KnowsBroken {
		return
	}
	from, err := c.reply, c.err
	if c.reply, c.phase = (reply{}), unused; !from.awaited() {
		return
	}
	if c.Broken {
		c.KnowsBroken = true
		err = ErrConn
	}
	c.p.World.Note(Replied, c.p.Index, int64(c.Session.ID), ErrorCode(err), 0)
	from.send(err)
}

// Fail tells a client that waits for an answer that the connection is broken.
func (c *Conn) Fail(err error) {
	if c.KnowsBroken || !c.reply.awaited() {
		return
	}
	from := c.reply
	c.KnowsBroken, c.reply, c.phase = true, reply{}, unused
	w := c.p.World
	w.after(w.Rand.Int64N(NS(200)), c.p, func() {
		w.Note(Replied, c.p.Index, int64(c.Session.ID), 1, 0)
		from.send(err)
	})
}

// snap breaks a connection. Each end notices after a while.
func (c *Conn) snap(unnoticed int64) {
	if c.Broken {
		return
	}
	w := c.p.World
	c.Broken = true
	w.after(w.Rand.Int64N(NS(2000))+unnoticed, c.p, func() { c.Fail(ErrConn) })
	w.after(w.Rand.Int64N(NS(2000))+w.Rand.Int64N(unnoticed+1), nil, c.hangUp)
}

func (s *Server) crash(back int64) {
	s.up = false
	s.epoch++
	s.w.Store.Crashed()
	s.Crash()
	if s.Shadow != nil {
		s.Shadow.Crashed()
	}
	conns := s.conns
	s.conns = nil
	for _, c := range conns {
		c.Broken, c.clientDied = true, true
		s.w.after(s.w.Rand.Int64N(NS(2000)), c.p, func() { c.Fail(ErrConn) })
	}
	s.w.after(back, nil, func() {
		s.up = true
		s.w.Note(ServerUp, 0, 0, 0, 0)
	})
}

// ErrorCode returns a number for the kind of an error. The trace uses it, because an error's text can be slow to make.
func ErrorCode(err error) int64 {
	switch {
	case err == nil:
		return 0
	case err == ErrConn, err == errConnect:
		return 1
	}
	server, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return 2
	}
	n := int64(3)
	for _, r := range server.Code {
		n = n*31 + int64(r)
	}
	return n
}

func (p *Process) latency() int64 {
	mean := NS(p.World.LatencyUS)
	if p.World.Now < p.slow {
		mean *= 30
	}
	return mean/4 + p.World.mean(mean*3/4)
}
