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

// Twin holds what the store commits of one instance against a model of it. It holds what the design gave the core against
// what the model has, and has the model obey the plan that the core made of it, since the same event and the same values give
// the same plan.
type Twin struct {
	*model.Instance[*runTwin]
	World   *world.World
	Inst    *world.Instance
	Unborn  bool        // it is stored, and nobody is known to have begun it
	follow  []graph.Run // runs that must go on before the transaction ends
	ending  *plan.End   // by the transaction at hand
	End     *plan.End
	status  backend.Status
	endSeq  uint64         // of the commit that ended it
	Applied map[int64]bool // tokens of completions (I3, I8)
}

// runTwin is a node run that is enqueued and not done.
type runTwin struct {
	Attempt int
	Token   int64 // of the last lease
	args    []plan.Arg
	action  string
	holders []holder
	since   int64
	begun   holder // who began it last
}

// holder is an engine that runs a task and may believe that its lease holds.
type holder struct {
	p     *world.Process
	life  uint32
	until int64 // on its clock
	token int64
}

// begin makes the twin of an instance that is not stored yet.
func (t *Twin) begin(w *world.World, inst *world.Instance) {
	t.World, t.Inst, t.Applied = w, inst, map[int64]bool{}
	t.Instance = model.New(w.Workload.Compiled, model.Watch[*runTwin]{
		Wrong: t.Wrong,
		Enqueued: func(e *plan.Enqueue) *runTwin {
			return &runTwin{Attempt: 1, args: e.Args, action: e.Action, since: w.Server.Clock() + int64(e.After)}
		},
	})
}

// Wrong notes that an invariant does not hold for it.
func (t *Twin) Wrong(invariant, format string, args ...any) {
	t.World.Violation(invariant, format, fmt.Sprintf("instance %d: %s", t.Inst.Index, fmt.Sprintf(format, args...)))
}

// Name names a node run for people.
func (t *Twin) Name(run graph.Run) string { return t.World.Workload.Compiled.RunName(run) }

// Describe says what is open.
func (t *Twin) Describe() string {
	if !t.Inst.Taken {
		return "it is not stored"
	}
	var names []string
	for run, r := range t.Runs {
		names = append(names, fmt.Sprintf("%s, attempt %d", t.Name(run), r.Attempt))
	}
	slices.Sort(names)
	return fmt.Sprintf("open are %q", names)
}

// Event is an event that a design has planned and committed.
type Event struct {
	Inst     *world.Instance
	Born     bool
	Run      graph.Run
	Token    int64 // of a completion; zero: the run goes on by itself
	Lease    int64 // the token that its engine has, where it was fenced since
	Attempt  int
	Failed   bool
	Inbox    *plan.Inbox
	Plan     *plan.Plan // nil: the twin plans by itself, with what follows
	Later    bool       // of these: it is stored, and somebody begins it
	Retried  bool       // of these: what failed is to be tried again
	Dropped  bool       // what the same transaction has cancelled before: it is as if it had not happened
	Result   json.RawMessage
	Failure  *plan.Failure
	Snapshot uint64 // the last commit before the transaction began
}

// take obeys a committed event.
func (t *Twin) take(h *Event) {
	w := t.World
	switch {
	case h.Born && t.Inst.Taken:
		t.Wrong("I1", "it was stored twice")
		return
	case h.Born:
		t.Inst.Taken = true
	case !t.Inst.Taken:
		t.Wrong("I8", "%s was applied, and it is not stored", t.Name(h.Run))
		return
	case t.End != nil:
		// What had begun before the end was committed may still take place; its rows are swept.
		if t.Applied[h.Token], t.Applied[h.Lease] = true, true; h.Snapshot >= t.endSeq {
			t.Wrong("I7", "%s was applied after the end", t.Name(h.Run))
		}
		return
	case h.Token != 0:
		if t.bear(); !t.completes(h) {
			return
		}
	default:
		i := slices.Index(t.follow, h.Run)
		if i < 0 {
			t.Wrong("I2", "%s goes on, and nothing says that it may", t.Name(h.Run))
			return
		}
		t.follow = slices.Delete(t.follow, i, i+1)
	}
	if h.Plan == nil {
		t.think(h)
		return
	}
	if !h.Born {
		t.compareInbox(h)
	}
	if h.Plan.Retry != nil {
		w.Note(world.Retried, t.Inst.Index, int64(h.Run.Node), h.Token, 0)
		r := t.Runs[h.Run]
		r.Attempt++
		r.since = w.Server.Clock() + int64(h.Plan.Retry.After)
		return
	}
	if h.Token != 0 {
		delete(t.Runs, h.Run)
	}
	t.obey(h.Plan)
}

