package explore

import (
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/graph"
	"pulley/sim/db"
)

// judgeOf holds what happens in a world against the invariants, step by step.
type judgeOf struct {
	w       *world
	tables  tables
	twins   []twin // of instances
	touched []*instance
	offers  map[int64]int  // how often a completion was offered, by its token
	undone  map[int64]bool // tokens of leases that the transaction which gave them has taken back
	clocks  bool           // the server's clock has jumped: leases end when nobody expects it
	ahead   int64          // ns that it was put forward by, altogether
	late    uint64         // the shards that an engine has taken when it had given up trying: it loses them to itself, and all leases that it gave
}

// tables are those of a design, on the server.
type tables interface {
	committed(t *twin) // holds what is stored of an instance against its twin
	instance(index int) stored
}

// newJudge makes the one of a world whose instances are known.
func newJudge(w *world, tables tables) *judgeOf {
	j := &judgeOf{w: w, tables: tables, twins: make([]twin, len(w.insts))}
	for i, inst := range w.insts {
		j.twins[i].begin(w, inst)
	}
	return j
}

// twin is that of an instance.
func (j *judgeOf) twin(inst *instance) *twin { return &j.twins[inst.index] }

// describe implements judge.
func (j *judgeOf) describe(inst *instance) string { return j.twin(inst).describe() }

// final implements judge.
func (j *judgeOf) final(inst *instance) { j.twin(inst).final(j.tables.instance(inst.index)) }

// jumped implements judge: leases end when nobody expects it.
func (j *judgeOf) jumped(by int64) {
	j.clocks = true
	j.ahead += max(by, 0)
}

// The notes that statements leave in their transactions, beside happened.
type (
	// leasedNote is a lease that a transaction gave.
	leasedNote struct {
		inst     *instance
		run      graph.Run
		token    int64
		attempt  int
		snapshot uint64 // the last commit before the transaction began
	}
	// fencedNote is a new token for what is leased.
	fencedNote struct {
		inst  *instance
		run   graph.Run
		token int64
	}
	// doNote is done where it stands among the notes.
	doNote func()
	// shardNote is a shard that changes hands.
	shardNote struct {
		what         What
		shard, epoch int64
	}
	// endedNote is an instance whose row says that it has ended.
	endedNote struct {
		inst   *instance
		status backend.Status
	}
)

// committed takes in the notes of a transaction.
func (j *judgeOf) committed(tx *db.Tx) {
	w, notes := j.w, tx.Notes
	j.touched = j.touched[:0]
	touch := func(inst *instance) *twin {
		if !slices.Contains(j.touched, inst) {
			j.touched = append(j.touched, inst)
		}
		return j.twin(inst)
	}
	for _, n := range notes {
		switch n := n.(type) {
		case doNote:
			n()
		case shardNote:
			w.note(n.what, 0, n.shard, n.epoch, 0)
			if n.what == Owns && tx.Session.Data.(*conn).told {
				j.late |= 1 << n.shard
			}
		case notice:
			w.deliver(n)
		case *happened:
			if t := touch(n.inst); !n.dropped {
				t.take(n)
			}
		case leasedNote:
			w.note(Leased, n.inst.index, int64(n.run.Node), n.token, int64(n.attempt))
			touch(n.inst)
		case fencedNote:
			touch(n.inst).retoken(n.run, n.token)
		case endedNote:
			if t := touch(n.inst); n.status != backend.Canceled {
				t.bear()
			}
		}
	}
	for _, inst := range j.touched {
		j.twin(inst).settle(tx.Seq())
	}
	for _, n := range notes {
		if e, ok := n.(endedNote); ok {
			j.end(j.twin(e.inst), e.status, tx.Seq())
		}
	}
	for _, n := range notes {
		if l, ok := n.(leasedNote); ok {
			j.lease(j.twin(l.inst), l, tx.Seq())
		}
	}
	for _, inst := range j.touched {
		t := j.twin(inst)
		if t.end != nil {
			t.ended()
			if status := j.tables.instance(inst.index).status; status != t.status {
				t.wrong("I7", "it ended as %s, and is stored as %s", t.status, status)
			}
		}
		if len(w.result.Violations) == 0 {
			j.tables.committed(t)
		}
	}
}

// lease takes in a lease. One that the same transaction has called off is over with it, and nobody may be told of it.
func (j *judgeOf) lease(t *twin, l leasedNote, seq uint64) {
	if t.end != nil && l.snapshot >= t.endSeq {
		t.wrong("I10", "%s was leased after the end", t.name(l.run))
	}
	switch {
	case t.end != nil && t.endSeq == seq, t.end == nil && t.Runs[l.run] == nil && t.Ever[l.run]:
		if j.undone == nil {
			j.undone = map[int64]bool{}
		}
		j.undone[l.token] = true
	case t.end == nil:
		t.leased(l.run, l.token, l.attempt)
	}
}

