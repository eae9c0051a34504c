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

// Model is the plain state of one instance, compared with what the store commits. It compares what the design gave the core with
// its own values, and then applies the design's plan: the same event and values give the same plan.
type Model struct {
	*model.Instance[*runModel]
	World         *world.World
	Inst          *world.Instance
	NotStarted    bool        // it is stored and not known to have started
	continuations []graph.Run // runs that must continue within the transaction
	ending        *plan.End
	End           *plan.End
	status        backend.Status
	endSeq        uint64         // the commit that ended it
	Applied       map[int64]bool // tokens of completions (I3, I8)
}

// runModel is a node run that is enqueued and not completed.
type runModel struct {
	Attempt int
	Token   int64

	Deliveries int  // of the attempt, as the store counts them
	leases     int  // of the attempt, granted and not returned
	noted      int  // notes that counted its deliveries
	waits      bool // it began with a wait for its time

	args    []plan.Arg
	action  string
	holders []holder
	since   int64
	begun   holder // the engine that began it last
}

// holder is an engine that runs a task and may believe that its lease holds.
type holder struct {
	p           *world.Process
	incarnation uint32
	until       int64 // on its own clock
	token       int64
}

func (m *Model) begin(w *world.World, inst *world.Instance) {
	m.World, m.Inst, m.Applied = w, inst, map[int64]bool{}
	m.Instance = model.New(w.Workload.Compiled, model.Watch[*runModel]{
		Wrong: m.Wrong,
		Enqueued: func(e *plan.Enqueue) *runModel {
			return &runModel{Attempt: 1, args: e.Args, action: e.Action, since: w.Server.Clock() + int64(e.After), waits: e.After > 0}
		},
	})
}

// Wrong records a violation by this instance.
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

// Event notes an event that a design has planned and committed.
type Event struct {
	Inst       *world.Instance
	Creates    bool
	Run        graph.Run
	Token      int64 // of a completion; zero: a continuation
	Lease      int64 // the token that its engine has, if the run was fenced since
	Attempt    int
	Failed     bool
	Inbox      *plan.Inbox
	Plan       *plan.Plan // nil: the model plans it, with its continuations
	BegunLater bool       // without Plan: the instance is stored and starts later
	Retried    bool       // without Plan: the failed attempt is retried
	Dropped    bool       // the same transaction has cancelled it before: it has no effect
	Result     json.RawMessage
	Failure    *plan.Failure
	Snapshot   uint64 // the last commit before the transaction began
}

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
		// A transaction that began before the end was committed may still be applied; a sweep removes its rows.
		if m.Applied[h.Token], m.Applied[h.Lease] = true, true; h.Snapshot >= m.endSeq {
			m.Wrong("I7", "%s was applied after the end", m.Name(h.Run))
		}
		return
	case h.Token != 0:
		if m.create(); !m.completes(h) {
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

// compareInbox compares what the design read for an event with the model's values (I4, I6).
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

// applyPlan applies a plan; its clears follow at the end of the transaction.
func (m *Model) applyPlan(p *plan.Plan) {
	for _, ev := range m.ApplyPlan(p) {
		m.continuations = append(m.continuations, ev.Run)
	}
	if p.End != nil && m.ending == nil { // the first of two ends in a transaction counts
		m.ending = p.End
	}
}

// endTransaction applies what follows at the end of a transaction.
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

// isCancelled reports whether the current transaction clears the scope of a run, which then does not continue.
func (m *Model) isCancelled(run graph.Run) bool {
	g := m.World.Workload.Compiled.Graph()
	return slices.ContainsFunc(m.Clears, func(c plan.Clear) bool {
		return g.Within(g.Nodes[run.Node].Region, c.Region) && run.Path.Under(c.Path)
	})
}

func (r *runModel) again() {
	r.Attempt++
	r.Deliveries, r.leases, r.noted, r.waits = 0, 0, 0, true
}

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

// returnLease undoes a lease that does not count. token is the run's new one; zero: unchanged.
func (m *Model) returnLease(run graph.Run, token int64) {
	if r := m.Runs[run]; r != nil {
		r.leases--
		r.Deliveries--
		if token != 0 {
			m.retoken(run, token)
		}
	}
}

// noted checks a count of deliveries that a design stores before the next lease, or after one was returned.
func (m *Model) noted(run graph.Run, count int) {
	m.create()
	if r := m.Runs[run]; r != nil {
		if r.noted++; count < r.leases-1 {
			m.Wrong("I14", "%s is written down as delivered %d times; it was, %d times", m.Name(run), count, r.leases)
		}
		r.leases = min(r.leases, count) // the last lease is returned, even if its holder never receives that answer
	}
}

// retoken changes the token of a leased run, so that a commit still in flight is fenced.
func (m *Model) retoken(run graph.Run, token int64) {
	if r := m.Runs[run]; r != nil {
		if token <= r.Token {
			m.Wrong("I11", "%s was fenced with token %d after token %d", m.Name(run), token, r.Token)
		}
		r.Token = token
	}
}

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

// ended compares the end in the model with the reference interpreter's.
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

func (m *Model) final(s world.Stored) {
	want := world.Stored{Status: m.status, Result: string(m.End.Result)}
	if s.Status != want.Status || s.Result != want.Result {
		m.Wrong("I7", "it is stored as %s with %.60q; it ended as %s with %.60q", s.Status, s.Result, want.Status, want.Result)
	}
}

// Collected reports whether an aggregate of a node has this element in some round.
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

// CheckValues checks the number of stored values and appended values.
func (m *Model) CheckValues(values, appended int) {
	want := 0
	for _, list := range m.Appended {
		want += len(list)
	}
	if values != len(m.Values) || appended != want {
		m.Wrong("I4", "%d values and %d appended are stored; there should be %d and %d", values, appended, len(m.Values), want)
	}
}

// CheckElements checks the number of stored elements of aggregates.
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
