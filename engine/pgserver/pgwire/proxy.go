package pgwire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	dialTimeout = 10 * time.Second
	holdRead    = 20 * time.Millisecond // wait for more of the client's data before holding it
	holdAnswer  = 20 * time.Second      // bound on the server's answer to held data
)

// Judge decides about a message. It is called from a goroutine per direction of each connection, concurrently, and may block
// that direction.
type Judge func(*Message) Verdict

// Opener returns a new connection's judge. Connections are numbered from 1.
type Opener func(conn uint64) Judge

// Proxy forwards connections to one server.
type Proxy struct {
	listener net.Listener
	opener   Opener        // nil: nothing is judged
	far      bool          // delays everything, unread
	oneWay   time.Duration // the delay
	tasks    sync.WaitGroup
	ended    chan struct{}

	roundTrips atomic.Int64

	mu       sync.Mutex
	upstream *pgx.ConnConfig
	serial   uint64
	conns    map[uint64]*conn // open ones
	closed   bool
}

type conn struct {
	id             uint64
	client, server net.Conn
	done           chan struct{} // closed when one side has ended
	end, exited    sync.Once
	answered       atomic.Bool // the client received something since it last sent; if far
}

// part notifies waiters that one side has ended.
func (c *conn) part() { c.exited.Do(func() { close(c.done) }) }

func (c *conn) close(reset bool) {
	c.end.Do(func() {
		if tcp, ok := c.client.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0) // makes Close send a reset
		}
		_ = c.client.Close()
		_ = c.server.Close()
		c.part()
	})
}

// Listen starts a proxy on a local port to the server of a DSN. Without an opener it passes everything on unread, which costs
// least. The caller closes it.
func Listen(dsn string, opener Opener) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("pgwire: %w", err)
	}
	return Serve(listener, dsn, opener)
}

// Serve starts a proxy on a TCP listener, which it then owns. The caller closes the proxy.
func Serve(listener net.Listener, dsn string, opener Opener) (*Proxy, error) {
	upstream, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pgwire: %w", err), listener.Close())
	}
	p := &Proxy{listener: listener, upstream: upstream, opener: opener, conns: map[uint64]*conn{}, ended: make(chan struct{})}
	p.tasks.Go(p.accept)
	return p, nil
}

// DSN is the proxy's.
func (p *Proxy) DSN() string {
	quote := func(s string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
	}
	u := p.server()
	at := p.listener.Addr().(*net.TCPAddr)
	return fmt.Sprintf("host=%s port=%d user=%s password=%s dbname=%s sslmode=disable",
		at.IP, at.Port, quote(u.User), quote(u.Password), quote(u.Database))
}

func (p *Proxy) server() *pgx.ConnConfig {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.upstream
}

// Point directs new connections to the server of another DSN, with the first one's user and database.
func (p *Proxy) Point(dsn string) error {
	upstream, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("pgwire: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = upstream
	return nil
}

// Sever closes every open connection and returns their number.
func (p *Proxy) Sever(reset bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.close(reset)
	}
	return len(p.conns)
}

// Close ends the proxy and its connections. Closing twice is safe.
func (p *Proxy) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.ended)
	}
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Sever(false)
	p.tasks.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err == nil {
			p.tasks.Go(func() { p.serve(client) })
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		select { // too many open files, or the client has already disconnected
		case <-p.ended:
			return
		case <-time.After(holdRead):
		}
	}
}

func (p *Proxy) open(client, server net.Conn) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.serial++
	c := &conn{id: p.serial, client: client, server: server, done: make(chan struct{})}
	c.answered.Store(true) // the start of a connection waits for an answer, too
	p.conns[c.id] = c
	return c
}

func (p *Proxy) serve(client net.Conn) {
	upstream := p.server()
	network, address := pgconn.NetworkAddress(upstream.Host, upstream.Port)
	server, err := net.DialTimeout(network, address, dialTimeout)
	if err != nil {
		_ = client.Close()
		return
	}
	c := p.open(client, server)
	if c == nil {
		_ = client.Close()
		_ = server.Close()
		return
	}
	pass := p.carry
	switch {
	case p.far:
	case p.opener == nil:
		pass = relay
	default:
		judge := p.opener(c.id)
		pass = func(c *conn, fromClient bool) { p.pump(c, judge, fromClient) }
	}
	var both sync.WaitGroup
	both.Go(func() {
		pass(c, true)
		c.close(false)
	})
	both.Go(func() {
		pass(c, false)
		_ = client.Close() // the server may still be needed for held messages
		c.part()
	})
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c.id)
}

// relay passes on one side's data until either side ends; where it can, the kernel does so.
func relay(c *conn, fromClient bool) {
	from, to := c.server, c.client
	if fromClient {
		from, to = c.client, c.server
	}
	_, _ = io.Copy(to, from)
}

func (p *Proxy) pump(c *conn, judge Judge, fromClient bool) {
	from, to := c.server, c.client
	if fromClient {
		from, to = c.client, c.server
	}
	startup := fromClient
	for {
		data, err := readMessage(from, startup)
		if err != nil {
			return
		}
		if startup && binary.BigEndian.Uint32(data[4:]) == cancelRequest {
			_, _ = to.Write(data)
			_, _ = io.Copy(io.Discard, from)
			return
		}
		v := judge(&Message{Client: fromClient, Startup: startup, Data: data, Done: c.done})
		startup = false
		if v.Hold != nil {
			p.hold(data, c, v.Hold)
			return
		}
		if v.Deliver {
			if err := send(to, data, v.Slice); err != nil {
				return
			}
		}
		if v.End == Stay {
			continue
		}
		if v.End == Reset {
			c.close(true)
		}
		_ = from.Close()
		return
	}
}

// hold keeps a message and what the client sent after it, disconnects the client, and delivers it all on release.
func (p *Proxy) hold(data []byte, c *conn, h *Hold) {
	kept := bytes.NewBuffer(data)
	_ = c.client.SetReadDeadline(time.Now().Add(holdRead))
	_, _ = io.Copy(kept, c.client)
	_ = c.client.Close()
	select {
	case <-h.Release:
	case <-p.ended:
		return
	}
	// After a final Terminate, the server closes when it is done.
	_, err := c.server.Write(append(kept.Bytes(), 'X', 0, 0, 0, 4))
	_ = c.server.SetReadDeadline(time.Now().Add(holdAnswer))
	if _, e := io.Copy(io.Discard, c.server); err == nil {
		err = e
	}
	h.Passed <- err
}
