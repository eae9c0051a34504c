package serve

import (
	"net"
	"sync"
)

// limited bounds the open connections of a listener. Further ones wait in the system's queue, until the timeouts of the server have
// ended one. golang.org/x/net/netutil has the same, but its module would raise the versions of five others.
type limited struct {
	net.Listener
	slots chan struct{}
	once  sync.Once
	over  chan struct{}
}

func limit(l net.Listener, most int) net.Listener {
	return &limited{Listener: l, slots: make(chan struct{}, most), over: make(chan struct{})}
}

// Accept waits for a slot, and for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.over:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slotted{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close also ends an Accept that waits for a slot.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.over) })
	return l.Listener.Close()
}

type slotted struct {
	net.Conn
	release func()
}

// Close frees the slot.
func (c *slotted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
