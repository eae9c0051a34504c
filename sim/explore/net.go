package explore

import (
	"errors"
	"io"

	"github.com/jackc/pgx/v5/pgconn"

	"pulley/sim/db"
)

// server is the database's process and its clock.
type server struct {
	*db.Server
	w     *world
	up    bool
	epoch int   // of its life
	ahead int64 // how far its clock is ahead
	ids   int   // of sessions
	full  int64 // until when its disk is full
	conns []*conn

	turn   *db.Session // whose it is
	shadow shadow      // nil: there is none
}

func newServer(w *world) *server {
	s := &server{Server: &db.Server{}, w: w, up: true}
	if w.Grain > 0 {
		grain := uint32(1<<32/uint64(w.Grain) - 1)
		s.Yield = func() bool { return w.rng.Uint32() <= grain }
	}
	s.Ready = func(session *db.Session) { session.Data.(*conn).ready(w.rng.Int64N(us(50))) }
	return s
}

// setUp executes a statement before anything else does.
func (s *server) setUp(statement db.Statement) {
	session, yield := s.Open(0), s.Yield
	s.Yield = nil
	session.Execute([]db.Statement{statement}, nil)
	session.Run()
	s.Yield = yield
	session.End()
}

// shadow is a real server on which all takes place that does on the simulated one, and is held against it.
type shadow interface {
	began(c *conn, batch []db.Statement) // the server has got a batch, and is about to begin with it
	stepped(c *conn)                     // it has gone on with it; perhaps until its end, of which it has told before
	ended(c *conn, err error)            // the batch is over
	closed(c *conn)                      // the session is, and what it had under way is taken back
	crashed()                            // all of them are
}

// clock is the server's time, in ns since its epoch; it counts microseconds.
func (s *server) clock() int64 { return (s.w.now + s.ahead) / 1000 * 1000 }

// ready has the session of a connection go on after a time.
func (c *conn) ready(after int64) { c.p.w.put(c.p.w.now+after, nil, c, connRun) }

// run takes a connection's session forward until it waits, is over, or lets others go first.
func (s *server) run(c *conn) {
	session := c.session
	if session.State() == db.Gone {
		return
	}
	s.turn = session
	if session.Run() {
		s.w.put(s.w.now+s.stall(), nil, c, connRun)
	} else if session.State() == db.Waiting {
		s.w.note(Waits, session.ID, 0, 0, 0)
		if session.Tx().TimesOut() {
			c.patience = s.w.now + c.lockTimeout
			s.w.put(c.patience, nil, c, connGiveUp)
		}
	}
	if s.shadow != nil {
		s.shadow.stepped(c)
	}
}

// stall is how long others go first: moments, and seldom as long as a process may wait for a disk or a processor.
func (s *server) stall() int64 {
	if s.w.rng.IntN(32) == 0 {
		return s.w.rng.Int64N(us(s.w.LeaseUS) / 8)
	}
	return s.w.rng.Int64N(us(300))
}

// phase is where a connection's work is.
type phase uint8

const (
	quiet     phase = iota // nothing is asked
	asking                 // a request is on its way
	serving                // the server is at it
	answering              // the answer is on its way
	phases    = iota
)

func (p phase) String() string {
	return [...]string{"quiet", "request under way", "at the server", "answer under way"}[p]
}

// conn is a connection of a process.
type conn struct {
	p        *process
	session  *db.Session
	epoch    int
	phase    phase
	broken   bool           // one end knows it
	dead     bool           // the client's process is
	told     bool           // the client knows that it is broken
	reply    reply          // who waits for the answer
	lost     bool           // the next answer does not come
	patience int64          // until when its session waits
	batch    []db.Statement // that is asked for
	err      error          // the answer that is on its way
	serve    func(error)    // served

	lockTimeout int64 // how long its session waits, where its transaction has said so
}

// reply is who waits for an answer: a thread in one of its waits, or a function.
type reply struct {
	t    *thread
	wait int
	k    func(error)
}

func (r reply) awaited() bool { return r.t != nil || r.k != nil }

