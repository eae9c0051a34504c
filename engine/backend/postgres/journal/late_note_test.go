package journal

import (
	"encoding/binary"
	"strings"
	"sync"
	"sync/atomic"

	"pulley/engine/pgserver/pgwire"
)

// lateNote delays, while armed, the statement that notes an engine in the store, until it is released.
type lateNote struct {
	armed   atomic.Bool
	held    atomic.Int32
	release chan struct{}

	mu       sync.Mutex
	sessions []int32 // process ids of the server's sessions
}

func newLateNote() *lateNote { return &lateNote{release: make(chan struct{})} }

func (l *lateNote) pids() []int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions
}

// judge handles one connection: it learns which prepared statement is the note, and holds its executions.
func (l *lateNote) judge(uint64) pgwire.Judge {
	var mu sync.Mutex // both directions call it
	note := ""
	return func(m *pgwire.Message) pgwire.Verdict {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case !m.Client && m.Type() == 'K':
			l.mu.Lock()
			l.sessions = append(l.sessions, int32(binary.BigEndian.Uint32(m.Body())))
			l.mu.Unlock()
		case m.Client && m.Type() == 'P':
			name, rest := pgwire.Text(m.Body())
			if sql, _ := pgwire.Text(rest); strings.Contains(sql, "INSERT INTO owners") {
				note = name
			}
		case m.Client && m.Type() == 'B' && l.armed.Load():
			_, rest := pgwire.Text(m.Body())
			if name, _ := pgwire.Text(rest); name == note {
				l.held.Add(1)
				mu.Unlock()
				<-l.release
				mu.Lock()
			}
		}
		return pgwire.Verdict{Deliver: true}
	}
}
