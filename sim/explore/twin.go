package explore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/engine/plan/model"
)

// twin holds what the store commits of one instance against a model of it. It holds what the design gave the core against
// what the model has, and has the model obey the plan that the core made of it, since the same event and the same values give
// the same plan.
type twin struct {
	*model.Instance[*runTwin]
	w       *world
	inst    *instance
	unborn  bool        // it is stored, and nobody is known to have begun it
	follow  []graph.Run // runs that must go on before the transaction ends
	ending  *plan.End   // by the transaction at hand
	end     *plan.End
	status  backend.Status
	endSeq  uint64         // of the commit that ended it
	applied map[int64]bool // tokens of completions (I3, I8)
}

// runTwin is a node run that is enqueued and not done.
type runTwin struct {
	attempt int
	token   int64 // of the last lease
	args    []plan.Arg
	action  string
	holders []holder
	since   int64
	begun   holder // who began it last
}

// holder is an engine that runs a task and may believe that its lease holds.
type holder struct {
	p     *process
	life  uint32
	until int64 // on its clock
	token int64
}

// begin makes the twin of an instance that is not stored yet.
func (t *twin) begin(w *world, inst *instance) {
	t.w, t.inst, t.applied = w, inst, map[int64]bool{}
	t.Instance = model.New(w.load.compiled, model.Watch[*runTwin]{
		Wrong: t.wrong,
		Enqueued: func(e *plan.Enqueue) *runTwin {
			return &runTwin{attempt: 1, args: e.Args, action: e.Action, since: w.server.clock() + int64(e.After)}
		},
	})
}

// wrong notes that an invariant does not hold for it.
func (t *twin) wrong(invariant, format string, args ...any) {
	t.w.violation(invariant, format, fmt.Sprintf("instance %d: %s", t.inst.index, fmt.Sprintf(format, args...)))
}

// name names a node run for people.
func (t *twin) name(run graph.Run) string { return t.w.load.compiled.RunName(run) }

// describe says what is open.
func (t *twin) describe() string {
	if !t.inst.taken {
		return "it is not stored"
	}
	var names []string
	for run, r := range t.Runs {
		names = append(names, fmt.Sprintf("%s, attempt %d", t.name(run), r.attempt))
	}
	slices.Sort(names)
	return fmt.Sprintf("open are %q", names)
}

// happened is an event that a design has planned and committed.
type happened struct {
	inst     *instance
	born     bool
	run      graph.Run
	token    int64 // of a completion; zero: the run goes on by itself
	lease    int64 // the token that its engine has, where it was fenced since
	attempt  int
	failed   bool
	inbox    *plan.Inbox
	plan     *plan.Plan // nil: the twin plans by itself, with what follows
	later    bool       // of these: it is stored, and somebody begins it
	retried  bool       // of these: what failed is to be tried again
	dropped  bool       // what the same transaction has called off before: it is as if it had not happened
	result   json.RawMessage
	failure  *plan.Failure
	snapshot uint64 // the last commit before the transaction began
}

// take obeys a committed event.
func (t *twin) take(h *happened) {
	w := t.w
	switch {
	case h.born && t.inst.taken:
		t.wrong("I1", "it was stored twice")
		return
	case h.born:
		t.inst.taken = true
	case !t.inst.taken:
		t.wrong("I8", "%s was applied, and it is not stored", t.name(h.run))
		return
	case t.end != nil:
		// What had begun before the end was committed may still take place; its rows are swept.
		if t.applied[h.token], t.applied[h.lease] = true, true; h.snapshot >= t.endSeq {
			t.wrong("I7", "%s was applied after the end", t.name(h.run))
		}
		return
	case h.token != 0:
		if t.bear(); !t.completes(h) {
			return
		}
	default:
		i := slices.Index(t.follow, h.run)
		if i < 0 {
			t.wrong("I2", "%s goes on, and nothing says that it may", t.name(h.run))
			return
		}
		t.follow = slices.Delete(t.follow, i, i+1)
	}
	if h.plan == nil {
		t.think(h)
		return
	}
	if !h.born {
		t.compareInbox(h)
	}
	if h.plan.Retry != nil {
		w.note(Retried, t.inst.index, int64(h.run.Node), h.token, 0)
		r := t.Runs[h.run]
		r.attempt++
		r.since = w.server.clock() + int64(h.plan.Retry.After)
		return
	}
	if h.token != 0 {
		delete(t.Runs, h.run)
	}
	t.obey(h.plan)
}

// completes checks a completion that was applied.
func (t *twin) completes(h *happened) bool {
	w := t.w
	w.note(Applied, t.inst.index, int64(h.run.Node), h.token, int64(h.attempt))
	w.mixText(string(h.run.Path))
	r := t.Runs[h.run]
	switch {
	case !t.Ever[h.run]:
		t.wrong("I1", "%s was applied and never enqueued", t.name(h.run))
	case r == nil:
		t.wrong("I3", "%s was applied, and was done or called off", t.name(h.run))
	case r.token != h.token:
		t.wrong("I3", "%s was applied with token %d; its last lease has %d", t.name(h.run), h.token, r.token)
	case r.attempt != h.attempt && h.plan != nil:
		t.wrong("I4", "%s was applied as attempt %d; it is at attempt %d", t.name(h.run), h.attempt, r.attempt)
	default:
		t.applied[h.token] = true
		t.applied[h.lease] = true
		return true
	}
	return false
}

