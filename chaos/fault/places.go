package fault

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"pulley/engine/pgserver/pgwire"
)

// Place is a message of a kind of transaction. Transactions are told apart by the operation that they are of and
// the statement that they begin with, and messages by the statement that they belong to, and how many of it came before
// on their side; messages of one type in a row, such as rows of a result, count as the first of them. A transaction that
// makes the same statements round after round has the places of one round.
type Place struct {
	Operation string // see Mark; Starting, Connecting
	Statement string // how it begins; empty: before the first
	At        string // the statement that the message belongs to, if it is another
	Server    bool   // the server's message; else the client's
	K         int    // from 1
}

// Way is what was done at a place.
type Way string

// The ways.
const (
	Before Way = "lost"      // the message was lost, and its connection with it
	After  Way = "last"      // it arrived, and nothing after it
	Kill   Way = "killed at" // the engine was killed before it arrived, which is after the one before had
)

// placesMax bounds the messages of one statement and side that are told apart.
const placesMax = 64

// Places remembers the places that came, which of them belong to the baseline, and what was done at which. It is
// safe for concurrent use.
type Places struct {
	mu     sync.Mutex
	seen   map[Place]int // how often
	base   map[Place]bool
	done   map[Way]map[Place]int // how often
	rounds map[Way]int           // how often it may be done at a place, beyond once
	only   bool                  // places of the baseline are gone to, once, and no others
}

// NewPlaces makes an empty one.
func NewPlaces() *Places {
	return &Places{seen: map[Place]int{}, base: map[Place]bool{}, done: map[Way]map[Place]int{}, rounds: map[Way]int{}}
}

// see notes a place.
func (p *Places) see(at Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.K > 0 {
		p.seen[at]++
	}
}

// baselineLeast is how often a place must have come to belong to the baseline: what came once need not come again.
const baselineLeast = 2

// Baseline has the places that came so far be those at which something is to be done.
func (p *Places) Baseline() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, times := range p.seen {
		if times >= baselineLeast {
			p.base[at] = true
		}
	}
}

// Resume begins where others have stopped: their baseline belongs to this one's, and what they did need not be done again.
// Which messages come without faults is seen anew.
func (p *Places) Resume(from *Places) { p.include(from, false) }

// Add takes in what others have seen and done.
func (p *Places) Add(o *Places) { p.include(o, true) }

func (p *Places) include(o *Places, seen bool) {
	o.mu.Lock()
	base, done, came := maps.Clone(o.base), map[Way]map[Place]int{}, map[Place]int{}
	for way, places := range o.done {
		done[way] = maps.Clone(places)
	}
	if seen {
		came = maps.Clone(o.seen)
	}
	o.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.base, base)
	for at, times := range came {
		p.seen[at] += times
	}
	for way, places := range done {
		if p.done[way] == nil {
			p.done[way] = map[Place]int{}
		}
		for at, times := range places {
			if times > 0 {
				p.done[way][at] = 1 // how often is of the rounds of each
			}
		}
	}
}

// again has each of the ways gone at every place once more.
func (p *Places) again(ways ...Way) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range ways {
		if !p.only {
			p.rounds[w]++
		}
	}
}

// nextWay gives the first of the ways that has not been gone at a place in this round, and notes that it is; "" if
// there is none.
func (p *Places) nextWay(at Place, ways ...Way) Way {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.K == 0 || p.only && !p.base[at] {
		return ""
	}
	for _, w := range ways {
		if p.done[w] == nil {
			p.done[w] = map[Place]int{}
		}
		if most := p.rounds[w]; p.done[w][at] == 0 || p.done[w][at] <= most && !p.only {
			p.done[w][at]++
			return w
		}
	}
	return ""
}

// Only says whether nothing is done any more at places that are not of the baseline.
func (p *Places) Only(baseline bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.only = baseline
}

// Coverage is how much of what was seen something was done at.
type Coverage struct {
	Transactions int         `json:"transactions"` // kinds of them
	Messages     int         `json:"messages"`     // of all of these
	Done         map[Way]int `json:"done"`         // messages, by what was done at them

	Baseline   int                          `json:"baseline"`   // messages that came before the first fault
	Covered    map[Way]int                  `json:"covered"`    // of these, by what was done at them
	Operations map[string]OperationCoverage `json:"operations"` // the baseline by operation
	Unvisited  []string                     `json:"left"`       // places and ways to which the plan's faults should have gone, and did not
}

// OperationCoverage is that of the baseline's transactions of one operation.
type OperationCoverage struct {
	Transactions int         `json:"transactions"` // kinds of them, by the statement that they begin with
	Client       int         `json:"client"`       // messages
	Server       int         `json:"server"`
	Covered      map[Way]int `json:"covered"`
}