// end holds an end that the store has against the twin.
func (j *judgeOf) end(t *twin, status backend.Status, seq uint64) {
	if status == backend.Canceled {
		t.cancel(seq)
	}
	if t.end == nil || t.status != status {
		t.wrong("I7", "the store ended it as %s, and its program did not", status)
	}
}

// offered counts completions that go to the store.
func (j *judgeOf) offered(completions []backend.Completion) {
	if j.offers == nil {
		j.offers = map[int64]int{}
	}
	for i := range completions {
		j.offers[completions[i].Lease.Token]++
	}
}

// reply looks at what an engine is told.
func (j *judgeOf) reply(p *process, c *dispatch.Call, r *dispatch.Reply) {
	w := j.w
	if r.Err != nil {
		if c.Op == dispatch.OpComplete && !backend.IsUnknown(r.Err) {
			for i := range c.Completions { // none of them has taken place, nor will
				j.offers[c.Completions[i].Lease.Token]--
			}
		}
		return
	}
	for i, out := range r.Committed.Outcomes {
		if c.Op != dispatch.OpComplete {
			continue
		}
		l := c.Completions[i].Lease
		inst := w.instanceOf(l.Key.Instance)
		t := j.twin(inst)
		switch out.Answer {
		case backend.Applied:
			if !t.applied[l.Token] {
				t.wrong("I8", "%s was answered as applied with token %d, and is not", t.name(l.Key.Run), l.Token)
			}
		case backend.Stale:
			w.note(Stale, p.index, int64(inst.index), l.Token, 0)
			if t.applied[l.Token] && j.offers[l.Token] == 1 && (w.Backend != "push" || j.ahead < w.marksKept()) { // else its mark may be gone
				t.wrong("I3", "%s was answered as stale with token %d, and was applied", t.name(l.Key.Run), l.Token)
			}
			if r := t.Runs[l.Key.Run]; r != nil && t.end == nil && !j.clocks && j.late>>inst.shard&1 == 0 && !t.applied[l.Token] && r.token == l.Token && r.begun.token == l.Token &&
				r.begun.p == p && r.begun.life == p.life && p.now() < r.begun.until {
				t.wrong("I3", "%s was answered as stale with token %d, which nobody else has followed, and whose lease holds", t.name(l.Key.Run), l.Token)
			}
		case backend.Refused:
			t.wrong("I12", "%s was refused: %v", t.name(l.Key.Run), out.Err)
		}
	}
	for i := range r.Committed.Tasks {
		if l := r.Committed.Tasks[i].Lease; j.undone[l.Token] {
			t := j.twin(w.instanceOf(l.Key.Instance))
			t.wrong("I10", "%s was handed out with token %d, and the transaction that leased it has called it off", t.name(l.Key.Run), l.Token)
		}
	}
	for _, e := range r.Committed.Ended {
		inst := w.instanceOf(e.ID)
		if t := j.twin(inst); !inst.ended || t.status != e.Status {
			t.wrong("I8", "an engine was told that it ended as %s, and it has not", e.Status)
		}
	}
}

// started looks at an attempt that begins: its arguments (I4), and who else may be at it (I11).
func (j *judgeOf) started(p *process, inst *instance, task *backend.Task) {
	w, t, l := j.w, j.twin(inst), task.Lease
	if t.end != nil {
		return // it does not know yet
	}
	if !t.Ever[l.Key.Run] {
		t.wrong("I5", "%s began, and was never enqueued", t.name(l.Key.Run))
		return
	}
	if !w.load.expects(task.Action, l.Key.Run.Path, task.Args, task.Attempt) {
		t.wrong("I4", "%s was called with %.100s as attempt %d; the reference interpreter does not do that", t.name(l.Key.Run), task.Args, task.Attempt)
	}
	r := t.Runs[l.Key.Run]
	if r == nil {
		return // called off, or done by another after this lease was lost
	}
	until := int64(task.Expires.Sub(epoch))
	slack := us(w.LeaseUS) / 1_000_000 * driftMax
	for _, h := range r.holders {
		if h.life == h.p.life && h.p.now()+slack < h.until && h.token != l.Token && !j.clocks {
			t.wrong("I11", "%s begins at %s until %v, and %s holds it until %v on its clock", t.name(l.Key.Run), engineNames[p.index],
				time.Duration(until), engineNames[h.p.index], time.Duration(h.until))
		}
	}
	r.begun = holder{p: p, life: p.life, until: until, token: l.Token}
	r.holders = append(slices.DeleteFunc(r.holders, func(h holder) bool { return h.life != h.p.life }), holder{p: p, life: p.life, until: until, token: l.Token})
}

// driftMax is how many parts of a million too slow an engine's clock may be, and more: it believes for so much longer that its
// leases hold, and designs make no allowance for it.
const driftMax = 250

// dropped notes that an engine is not at a task any more.
func (j *judgeOf) dropped(p *process, l backend.Lease) {
	inst := j.w.instanceOf(l.Key.Instance)
	if r := j.twin(inst).Runs[l.Key.Run]; r != nil {
		r.holders = slices.DeleteFunc(r.holders, func(h holder) bool { return h.p == p && h.token == l.Token })
	}
}
