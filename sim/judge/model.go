package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/engine/plan/model"
	"pulley/sim/world"
)

// Model is the plainest thing that has one instance, and holds what the store commits of that against itself. It holds what the
// design gave the core against what it has, and obeys the plan that the core made of it, since the same event and the same values
// give the same plan.
type Model struct {
	*model.Instance[*runModel]
	World         *world.World
	Inst          *world.Instance
	NotStarted    bool        // it is stored, and nobody is known to have begun it
	continuations []graph.Run // runs that must go on before the transaction ends
	ending        *plan.End   // by the transaction at hand
	End           *plan.End
	status        backend.Status
	endSeq        uint64         // of the commit that ended it
	Applied       map[int64]bool // tokens of completions (I3, I8)
}

// runModel is a node run that is enqueued and not done.
type runModel struct {
	Attempt int
	Token   int64 // of the last lease

	Deliveries int  // of the attempt, as the store tells
	leases     int  // of the attempt that were given and not returned
	noted      int  // events that count its deliveries
	waits      bool // for its time, at first

	args    []plan.Arg
	action  string
	holders []holder
	since   int64
	begun   holder // who began it last
}

// holder is an engine that runs a task and may believe that its lease holds.
type holder struct {
	p           *world.Process
	incarnation uint32
	until       int64 // on its clock
	token       int64
}

// begin makes the model of an instance that is not stored yet.
func (m *Model) begin(w *world.World, inst *world.Instance) {
	m.World, m.Inst, m.Applied = w, inst, map[int64]bool{}
	m.Instance = model.New(w.Workload.Compiled, model.Watch[*runModel]{
		Wrong: m.Wrong,
		Enqueued: func(e *plan.Enqueue) *runModel {
			return &runModel{Attempt: 1, args: e.Args, action: e.Action, since: w.Server.Clock() + int64(e.After), waits: e.After > 0}
		},
	})
}

// Wrong notes that an invariant does not hold for it.
func (m *Model) Wrong(invariant, format string, args ...any) {
	m.World.Violation(invariant, format, fmt.Sprintf("instance %d: %s", m.Inst.Index, fmt.Sprintf(format, args...)))
}

// Name names a node run for people.
func (m *Model) Name(run graph.Run) string { return m.World.Workload.Compiled.RunName(run) }

// Describe says what is open.
func (m *Model) Describe() string {
	if !m.Inst.Stored {
		return "it is not stored"
	}
	var names []string
	for run, r := range m.Runs {
		names = append(names, fmt.Sprintf("%s, attempt %d", m.Name(run), r.Attempt))
	}
	slices.Sort(names)
	return fmt.Sprintf("open are %q", names)
}

// Event is an event that a design has planned and committed.
type Event struct {
	Inst       *world.Instance
	Creates    bool
	Run        graph.Run
	Token      int64 // of a completion; zero: the run goes on by itself
	Lease      int64 // the token that its engine has, where it was fenced since
	Attempt    int
	Failed     bool
	Inbox      *plan.Inbox
	Plan       *plan.Plan // nil: the model plans by itself, with what follows
	BegunLater bool       // of these: it is stored, and somebody begins it
	Retried    bool       // of these: what failed is to be tried again
	Dropped    bool       // what the same transaction has cancelled before: it is as if it had not happened
	Result     json.RawMessage
	Failure    *plan.Failure
	Snapshot   uint64 // the last commit before the transaction began
}

// applyCommitted obeys a committed event.
func (m *Model) applyCommitted(h *Event) {
	w := m.World
	switch {
	case h.Creates && m.Inst.Stored:
		m.Wrong("I1", "it was stored twice")
		return
	case h.Creates:
		m.Inst.Stored = true
	case !m.Inst.Stored:
		m.Wrong("I8", "%s was applied, and it is not stored", m.Name(h.Run))
		return
	case m.End != nil:
		// What had begun before the end was committed may still are applied; its rows are swept.
		if m.Applied[h.Token], m.Applied[h.Lease] = true, true; h.Snapshot >= m.endSeq {
			m.Wrong("I7", "%s was applied after the end", m.Name(h.Run))
		}
		return
	case h.Token != 0:
		if m.bear(); !m.completes(h) {
			return
		}
	default:
		i := slices.Index(m.continuations, h.Run)
		if i < 0 {
			m.Wrong("I2", "%s continues, and no plan allows it", m.Name(h.Run))
			return
		}
		m.continuations = slices.Delete(m.continuations, i, i+1)
	}
	if h.Plan == nil {
		m.think(h)
		return
	}
	if !h.Creates {
		m.compareInbox(h)
	}
	if h.Plan.Retry != nil {
		w.Note(world.Retried, m.Inst.Index, int64(h.Run.Node), h.Token, 0)
		r := m.Runs[h.Run]
		r.again()
		r.since = w.Server.Clock() + int64(h.Plan.Retry.After)
		return
	}
	if h.Token != 0 {
		delete(m.Runs, h.Run)
	}
	m.applyPlan(h.Plan)
}

