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

// Epoch is where all clocks begin. It may be any time but the zero time, which means none.
var Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	stepsMax   = 200_000                 // a world with more steps fails (I9)
	violations = 10                      // kept at most; one bug breaks many things
	calmPeriod = 90 * int64(time.Second) // after the last fault; everything must end in it (I9)
)

// World is the whole state of a simulation.
type World struct {
	cases.Case
	Workload *cases.Workload
	Rand     *rand.Rand
	src      *rand.PCG

	Now           int64 // ns; never decreases
	queue         calendar
	seq           uint64
	Steps         int
	fault         int   // index of the next fault
	faultsEndedAt int64 // when the last fault ends; -1: not known yet

	Server                   *Server
	Store                    Store
	engines                  []*Process
	Instances                []*Instance
	arrived                  int // instances submitted or scheduled
	remaining                int // arrived instances that have not ended
	draining, stopping, Over bool

	incarnations int // hosts created
	ids          int // drawn by FreshID
	running      *thread
	spare        *Spare

	hash   [2]uint64
	Trace  *Trace
	Result Result
	Judge  judge
}

// Result is the outcome of a world.
type Result struct {
	Seed       uint64
	Hash       string
	Steps      int
	Virtual    time.Duration
	Violations []string
	Counts     Counts

	Kind string // of the first violation: its invariant and message format
}

// Instance is an instance that a client submits.
type Instance struct {
	Index        int
	ID           uuid.UUID
	Shard        int
	acknowledged bool // the client knows that it is stored
	Stored       bool
	Ended        bool
	Canceled     bool // a client asked to cancel it
}

// New makes the world of a case before its first step. Call Attach before Play.
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

// Attach gives a world its design and its judge.
func (w *World) Attach(s Store, j judge) {
	w.Store, w.Judge = s, j
	w.Server.Committed = w.committed
}

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

// NS converts µs to ns.
func NS(n int64) int64 { return n * int64(time.Microsecond) }

// slotRetentionLeases is how long commit slots are kept, in leases. It equals an engine's retention with the default lease.
const slotRetentionLeases = 12

// CommitSlotRetention returns how long push keeps commit slots, in ns.
func (w *World) CommitSlotRetention() int64 {
	if w.CommitSlotRetentionUS > 0 {
		return NS(w.CommitSlotRetentionUS)
	}
	return slotRetentionLeases * NS(w.LeaseUS)
}

// newID draws an id in the form of a random UUID. Ids sort by index.
func (w *World) newID(index int) uuid.UUID {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(w.Rand.Uint32())
	}
	id[0], id[1] = byte(index>>8), byte(index)
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// FreshID draws an id that no instance has.
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

// at schedules do for the world (to is nil) or for the current incarnation of a process.
func (w *World) at(at int64, to *Process, do func()) {
	w.put(at, to, actOnce(do), 0)
}

func (w *World) after(d int64, to *Process, do func()) { w.put(w.Now+d, to, actOnce(do), 0) }

// put schedules an act that its actor can make stale.
func (w *World) put(at int64, to *Process, who actor, act int) {
	w.seq++
	o := occurrence{at: at, tie: uint32(w.src.Uint64()), seq: w.seq, to: to, actor: who, act: act}
	if to != nil {
		o.incarnation = to.Incarnation
	}
	w.queue.push(o)
}

// mean draws an exponentially distributed span with this mean, in ns, capped at twenty times the mean.
func (w *World) mean(ns int64) int64 {
	return int64(min(w.Rand.ExpFloat64(), 20) * float64(ns))
}

// Play runs the world until it is over or violates an invariant.
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

// watch ends a world that has finished or has taken too long.
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

// Note adds a step to the hash, to the counts and, if there is one, to the trace.
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

// Violate records that an invariant does not hold.
func (w *World) Violate(invariant, format string, args ...any) {
	w.Violation(invariant, format, fmt.Sprintf(format, args...))
}

// Violation records a violation with its kind.
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

// drain stops the engines once ended instances have been cleaned up.
func (w *World) drain() {
	w.draining = true
	w.fault = len(w.Faults) // drops the remaining faults
	patience := w.Now + w.faultsRemaining() + 2*NS(w.LeaseUS) + 10*NS(w.SweepUS) + 2*int64(time.Second)
	w.heal()
	w.after(NS(w.SweepUS)/4, nil, func() { w.stop(patience) })
}

// stop drains the engines once no rows are left over (I10), or when patience has passed.
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

// Store is a design's state on the server.
type Store interface {
	Open(h *Host) (Backend, error)   // opens the design's real code on a host
	Crashed()                        // discards what the server keeps in memory
	Leftovers() map[LeftoverRows]int // rows of ended instances
	Instance(index int) Stored
}

// LeftoverRows names a table with rows of an ended instance.
type LeftoverRows struct {
	Table    string
	Instance int32
}

type judge interface {
	Committed(tx *db.Tx)
	Offered(completions []backend.Completion)                                    // completions go to the store
	Reply(p *Process, completions []backend.Completion, r dispatch.Reply)        // an engine receives the reply to its call
	Started(p *Process, inst *Instance, task *backend.Task)                      // an attempt begins
	Dropped(p *Process, l backend.Lease)                                         // an engine stops working on a task
	Granted(inst *Instance, run graph.Run, token int64, attempt, deliveries int) // an owner leased a node run in memory
	LeaseReturned(inst *Instance, run graph.Run, left int)                       // an owner received a lease back; left deliveries count
	Jumped(by int64)                                                             // the server's clock jumped by ns
	Describe(inst *Instance) string
	Final(inst *Instance)
}

// Stored is an instance as the store holds it.
type Stored struct {
	Status backend.Status
	Result string
}

func (w *World) committed(tx *db.Tx) {
	w.Note(Committed, tx.Session.ID, int64(len(tx.Notes)), int64(tx.Seq()), 0)
	w.Judge.Committed(tx)
}
