package pgtest

import (
	"fmt"
	"sync"
	"testing"

	"pulley/engine/pgserver/pgwire"
)

// CutMode says what becomes of the message at which a connection is cut.
type CutMode int

// The modes.
const (
	CutBefore CutMode = iota // the message is lost
	CutAfter                 // the message arrives, and nothing after it does
	CutHold                  // of the client's messages only: it arrives, and what follows, when they are released
)

// String names the mode.
func (m CutMode) String() string { return [...]string{"before", "after", "hold"}[m] }

// Cut is a place at which one connection is cut, once.
type Cut struct {
	Client bool // counts the client's messages; else the server's
	K      int  // from 1, over all connections since the cut was set
	Mode   CutMode
	Dead   bool // nothing gets through afterwards either, until the cut is taken away
	Fresh  bool // counts connections only that are made from now on

	byTurns bool // every other one is dead
}

// OnceEach are cuts, to be tried at every place of a call, which lose each message once: of the client's what follows each, and
// each of the server's, after every other of which the server stays away.
func OnceEach() []Cut {
	return []Cut{{Mode: CutAfter, Client: true}, {Mode: CutBefore, byTurns: true}}
}

// At is the cut at another place.
func (c Cut) At(k int) Cut {
	c.K = k
	if c.byTurns {
		c.Dead = k%2 == 0
	}
	return c
}

// String words the cut for a failure.
func (c Cut) String() string {
	side := "server"
	if c.Client {
		side = "client"
	}
	return fmt.Sprintf("%s message %d of the %s (dead %t, fresh %t)", c.Mode, c.K, side, c.Dead, c.Fresh)
}

// Proxy stands between a client and a server that speak Postgres' protocol, and cuts connections at a
// message.
type Proxy struct {
	wire *pgwire.Proxy

	mu     sync.Mutex
	cut    Cut
	armed  bool
	fired  bool
	dead   bool
	epoch  int           // counts cuts
	seen   [2]int        // messages since the cut was set, of server and client
	held   chan struct{} // closed to release what was held
	passed chan error    // what became of it: nil when the server has answered
}

// StartProxy starts a proxy to the server of a DSN. It ends with the test.
func StartProxy(t testing.TB, dsn string) *Proxy {
	t.Helper()
	p := &Proxy{}
	var err error
	if p.wire, err = pgwire.Listen(dsn, p.open); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.wire.Close)
	return p
}

// DSN leads to the server by way of the proxy.
func (p *Proxy) DSN() string { return p.wire.DSN() }

// Set sets a cut, and counts from here on.
func (p *Proxy) Set(c Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.armed, p.fired, p.dead, p.seen = c, true, false, false, [2]int{}
	p.epoch++
	p.held, p.passed = make(chan struct{}), make(chan error, 1)
}

// Unset lets everything through again, and says whether the cut was made.
func (p *Proxy) Unset() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.dead = false, false
	return p.fired
}

// Release delivers what was held, and waits until the server has answered to it.
func (p *Proxy) Release() error {
	close(p.held)
	return <-p.passed
}

// open gives the judge of a connection, which belongs to the epoch in which it was made.
func (p *Proxy) open(uint64) pgwire.Judge {
	p.mu.Lock()
	defer p.mu.Unlock()
	epoch := p.epoch
	return func(m *pgwire.Message) pgwire.Verdict { return p.judge(m, epoch) }
}

// judge counts a message, and cuts where it is to be cut.
func (p *Proxy) judge(m *pgwire.Message, epoch int) pgwire.Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.armed || p.cut.Fresh && epoch < p.epoch {
		return pgwire.Verdict{Deliver: true}
	}
	if p.dead {
		return pgwire.Verdict{End: pgwire.Close}
	}
	if p.fired {
		return pgwire.Verdict{Deliver: true}
	}
	side := 0
	if m.Client {
		side = 1
	}
	p.seen[side]++
	if m.Client != p.cut.Client || p.seen[side] != p.cut.K {
		return pgwire.Verdict{Deliver: true}
	}
	p.fired, p.dead = true, p.cut.Dead
	if p.cut.Mode == CutHold {
		return pgwire.Verdict{Hold: &pgwire.Hold{Release: p.held, Passed: p.passed}}
	}
	return pgwire.Verdict{Deliver: p.cut.Mode == CutAfter, End: pgwire.Close}
}
