package explore

import (
	"bytes"
	"sync"
	"testing"

	"pulley/engine/pgserver/pgwire"
)

// wire stands before Postgres. It counts the round trips in which something is executed, and loses the reply to one: the
// server has done what it was asked, and the client's connection breaks.
type wire struct {
	proxy *pgwire.Proxy

	mu    sync.Mutex
	trips int // since it was armed
	lose  int // the one whose reply is lost; zero: none
	lost  bool
}

func newWire(t *testing.T, dsn string) *wire {
	t.Helper()
	w := &wire{}
	var err error
	if w.proxy, err = pgwire.Listen(dsn, w.open); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.proxy.Close)
	return w
}

// arm begins to count, and has the reply to a round trip lost.
func (w *wire) arm(lose int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trips, w.lose, w.lost = 0, lose, false
}

// disarm tells how many round trips there were, and whether a reply was lost.
func (w *wire) disarm() (trips int, lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose = 0
	return w.trips, w.lost
}

// open gives the judge of one connection.
func (w *wire) open(uint64) pgwire.Judge {
	executes, losing := false, false
	return func(m *pgwire.Message) pgwire.Verdict {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !m.Client {
			if losing { // all of the reply, up to its end
				if m.Type() == 'Z' {
					return pgwire.Verdict{End: pgwire.Close}
				}
				return pgwire.Verdict{}
			}
			return pgwire.Verdict{Deliver: true}
		}
		ping := bytes.HasPrefix(m.Body(), []byte("-- ping")) // of a pool, before it gives out what was idle
		switch kind := m.Type(); {
		case kind == 'E':
			executes = true
		case kind == 'S' && executes, kind == 'Q' && !ping:
			executes = false
			if w.trips++; w.trips == w.lose {
				losing, w.lost = true, true
			}
		}
		return pgwire.Verdict{Deliver: true}
	}
}
