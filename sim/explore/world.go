package explore

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/graph"
	"pulley/sim/db"
)

// epoch is where all clocks begin. Any moment would do that is not the zero time, which means none.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	stepsMax   = 200_000                 // a world with more does not end (I9)
	violations = 10                      // that are kept; one bug breaks many things
	calm       = 90 * int64(time.Second) // after the last fault, in which everything must end (I9)
)

// world is all that there is.
type world struct {
	Case
	load *workload
	rng  *rand.Rand
	src  *rand.PCG

	now      int64 // ns; never goes back
	queue    calendar
	seq      uint64
	steps    int   // that have happened
	fault    int   // the next one
	calmFrom int64 // when the last fault was over; -1: it is not

	server                   *server
	store                    store
	engines                  []*process
	insts                    []*instance
	arrived                  int // instances that were submitted, or are to be
	left                     int // of these, that have not ended
	draining, stopping, over bool

	lives   int     // of processes whose design stands on a host
	ids     int     // that their clocks gave
	running *thread // at hand
	spare   *spare

	hash   [2]uint64
	trace  *Trace
	result Result
	judge  judge
}

// Result is what a world showed.
type Result struct {
	Seed       uint64
	Hash       string
	Steps      int
	Virtual    time.Duration
	Violations []string
	Counts     Counts

	Kind string // of the first violation: its invariant, and what is said of it but for what differs
}

// instance is one that a client wants to have run.
type instance struct {
	index    int
	id       uuid.UUID
	shard    int
	known    bool // the client knows that it is stored
	taken    bool // it is stored
	ended    bool
	canceled bool // somebody asked for that
}

// newWorld makes the world of a case, in which nothing has happened yet. It is to be attached before it is played.
func newWorld(c Case, load *workload, spare *spare, trace *Trace) *world {
	w := &world{Case: c, load: load, trace: trace, calmFrom: -1, spare: spare}
	w.src = rand.NewPCG(c.Seed, 0x776f726c64)
	w.rng = rand.New(w.src)
	w.hash = [2]uint64{c.Seed, 1}
	w.result.Seed = c.Seed
	w.server = newServer(w)
	for i := range c.Engines {
		p := &process{w: w, index: i}
		w.engines = append(w.engines, p)
		w.after(w.rng.Int64N(us(1000)), nil, p.begin)
	}
	for i, a := range c.Arrivals {
		inst := &instance{index: i, id: w.newID(i)}
		inst.shard = backend.ShardOf(inst.id, c.Shards)
		w.insts = append(w.insts, inst)
		if a.AtUS >= 0 {
			w.arrive(us(a.AtUS))
		}
	}
	return w
}

// attach gives a world its design, and who judges what happens.
func (w *world) attach(s store, j judge) {
	w.store, w.judge = s, j
	w.server.Committed = w.committed
}

// arrive has the next instance submitted at a time.
func (w *world) arrive(at int64) {
	inst := w.insts[w.arrived]
	a := w.Arrivals[w.arrived]
	w.arrived++
	w.left++
	w.at(at, nil, func() { w.submit(inst, a.Engine) })
	if a.CancelUS > 0 {
		w.at(at+us(a.CancelUS), nil, func() { w.cancel(inst) })
	}
}

// us gives so many µs in ns.
func us(n int64) int64 { return n * int64(time.Microsecond) }

// marksLeases is for how many leases marks of commits are kept: as many as of an engine with the lease that is usual.
const marksLeases = 12

// marksKept is how long push keeps marks of commits, in ns.
func (w *world) marksKept() int64 {
	if w.MarksUS > 0 {
		return us(w.MarksUS)
	}
	return marksLeases * us(w.LeaseUS)
}

// newID draws an id in the form of a random UUID. Ids are in the order of their instances.
func (w *world) newID(index int) uuid.UUID {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(w.rng.Uint32())
	}
	id[0], id[1] = byte(index>>8), byte(index)
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// freshID draws an id that is no instance's.
func (w *world) freshID() uuid.UUID {
	w.ids++
	return w.newID(1<<12 + w.ids)
}