// Coverage gives it.
func (p *Places) Coverage() Coverage {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := Coverage{
		Messages: len(p.seen), Done: map[Way]int{}, Baseline: len(p.base), Covered: map[Way]int{},
		Operations: map[string]OperationCoverage{}, Unvisited: []string{},
	}
	kinds := map[[2]string]bool{}
	for at := range p.seen {
		kinds[[2]string{at.Operation, at.Statement}] = true
	}
	c.Transactions = len(kinds)
	for way, places := range p.done {
		c.Done[way] = len(places)
	}
	clear(kinds)
	for at := range p.base {
		o := c.Operations[at.Operation]
		if o.Covered == nil {
			o.Covered = map[Way]int{}
		}
		if kind := [2]string{at.Operation, at.Statement}; !kinds[kind] {
			kinds[kind] = true
			o.Transactions++
		}
		if at.Server {
			o.Server++
		} else {
			o.Client++
		}
		for way, places := range p.done {
			if places[at] > 0 {
				o.Covered[way]++
				c.Covered[way]++
			}
		}
		c.Operations[at.Operation] = o
	}
	return c
}

// Unvisited lists the places of the baseline, those of starts or the others, to which some of the ways have not been gone,
// with the way, in order.
func (p *Places) Unvisited(starts bool, ways ...Way) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := []string{}
	for at := range p.base {
		for _, way := range ways {
			if (at.Operation == Starting) == starts && p.done[way][at] == 0 {
				left = append(left, fmt.Sprintf("%s: not %s", at, way))
			}
		}
	}
	slices.Sort(left)
	return left
}

// String words the place for a person.
func (p Place) String() string {
	side := "client"
	if p.Server {
		side = "server"
	}
	statement := p.Statement
	if statement != "" {
		statement = ", " + statement
	}
	if p.At != "" {
		statement += ", at " + p.At
	}
	return fmt.Sprintf("%s%s: message %02d of the %s", p.Operation, statement, p.K, side)
}

// transaction follows one transaction of a connection.
type transaction struct {
	operation string
	name      string // empty: before the first statement
	client    segment
	server    segment
	asked     []string // statements that the server has not answered, in order
	answered  bool     // the server has answered the statement that it spoke of last
}

// segment is what one side says of one statement.
type segment struct {
	statement string
	count     int
	last      byte // type of the message
}

// next counts a message, and says whether it is told apart from the one before.
func (s *segment) next(kind byte) bool {
	if s.count > 0 && kind == s.last {
		return false
	}
	s.count, s.last = s.count+1, kind
	return s.count <= placesMax
}

// handleMessage takes a message in and gives its place; statement is the SQL that it names, if it does. The message
// by which the server is ready outside of a transaction is the last of one, and the next is of the operation.
func (t *transaction) handleMessage(m *pgwire.Message, statement, operation string) Place {
	if statement != "" && (t.name == "" || t.name == beginning) {
		of := read(statement)
		*t = transaction{operation: purpose(of, operation), name: of.name, asked: t.asked}
	}
	if t.operation == "" {
		t.operation = operation
	}
	side := &t.client
	if statement != "" {
		t.client = segment{statement: read(statement).name} // anew, where it is the same again
		t.asked = append(t.asked, t.client.statement)
	}
	if !m.Client {
		if side = &t.server; len(t.asked) > 0 && (t.answered || side.count == 0) {
			*side, t.answered = segment{statement: t.asked[0]}, false
		}
	}
	at := Place{Operation: t.operation, Statement: t.name, Server: !m.Client}
	if side.statement != t.name {
		at.At = side.statement
	}
	if side.next(m.Type()) {
		at.K = side.count
	} else {
		at = Place{}
	}
	if !m.Client {
		t.handleAnswer(m)
	}
	return at
}

// handleAnswer takes in what the server has answered by a message.
func (t *transaction) handleAnswer(m *pgwire.Message) {
	switch kind := m.Type(); {
	case ready(m):
		*t = transaction{}
	case kind == 'Z': // after an error, what was asked meanwhile is not answered any more
		t.asked, t.answered = nil, true
	case len(t.asked) > 0 && (kind == 'C' || kind == '1' && t.asked[0] == preparing):
		t.asked, t.answered = t.asked[1:], true
	}
}

// ready says whether a message is the server's that it waits for a statement, outside of a transaction.
func ready(m *pgwire.Message) bool {
	return !m.Client && m.Type() == 'Z' && string(m.Body()) == "I"
}

// beginning names a transaction of which only the BEGIN has been seen.
const beginning = "begin"

// preparing begins the name of a statement that is prepared. What is prepared has no names of its own.
const preparing = "prepare "

// nameOf names a transaction by the statement that it begins with: by its first words, which parts that are left out
// of it do not change.
func nameOf(sql string) string {
	words := strings.Join(strings.Fields(sql), " ")
	switch {
	case strings.HasPrefix(strings.ToLower(words), "begin"):
		return beginning
	case strings.HasPrefix(words, preparing):
		return preparing
	}
	return fmt.Sprintf("%.40s", words)
}
