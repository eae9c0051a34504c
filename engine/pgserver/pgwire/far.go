package pgwire

import (
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	farChunk  = 64 << 10 // bytes per read
	farChunks = 256      // chunks in flight, per connection and direction
)

// ListenFar starts a proxy that simulates distance: everything arrives half of roundTrip later than it was sent, in both
// directions, in order and unread. The caller closes it.
func ListenFar(dsn string, roundTrip time.Duration) (*Proxy, error) {
	if roundTrip < 0 || roundTrip > time.Minute {
		return nil, fmt.Errorf("pgwire: a round trip of %v; choose up to a minute", roundTrip)
	}
	upstream, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("pgwire: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("pgwire: %w", err)
	}
	p := &Proxy{listener: listener, upstream: upstream, oneWay: roundTrip / 2, far: true, conns: map[uint64]*conn{}, ended: make(chan struct{})}
	p.tasks.Go(p.accept)
	return p, nil
}

// RoundTrips counts, over all connections of a proxy of ListenFar, how often a client sent something after an answer, including
// the start of each connection: the number of waits for the whole distance.
func (p *Proxy) RoundTrips() int64 { return p.roundTrips.Load() }

type delayed struct {
	data []byte
	due  time.Time
}

// carry passes on one side's data, late, until either side ends.
func (p *Proxy) carry(c *conn, fromClient bool) {
	from, to := c.server, c.client
	if fromClient {
		from, to = c.client, c.server
	}
	way := make(chan delayed, farChunks)
	var arriving sync.WaitGroup
	arriving.Go(func() {
		for d := range way {
			sleepUntil(d.due)
			if !fromClient {
				c.answered.Store(true) // before the client can reply
			}
			if _, err := to.Write(d.data); err != nil {
				_ = from.Close() // stops reading
				for range way {
				}
				return
			}
		}
	})
	buffer := make([]byte, farChunk)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if fromClient && c.answered.Swap(false) {
				p.roundTrips.Add(1)
			}
			way <- delayed{append([]byte(nil), buffer[:n]...), time.Now().Add(p.oneWay)}
		}
		if err != nil {
			break
		}
	}
	close(way)
	arriving.Wait()
}
