package fault

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"pulley/engine/pgserver/pgwire"
)

// Place is a message of a kind of transaction. A kind is an operation and a first statement. Its messages differ by statement,
// side and number; consecutive messages of one type, such as rows of a result, count as the first of them. A transaction that
// repeats its statements in rounds has the places of one round.
type Place struct {
	Operation string // see ConnUse; Starting, Connecting
	Statement string // the transaction's first; empty: before it
	At        string // the message's statement, if it is another
	Server    bool   // the server's message; else the client's
	K         int    // from 1
}

// Way is what was done at a place.
type Way string

// The ways.
const (
	Before Way = "lost"      // the message was lost, with its connection
	After  Way = "last"      // it arrived, and nothing after it
	Kill   Way = "killed at" // the engine was killed before it arrived, which is after the previous message
)

// placesMax bounds the messages of a statement and side that are distinguished.
const placesMax = 64

// Places records which places occurred, which belong to the baseline, and what was done at each. It is safe for concurrent use.
type Places struct {
	mu     sync.Mutex
	seen   map[Place]int
	base   map[Place]bool
	done   map[Way]map[Place]int
	rounds map[Way]int // how often it may be done at a place, beyond once
	only   bool        // only places of the baseline are used, once each
}

// NewPlaces makes an empty one.
func NewPlaces() *Places {
	return &Places{seen: map[Place]int{}, base: map[Place]bool{}, done: map[Way]map[Place]int{}, rounds: map[Way]int{}}
}

func (p *Places) see(at Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.K > 0 {
		p.seen[at]++
	}
}

// baselineLeast is how often a place must occur to belong to the baseline: one occurrence may not repeat.
const baselineLeast = 2

// Baseline makes the places seen so far the ones at which something is to be done.
func (p *Places) Baseline() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, times := range p.seen {
		if times >= baselineLeast {
			p.base[at] = true
		}
	}
}

// Resume continues others: it adds their baseline and what they did. What occurs without faults is recorded anew.
func (p *Places) Resume(from *Places) { p.include(from, false) }

// Add adds what others have seen and done.
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
				p.done[way][at] = 1 // rounds count by themselves
			}
		}
	}
}

// again allows each of the ways once more at every place.
func (p *Places) again(ways ...Way) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range ways {
		if !p.only {
			p.rounds[w]++
		}
	}
}

// nextWay returns and records the first of the ways that is still to be used at a place in this round; "": none.
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

// Only restricts ways to places of the baseline, or lifts that.
func (p *Places) Only(baseline bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.only = baseline
}

// Coverage counts the places at which something was done.
type Coverage struct {
	Transactions int         `json:"transactions"`
	Messages     int         `json:"messages"`
	Done         map[Way]int `json:"done"`

	Baseline   int                          `json:"baseline"`   // number of messages before the first fault
	Covered    map[Way]int                  `json:"covered"`    // number of these
	Operations map[string]OperationCoverage `json:"operations"` // the baseline by operation
	Unvisited  []string                     `json:"left"`       // places and ways that the plan's faults should have reached and did not
}

// OperationCoverage is the coverage of the baseline's transactions of one operation.
type OperationCoverage struct {
	Transactions int         `json:"transactions"` // kinds, by first statement
	Client       int         `json:"client"`
	Server       int         `json:"server"`
	Covered      map[Way]int `json:"covered"`
}

// Coverage returns the coverage.
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

// Unvisited lists, in order, the baseline's places, of starts or of the others, at which some of the ways were not used.
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

// String describes the place for people.
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

type transaction struct {
	operation string
	name      string // empty: before the first statement
	client    segment
	server    segment
	asked     []string // statements that the server has not answered, in order
	answered  bool     // the server has finished its last answer
}

type segment struct {
	statement string
	count     int
	last      byte
}

// next counts a message. It returns false if the message is not distinguished from the one before.
func (s *segment) next(kind byte) bool {
	if s.count > 0 && kind == s.last {
		return false
	}
	s.count, s.last = s.count+1, kind
	return s.count <= placesMax
}

// handleMessage tracks a message and returns its place. statement is the SQL that the message names, if any. A transaction ends
// when the server is ready outside a transaction; the next one belongs to operation.
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
		t.client = segment{statement: read(statement).name} // reset, also for the same statement again
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

func (t *transaction) handleAnswer(m *pgwire.Message) {
	switch kind := m.Type(); {
	case ready(m):
		*t = transaction{}
	case kind == 'Z': // after an error, outstanding statements are not answered
		t.asked, t.answered = nil, true
	case len(t.asked) > 0 && (kind == 'C' || kind == '1' && t.asked[0] == preparing):
		t.asked, t.answered = t.asked[1:], true
	}
}

// ready reports whether the server waits for a statement outside a transaction.
func ready(m *pgwire.Message) bool {
	return !m.Client && m.Type() == 'Z' && string(m.Body()) == "I"
}

// beginning names a transaction whose BEGIN alone was seen.
const beginning = "begin"

// preparing is the name of a statement that is prepared, whatever it is.
const preparing = "prepare "

// nameOf names a transaction by the first words of its first statement, which optional parts of it do not change.
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
