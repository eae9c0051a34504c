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
	epoch int   // of its life
	ahead int64 // how far its clock is ahead
	ids   int   // of sessions
	full  int64 // until when its disk is full
	conns []*Conn

	Turn   *db.Session // whose it is
	Shadow shadow      // nil: there is none
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

// SetUp executes a statement before anything else does.
func (s *Server) SetUp(statement db.Statement) {
	session, yield := s.Open(0), s.Yield
	s.Yield = nil
	session.Execute([]db.Statement{statement}, nil)
	session.Run()
	s.Yield = yield
	session.End()
}

// shadow is a real server on which all is applied that does on the simulated one, and is held against it.
type shadow interface {
	Began(c *Conn, batch []db.Statement) // the server has got a batch, and is about to begin with it
	Stepped(c *Conn)                     // it has gone on with it; perhaps until its end, of which it has told before
	Ended(c *Conn, err error)            // the batch is over
	Closed(c *Conn)                      // the session is, and what it had under way is taken back
	Crashed()                            // all of them are
}

// Clock is the server's time, in ns since its epoch; it counts microseconds.
func (s *Server) Clock() int64 { return (s.w.Now + s.ahead) / 1000 * 1000 }

// Ready has the session of a connection go on after a time.
func (c *Conn) Ready(after int64) { c.p.World.put(c.p.World.Now+after, nil, c, connRun) }

// run takes a connection's session forward until it waits, is over, or lets others go first.
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

// stall is how long others go first: moments, and seldom as long as a process may wait for a disk or a processor.
func (s *Server) stall() int64 {
	if s.w.Rand.IntN(32) == 0 {
		return s.w.Rand.Int64N(NS(s.w.LeaseUS) / 8)
	}
	return s.w.Rand.Int64N(NS(300))
}

// Phase is where a connection's work is.
type Phase uint8

// The phases, in the order in which a request goes through them, and how many there are.
const (
	unused     Phase = iota // nothing is asked
	requesting              // a request is on its way
	Serving                 // the server is at it
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
	Broken      bool           // one end knows it
	clientDied  bool           // the client's process is
	KnowsBroken bool           // the client knows that it is broken
	reply       reply          // where the answer goes
	lost        bool           // the next answer does not come
	waitsUntil  int64          // until when its session waits
	batch       []db.Statement // that is asked for
	err         error          // the answer that is on its way
	onServed    func(error)    // served
	BorrowedAs  any            // what its process lends it as

	LockTimeout int64 // how long its session waits, where its transaction has said so
}

// reply is who waits for an answer: a thread in one of its waits, or a function.
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

// The acts of a connection.
const (
	connArrive = iota // its request, at the server
	connRun           // its session, which can go on
	connAnswer        // the answer to its request
	connGiveUp        // its session, which has waited for as long as it may
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

// What a process is told of a connection that was lost, and of one that it could not open.
var (
	ErrConn    = io.ErrUnexpectedEOF
	errConnect = errors.New("connection refused")
)

// Connect gives a process a connection; a new one takes a round trip.
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

// pooled takes a connection that was returned; nil: there is none.
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

// Watch has somebody told when the connection is found broken, while nothing else is asked.
func (c *Conn) Watch(end func(error)) { c.reply = reply{k: end} }

// Unwatch ends that.
func (c *Conn) Unwatch() { c.reply = reply{} }

// Release gives a connection back. One inside of a transaction is closed, as a pool does.
func (c *Conn) Release() {
	switch {
	case c.KnowsBroken || c.Broken && c.clientDied:
	case c.Session.State() == db.InTx || c.Session.State() == db.TxEnded:
		c.Close()
	default:
		c.p.free = append(c.p.free, c)
	}
}

// Close ends a connection from the client's side.
func (c *Conn) Close() {
	c.KnowsBroken, c.clientDied = true, true
	c.p.World.after(c.p.latency(), nil, c.hangUp)
}

// hangUp has the server notice that the client is gone: at once, or after the batch that it is at.
func (c *Conn) hangUp() {
	c.clientDied = true
	if s := c.Session.State(); s == db.Idle || s == db.InTx {
		c.end()
	}
}

// end closes the server's side.
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

// request is send with somebody who waits.
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

// arrive is when a request reaches the server. A process may be dead by then.
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

// failing is a statement that the server cannot execute.
type failing struct{ err error }

// Run implements db.Statement.
func (f failing) Run(*db.Exec) error { return f.err }

// writes says whether a batch needs room on the disk.
func writes(batch []db.Statement) bool {
	for _, s := range batch {
		if w, ok := s.(interface{ NeedsDisk() bool }); ok && w.NeedsDisk() {
			return true
		}
	}
	return false
}

// served is when the server has an answer.
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

// answer is when an answer reaches the client.
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

// Fail tells the client that the connection is broken, if it waits for something.
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

// crash ends the server's process and all that was under way.
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

// ErrorCode gives what kind of error it is as a number, for the trace: its text may take long to make.
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

// latency is how long a message takes from here.
func (p *Process) latency() int64 {
	mean := NS(p.World.LatencyUS)
	if p.World.Now < p.slow {
		mean *= 30
	}
	return mean/4 + p.World.mean(mean*3/4)
}
