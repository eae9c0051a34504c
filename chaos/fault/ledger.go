package fault

import (
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pulley/engine/pgserver/pgwire"
)

// Ledger is what all wires of a run note together. It is safe for concurrent use.
type Ledger struct {
	Places *Places

	mu     sync.Mutex
	failed map[string]int // errors that reached an engine, by SQLSTATE
	lost   []ConnUse      // commits that was applied and whose reply was lost
}

// NewLedger makes an empty one.
func NewLedger() *Ledger { return &Ledger{Places: NewPlaces(), failed: map[string]int{}} }

// Failed gives how many errors of the server have reached an engine, by SQLSTATE. The caller owns the map.
func (l *Ledger) Failed() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.failed)
}

// Lost lists the commits that was applied and whose reply was lost, by what they were of. The caller owns the slice.
func (l *Ledger) Lost() []ConnUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lost)
}

// passed notes a message that reaches its side.
func (l *Ledger) passed(m *pgwire.Message) {
	if m.Client || m.Type() != 'E' {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[stateOf(m.Body())]++
}

// lose notes a commit whose reply is lost.
func (l *Ledger) lose(of ConnUse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = append(l.lost, of)
}

// stateOf reads the SQLSTATE in the body of an error.
func stateOf(body []byte) string {
	for len(body) > 1 && body[0] != 0 {
		field := body[0]
		var text string
		if text, body = pgwire.Text(body[1:]); field == 'C' {
			return text
		}
	}
	return ""
}

// ConnUse says what an engine uses a connection for from now on, until the next one. It goes over the connection itself,
// so that it comes between the right messages, and a Wire keeps it from the server.
type ConnUse struct {
	Operation string `json:"operation"`
	Shard     int    `json:"shard"`
	Source    string `json:"source"` // the engine's process
	Call      int64  `json:"call"`   // of the store, as in the history; zero: none
}

// Claiming is the operation of a mark that a claim has.
const Claiming = "claim"

// Operations that marks do not name.
const (
	Starting   = "start"      // until a new process is ready
	Connecting = "connect"    // a connection's beginning, or one that nothing was said of
	Background = "background" // what an engine's store does by itself
	Reclaiming = "reclaim"    // a claim while leases of an engine that is gone have run out in the shard
	Recovering = "recovery"   // taking over what a former owner of a shard, or others for it, have left
	Learning   = "program"    // reading a program that the process has not met
)

// connUseType is that of a mark's message. The protocol has none such.
const connUseType = 1

// Send writes the mark to a connection on which nothing is under way.
func (m ConnUse) Send(conn io.Writer) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = conn.Write(pgwire.NewMessage(connUseType, text))
	return err
}

// readConnUse reads the mark that a message is, if it is one.
func readConnUse(m *pgwire.Message) (mark ConnUse, ok bool) {
	if !m.Client || m.Startup || m.Type() != connUseType {
		return mark, false
	}
	return mark, json.Unmarshal(m.Body(), &mark) == nil
}

var (
	appends  = regexp.MustCompile(`(?i)insert\s+into\s+events\b`)
	recovers = statementsOf(`update\s+shards\b`, `select\s+seq\b[^;]*\sfrom\s+events\s+where`, `select\s+id,\s*workflow\b[^;]*\sfrom\s+instances\s+where`,
		`with\s+fence\s+as\s+materialized\s*\([^()]*\),\s*(taken|dropped|found)\s`)
	learns = statementsOf(`select\s+definition\s+from\s+workflows\b`)
	pings  = statementsOf(`-- ping`)
)

// statementsOf finds statements that begin in one of some ways, behind their comments.
func statementsOf(begins ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(prepare )?(\s*--[^\n]*\n)*\s*(` + strings.Join(begins, "|") + `)`)
}

// purpose tells apart, by the statement, what one operation does in ways that its name does not say: appending to a
// journal, and reading it again. A shard's taking over begins the latter. What any operation does where it is the first
// to need it is of none of them: otherwise each message of it would have to come in each.
func purpose(of statement, operation string) string {
	switch {
	case operation == Starting || of.purpose == "":
		return operation
	case of.purpose == appending:
		return operation + appending
	}
	return of.purpose
}

// appending is behind the name of an operation that appends to a journal.
const appending = ", append"

// purposeOf is appending, an operation that marks do not name, or nothing.
func purposeOf(sql string) string {
	switch {
	case pings.MatchString(sql):
		return Connecting
	case learns.MatchString(sql):
		return Learning
	case appends.MatchString(sql):
		return appending
	case recovers.MatchString(sql):
		return Recovering
	}
	return ""
}