func (r reply) tell(err error) {
	if r.t != nil {
		r.t.tell(r.wait, err)
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

func (*conn) off(int) bool { return false }

func (c *conn) do(act int) {
	switch act {
	case connArrive:
		c.arrive()
	case connRun:
		c.p.w.server.run(c)
	case connAnswer:
		c.answer()
	case connGiveUp:
		if c.session.State() == db.Waiting && c.p.w.now >= c.patience {
			c.session.Fail(db.ErrLockTimeout)
		}
	}
}

var (
	errConn    = io.ErrUnexpectedEOF
	errConnect = errors.New("connection refused")
)

// connect gives a process a connection; a new one takes a round trip.
func (p *process) connect(k func(*conn, error)) {
	if c := p.pooled(); c != nil {
		k(c, nil)
		return
	}
	w := p.w
	s := w.server
	if w.now < p.cutOff || !s.up {
		w.after(w.mean(us(w.LatencyUS)), p, func() { k(nil, errConnect) })
		return
	}
	s.ids++
	c := &conn{p: p, session: s.Open(s.ids), epoch: s.epoch}
	c.session.Data, c.serve = c, c.served
	s.conns = append(s.conns, c)
	w.after(p.latency()+p.latency(), p, func() {
		if c.broken {
			c.told = true
			k(nil, errConnect)
			return
		}
		k(c, nil)
	})
}

// pooled takes a connection that was given back; nil: there is none.
func (p *process) pooled() *conn {
	for len(p.free) > 0 {
		c := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		if !c.told {
			return c
		}
	}
	return nil
}

// watch has somebody told when the connection is found broken, while nothing else is asked.
func (c *conn) watch(end func(error)) { c.reply = reply{k: end} }

// unwatch ends that.
func (c *conn) unwatch() { c.reply = reply{} }

// release gives a connection back. One inside of a transaction is closed, as a pool does.
func (c *conn) release() {
	switch {
	case c.told || c.broken && c.dead:
	case c.session.State() == db.InTx || c.session.State() == db.Gone:
		c.close()
	default:
		c.p.free = append(c.p.free, c)
	}
}

// close ends a connection from the client's side.
func (c *conn) close() {
	c.told, c.dead = true, true
	c.p.w.after(c.p.latency(), nil, c.hangUp)
}

// hangUp has the server notice that the client is gone: at once, or after the batch that it is at.
func (c *conn) hangUp() {
	c.dead = true
	if s := c.session.State(); s == db.Idle || s == db.InTx {
		c.end()
	}
}

// end closes the server's side.
func (c *conn) end() {
	c.session.End()
	s := c.p.w.server
	if s.shadow != nil {
		s.shadow.closed(c)
	}
	for i, o := range s.conns {
		if o == c {
			s.conns = append(s.conns[:i], s.conns[i+1:]...)
			break
		}
	}
}

// send makes a round trip with a batch of statements.
func (c *conn) send(batch []db.Statement, k func(error)) { c.request(batch, reply{k: k}) }

// request is send with somebody who waits.
func (c *conn) request(batch []db.Statement, from reply) {
	w := c.p.w
	c.reply, c.phase, c.batch = from, asking, batch
	w.note(Sends, c.p.index, int64(c.session.ID), int64(len(batch)), 0)
	if c.broken {
		c.fail(errConn)
		return
	}
	w.put(w.now+c.p.latency(), nil, c, connArrive)
}

// arrive is when a request reaches the server. A process may be dead by then.
func (c *conn) arrive() {
	w, batch := c.p.w, c.batch
	c.batch = nil
	if c.broken || c.session.State() == db.Gone || c.dead && w.rng.IntN(2) == 0 {
		return
	}
	c.phase = serving
	if w.now < w.server.full && writes(batch) {
		batch = []db.Statement{failing{db.ErrDiskFull}}
	}
	c.session.Execute(batch, c.serve)
	if s := w.server.shadow; s != nil {
		s.began(c, batch)
	}
	w.server.run(c)
}

// failing is a statement that the server cannot execute.
type failing struct{ err error }

// Run implements db.Statement.
func (f failing) Run(*db.Exec) error { return f.err }

// writes says whether a batch needs room on the disk.
func writes(batch []db.Statement) bool {
	for _, s := range batch {
		if w, ok := s.(interface{ NeedsRoom() bool }); ok && w.NeedsRoom() {
			return true
		}
	}
	return false
}

// served is when the server has an answer.
func (c *conn) served(err error) {
	w := c.p.w
	c.phase = answering
	if s := w.server.shadow; s != nil {
		s.ended(c, err)
	}
	w.note(Served, c.session.ID, code(err), 0, 0)
	if err != nil && w.trace != nil {
		w.trace.say(err.Error())
	}
	if c.dead {
		c.end()
		return
	}
	if c.lost {
		c.lost = false
		c.snap(0)
		return
	}
	c.err = err
	w.put(w.now+c.p.latency(), c.p, c, connAnswer)
}

// answer is when an answer reaches the client.
func (c *conn) answer() {
	if c.told {
		return
	}
	from, err := c.reply, c.err
	if c.reply, c.phase = (reply{}), quiet; !from.awaited() {
		return
	}
	if c.broken {
		c.told = true
		err = errConn
	}
	c.p.w.note(Replied, c.p.index, int64(c.session.ID), code(err), 0)
	from.tell(err)
}

// fail tells the client that the connection is broken, if it waits for something.
func (c *conn) fail(err error) {
	if c.told || !c.reply.awaited() {
		return
	}
	from := c.reply
	c.told, c.reply, c.phase = true, reply{}, quiet
	w := c.p.w
	w.after(w.rng.Int64N(us(200)), c.p, func() {
		w.note(Replied, c.p.index, int64(c.session.ID), 1, 0)
		from.tell(err)
	})
}

// snap breaks a connection. Each end notices after a while.
func (c *conn) snap(unnoticed int64) {
	if c.broken {
		return
	}
	w := c.p.w
	c.broken = true
	w.after(w.rng.Int64N(us(2000))+unnoticed, c.p, func() { c.fail(errConn) })
	w.after(w.rng.Int64N(us(2000))+w.rng.Int64N(unnoticed+1), nil, c.hangUp)
}

// crash ends the server's process and all that was under way.
func (s *server) crash(back int64) {
	s.up = false
	s.epoch++
	s.w.store.crashed()
	s.Crash()
	if s.shadow != nil {
		s.shadow.crashed()
	}
	conns := s.conns
	s.conns = nil
	for _, c := range conns {
		c.broken, c.dead = true, true
		s.w.after(s.w.rng.Int64N(us(2000)), c.p, func() { c.fail(errConn) })
	}
	s.w.after(back, nil, func() {
		s.up = true
		s.w.note(ServerUp, 0, 0, 0, 0)
	})
}

// code gives what kind of error it is as a number, for the trace: its text may take long to make.
func code(err error) int64 {
	switch {
	case err == nil:
		return 0
	case err == errConn, err == errConnect:
		return 1
	}
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return 2
	}
	n := int64(3)
	for _, r := range server.Code {
		n = n*31 + int64(r)
	}
	return n
}

// latency is how long a message takes from here.
func (p *process) latency() int64 {
	mean := us(p.w.LatencyUS)
	if p.w.now < p.slow {
		mean *= 30
	}
	return mean/4 + p.w.mean(mean*3/4)
}