// completes checks a completion that was applied.
func (m *Model) completes(h *Event) bool {
	w := m.World
	w.Note(world.Applied, m.Inst.Index, int64(h.Run.Node), h.Token, int64(h.Attempt))
	w.MixText(string(h.Run.Path))
	r := m.Runs[h.Run]
	switch {
	case !m.Ever[h.Run]:
		m.Wrong("I1", "%s was applied and never enqueued", m.Name(h.Run))
	case r == nil:
		m.Wrong("I3", "%s was applied, and was done or cancelled", m.Name(h.Run))
	case r.Token != h.Token:
		m.Wrong("I3", "%s was applied with token %d; its last lease has %d", m.Name(h.Run), h.Token, r.Token)
	case r.Attempt != h.Attempt && h.Plan != nil:
		m.Wrong("I4", "%s was applied as attempt %d; it is at attempt %d", m.Name(h.Run), h.Attempt, r.Attempt)
	default:
		m.Applied[h.Token] = true
		m.Applied[h.Lease] = true
		return true
	}
	return false
}

// compareInbox holds what the design read for an event against what it should have (I4, I6).
func (m *Model) compareInbox(h *Event) {
	ev := plan.Event{Run: h.Run, Attempt: h.Attempt, Fired: h.Token == 0}
	if h.Failed {
		ev.Failure = &plan.Failure{}
	}
	needs := m.World.Workload.Compiled.Needs(ev)
	for _, slot := range needs.Slots {
		want, has := m.Values[slot]
		got, had := h.Inbox.Values[slot]
		if has != had || !bytes.Equal(want, got) {
			m.Wrong("I4", "%s was planned with %.60q of %s; it has %.60q", m.Name(h.Run), got, backend.FormatSlot(slot), want)
		}
		if has && !sameAppends(m.Appended[slot], h.Inbox.Appended[slot]) {
			m.Wrong("I6", "%s was planned with %d values appended to %s; there are %d", m.Name(h.Run), len(h.Inbox.Appended[slot]), backend.FormatSlot(slot), len(m.Appended[slot]))
		}
	}
	if needs.Elements {
		if !sameElements(m.Elements[h.Run], h.Inbox.Elements) {
			m.Wrong("I6", "%s was planned with %d elements; there are %d", m.Name(h.Run), len(h.Inbox.Elements), len(m.Elements[h.Run]))
		}
		m.Forget(h.Run)
	}
}

// sameAppends compares lists in any order.
func sameAppends(a, b []plan.Append) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y plan.Append) bool { return x.Index == y.Index && bytes.Equal(x.Value, y.Value) }) {
			return false
		}
	}
	return true
}

func sameElements(a, b []plan.Element) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y plan.Element) bool { return x.Index == y.Index && bytes.Equal(x.Value, y.Value) }) {
			return false
		}
	}
	return true
}

// applyPlan makes a plan's changes; its clears come when the transaction is over.
func (m *Model) applyPlan(p *plan.Plan) {
	for _, ev := range m.ApplyPlan(p) {
		m.continuations = append(m.continuations, ev.Run)
	}
	if p.End != nil && m.ending == nil { // of two in one transaction the first counts
		m.ending = p.End
	}
}

// endTransaction ends a transaction.
func (m *Model) endTransaction(seq uint64) {
	if m.ending != nil {
		m.endSeq = seq
		m.End, m.ending, m.status = m.ending, nil, statusOf(m.ending)
	}
	if m.End == nil {
		for _, run := range m.continuations {
			if !m.isCancelled(run) {
				m.Wrong("I2", "%s should continue, and did not", m.Name(run))
			}
		}
		m.Clear()
	}
	m.continuations, m.Clears = m.continuations[:0], m.Clears[:0]
}

// isCancelled says whether the transaction at hand clears what a run stands in: it does not go on then.
func (m *Model) isCancelled(run graph.Run) bool {
	g := m.World.Workload.Compiled.Graph()
	return slices.ContainsFunc(m.Clears, func(c plan.Clear) bool {
		return g.Within(g.Nodes[run.Node].Region, c.Region) && run.Path.Under(c.Path)
	})
}

// again begins the next attempt.
func (r *runModel) again() {
	r.Attempt++
	r.Deliveries, r.leases, r.noted, r.waits = 0, 0, 0, true
}

