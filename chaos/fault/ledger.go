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

// Ledger has what all wires of a run note. It is safe for concurrent use.
type Ledger struct {
	Places *Places

	mu     sync.Mutex
	failed map[string]int // errors that reached an engine, by SQLSTATE
	lost   []ConnUse      // applied commits whose reply was lost
}

// NewLedger makes an empty ledger.
func NewLedger() *Ledger { return &Ledger{Places: NewPlaces(), failed: map[string]int{}} }

// Failed counts the server's errors that have reached an engine, by SQLSTATE. The caller owns the map.
func (l *Ledger) Failed() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.failed)
}

// Lost lists the uses of connections whose commit was applied and its reply lost. The caller owns the slice.
func (l *Ledger) Lost() []ConnUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lost)
}

func (l *Ledger) passed(m *pgwire.Message) {
	if m.Client || m.Type() != 'E' {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed[stateOf(m.Body())]++
}

func (l *Ledger) lose(of ConnUse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = append(l.lost, of)
}

// stateOf reads the SQLSTATE of an error message.
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

// ConnUse says what an engine uses a connection for from now on. It is sent over the connection itself, to keep its place among
// the messages; a Wire does not pass it to the server.
type ConnUse struct {
	Operation string `json:"operation"`
	Shard     int    `json:"shard"`
	Source    string `json:"source"`
	Call      int64  `json:"call"` // number of the store call in the history; zero: none
}

// Claiming is the operation of a claim.
const Claiming = "claim"

// Operations that a ConnUse does not name.
const (
	Starting   = "start"      // until a new process is ready
	Connecting = "connect"    // the begin of a connection, or unknown use
	Background = "background" // what an engine's store does in the background
	Reclaiming = "reclaim"    // a claim while leases of an exited engine have expired in the shard
	Recovering = "recovery"   // taking over what a shard's former owner, or others for it, left
	Learning   = "program"    // reading a program that the process does not know
)

// connUseType is its message type, which the protocol does not use.
const connUseType = 1

// Send writes it to an idle connection.
func (m ConnUse) Send(conn io.Writer) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = conn.Write(pgwire.NewMessage(connUseType, text))
	return err
}

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

// statementsOf matches statements that begin in certain ways, after comments.
func statementsOf(begins ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(prepare )?(\s*--[^\n]*\n)*\s*(` + strings.Join(begins, "|") + `)`)
}

// purpose distinguishes, by its first statement, what a transaction of one operation does: appending to a journal, or reading it,
// which begins with taking over a shard. What any operation does when it is the first to need it gets an operation of its own;
// otherwise each of its messages would have to occur in each operation.
func purpose(of statement, operation string) string {
	switch {
	case operation == Starting || of.purpose == "":
		return operation
	case of.purpose == appending:
		return operation + appending
	}
	return of.purpose
}

// appending is the suffix of an operation that appends to a journal.
const appending = ", append"

// purposeOf returns appending, an operation that a ConnUse does not name, or "".
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
