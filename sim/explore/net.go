package explore

import (
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
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
}

func newServer(w *world) *server {
	s := &server{Server: &db.Server{}, w: w, up: true}
	if w.Grain > 0 {
		grain := uint32(1<<32/uint64(w.Grain) - 1)
		s.Yield = func() bool { return w.rng.Uint32() <= grain }
	}
	s.Ready = func(session *db.Session) { w.after(w.rng.Int64N(us(50)), nil, func() { s.run(session) }) }
	return s
}

// clock is the server's time, in ns since its epoch.
func (s *server) clock() int64 { return s.w.now + s.ahead }

// run takes a session forward until it waits, is over, or lets others go first.
func (s *server) run(session *db.Session) {
	if session.State() == db.Gone {
		return
	}
	if session.Run() {
		s.w.after(s.stall(), nil, func() { s.run(session) })
	} else if session.State() == db.Waiting {
		s.w.note(Waits, session.ID, 0, 0, 0)
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
	p       *process
	session *db.Session
	epoch   int
	phase   phase
	broken  bool        // one end knows it
	dead    bool        // the client's process is
	told    bool        // the client knows that it is broken
	slow    bool        // it is not noticed soon
	reply   func(error) // that waits
	lost    bool        // the next answer does not come
}

var (
	errConn    = io.ErrUnexpectedEOF
	errConnect = errors.New("connection refused")
)

// connect gives a process a connection; a new one takes a round trip.
func (p *process) connect(k func(*conn, error)) {
	for len(p.free) > 0 {
		c := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		if !c.told {
			k(c, nil)
			return
		}
	}
	w := p.w
	s := w.server
	if w.now < p.cutOff || !s.up {
		w.after(w.mean(us(w.LatencyUS)), p, func() { k(nil, errConnect) })
		return
	}
	s.ids++
	c := &conn{p: p, session: s.Open(s.ids), epoch: s.epoch}
	c.session.Data = c
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
	for i, o := range s.conns {
		if o == c {
			s.conns = append(s.conns[:i], s.conns[i+1:]...)
			break
		}
	}
}

// send makes a round trip with a batch of statements.
func (c *conn) send(batch []db.Statement, k func(error)) {
	w := c.p.w
	c.reply, c.phase = k, asking
	w.note(Sends, c.p.index, int64(c.session.ID), int64(len(batch)), 0)
	if c.broken {
		c.fail(errConn)
		return
	}
	w.after(c.p.latency(), nil, func() { c.arrive(batch) })
}

// query makes a round trip on a connection of its own.
func (p *process) query(k func(error), batch ...db.Statement) {
	p.connect(func(c *conn, err error) {
		if err != nil {
			k(err)
			return
		}
		c.send(batch, func(err error) {
			c.release()
			k(err)
		})
	})
}

// unknown marks the error of something that commits when it leaves open whether it did.
func unknown(err error) error {
	var unfit *postgres.UnfitError
	if postgres.Unconfirmed(err) && !errors.As(err, &unfit) {
		return fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return err
}

// arrive is when a request reaches the server. A process may be dead by then.
func (c *conn) arrive(batch []db.Statement) {
	w := c.p.w
	if c.broken || c.session.State() == db.Gone || c.dead && w.rng.IntN(2) == 0 {
		return
	}
	c.phase = serving
	if w.now < w.server.full && writes(batch) {
		c.session.Execute([]db.Statement{failing{db.ErrDiskFull}}, c.served)
	} else {
		c.session.Execute(batch, c.served)
	}
	w.server.run(c.session)
}

// failing is a statement that the server cannot execute.
type failing struct{ err error }

// Run implements db.Statement.
func (f failing) Run(*db.Exec) error { return f.err }

// writes says whether a batch needs room on the disk.
func writes(batch []db.Statement) bool {
	for _, s := range batch {
		if w, ok := s.(interface{ writes() bool }); ok && w.writes() {
			return true
		}
	}
	return false
}

// served is when the server has an answer.
func (c *conn) served(err error) {
	w := c.p.w
	c.phase = answering
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
	w.after(c.p.latency(), c.p, func() {
		if c.told {
			return
		}
		k := c.reply
		if c.reply, c.phase = nil, quiet; k == nil {
			return
		}
		if c.broken {
			c.told = true
			err = errConn
		}
		w.note(Replied, c.p.index, int64(c.session.ID), code(err), 0)
		k(err)
	})
}

// fail tells the client that the connection is broken, if it waits for something.
func (c *conn) fail(err error) {
	if c.told || c.reply == nil {
		return
	}
	k := c.reply
	c.told, c.reply, c.phase = true, nil, quiet
	w := c.p.w
	w.after(w.rng.Int64N(us(200)), c.p, func() {
		w.note(Replied, c.p.index, int64(c.session.ID), 1, 0)
		k(err)
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
	s.w.store.(interface{ crashed() }).crashed()
	s.Crash()
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
