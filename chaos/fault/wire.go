package fault

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"pulley/engine/pgserver/pgwire"
	"pulley/internal/pause"
)

// armedFor is how long a fault at the k-th message waits for it.
const armedFor = 5 * time.Second

// Wire is the connections between one engine and the server. It passes everything unless a fault sets a rule.
type Wire struct {
	proxy  *pgwire.Proxy
	ledger *Ledger
	due    func(shard int) bool // reports whether leases of exited engines have expired

	mu       sync.Mutex
	rule     rule
	starting bool
	starts   int // how often the engine's process was started
}

// rule decides what is done about a message. It is called as a pgwire.Judge is.
type rule func(m *pgwire.Message, s sight) pgwire.Verdict

type sight struct {
	conn   uint64
	commit bool  // it tells the client of a commit that wrote something
	place  Place // zero: not distinguished
}

var pass = pgwire.Verdict{Deliver: true}

// NewWire makes a wire from a listener, which it owns then, to the server of a DSN. It notes what it sees in a ledger. due
// reports whether leases of exited engines have expired in a shard. The caller closes the wire.
func NewWire(listener net.Listener, dsn string, ledger *Ledger, due func(shard int) bool) (*Wire, error) {
	w := &Wire{ledger: ledger, due: due}
	var err error
	w.proxy, err = pgwire.Serve(listener, dsn, w.open)
	return w, err
}

// DSN returns a DSN that leads to the server through this wire.
func (w *Wire) DSN() string { return w.proxy.DSN() }

// Point directs new connections to another DSN when the server has moved.
func (w *Wire) Point(dsn string) error { return w.proxy.Point(dsn) }

// Starting says that the engine's process is being started, or has been. Messages of the new process then belong to its start;
// those still in flight from the previous process do not.
func (w *Wire) Starting(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.starting = yes; yes {
		w.starts++
	}
}

// Close ends all connections.
func (w *Wire) Close() { w.proxy.Close() }

// state returns the current rule, and whether start is the number of the last start, which has not finished.
func (w *Wire) state(start int) (rule, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rule, w.starting && start == w.starts
}

func (w *Wire) start() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.starts
}

func (w *Wire) open(conn uint64) pgwire.Judge {
	s, start := newSession(), w.start()
	return func(m *pgwire.Message) pgwire.Verdict {
		rule, starting := w.state(start)
		if mark, ok := readConnUse(m); ok {
			if mark.Operation == Claiming && w.due != nil && w.due(mark.Shard) {
				mark.Operation = Reclaiming
			}
			s.setUse(mark)
			return pgwire.Verdict{}
		}
		commit, place, of := s.handleMessage(m, starting)
		w.ledger.Places.see(place)
		v := pass
		if rule != nil {
			v = rule(m, sight{conn, commit, place})
		}
		switch {
		case v.Deliver:
			w.ledger.passed(m)
		case commit:
			w.ledger.lose(of)
		}
		return v
	}
}

func (w *Wire) set(r rule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rule = r
}

func (w *Wire) during(ctx context.Context, r rule, d time.Duration) error {
	w.set(r)
	defer w.set(nil)
	return pause.For(ctx, d)
}

// counter counts messages and fires at the k-th.
type counter struct {
	mu    sync.Mutex
	left  int
	fired chan struct{}
}

func newCounter(k int) *counter { return &counter{left: k, fired: make(chan struct{})} }

// hit counts; it returns true once.
func (c *counter) hit() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left == 0 {
		close(c.fired)
		return true
	}
	return false
}

func (c *counter) awaitFired(ctx context.Context, what string) error {
	timer := time.NewTimer(armedFor)
	defer timer.Stop()
	select {
	case <-c.fired:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return fmt.Errorf("%w: %s was not seen within %v", ErrMissed, what, armedFor)
	}
}

type session struct {
	mu         sync.Mutex
	statements map[string]string
	writes     bool
	failed     bool // it can no longer commit
	of         ConnUse
	now        transaction
}

func newSession() *session { return &session{statements: map[string]string{}} }

// writing matches statements that change rows, not those that only lock them.
var writing = regexp.MustCompile(`(?i)\b(insert\s+into|delete\s+from|merge\s+into)\b|(?:^|\s|\()update\s`)

// calling matches a call of a function in a schema.
var calling = regexp.MustCompile(`(?i)\b([a-z_]\w*)\.[a-z_]\w*\(`)

// writesRows reports whether a statement may write. A function in a schema of the system's own, such as pgq.insert_event, may; we
// do not know those.
func writesRows(sql string) bool {
	for _, call := range calling.FindAllStringSubmatch(sql, -1) {
		if !strings.EqualFold(call[1], "pg_catalog") {
			return true
		}
	}
	return writing.MatchString(strings.NewReplacer("FOR UPDATE", "", "for update", "").Replace(sql))
}

func (s *session) setUse(of ConnUse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of, s.now = of, transaction{}
}

// handleMessage tracks a message. It returns the message's place, its use, and whether it tells the client of a commit that wrote
// something: the completion of COMMIT or, without BEGIN, that the server is ready again.
func (s *session) handleMessage(m *pgwire.Message, starting bool) (commit bool, at Place, of ConnUse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	operation := s.of.Operation
	switch {
	case starting:
		operation = Starting
	case operation == "":
		operation = Connecting
	}
	if m.Client {
		return false, s.now.handleMessage(m, s.handleClientMessage(m), operation), s.of
	}
	return s.handleServerMessage(m), s.now.handleMessage(m, "", operation), s.of
}

func (s *session) handleServerMessage(m *pgwire.Message) (commit bool) {
	switch m.Type() {
	case 'E':
		s.failed = true
	case 'C':
		switch tag, _ := pgwire.Text(m.Body()); tag {
		case "COMMIT":
			commit, s.writes = s.writes && !s.failed, false
		case "ROLLBACK":
			s.writes = false
		}
	case 'Z':
		if ready(m) {
			commit = s.writes && !s.failed
			s.writes, s.failed = false, false
		}
	}
	return commit
}

func (s *session) handleClientMessage(m *pgwire.Message) (statement string) {
	switch m.Type() {
	case 'Q':
		statement, _ = pgwire.Text(m.Body())
	case 'P':
		name, rest := pgwire.Text(m.Body())
		sql, _ := pgwire.Text(rest)
		s.statements[name] = sql
		return preparing + sql
	case 'B':
		_, rest := pgwire.Text(m.Body())
		name, _ := pgwire.Text(rest)
		statement = s.statements[name]
	case 'C':
		if body := m.Body(); len(body) > 0 && body[0] == 'S' {
			name, _ := pgwire.Text(body[1:])
			delete(s.statements, name)
		}
	}
	s.writes = s.writes || read(statement).writes
	return statement
}
