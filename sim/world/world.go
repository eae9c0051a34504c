package world

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/graph"
	"pulley/sim/cases"
	"pulley/sim/db"
)

// Epoch is where all clocks begin. Any moment would do that is not the zero time, which means none.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	stepsMax   = 200_000                 // a world with more does not end (I9)
	violations = 10                      // that are kept; one bug breaks many things
	calmPeriod = 90 * int64(time.Second) // after the last fault, in which everything must end (I9)
)

// World is all that there is.
type World struct {
	cases.Case
	Workload *cases.Workload
	Rand     *rand.Rand
	src      *rand.PCG

	Now           int64 // ns; never goes back
	queue         calendar
	seq           uint64
	Steps         int   // that have happened
	fault         int   // the next one
	faultsEndedAt int64 // when the last fault was over; -1: it is not

	Server                   *Server
	Store                    Store
	engines                  []*Process
	Instances                []*Instance
	arrived                  int // instances that were submitted, or are to be
	remaining                int // of these, that have not ended
	draining, stopping, Over bool

	incarnations int     // of processes whose design stands on a host
	ids          int     // that their clocks gave
	running      *thread // at hand
	spare        *Spare

	hash   [2]uint64
	Trace  *Trace
	Result Result
	Judge  judge
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

// Instance is one that a client wants to have run.
type Instance struct {
	Index        int
	ID           uuid.UUID
	Shard        int
	acknowledged bool // the client knows that it is stored
	Stored       bool // it is stored
	Ended        bool
	Canceled     bool // somebody asked for that
}

// New makes the world of a case, in which nothing has happened yet. It is to be attached before it is played.
func New(c cases.Case, load *cases.Workload, spare *Spare, trace *Trace) *World {
	w := &World{Case: c, Workload: load, Trace: trace, faultsEndedAt: -1, spare: spare, queue: spare.reuseCalendar()}
	w.src = rand.NewPCG(c.Seed, 0x776f726c64)
	w.Rand = rand.New(w.src)
	w.hash = [2]uint64{c.Seed, 1}
	w.Result.Seed = c.Seed
	w.Server = newServer(w)
	for i := range c.Engines {
		p := &Process{World: w, Index: i}
		w.engines = append(w.engines, p)
		w.after(w.Rand.Int64N(NS(1000)), nil, p.begin)
	}
	all := make([]Instance, len(c.Arrivals))
	for i, a := range c.Arrivals {
		inst := &all[i]
		inst.Index, inst.ID = i, w.newID(i)
		inst.Shard = backend.ShardOf(inst.ID, c.Shards)
		w.Instances = append(w.Instances, inst)
		if a.AtUS >= 0 {
			w.arrive(NS(a.AtUS))
		}
	}
	return w
}

// Attach gives a world its design, and who judges what happens.
func (w *World) Attach(s Store, j judge) {
	w.Store, w.Judge = s, j
	w.Server.Committed = w.committed
}

// arrive has the next instance submitted at a time.
func (w *World) arrive(at int64) {
	inst := w.Instances[w.arrived]
	a := w.Arrivals[w.arrived]
	w.arrived++
	w.remaining++
	w.at(at, nil, func() { w.submit(inst, a.Engine) })
	if a.CancelUS > 0 {
		w.at(at+NS(a.CancelUS), nil, func() { w.cancel(inst) })
	}
}

// NS gives so many µs in ns.
func NS(n int64) int64 { return n * int64(time.Microsecond) }

// slotRetentionLeases is for how many leases commit slots are kept: as many as of an engine with the lease that is usual.
const slotRetentionLeases = 12

// CommitSlotRetention is how long push keeps commit slots, in ns.
func (w *World) CommitSlotRetention() int64 {
	if w.CommitSlotRetentionUS > 0 {
		return NS(w.CommitSlotRetentionUS)
	}
	return slotRetentionLeases * NS(w.LeaseUS)
}

// newID draws an id in the form of a random UUID. Ids are in the order of their instances.
func (w *World) newID(index int) uuid.UUID {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(w.Rand.Uint32())
	}
	id[0], id[1] = byte(index>>8), byte(index)
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// FreshID draws an id that is no instance's.
func (w *World) FreshID() uuid.UUID {
	w.ids++
	return w.newID(1<<12 + w.ids)
}

// InstanceOf finds an instance by its id.
func (w *World) InstanceOf(id uuid.UUID) *Instance {
	i := int(id[0])<<8 | int(id[1])
	if i >= len(w.Instances) || w.Instances[i].ID != id {
		return nil
	}
	return w.Instances[i]
}

// at puts something on the calendar: for a process in its present life, or for the world.
func (w *World) at(at int64, to *Process, do func()) {
	w.put(at, to, actOnce(do), 0)
}

func (w *World) after(d int64, to *Process, do func()) { w.put(w.Now+d, to, actOnce(do), 0) }

// put is at for an act of somebody who may call it off.
func (w *World) put(at int64, to *Process, who actor, act int) {
	w.seq++
	o := occurrence{at: at, tie: uint32(w.src.Uint64()), seq: w.seq, to: to, actor: who, act: act}
	if to != nil {
		o.incarnation = to.Incarnation
	}
	w.queue.push(o)
}

// mean draws a span that is exponential about a mean, in ns, and never more than twenty times that.
func (w *World) mean(ns int64) int64 {
	return int64(min(w.Rand.ExpFloat64(), 20) * float64(ns))
}

// Play lets one thing after the other happen.
func (w *World) Play() {
	for !w.Over && len(w.Result.Violations) == 0 {
		if w.queue.empty() {
			w.Violate("I9", "nothing is to happen any more, and %s", w.unfinished())
			break
		}
		o := w.queue.pop()
		if o.actor.isStale(o.act) {
			w.queue.moot--
			continue
		}
		if o.to != nil {
			if o.incarnation != o.to.Incarnation {
				continue
			}
			if until := o.to.frozen; until > o.at {
				o.at = until
				w.queue.push(o)
				continue
			}
		}
		w.Now = o.at
		w.Steps++
		o.actor.do(o.act)
		if o.to != nil {
			o.to.step()
		}
		if w.fault < len(w.Faults) && w.Steps >= w.Faults[w.fault].After {
			w.applyFault(&w.Faults[w.fault])
			w.fault++
		}
		w.watch()
	}
	for _, p := range w.engines {
		p.reap()
	}
	w.spare.calendar = w.queue
	if w.Server.Deadlocks > 0 {
		w.Violate("D5", "%d times statements waited for each other in a circle", w.Server.Deadlocks)
	}
	w.Result.Counts.Deadlocks = w.Server.Deadlocks
	w.Result.Steps, w.Result.Virtual = w.Steps, time.Duration(w.Now)
	w.Result.Hash = fmt.Sprintf("%016x%016x", w.hash[0], w.hash[1])
}

// watch ends the world when it is time, or has taken too long.
func (w *World) watch() {
	if w.remaining == 0 && !w.draining {
		if w.fault < len(w.Faults) && w.arrived < len(w.Instances) {
			w.arrive(w.Now)
		} else {
			w.drain()
		}
	}
	if w.fault == len(w.Faults) && w.faultsEndedAt < 0 {
		w.faultsEndedAt = w.Now + w.faultsRemaining()
	}
	switch {
	case w.Steps > stepsMax:
		w.Violate("I9", "more than %d steps, and %s", stepsMax, w.unfinished())
	case w.faultsEndedAt >= 0 && w.Now-w.faultsEndedAt > calmPeriod+2*NS(w.LeaseUS)+4*NS(w.SweepUS):
		w.Violate("I9", "%v after the last fault, %s", time.Duration(w.Now-w.faultsEndedAt), w.unfinished())
	}
}

func (w *World) unfinished() string {
	for _, inst := range w.Instances[:w.arrived] {
		if !inst.Ended {
			return fmt.Sprintf("%d of %d instances have not ended, the first of them number %d: %s", w.remaining, w.arrived, inst.Index, w.Judge.Describe(inst))
		}
	}
	return "engines have not stopped"
}

// Note adds a step to the trace's hash and, if there is one, to the trace.
func (w *World) Note(what StepKind, who int, a, b, c int64) {
	w.mix(uint64(w.Now))
	w.mix(uint64(what)<<32 | uint64(uint32(who)))
	w.mix(uint64(a))
	w.mix(uint64(b) ^ bits.RotateLeft64(uint64(c), 32))
	w.Result.Counts.StepKinds[what]++
	if w.Trace != nil {
		w.Trace.add(w, what, who, a, b, c)
	}
}

func (w *World) mix(v uint64) {
	hi, lo := bits.Mul64(w.hash[0]^v, 0x9e3779b97f4a7c15)
	w.hash[0] = hi ^ lo ^ w.hash[1]
	w.hash[1] = bits.RotateLeft64(w.hash[1], 23) + lo
}

// MixText adds a text to the hash.
func (w *World) MixText(s string) {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	w.mix(h)
}

// End notes that an instance has ended.
func (w *World) End(inst *Instance) {
	inst.Ended = true
	w.remaining--
}

// Violate notes that an invariant does not hold.
func (w *World) Violate(invariant, format string, args ...any) {
	w.Violation(invariant, format, fmt.Sprintf(format, args...))
}

// Violation notes one of a kind.
func (w *World) Violation(invariant, kind, text string) {
	if len(w.Result.Violations) >= violations {
		return
	}
	text = invariant + ": " + text
	if len(w.Result.Violations) == 0 {
		w.Result.Kind = invariant + ": " + kind
	}
	w.Result.Violations = append(w.Result.Violations, text)
	w.Note(Violated, 0, 0, 0, 0)
	if w.Trace != nil {
		w.Trace.Say(text)
	}
}

// drain has the engines stop once there is nothing left to do, and what ended instances left behind has been swept.
func (w *World) drain() {
	w.draining = true
	w.fault = len(w.Faults) // the rest does not happen
	patience := w.Now + w.faultsRemaining() + 2*NS(w.LeaseUS) + 10*NS(w.SweepUS) + 2*int64(time.Second)
	w.heal()
	w.after(NS(w.SweepUS)/4, nil, func() { w.stop(patience) })
}

// stop ends the engines' lives, when nothing is left (I10) or it should not be.
func (w *World) stop(patience int64) {
	if len(w.Store.Leftovers()) > 0 && w.Now < patience {
		w.after(NS(w.SweepUS)/4, nil, func() { w.stop(patience) })
		return
	}
	w.stopping = true
	for _, p := range w.engines {
		p.drain(NS(w.LeaseUS))
	}
	w.after(NS(100), nil, w.stopped)
}

// stopped waits until all engines have stopped, and looks at what is left.
func (w *World) stopped() {
	for _, p := range w.engines {
		if p.alive && !p.stopped {
			w.after(NS(20_000), nil, w.stopped)
			return
		}
	}
	w.Over = true
	w.inspect()
}

// inspect looks at what the world has left (I10).
func (w *World) inspect() {
	for of, n := range w.Store.Leftovers() {
		if n > 0 {
			w.Violate("I10", "%d rows are left in %s of instance %d", n, of.Table, of.Instance)
		}
	}
	for _, inst := range w.Instances {
		if !inst.Ended {
			continue
		}
		w.Judge.Final(inst)
	}
}

// Store is what is on the server, of a design.
type Store interface {
	Open(h *Host) (Backend, error)   // the real code of the design, on the host of a process
	Crashed()                        // what the server has in memory is gone
	Leftovers() map[LeftoverRows]int // rows of instances that have ended; in no order
	Instance(index int) Stored
}

// LeftoverRows is where rows of an instance that has ended are left.
type LeftoverRows struct {
	Table    string
	Instance int32
}

// judge holds what happens in a world against what must.
type judge interface {
	Committed(tx *db.Tx)
	Offered(completions []backend.Completion)                                    // go to the store
	Reply(p *Process, completions []backend.Completion, r dispatch.Reply)        // reaches an engine, whose call it answers
	Started(p *Process, inst *Instance, task *backend.Task)                      // an attempt begins
	Dropped(p *Process, l backend.Lease)                                         // an engine is not at a task any more
	Granted(inst *Instance, run graph.Run, token int64, attempt, deliveries int) // a lease, by an owner in memory
	LeaseReturned(inst *Instance, run graph.Run, left int)                       // a lease, to an owner; so many count
	Jumped(by int64)                                                             // the server's clock has, by ns
	Describe(inst *Instance) string                                              // what is still to happen to it
	Final(inst *Instance)                                                        // looks at what is stored of it in the end
}

// Stored is an instance as the store has it.
type Stored struct {
	Status backend.Status
	Result string
}

// committed is told of each commit.
func (w *World) committed(tx *db.Tx) {
	w.Note(Committed, tx.Session.ID, int64(len(tx.Notes)), int64(tx.Seq()), 0)
	w.Judge.Committed(tx)
}
