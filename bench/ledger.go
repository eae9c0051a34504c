package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/bench/stages"
	"pulley/engine/graph"
)

// ledger records every node run of every instance of one run. It is written on the measured path, so it is nearly free: an
// instance's id contains its place, a node run is a word in an array, instances share no lock, and a node run allocates
// nothing.
type ledger struct {
	began     time.Time
	random    uuid.UUID // part of every id
	batch     *instanceBatch
	layouts   []*layout
	stages    *stages.Recorder
	instances []account
}

type layout struct {
	places  []int32 // by graph.NodeID; -1: no own runs
	width   int
	actions []bool // by place: whether it is an action, which counts as a node run
}

// account is one instance's page; zero until it is submitted.
type account struct {
	mu        sync.Mutex
	id        uuid.UUID
	layout    *layout
	client    int32
	ended     bool
	runs      int32
	submitted int64
	stored    int64        // when confirmed; zero: not, or not recorded
	received  int64        // when the client had the result; zero: not, or not recorded
	offered   int64        // when the latest completion was; zero: none
	flat      []word       // by place: runs with an empty path
	deep      [][]word     // by place and index: runs with one index; allocated on demand
	stages    *stages.Page // nil: not recorded
	odd       *odd
}

type odd struct {
	remaining map[graph.Run]*word // with longer paths
	again     map[attempt]bool    // applied attempts after the first
	spilled   []time.Duration     // hops of attempts that were followed by others
	twice     string
}

// oddity creates a.odd if needed. The page's lock must be held.
func (a *account) oddity() *odd {
	if a.odd == nil {
		a.odd = &odd{remaining: map[graph.Run]*word{}, again: map[attempt]bool{}}
	}
	return a.odd
}

type attempt struct {
	run    graph.Run
	number int
}

// word is the state of a node run: three flags, and above them a time in nanoseconds.
type word int64

const (
	wordApplied word = 1 << iota // the first attempt's completion was applied
	wordCounted                  // some attempt's was
	wordStarted                  // the time is the hop's length; else, if not zero, when its cause was offered
	wordFlags   = wordApplied | wordCounted | wordStarted
	wordBits    = 3
)

func newLedger(lot *instanceBatch, instances int) *ledger {
	l := &ledger{random: uuid.Must(uuid.NewV7()), batch: lot, instances: make([]account, instances)}
	made := map[*graph.Graph]*layout{}
	for i := range lot.mix.Workloads {
		g := lot.mix.Workloads[i].Graph
		if made[g] == nil {
			made[g] = newLayout(g)
		}
		l.layouts = append(l.layouts, made[g])
	}
	return l
}

func newLayout(g *graph.Graph) *layout {
	l := &layout{places: make([]int32, len(g.Nodes))}
	for i, n := range g.Nodes {
		l.places[i] = -1
		if n.Kind == graph.Action || n.Kind == graph.Sleep {
			l.places[i] = int32(l.width)
			l.width++
			l.actions = append(l.actions, n.Kind == graph.Action)
		}
	}
	return l
}

const idTries = 64

// newID returns an id that contains the number i: version 7, in the order of time, its random part drawn once per run. near
// accepts or rejects candidates, as an engine does that makes ids.
func (l *ledger) newID(i int, near func(uuid.UUID) bool) uuid.UUID {
	id := l.random
	ms := time.Now().UnixMilli()
	binary.BigEndian.PutUint16(id[0:], uint16(ms>>32))
	binary.BigEndian.PutUint32(id[2:], uint32(ms))
	binary.BigEndian.PutUint32(id[12:], uint32(i))
	for try := 0; try < idTries && !near(id); try++ {
		id[11]++
	}
	return id
}

// account finds and locks an instance's page; nil if the instance is not of this run.
func (l *ledger) account(id uuid.UUID) *account {
	i := binary.BigEndian.Uint32(id[12:])
	if int(i) >= len(l.instances) {
		return nil
	}
	a := &l.instances[i]
	a.mu.Lock()
	if a.id != id {
		a.mu.Unlock()
		return nil
	}
	return a
}

