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

// Judge checks a world against the invariants, step by step.
type Judge struct {
	w       *world.World
	tables  Tables
	models  []Model
	touched []*world.Instance
	offers  map[int64]int  // by token: how often a completion was offered
	undone  map[int64]bool // tokens of leases that their own transaction cancelled
	clocks  bool           // the server's clock has jumped, so leases can end at any time
	ahead   int64          // sum of its forward jumps, in ns
	late    uint64         // bits of shards that an engine acquired after giving up: it loses them, and the leases in them, to itself
}

// Tables are a design's tables on the server.
type Tables interface {
	Committed(m *Model) // compares the stored rows of a running instance with its model
	Instance(index int) world.Stored
	Status(index int) backend.Status // committed status of an instance; empty: not stored
}

// New makes the judge of a world whose instances are known.
func New(w *world.World, tables Tables) *Judge {
	return &Judge{w: w, tables: tables, models: make([]Model, len(w.Instances))}
}

// model returns an instance's model. It makes the model at the first use, because most instances need none.
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

// Jumped implements judge.
func (j *Judge) Jumped(by int64) {
	j.clocks = true
	j.ahead += max(by, 0)
}

// The notes, besides Event, that statements leave in their transactions.
type (
	// Leased notes a lease that a transaction grants.
	Leased struct {
		Inst     *world.Instance
		Run      graph.Run
		Token    int64
		Attempt  int
		Snapshot uint64 // the last commit before the transaction began

		Deliveries int // of the attempt, including this one
	}
	// LeaseReturned notes a lease that does not count: its holder returned it or never received it. Token is the node run's new
	// token; zero: unchanged.
	LeaseReturned struct {
		Inst  *world.Instance
		Run   graph.Run
		Token int64
	}
	// Delivery notes a count of deliveries that is stored before the next delivery.
	Delivery struct {
		Inst  *world.Instance
		Run   graph.Run
		Count int
	}
	// Fenced notes a new token for a leased node run.
	Fenced struct {
		Inst  *world.Instance
		Run   graph.Run
		Token int64
	}
	// Do is called at its place among the notes.
	Do func()
	// Step notes a step of a shard, such as a change of its owner.
	Step struct {
		What         world.StepKind
		Shard, Epoch int64
	}
	// Ended notes that an instance's row says that it has ended.
	Ended struct {
		Inst   *world.Instance
		Status backend.Status
	}
)

// Committed applies a transaction's notes.
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
				m.create()
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

// lease checks a granted lease. A lease that the same transaction has cancelled is stale, and no engine may receive it.
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

// Reply checks what an engine receives. completions are the ones that the call offered, if it did.
func (j *Judge) Reply(p *world.Process, completions []backend.Completion, r dispatch.Reply) {
	w := j.w
	if r.Err != nil {
		if len(completions) > 0 && !backend.IsUnknown(r.Err) {
			for i := range completions { // none of them was applied, nor will be
				j.offers[completions[i].Lease.Token]--
			}
		}
		return
	}
	for i, out := range r.Committed.Outcomes {
		if len(completions) == 0 {
			break // the outcomes are of submissions
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
			if m.Applied[l.Token] && j.offers[l.Token] == 1 && (w.Backend != "push" || j.ahead < w.CommitSlotRetention()) { // else its commit slot may be removed
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
			m.Wrong("I8", "an engine was notified that it ended as %s, and it has not", e.Status)
		}
	}
}

// Started checks an attempt that begins: its arguments (I4), and that no other engine holds it (I11).
func (j *Judge) Started(p *world.Process, inst *world.Instance, task *backend.Task) {
	w, m, l := j.w, j.model(inst), task.Lease
	if m.End != nil {
		return // its engine does not know yet
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
		return // cancelled, or completed by another engine after this lease was lost
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

// driftMax bounds how many parts per million too slow an engine's clock is. The engine believes for that much longer that its
// leases hold; designs make no allowance for it.
const driftMax = 250

// Dropped notes that an engine has stopped working on a task.
func (j *Judge) Dropped(p *world.Process, l backend.Lease) {
	inst := j.w.InstanceOf(l.Key.Instance)
	if r := j.model(inst).Runs[l.Key.Run]; r != nil {
		r.holders = slices.DeleteFunc(r.holders, func(h holder) bool { return h.p == p && h.token == l.Token })
	}
}
