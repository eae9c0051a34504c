package push

import (
	"bytes"
	"context"
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

	"pulley/engine/backend/postgres"
)

// cancelRequest is the code that a connection for a cancel request begins with.
const cancelRequest = 80877102

// cutMode says what becomes of the message at which a connection is cut.
type cutMode int

const (
	cutBefore cutMode = iota // the message is lost
	cutAfter                 // the message arrives, and nothing after it does
	cutHold                  // of the client's messages only: it arrives, and what follows, when they are released
)

func (m cutMode) String() string { return [...]string{"before", "after", "hold"}[m] }

// cut is a place at which one connection is cut, once.
type cut struct {
	client bool // counts the client's messages; else the server's
	k      int  // from 1, over all connections since the cut was set
	mode   cutMode
	dead   bool // nothing gets through afterwards either, until the cut is taken away
	fresh  bool // counts connections only that are made from now on
}

func (c cut) String() string {
	side := "server"
	if c.client {
		side = "client"
	}
	return fmt.Sprintf("%s message %d of the %s (dead %t, fresh %t)", c.mode, c.k, side, c.dead, c.fresh)
}

// proxy stands between a client and a server that speak Postgres' protocol, and cuts connections at a
// message: a startup packet has a length only, every other message a type and a length.
type proxy struct {
	listener net.Listener
	upstream *pgx.ConnConfig
	tasks    sync.WaitGroup
	ended    chan struct{}

	mu     sync.Mutex
	cut    cut
	armed  bool
	fired  bool
	dead   bool
	epoch  int               // counts cuts
	seen   [2]int            // messages since the cut was set, of server and client
	conns  map[net.Conn]bool // of both sides, open
	held   chan struct{}     // closed to release what was held
	passed chan error        // what became of it: nil when the server has answered
}

// startProxy starts a proxy to the server of a DSN. It ends with the test.
func startProxy(t testing.TB, dsn string) *proxy {
	t.Helper()
	upstream, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, upstream: upstream, conns: map[net.Conn]bool{}, ended: make(chan struct{})}
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

// dsn leads to the server by way of the proxy.
func (p *proxy) dsn() string {
	quote := func(s string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
	}
	u := p.upstream
	return fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s dbname=%s sslmode=disable",
		p.listener.Addr().(*net.TCPAddr).Port, quote(u.User), quote(u.Password), quote(u.Database))
}

// set sets a cut, and counts from here on.
func (p *proxy) set(c cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.armed, p.fired, p.dead, p.seen = c, true, false, false, [2]int{}
	p.epoch++
	p.held, p.passed = make(chan struct{}), make(chan error, 1)
}

// unset lets everything through again, and says whether the cut was made.
func (p *proxy) unset() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.dead = false, false
	return p.fired
}

// release delivers what was held, and waits until the server has answered to it.
func (p *proxy) release() error {
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
func (p *proxy) judge(client bool, epoch int) verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.armed || p.cut.fresh && epoch < p.epoch {
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
	if client != p.cut.client || p.seen[side] != p.cut.k {
		return verdict{deliver: true}
	}
	p.fired, p.dead = true, p.cut.dead
	return verdict{cut: true, deliver: p.cut.mode == cutAfter, hold: p.cut.mode == cutHold}
}

// sever closes every connection.
func (p *proxy) sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) track(c net.Conn, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if open {
		p.conns[c] = true
	} else {
		delete(p.conns, c)
		_ = c.Close()
	}
}

func (p *proxy) serve(client net.Conn) {
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
func (p *proxy) pump(from, to net.Conn, client bool, epoch int) {
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
func (p *proxy) hold(message []byte, client, server net.Conn) {
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

// backend opens a backend through the proxy.
func (p *proxy) backend(t testing.TB, cfg postgres.Config) *Backend {
	t.Helper()
	cfg.DSN = p.dsn()
	b, err := Open(context.Background(), Config{Store: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}