func (l *ledger) foreign(id uuid.UUID) bool {
	return !bytes.Equal(id[6:10], l.random[6:10])
}

func (l *ledger) number(id uuid.UUID) int { return int(binary.BigEndian.Uint32(id[12:])) }

// since returns nanoseconds since the beginning, never zero.
func (l *ledger) since(at time.Time) int64 { return max(int64(at.Sub(l.began)), 1) }

func (l *ledger) submit(i int, id uuid.UUID, client int) {
	a := &l.instances[i]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id, a.client, a.submitted = id, int32(client), l.since(time.Now())
	a.layout = l.layouts[l.batch.of(i)]
	a.flat = make([]word, a.layout.width)
	a.stages = l.stages.Page(i)
}

// word returns nil if the node has none. The page's lock must be held.
func (l *ledger) word(a *account, run graph.Run) *word {
	node := int(run.Node)
	if node < 0 || node >= len(a.layout.places) || a.layout.places[node] < 0 {
		return nil
	}
	place := int(a.layout.places[node])
	if run.Path == "" {
		return &a.flat[place]
	}
	index, ok := single(run.Path)
	if !ok {
		rest := a.oddity().remaining
		if rest[run] == nil {
			rest[run] = new(word)
		}
		return rest[run]
	}
	if a.deep == nil {
		a.deep = make([][]word, a.layout.width)
	}
	if grown := a.deep[place]; index >= len(grown) {
		a.deep[place] = slices.Grow(grown, index+1-len(grown))[:index+1]
	}
	return &a.deep[place][index]
}

// indexMax bounds the arrays; it is the default limit of a spread or loop.
const indexMax = 1 << 20

func single(p graph.Path) (int, bool) {
	n := 0
	for i := range len(p) {
		c := p[i]
		if c < '0' || c > '9' || n >= indexMax {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, n < indexMax
}

// The page's lock must be held.
func (a *account) lease(w *word) {
	if *w&wordStarted != 0 {
		a.oddity().spilled = append(a.oddity().spilled, time.Duration(*w>>wordBits))
	}
	*w = *w&(wordApplied|wordCounted) | word(a.offered)<<wordBits
}

// The page's lock must be held.
func (w *word) start(now int64) {
	if cause := int64(*w >> wordBits); *w&wordStarted == 0 && cause > 0 {
		*w = *w&wordFlags | wordStarted | word(max(now-cause, 0))<<wordBits
	}
}

// The page's lock must be held.
func (l *ledger) apply(a *account, w *word, run graph.Run, number int) {
	switch {
	case number <= 1 && *w&wordApplied != 0:
		a.doubt(run, number)
	case number <= 1:
		*w |= wordApplied
	case a.oddity().again[attempt{run, number}]:
		a.doubt(run, number)
	default:
		a.odd.again[attempt{run, number}] = true
	}
	if *w&wordCounted == 0 {
		*w |= wordCounted
		if a.layout.actions[a.layout.places[run.Node]] {
			a.runs++
		}
	}
}

func (a *account) doubt(run graph.Run, number int) {
	if a.oddity().twice == "" {
		a.odd.twice = fmt.Sprintf("instance %s, node run %d %q, attempt %d: applied twice (I3)", a.id, run.Node, run.Path, number)
	}
}

func (l *ledger) hops(yield func(time.Duration)) {
	of := func(words []word) {
		for _, w := range words {
			if w&wordStarted != 0 {
				yield(time.Duration(w >> wordBits))
			}
		}
	}
	for i := range l.instances {
		a := &l.instances[i]
		a.mu.Lock()
		of(a.flat)
		for _, words := range a.deep {
			of(words)
		}
		if a.odd != nil {
			for _, w := range a.odd.remaining {
				of([]word{*w})
			}
			for _, hop := range a.odd.spilled {
				yield(hop)
			}
		}
		a.mu.Unlock()
	}
}
