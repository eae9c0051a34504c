package pgtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// cancelRequest is the code that a connection for a cancel request begins with.
const cancelRequest = 80877102

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
// message: a startup packet has a length only, every other message a type and a length.
type Proxy struct {
	listener net.Listener
	upstream *pgx.ConnConfig
	tasks    sync.WaitGroup
	ended    chan struct{}

	mu     sync.Mutex
	cut    Cut
	armed  bool
	fired  bool
	dead   bool
	epoch  int               // counts cuts
	seen   [2]int            // messages since the cut was set, of server and client
	conns  map[net.Conn]bool // of both sides, open
	held   chan struct{}     // closed to release what was held
	passed chan error        // what became of it: nil when the server has answered
}

// StartProxy starts a proxy to the server of a DSN. It ends with the test.
func StartProxy(t testing.TB, dsn string) *Proxy {
	t.Helper()
	upstream, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, upstream: upstream, conns: map[net.Conn]bool{}, ended: make(chan struct{})}
	p.tasks.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.tasks.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		close(p.ended)
		p.sever()
		p.tasks.Wait()
	})
	return p
}

// DSN leads to the server by way of the proxy.
func (p *Proxy) DSN() string {
	quote := func(s string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
	}
	u := p.upstream
	return fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s dbname=%s sslmode=disable",
		p.listener.Addr().(*net.TCPAddr).Port, quote(u.User), quote(u.Password), quote(u.Database))
}

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

// verdict is what is to be done about a message.
type verdict struct {
	cut     bool
	deliver bool
	hold    bool
}

// judge counts a message of a connection that was made in an epoch.
func (p *Proxy) judge(client bool, epoch int) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.armed || p.cut.Fresh && epoch < p.epoch {
		return verdict{deliver: true}
	}
	if p.fired {
		return verdict{cut: p.dead, deliver: !p.dead}
	}
	side := 0
	if client {
		side = 1
	}
	p.seen[side]++
	if client != p.cut.Client || p.seen[side] != p.cut.K {
		return verdict{deliver: true}
	}
	p.fired, p.dead = true, p.cut.Dead
	return verdict{cut: true, deliver: p.cut.Mode == CutAfter, hold: p.cut.Mode == CutHold}
}

// sever closes every connection.
func (p *Proxy) sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) track(c net.Conn, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if open {
		p.conns[c] = true
	} else {
		delete(p.conns, c)
		_ = c.Close()
	}
}

func (p *Proxy) serve(client net.Conn) {
	p.track(client, true)
	defer p.track(client, false)
	network, address := pgconn.NetworkAddress(p.upstream.Host, p.upstream.Port)
	server, err := net.DialTimeout(network, address, 10*time.Second)
	if err != nil {
		return
	}
	p.track(server, true)
	defer p.track(server, false)
	p.mu.Lock()
	epoch := p.epoch
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() {
		p.pump(client, server, true, epoch)
		_ = server.Close()
	})
	both.Go(func() {
		p.pump(server, client, false, epoch)
		_ = client.Close()
	})
	both.Wait()
}

// pump passes messages on until either side ends or the cut is made.
func (p *Proxy) pump(from, to net.Conn, client bool, epoch int) {
	startup := client
	for {
		message, err := readMessage(from, startup)
		if err != nil {
			return
		}
		if startup && binary.BigEndian.Uint32(message[4:]) == cancelRequest {
			_, _ = to.Write(message)
			_, _ = io.Copy(io.Discard, from)
			return
		}
		startup = false
		v := p.judge(client, epoch)
		if v.hold {
			p.hold(message, from, to)
			return
		}
		if v.deliver {
			if _, err := to.Write(message); err != nil {
				return
			}
		}
		if v.cut {
			_ = from.Close()
			return
		}
	}
}

// hold keeps a message and what the client had sent behind it, lets go of the client, and delivers it all
// when it is told to.
func (p *Proxy) hold(message []byte, client, server net.Conn) {
	kept := bytes.NewBuffer(message)
	_ = client.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	_, _ = io.Copy(kept, client)
	_ = client.Close()
	p.mu.Lock()
	held, passed := p.held, p.passed
	p.mu.Unlock()
	select {
	case <-held:
	case <-p.ended:
		return
	}
	// With a Terminate behind it, the server closes when it has done all.
	_, err := server.Write(append(kept.Bytes(), 'X', 0, 0, 0, 4))
	_ = server.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, e := io.Copy(io.Discard, server); err == nil {
		err = e
	}
	passed <- err
}

// readMessage reads one message of the protocol, whole.
func readMessage(r io.Reader, startup bool) ([]byte, error) {
	head := make([]byte, 5)
	if startup {
		head = head[:4]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
	if size < 0 || size > 1<<30 {
		return nil, fmt.Errorf("a message of %d bytes", size)
	}
	message := append(head, make([]byte, size)...)
	_, err := io.ReadFull(r, message[len(head):])
	return message, err
}
