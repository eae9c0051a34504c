package judge

import (
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/graph"
	"pulley/sim/db"
	"pulley/sim/world"
)

// Judge holds what happens in a world against the invariants, step by step.
type Judge struct {
	w       *world.World
	tables  Tables
	models  []Model // of instances
	touched []*world.Instance
	offers  map[int64]int  // how often a completion was offered, by its token
	undone  map[int64]bool // tokens of leases that the transaction which gave them has taken back
	clocks  bool           // the server's clock has jumped: leases end when nobody expects it
	ahead   int64          // ns that it was put forward by, altogether
	late    uint64         // the shards that an engine has taken when it had given up trying: it loses them to itself, and all leases that it gave
}

// Tables are those of a design, on the server.
type Tables interface {
	Committed(m *Model) // holds what is stored of an instance that runs against its model
	Instance(index int) world.Stored
	Status(index int) backend.Status // of an instance, as is committed; empty: it is not stored
}

// New makes the one of a world whose instances are known.
func New(w *world.World, tables Tables) *Judge {
	return &Judge{w: w, tables: tables, models: make([]Model, len(w.Instances))}
}

// model is that of an instance. It is made when something happens to the instance: most never come to that.
func (j *Judge) model(inst *world.Instance) *Model {
	m := &j.models[inst.Index]
	if m.Inst == nil {
		m.begin(j.w, inst)
	}
	return m
}

// Describe implements judge.
func (j *Judge) Describe(inst *world.Instance) string { return j.model(inst).Describe() }

// Final implements judge.
func (j *Judge) Final(inst *world.Instance) { j.model(inst).final(j.tables.Instance(inst.Index)) }

// Jumped implements judge: leases end when nobody expects it.
func (j *Judge) Jumped(by int64) {
	j.clocks = true
	j.ahead += max(by, 0)
}

// The notes that statements leave in their transactions, beside Event.
type (
	// Leased is a lease that a transaction gave.
	Leased struct {
		Inst     *world.Instance
		Run      graph.Run
		Token    int64
		Attempt  int
		Snapshot uint64 // the last commit before the transaction began

		Deliveries int // of the attempt, with this one
	}
	// LeaseReturned is a lease that does not count: its holder gave it back, or never heard of it. Token is the run's next; zero: it
	// keeps the one that it has.
	LeaseReturned struct {
		Inst  *world.Instance
		Run   graph.Run
		Token int64
	}
	// Delivery is a count of deliveries that is durable before the next one is.
	Delivery struct {
		Inst  *world.Instance
		Run   graph.Run
		Count int
	}
	// Fenced is a new token for what is leased.
	Fenced struct {
		Inst  *world.Instance
		Run   graph.Run
		Token int64
	}
	// Do is done where it stands among the notes.
	Do func()
	// Step is one that concerns a shard, such as that it changes hands.
	Step struct {
		What         world.StepKind
		Shard, Epoch int64
	}
	// Ended is an instance whose row says that it has ended.
	Ended struct {
		Inst   *world.Instance
		Status backend.Status
	}
)

