package fault

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"

	"pulley/engine/pgserver/pgwire"
)

// Place is a message of a kind of transaction. Transactions are told apart by the statement that they begin
// with, and messages by how many came before on their side; messages of one type in a row, such as rows of a
// result, count as the first of them.
type Place struct {
	Transaction string // how it begins, with a checksum; "connect": before the first statement
	Server      bool   // the server's message; else the client's
	K           int    // from 1
}

// Way is what was done at a place.
type Way string

// The ways.
const (
	Before  Way = "lost"          // the message was lost, and its connection with it
	After   Way = "last"          // it arrived, and nothing after it
	KillOn  Way = "killed before" // the engine was killed before it arrived
	KillOff Way = "killed after"  // the engine was killed after it had arrived
)

// placesMost bounds the messages of a side in one transaction that are told apart: one with many statements
// repeats itself.
const placesMost = 64

// Places remembers the places that came while faults went from place to place, and what was done at which. It
// is safe for concurrent use.
type Places struct {
	mu   sync.Mutex
	seen map[Place]bool
	done map[Way]map[Place]bool
}

// NewPlaces makes an empty one.
func NewPlaces() *Places { return &Places{seen: map[Place]bool{}, done: map[Way]map[Place]bool{}} }

// see notes a place.
func (p *Places) see(at Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.K > 0 {
		p.seen[at] = true
	}
}

// take gives the first of the ways that has not been gone at a place, and notes that it is; "" if there is none.
func (p *Places) take(at Place, ways ...Way) Way {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.K == 0 {
		return ""
	}
	p.seen[at] = true
	for _, w := range ways {
		if p.done[w] == nil {
			p.done[w] = map[Place]bool{}
		}
		if !p.done[w][at] {
			p.done[w][at] = true
			return w
		}
	}
	return ""
}

// Coverage is how much of what was seen something was done at.
type Coverage struct {
	Transactions int         `json:"transactions"` // kinds of them
	Messages     int         `json:"messages"`     // of all of these
	Done         map[Way]int `json:"done"`         // messages, by what was done at them
}

// Coverage gives it.
func (p *Places) Coverage() Coverage {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := Coverage{Messages: len(p.seen), Done: map[Way]int{}}
	kinds := map[string]bool{}
	for at := range p.seen {
		kinds[at.Transaction] = true
	}
	c.Transactions = len(kinds)
	for way, places := range p.done {
		c.Done[way] = len(places)
	}
	return c
}

// Left lists the places at which a way has not been gone, in order.
func (p *Places) Left(way Way) []Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := maps.Clone(p.seen)
	for at := range p.done[way] {
		delete(left, at)
	}
	return slices.SortedFunc(maps.Keys(left), func(a, b Place) int { return strings.Compare(a.String(), b.String()) })
}

// String words the place for a person.
func (p Place) String() string {
	side := "client"
	if p.Server {
		side = "server"
	}
	return fmt.Sprintf("%s: message %02d of the %s", p.Transaction, p.K, side)
}

// transaction follows one transaction of a connection. Its zero value stands before the first.
type transaction struct {
	name  string
	count [2]int  // of client and server
	last  [2]byte // types
}

// connecting names what comes before the first statement of a connection.
const connecting = "connect"

// follow takes a message in and gives its place; statement is the SQL that it names, if it does. The message
// by which the server is ready outside of a transaction is the last of one.
func (t *transaction) follow(m *pgwire.Message, statement string) Place {
	if t.name == "" {
		t.name = connecting
	}
	if statement != "" && (t.name == "" || t.name == connecting || t.name == beginning) {
		*t = transaction{name: nameOf(statement)}
	}
	side := 0
	if !m.Client {
		side = 1
	}
	if kind := m.Type(); t.count[side] == 0 || kind != t.last[side] {
		t.count[side]++
		t.last[side] = kind
	} else {
		return Place{}
	}
	at := Place{Transaction: t.name, Server: !m.Client, K: t.count[side]}
	if ready(m) {
		*t = transaction{name: connecting}
	}
	if at.K > placesMost {
		return Place{}
	}
	return at
}

// ready says whether a message is the server's that it waits for a statement, outside of a transaction.
func ready(m *pgwire.Message) bool {
	return !m.Client && m.Type() == 'Z' && string(m.Body()) == "I"
}

// beginning names a transaction of which only the BEGIN has been seen.
const beginning = "begin"

// nameOf names a transaction by the statement that it begins with.
func nameOf(sql string) string {
	words := strings.Join(strings.Fields(sql), " ")
	if strings.HasPrefix(strings.ToLower(words), "begin") {
		return beginning
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(words))
	return fmt.Sprintf("%.40s… %08x", words, sum.Sum32())
}