// instanceOf finds an instance by its id.
func (w *world) instanceOf(id uuid.UUID) *instance {
	i := int(id[0])<<8 | int(id[1])
	if i >= len(w.insts) || w.insts[i].id != id {
		return nil
	}
	return w.insts[i]
}

// at puts something on the calendar: for a process in its present life, or for the world.
func (w *world) at(at int64, to *process, do func()) {
	w.put(at, to, doing(do), 0)
}

func (w *world) after(d int64, to *process, do func()) { w.put(w.now+d, to, doing(do), 0) }

// put is at for an act of somebody who may call it off.
func (w *world) put(at int64, to *process, who actor, act int) {
	w.seq++
	o := occurrence{at: at, tie: uint32(w.src.Uint64()), seq: w.seq, to: to, who: who, act: act}
	if to != nil {
		o.life = to.life
	}
	w.queue.push(o)
}

// mean draws a span that is exponential about a mean, in ns, and never more than twenty times that.
func (w *world) mean(ns int64) int64 {
	return int64(min(w.rng.ExpFloat64(), 20) * float64(ns))
}

// play lets one thing after the other happen.
func (w *world) play() {
	for !w.over && len(w.result.Violations) == 0 {
		if w.queue.empty() {
			w.violate("I9", "nothing is to happen any more, and %s", w.unfinished())
			break
		}
		o := w.queue.pop()
		if o.who.off(o.act) {
			w.queue.moot--
			continue
		}
		if o.to != nil {
			if o.life != o.to.life {
				continue
			}
			if until := o.to.frozen; until > o.at {
				o.at = until
				w.queue.push(o)
				continue
			}
		}
		w.now = o.at
		w.steps++
		o.who.do(o.act)
		if o.to != nil {
			o.to.step()
		}
		if w.fault < len(w.Faults) && w.steps >= w.Faults[w.fault].After {
			w.strike(&w.Faults[w.fault])
			w.fault++
		}
		w.watch()
	}
	for _, p := range w.engines {
		p.reap()
	}
	if w.server.Deadlocks > 0 {
		w.violate("D5", "%d times statements waited for each other in a circle", w.server.Deadlocks)
	}
	w.result.Counts.Deadlocks = w.server.Deadlocks
	w.result.Steps, w.result.Virtual = w.steps, time.Duration(w.now)
	w.result.Hash = fmt.Sprintf("%016x%016x", w.hash[0], w.hash[1])
}

// watch ends the world when it is time, or has taken too long.
func (w *world) watch() {
	if w.left == 0 && !w.draining {
		if w.fault < len(w.Faults) && w.arrived < len(w.insts) {
			w.arrive(w.now)
		} else {
			w.drain()
		}
	}
	if w.fault == len(w.Faults) && w.calmFrom < 0 {
		w.calmFrom = w.now + w.troubles()
	}
	switch {
	case w.steps > stepsMax:
		w.violate("I9", "more than %d steps, and %s", stepsMax, w.unfinished())
	case w.calmFrom >= 0 && w.now-w.calmFrom > calm+2*us(w.LeaseUS)+4*us(w.SweepUS):
		w.violate("I9", "%v after the last fault, %s", time.Duration(w.now-w.calmFrom), w.unfinished())
	}
}

func (w *world) unfinished() string {
	for _, inst := range w.insts[:w.arrived] {
		if !inst.ended {
			return fmt.Sprintf("%d of %d instances have not ended, the first of them number %d: %s", w.left, w.arrived, inst.index, w.judge.describe(inst))
		}
	}
	return "engines have not stopped"
}

// note adds a step to the trace's hash and, if there is one, to the trace.
func (w *world) note(what What, who int, a, b, c int64) {
	w.mix(uint64(w.now))
	w.mix(uint64(what)<<32 | uint64(uint32(who)))
	w.mix(uint64(a))
	w.mix(uint64(b) ^ bits.RotateLeft64(uint64(c), 32))
	w.result.Counts.Whats[what]++
	if w.trace != nil {
		w.trace.add(w, what, who, a, b, c)
	}
}

