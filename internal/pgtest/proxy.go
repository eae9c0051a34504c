package pgtest

import (
	"fmt"
	"sync"
	"testing"

	"pulley/engine/pgserver/pgwire"
)

// CutMode is the fate of the message at which a connection is cut.
type CutMode int

// The modes.
const (
	CutBefore CutMode = iota // the message is lost
	CutAfter                 // the message arrives, but nothing after it
	CutHold                  // of client messages only: it arrives, with what follows, on Release
)

func (m CutMode) String() string { return [...]string{"before", "after", "hold"}[m] }

// Cut is a place at which one connection is cut, once.
type Cut struct {
	Client bool // counts the client's messages, not the server's
	K      int  // from 1, over all connections since the cut was set
	Mode   CutMode
	Dead   bool // afterwards nothing passes until Unset
	Fresh  bool // counts only new connections

	byTurns bool // every other one is Dead
}

// OnceEach returns cuts for every place of a call, which lose each message once: those after each client message, and each
// server message, every other one with a Dead server.
func OnceEach() []Cut {
	return []Cut{{Mode: CutAfter, Client: true}, {Mode: CutBefore, byTurns: true}}
}

// At returns the cut at place k.
func (c Cut) At(k int) Cut {
	c.K = k
	if c.byTurns {
		c.Dead = k%2 == 0
	}
	return c
}

func (c Cut) String() string {
	side := "server"
	if c.Client {
		side = "client"
	}
	return fmt.Sprintf("%s message %d of the %s (dead %t, fresh %t)", c.Mode, c.K, side, c.Dead, c.Fresh)
}

// Proxy is between a client and a Postgres server, and cuts connections at a message.
type Proxy struct {
	wire *pgwire.Proxy

	mu     sync.Mutex
	cut    Cut
	armed  bool
	fired  bool
	dead   bool
	epoch  int           // counts cuts
	seen   [2]int        // messages since the cut was set, of server and client
	held   chan struct{} // closed to release the held messages
	passed chan error    // the result: nil when the server has answered
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

// DSN is the proxy's.
func (p *Proxy) DSN() string { return p.wire.DSN() }

// Set sets a cut, and counts from here on.
func (p *Proxy) Set(c Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.armed, p.fired, p.dead, p.seen = c, true, false, false, [2]int{}
	p.epoch++
	p.held, p.passed = make(chan struct{}), make(chan error, 1)
}

// Unset lets everything pass again, and reports whether the cut was made.
func (p *Proxy) Unset() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.dead = false, false
	return p.fired
}

// Release delivers what was held, and waits for the server's answer.
func (p *Proxy) Release() error {
	close(p.held)
	return <-p.passed
}

func (p *Proxy) open(uint64) pgwire.Judge {
	p.mu.Lock()
	defer p.mu.Unlock()
	epoch := p.epoch
	return func(m *pgwire.Message) pgwire.Verdict { return p.judge(m, epoch) }
}

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