// Committed takes in the notes of a transaction.
func (j *Judge) Committed(tx *db.Tx) {
	w, notes := j.w, tx.Notes
	j.touched = j.touched[:0]
	touch := func(inst *world.Instance) *Model {
		if !slices.Contains(j.touched, inst) {
			j.touched = append(j.touched, inst)
		}
		return j.model(inst)
	}
	for _, n := range notes {
		switch n := n.(type) {
		case Do:
			n()
		case Step:
			w.Note(n.What, 0, n.Shard, n.Epoch, 0)
			if n.What == world.Owns && tx.Session.Data.(*world.Conn).KnowsBroken {
				j.late |= 1 << n.Shard
			}
		case world.Notice:
			w.Deliver(n)
		case *Event:
			if m := touch(n.Inst); !n.Dropped {
				m.applyCommitted(n)
			}
		case Leased:
			w.Note(world.Leased, n.Inst.Index, int64(n.Run.Node), n.Token, int64(n.Attempt))
			touch(n.Inst)
		case Fenced:
			touch(n.Inst).retoken(n.Run, n.Token)
		case LeaseReturned:
			w.Note(world.ReturnsLease, n.Inst.Index, int64(n.Run.Node), n.Token, 0)
			touch(n.Inst).returnLease(n.Run, n.Token)
		case Delivery:
			touch(n.Inst).noted(n.Run, n.Count)
		case Ended:
			if m := touch(n.Inst); n.Status != backend.Canceled {
				m.bear()
			}
		}
	}
	for _, inst := range j.touched {
		j.model(inst).endTransaction(tx.Seq())
	}
	for _, n := range notes {
		if e, ok := n.(Ended); ok {
			j.end(j.model(e.Inst), e.Status, tx.Seq())
		}
	}
	for _, n := range notes {
		if l, ok := n.(Leased); ok {
			j.lease(j.model(l.Inst), l, tx.Seq())
		}
	}
	for _, inst := range j.touched {
		m := j.model(inst)
		if m.End != nil {
			m.ended()
			if status := j.tables.Status(inst.Index); status != m.status {
				m.Wrong("I7", "it ended as %s, and is stored as %s", m.status, status)
			}
		}
		if len(w.Result.Violations) == 0 && m.End == nil && m.Inst.Stored {
			j.tables.Committed(m)
		}
	}
}

// lease takes in a lease. One that the same transaction has cancelled is over with it, and nobody may be told of it.
func (j *Judge) lease(m *Model, l Leased, seq uint64) {
	if m.End != nil && l.Snapshot >= m.endSeq {
		m.Wrong("I10", "%s was leased after the end", m.Name(l.Run))
	}
	switch {
	case m.End != nil && m.endSeq == seq, m.End == nil && m.Runs[l.Run] == nil && m.Ever[l.Run]:
		if j.undone == nil {
			j.undone = map[int64]bool{}
		}
		j.undone[l.Token] = true
	case m.End == nil:
		m.leased(l.Run, l.Token, l.Attempt, l.Deliveries)
	}
}

// end holds an end that the store has against the model.
func (j *Judge) end(m *Model, status backend.Status, seq uint64) {
	if status == backend.Canceled {
		m.cancel(seq)
	}
	if m.End == nil || m.status != status {
		m.Wrong("I7", "the store ended it as %s, and its program did not", status)
	}
}

// Offered counts completions that go to the store.
func (j *Judge) Offered(completions []backend.Completion) {
	if j.offers == nil {
		j.offers = map[int64]int{}
	}
	for i := range completions {
		j.offers[completions[i].Lease.Token]++
	}
}