// leased is a lease that the store gave: its token, the attempt that it is for, and which of its deliveries it is.
func (m *Model) leased(run graph.Run, token int64, attempt, deliveries int) {
	r := m.Runs[run]
	switch {
	case m.End != nil:
		m.Wrong("I10", "%s was leased after the end", m.Name(run))
	case !m.Ever[run]:
		m.Wrong("I1", "%s was leased and never enqueued", m.Name(run))
	case r == nil:
		m.Wrong("I8", "%s was leased again after it was done or cancelled", m.Name(run))
	case token <= r.Token:
		m.Wrong("I11", "%s was leased with token %d after token %d", m.Name(run), token, r.Token)
	case attempt != r.Attempt:
		m.Wrong("I4", "%s was leased as attempt %d; it is at attempt %d", m.Name(run), attempt, r.Attempt)
	default:
		r.leases++
		if least, most := r.leases, max(r.leases, r.noted+1); deliveries < least || deliveries > most {
			m.Wrong("I14", "%s was leased as delivery %d of its attempt; it is delivery %d, or at most %d", m.Name(run), deliveries, least, most)
		}
		r.Token, r.Deliveries = token, deliveries
	}
}

// returnLease is a lease that does not count: the token of its run afterwards, zero for the one before.
func (m *Model) returnLease(run graph.Run, token int64) {
	if r := m.Runs[run]; r != nil {
		r.leases--
		r.Deliveries--
		if token != 0 {
			m.retoken(run, token)
		}
	}
}

// noted is a count of deliveries that a design has written down before it gives the next lease, or since one was returned.
func (m *Model) noted(run graph.Run, count int) {
	m.bear()
	if r := m.Runs[run]; r != nil {
		if r.noted++; count < r.leases-1 {
			m.Wrong("I14", "%s is written down as delivered %d times; it was, %d times", m.Name(run), count, r.leases)
		}
		r.leases = min(r.leases, count) // the last lease is returned, whether or not its holder will hear of that
	}
}

// retoken is a new token for what is leased, so that a commit that may still come finds another.
func (m *Model) retoken(run graph.Run, token int64) {
	if r := m.Runs[run]; r != nil {
		if token <= r.Token {
			m.Wrong("I11", "%s was fenced with token %d after token %d", m.Name(run), token, r.Token)
		}
		r.Token = token
	}
}

// cancel ends it from outside.
func (m *Model) cancel(seq uint64) {
	if m.End != nil {
		m.Wrong("I7", "it was canceled after its end")
		return
	}
	if !m.Inst.Canceled {
		m.Wrong("I7", "it was canceled, and nobody had asked for that")
	}
	m.World.Note(world.CanceledInstance, m.Inst.Index, 0, 0, 0)
	m.End, m.status, m.endSeq = &plan.End{Failure: &plan.Failure{Type: backend.CanceledType}}, backend.Canceled, seq
}

// ended holds the store's end against the model's, and that against the reference interpreter's.
func (m *Model) ended() {
	w := m.World
	if m.Inst.Ended {
		return
	}
	w.End(m.Inst)
	w.Note(world.Ended, m.Inst.Index, int64(len(m.status)), int64(len(m.End.Result)), 0)
	w.MixText(string(m.End.Result))
	if m.status == backend.Canceled {
		return
	}
	if d := w.Workload.Differs(m.status, m.End.Result, m.End.Failure); d != "" {
		m.Wrong("I7", "%s", d)
	}
}

// final looks at what the store says of it in the end.
func (m *Model) final(s world.Stored) {
	want := world.Stored{Status: m.status, Result: string(m.End.Result)}
	if s.Status != want.Status || s.Result != want.Result {
		m.Wrong("I7", "it is stored as %s with %.60q; it ended as %s with %.60q", s.Status, s.Result, want.Status, want.Result)
	}
}

// Collected says whether an aggregate of a node, in some round, has an element.
func (m *Model) Collected(node graph.NodeID, index int, value json.RawMessage) bool {
	for run, list := range m.Elements {
		if run.Node != node {
			continue
		}
		for _, e := range list {
			if e.Index == index && bytes.Equal(e.Value, value) {
				return true
			}
		}
	}
	return false
}

// CheckValues wants so many values, and what was appended to them, and no more.
func (m *Model) CheckValues(values, appended int) {
	want := 0
	for _, list := range m.Appended {
		want += len(list)
	}
	if values != len(m.Values) || appended != want {
		m.Wrong("I4", "%d values and %d appended are stored; there should be %d and %d", values, appended, len(m.Values), want)
	}
}

// CheckElements wants so many elements of aggregates, and no more.
func (m *Model) CheckElements(elements int) {
	want := 0
	for _, list := range m.Elements {
		want += len(list)
	}
	if elements != want {
		m.Wrong("I6", "%d elements are stored; there should be %d", elements, want)
	}
}

func statusOf(end *plan.End) backend.Status {
	if end.Failure != nil {
		return backend.Failed
	}
	return backend.Completed
}