// completes checks a completion that was applied.
func (t *Twin) completes(h *Event) bool {
	w := t.World
	w.Note(world.Applied, t.Inst.Index, int64(h.Run.Node), h.Token, int64(h.Attempt))
	w.MixText(string(h.Run.Path))
	r := t.Runs[h.Run]
	switch {
	case !t.Ever[h.Run]:
		t.Wrong("I1", "%s was applied and never enqueued", t.Name(h.Run))
	case r == nil:
		t.Wrong("I3", "%s was applied, and was done or cancelled", t.Name(h.Run))
	case r.Token != h.Token:
		t.Wrong("I3", "%s was applied with token %d; its last lease has %d", t.Name(h.Run), h.Token, r.Token)
	case r.Attempt != h.Attempt && h.Plan != nil:
		t.Wrong("I4", "%s was applied as attempt %d; it is at attempt %d", t.Name(h.Run), h.Attempt, r.Attempt)
	default:
		t.Applied[h.Token] = true
		t.Applied[h.Lease] = true
		return true
	}
	return false
}

// compareInbox holds what the design read for an event against what it should have (I4, I6).
func (t *Twin) compareInbox(h *Event) {
	ev := plan.Event{Run: h.Run, Attempt: h.Attempt, Fired: h.Token == 0}
	if h.Failed {
		ev.Failure = &plan.Failure{}
	}
	needs := t.World.Workload.Compiled.Needs(ev)
	for _, slot := range needs.Slots {
		want, has := t.Values[slot]
		got, had := h.Inbox.Values[slot]
		if has != had || !bytes.Equal(want, got) {
			t.Wrong("I4", "%s was planned with %.60q of %s; it has %.60q", t.Name(h.Run), got, backend.FormatSlot(slot), want)
		}
		if has && !sameAppends(t.Appended[slot], h.Inbox.Appended[slot]) {
			t.Wrong("I6", "%s was planned with %d values appended to %s; there are %d", t.Name(h.Run), len(h.Inbox.Appended[slot]), backend.FormatSlot(slot), len(t.Appended[slot]))
		}
	}
	if needs.Elements {
		if !sameElements(t.Elements[h.Run], h.Inbox.Elements) {
			t.Wrong("I6", "%s was planned with %d elements; there are %d", t.Name(h.Run), len(h.Inbox.Elements), len(t.Elements[h.Run]))
		}
		t.Forget(h.Run)
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

// obey makes a plan's changes; its clears come when the transaction is over.
func (t *Twin) obey(p *plan.Plan) {
	for _, ev := range t.Obey(p) {
		t.follow = append(t.follow, ev.Run)
	}
	if p.End != nil && t.ending == nil { // of two in one transaction the first counts
		t.ending = p.End
	}
}

// settle ends a transaction.
func (t *Twin) settle(seq uint64) {
	if t.ending != nil {
		t.endSeq = seq
		t.End, t.ending, t.status = t.ending, nil, statusOf(t.ending)
	}
	if t.End == nil {
		for _, run := range t.follow {
			if !t.calledOff(run) {
				t.Wrong("I2", "%s should go on, and did not", t.Name(run))
			}
		}
		t.Clear()
	}
	t.follow, t.Clears = t.follow[:0], t.Clears[:0]
}

// calledOff says whether the transaction at hand clears what a run stands in: it does not go on then.
func (t *Twin) calledOff(run graph.Run) bool {
	g := t.World.Workload.Compiled.Graph()
	return slices.ContainsFunc(t.Clears, func(c plan.Clear) bool {
		return g.Within(g.Nodes[run.Node].Region, c.Region) && run.Path.Under(c.Path)
	})
}

// leased is a lease that the store gave: its token, and the attempt that it is for.
func (t *Twin) leased(run graph.Run, token int64, attempt int) {
	r := t.Runs[run]
	switch {
	case t.End != nil:
		t.Wrong("I10", "%s was leased after the end", t.Name(run))
	case !t.Ever[run]:
		t.Wrong("I1", "%s was leased and never enqueued", t.Name(run))
	case r == nil:
		t.Wrong("I8", "%s was leased again after it was done or cancelled", t.Name(run))
	case token <= r.Token:
		t.Wrong("I11", "%s was leased with token %d after token %d", t.Name(run), token, r.Token)
	case attempt != r.Attempt:
		t.Wrong("I4", "%s was leased as attempt %d; it is at attempt %d", t.Name(run), attempt, r.Attempt)
	default:
		r.Token = token
	}
}

// retoken is a new token for what is leased, so that a commit that may still come finds another.
func (t *Twin) retoken(run graph.Run, token int64) {
	if r := t.Runs[run]; r != nil {
		if token <= r.Token {
			t.Wrong("I11", "%s was fenced with token %d after token %d", t.Name(run), token, r.Token)
		}
		r.Token = token
	}
}

// cancel ends it from outside.
func (t *Twin) cancel(seq uint64) {
	if t.End != nil {
		t.Wrong("I7", "it was canceled after its end")
		return
	}
	if !t.Inst.Canceled {
		t.Wrong("I7", "it was canceled, and nobody had asked for that")
	}
	t.World.Note(world.CanceledInstance, t.Inst.Index, 0, 0, 0)
	t.End, t.status, t.endSeq = &plan.End{Failure: &plan.Failure{Type: backend.CanceledType}}, backend.Canceled, seq
}

// ended holds the store's end against the twin's, and that against the reference interpreter's.
func (t *Twin) ended() {
	w := t.World
	if t.Inst.Ended {
		return
	}
	w.End(t.Inst)
	w.Note(world.Ended, t.Inst.Index, int64(len(t.status)), int64(len(t.End.Result)), 0)
	w.MixText(string(t.End.Result))
	if t.status == backend.Canceled {
		return
	}
	if d := w.Workload.Differs(t.status, t.End.Result, t.End.Failure); d != "" {
		t.Wrong("I7", "%s", d)
	}
}

// final looks at what the store says of it in the end.
func (t *Twin) final(s world.Stored) {
	want := world.Stored{Status: t.status, Result: string(t.End.Result)}
	if s.Status != want.Status || s.Result != want.Result {
		t.Wrong("I7", "it is stored as %s with %.60q; it ended as %s with %.60q", s.Status, s.Result, want.Status, want.Result)
	}
}

// Collected says whether an aggregate of a node, in some round, has an element.
func (t *Twin) Collected(node graph.NodeID, index int, value json.RawMessage) bool {
	for run, list := range t.Elements {
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

// HoldsValues wants so many values, and what was appended to them, and no more.
func (t *Twin) HoldsValues(values, appended int) {
	want := 0
	for _, list := range t.Appended {
		want += len(list)
	}
	if values != len(t.Values) || appended != want {
		t.Wrong("I4", "%d values and %d appended are stored; there should be %d and %d", values, appended, len(t.Values), want)
	}
}

func statusOf(end *plan.End) backend.Status {
	if end.Failure != nil {
		return backend.Failed
	}
	return backend.Completed
}