// compareInbox holds what the design read for an event against what it should have (I4, I6).
func (t *twin) compareInbox(h *happened) {
	ev := plan.Event{Run: h.run, Attempt: h.attempt, Fired: h.token == 0}
	if h.failed {
		ev.Failure = &plan.Failure{}
	}
	needs := t.w.load.compiled.Needs(ev)
	for _, slot := range needs.Slots {
		want, has := t.Values[slot]
		got, had := h.inbox.Values[slot]
		if has != had || !bytes.Equal(want, got) {
			t.wrong("I4", "%s was planned with %.60q of %s; it has %.60q", t.name(h.run), got, backend.FormatSlot(slot), want)
		}
		if has && !sameAppends(t.Appended[slot], h.inbox.Appended[slot]) {
			t.wrong("I6", "%s was planned with %d values appended to %s; there are %d", t.name(h.run), len(h.inbox.Appended[slot]), backend.FormatSlot(slot), len(t.Appended[slot]))
		}
	}
	if needs.Elements {
		if !sameElements(t.Elements[h.run], h.inbox.Elements) {
			t.wrong("I6", "%s was planned with %d elements; there are %d", t.name(h.run), len(h.inbox.Elements), len(t.Elements[h.run]))
		}
		t.Forget(h.run)
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
func (t *twin) obey(p *plan.Plan) {
	for _, ev := range t.Obey(p) {
		t.follow = append(t.follow, ev.Run)
	}
	if p.End != nil && t.ending == nil { // of two in one transaction the first counts
		t.ending = p.End
	}
}

// settle ends a transaction.
func (t *twin) settle(seq uint64) {
	if t.ending != nil {
		t.endSeq = seq
		t.end, t.ending, t.status = t.ending, nil, statusOf(t.ending)
	}
	if t.end == nil {
		for _, run := range t.follow {
			if !t.calledOff(run) {
				t.wrong("I2", "%s should go on, and did not", t.name(run))
			}
		}
		t.Clear()
	}
	t.follow, t.Clears = t.follow[:0], t.Clears[:0]
}

// calledOff says whether the transaction at hand clears what a run stands in: it does not go on then.
func (t *twin) calledOff(run graph.Run) bool {
	g := t.w.load.compiled.Graph()
	return slices.ContainsFunc(t.Clears, func(c plan.Clear) bool {
		return g.Within(g.Nodes[run.Node].Region, c.Region) && run.Path.Under(c.Path)
	})
}

// leased is a lease that the store gave: its token, and the attempt that it is for.
func (t *twin) leased(run graph.Run, token int64, attempt int) {
	r := t.Runs[run]
	switch {
	case t.end != nil:
		t.wrong("I10", "%s was leased after the end", t.name(run))
	case !t.Ever[run]:
		t.wrong("I1", "%s was leased and never enqueued", t.name(run))
	case r == nil:
		t.wrong("I8", "%s was leased again after it was done or called off", t.name(run))
	case token <= r.token:
		t.wrong("I11", "%s was leased with token %d after token %d", t.name(run), token, r.token)
	case attempt != r.attempt:
		t.wrong("I4", "%s was leased as attempt %d; it is at attempt %d", t.name(run), attempt, r.attempt)
	default:
		r.token = token
	}
}

// retoken is a new token for what is leased, so that a commit that may still come finds another.
func (t *twin) retoken(run graph.Run, token int64) {
	if r := t.Runs[run]; r != nil {
		if token <= r.token {
			t.wrong("I11", "%s was fenced with token %d after token %d", t.name(run), token, r.token)
		}
		r.token = token
	}
}

// cancel ends it from outside.
func (t *twin) cancel(seq uint64) {
	if t.end != nil {
		t.wrong("I7", "it was canceled after its end")
		return
	}
	if !t.inst.canceled {
		t.wrong("I7", "it was canceled, and nobody had asked for that")
	}
	t.w.note(CanceledInstance, t.inst.index, 0, 0, 0)
	t.end, t.status, t.endSeq = &plan.End{Failure: &plan.Failure{Type: backend.CanceledType}}, backend.Canceled, seq
}

// ended holds the store's end against the twin's, and that against the reference interpreter's.
func (t *twin) ended() {
	w := t.w
	if t.inst.ended {
		return
	}
	w.end(t.inst)
	w.note(Ended, t.inst.index, int64(len(t.status)), int64(len(t.end.Result)), 0)
	w.mixText(string(t.end.Result))
	if t.status == backend.Canceled {
		return
	}
	if d := w.load.differs(t.status, t.end.Result, t.end.Failure); d != "" {
		t.wrong("I7", "%s", d)
	}
}

// final looks at what the store says of it in the end.
func (t *twin) final(s stored) {
	want := stored{status: t.status, result: string(t.end.Result)}
	if s.status != want.status || s.result != want.result {
		t.wrong("I7", "it is stored as %s with %.60q; it ended as %s with %.60q", s.status, s.result, want.status, want.result)
	}
}

// collected says whether an aggregate of a node, in some round, has an element.
func (t *twin) collected(node graph.NodeID, index int, value json.RawMessage) bool {
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

// holdsValues wants so many values, and what was appended to them, and no more.
func (t *twin) holdsValues(values, appended int) {
	want := 0
	for _, list := range t.Appended {
		want += len(list)
	}
	if values != len(t.Values) || appended != want {
		t.wrong("I4", "%d values and %d appended are stored; there should be %d and %d", values, appended, len(t.Values), want)
	}
}

func statusOf(end *plan.End) backend.Status {
	if end.Failure != nil {
		return backend.Failed
	}
	return backend.Completed
}