func (w *world) mix(v uint64) {
	hi, lo := bits.Mul64(w.hash[0]^v, 0x9e3779b97f4a7c15)
	w.hash[0] = hi ^ lo ^ w.hash[1]
	w.hash[1] = bits.RotateLeft64(w.hash[1], 23) + lo
}

// mixText adds a text to the hash.
func (w *world) mixText(s string) {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	w.mix(h)
}

// end notes that an instance has ended.
func (w *world) end(inst *instance) {
	inst.ended = true
	w.left--
}

// violate notes that an invariant does not hold.
func (w *world) violate(invariant, format string, args ...any) {
	w.violation(invariant, format, fmt.Sprintf(format, args...))
}

// violation notes one of a kind.
func (w *world) violation(invariant, kind, text string) {
	if len(w.result.Violations) >= violations {
		return
	}
	text = invariant + ": " + text
	if len(w.result.Violations) == 0 {
		w.result.Kind = invariant + ": " + kind
	}
	w.result.Violations = append(w.result.Violations, text)
	w.note(Violated, 0, 0, 0, 0)
	if w.trace != nil {
		w.trace.say(text)
	}
}

// drain has the engines stop once there is nothing left to do, and what ended instances left behind has been swept.
func (w *world) drain() {
	w.draining = true
	w.fault = len(w.Faults) // the rest does not happen
	patience := w.now + w.troubles() + 2*us(w.LeaseUS) + 10*us(w.SweepUS) + 2*int64(time.Second)
	w.heal()
	w.after(us(w.SweepUS)/4, nil, func() { w.stop(patience) })
}

// stop ends the engines' lives, when nothing is left (I10) or it should not be.
func (w *world) stop(patience int64) {
	if len(w.store.leftovers()) > 0 && w.now < patience {
		w.after(us(w.SweepUS)/4, nil, func() { w.stop(patience) })
		return
	}
	w.stopping = true
	for _, p := range w.engines {
		p.drain(us(w.LeaseUS))
	}
	w.after(us(100), nil, w.stopped)
}

// stopped waits until all engines have stopped, and looks at what is left.
func (w *world) stopped() {
	for _, p := range w.engines {
		if p.alive && !p.stopped {
			w.after(us(20_000), nil, w.stopped)
			return
		}
	}
	w.over = true
	w.inspect()
}

// inspect looks at what the world has left (I10).
func (w *world) inspect() {
	for table, n := range w.store.leftovers() {
		if n > 0 {
			w.violate("I10", "%d rows are left in %s", n, table)
		}
	}
	for _, inst := range w.insts {
		if !inst.ended {
			continue
		}
		w.judge.final(inst)
	}
}

// store is what is on the server, of a design.
type store interface {
	open(h *host) (hosted, error) // the real code of the design, on the host of a process
	crashed()                     // what the server has in memory is gone
	leftovers() map[string]int    // rows of instances that have ended, by table; in no order
	instance(index int) stored
}

// judge holds what happens in a world against what must.
type judge interface {
	committed(tx *db.Tx)
	offered(completions []backend.Completion)                        // go to the store
	reply(p *process, c *dispatch.Call, r *dispatch.Reply)           // reaches an engine
	started(p *process, inst *instance, task *backend.Task)          // an attempt begins
	dropped(p *process, l backend.Lease)                             // an engine is not at a task any more
	granted(inst *instance, run graph.Run, token int64, attempt int) // a lease, by an owner in memory
	jumped(by int64)                                                 // the server's clock has, by ns
	describe(inst *instance) string                                  // what is still to happen to it
	final(inst *instance)                                            // looks at what is stored of it in the end
}

// stored is an instance as the store has it.
type stored struct {
	status backend.Status
	result string
}

// committed is told of each commit.
func (w *world) committed(tx *db.Tx) {
	w.note(Committed, tx.Session.ID, int64(len(tx.Notes)), int64(tx.Seq()), 0)
	w.judge.committed(tx)
}