// Reply looks at what an engine is told, of the completions that it has offered, if the call was for those.
func (j *Judge) Reply(p *world.Process, completions []backend.Completion, r dispatch.Reply) {
	w := j.w
	if r.Err != nil {
		if len(completions) > 0 && !backend.IsUnknown(r.Err) {
			for i := range completions { // none of them has taken place, nor will
				j.offers[completions[i].Lease.Token]--
			}
		}
		return
	}
	for i, out := range r.Committed.Outcomes {
		if len(completions) == 0 {
			break // they are of submissions
		}
		l := completions[i].Lease
		inst := w.InstanceOf(l.Key.Instance)
		m := j.model(inst)
		switch out.Answer {
		case backend.Applied:
			if !m.Applied[l.Token] {
				m.Wrong("I8", "%s was answered as applied with token %d, and is not", m.Name(l.Key.Run), l.Token)
			}
		case backend.Stale:
			w.Note(world.Stale, p.Index, int64(inst.Index), l.Token, 0)
			if m.Applied[l.Token] && j.offers[l.Token] == 1 && (w.Backend != "push" || j.ahead < w.CommitSlotRetention()) { // else its mark may be gone
				m.Wrong("I3", "%s was answered as stale with token %d, and was applied", m.Name(l.Key.Run), l.Token)
			}
			if r := m.Runs[l.Key.Run]; r != nil && m.End == nil && !j.clocks && j.late>>inst.Shard&1 == 0 && !m.Applied[l.Token] && r.Token == l.Token && r.begun.token == l.Token &&
				r.begun.p == p && r.begun.incarnation == p.Incarnation && p.Now() < r.begun.until {
				m.Wrong("I3", "%s was answered as stale with token %d, which nobody else has followed, and whose lease holds", m.Name(l.Key.Run), l.Token)
			}
		case backend.Refused:
			m.Wrong("I12", "%s was refused: %v", m.Name(l.Key.Run), out.Err)
		}
	}
	for i := range r.Committed.Tasks {
		if l := r.Committed.Tasks[i].Lease; j.undone[l.Token] {
			m := j.model(w.InstanceOf(l.Key.Instance))
			m.Wrong("I10", "%s was handed out with token %d, and the transaction that leased it has cancelled it", m.Name(l.Key.Run), l.Token)
		}
	}
	for _, e := range r.Committed.Ended {
		inst := w.InstanceOf(e.ID)
		if m := j.model(inst); !inst.Ended || m.status != e.Status {
			m.Wrong("I8", "an engine was told that it ended as %s, and it has not", e.Status)
		}
	}
}

// Started looks at an attempt that begins: its arguments (I4), and who else may be at it (I11).
func (j *Judge) Started(p *world.Process, inst *world.Instance, task *backend.Task) {
	w, m, l := j.w, j.model(inst), task.Lease
	if m.End != nil {
		return // it does not know yet
	}
	if !m.Ever[l.Key.Run] {
		m.Wrong("I5", "%s began, and was never enqueued", m.Name(l.Key.Run))
		return
	}
	if !w.Workload.Expects(task.Action, l.Key.Run.Path, task.Args, task.Attempt) {
		m.Wrong("I4", "%s was called with %.100s as attempt %d; the reference interpreter does not do that", m.Name(l.Key.Run), task.Args, task.Attempt)
	}
	r := m.Runs[l.Key.Run]
	if r == nil {
		return // cancelled, or done by another after this lease was lost
	}
	if r.Token == l.Token && task.Deliveries != r.Deliveries {
		m.Wrong("I14", "%s begins as delivery %d of its attempt; it is delivery %d", m.Name(l.Key.Run), task.Deliveries, r.Deliveries)
	}
	until := int64(task.Expires.Sub(world.Epoch))
	slack := world.NS(w.LeaseUS) / 1_000_000 * driftMax
	for _, h := range r.holders {
		if h.incarnation == h.p.Incarnation && h.p.Now()+slack < h.until && h.token != l.Token && !j.clocks {
			m.Wrong("I11", "%s begins at %s until %v, and %s holds it until %v on its clock", m.Name(l.Key.Run), world.EngineNames[p.Index],
				time.Duration(until), world.EngineNames[h.p.Index], time.Duration(h.until))
		}
	}
	r.begun = holder{p: p, incarnation: p.Incarnation, until: until, token: l.Token}
	r.holders = append(slices.DeleteFunc(r.holders, func(h holder) bool { return h.incarnation != h.p.Incarnation }), holder{p: p, incarnation: p.Incarnation, until: until, token: l.Token})
}

// driftMax is how many parts of a million too slow an engine's clock may be, and more: it believes for so much longer that its
// leases hold, and designs make no allowance for it.
const driftMax = 250

// Dropped notes that an engine is not at a task any more.
func (j *Judge) Dropped(p *world.Process, l backend.Lease) {
	inst := j.w.InstanceOf(l.Key.Instance)
	if r := j.model(inst).Runs[l.Key.Run]; r != nil {
		r.holders = slices.DeleteFunc(r.holders, func(h holder) bool { return h.p == p && h.token == l.Token })
	}
}
