package explore

import (
	"cmp"
	"encoding/json"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// pushEvent is one thing that push commits: a completion, a new instance, or a run that goes on. It is push's event,
// with the names that things have there.
type pushEvent struct {
	ord        int32
	inst       *instance
	submission *backend.Submission
	completion *backend.Completion
	fired      graph.Run
	token      int64
	inbox      plan.Inbox
	plan       plan.Plan
	waits      bool
	refused    error
}

func (e *pushEvent) program() *plan.Program { return e.inst.twin.w.load.compiled }

func (e *pushEvent) happened() plan.Event {
	c := e.completion
	if c == nil {
		return plan.Event{Run: e.fired, Fired: true}
	}
	return plan.Event{Run: c.Lease.Key.Run, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
}

func (e *pushEvent) run() graph.Run {
	if e.completion == nil {
		return e.fired
	}
	return e.completion.Lease.Key.Run
}

func (e *pushEvent) key() runKey { return keyOf(e.inst, e.run()) }

// value gives the whole of what a slot holds once the event's plan is applied.
func (e *pushEvent) value(slot plan.Slot) (json.RawMessage, bool) {
	base, appended := e.inbox.Values[slot], e.inbox.Appended[slot]
	for _, w := range e.plan.Writes {
		if w.Slot == slot {
			base, appended = w.Value, nil
		}
	}
	if base == nil {
		return nil, false
	}
	appended = slices.Clip(appended)
	for _, a := range e.plan.Appends {
		if a.Slot == slot {
			appended = append(appended, a)
		}
	}
	whole, err := plan.JoinAppended(base, appended)
	return whole, err == nil
}

// put adds what was read of a slot.
func (e *pushEvent) put(slot plan.Slot, element int, value json.RawMessage) {
	in := &e.inbox
	if element >= 0 {
		if in.Appended == nil {
			in.Appended = map[plan.Slot][]plan.Append{}
		}
		in.Appended[slot] = append(in.Appended[slot], plan.Append{Slot: slot, Index: element, Value: value})
		return
	}
	if in.Values == nil {
		in.Values = map[plan.Slot]json.RawMessage{}
	}
	in.Values[slot] = value
}

func (e *pushEvent) note(snapshot uint64) *happened {
	h := &happened{snapshot: snapshot, inst: e.inst, born: e.submission != nil, run: e.run(), token: e.token, inbox: &e.inbox, plan: &e.plan}
	if e.completion != nil {
		h.attempt, h.failed, h.lease = e.completion.Attempt, e.completion.Failure != nil, e.completion.Lease.Token
	}
	return h
}

// quiet says whether nothing else can be at work on an instance of the program when it completes.
func (e *pushEvent) quiet() bool { return !e.program().EndsEarly() }

// takesAll says whether an instance's rows go in the transaction that ends it.
func (e *pushEvent) takesAll() bool {
	return e.plan.End != nil && e.plan.End.Failure == nil && e.quiet()
}

func callsOff(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Clears, func(c plan.Clear) bool { return c.AtWork })
}

func (e *pushEvent) callsOff(inst *instance, run graph.Run) bool {
	return e.inst == inst && slices.ContainsFunc(e.plan.Clears, func(c plan.Clear) bool {
		return run.Path.Under(c.Path) && slices.Contains(e.program().Cleared(c.Region).Runs, run.Node)
	})
}

// groups says which completions go into one transaction; see push.
func groups(events []*pushEvent) [][]*pushEvent {
	var out [][]*pushEvent
	if !slices.ContainsFunc(events, func(e *pushEvent) bool { return e.plan.End != nil || callsOff(&e.plan) }) {
		return append(out, events)
	}
	place := func(i int, e *pushEvent) {
		for len(out) <= i {
			out = append(out, nil)
		}
		out[i] = append(out[i], e)
	}
	next := map[*instance]int{}
	var last []*pushEvent
	for _, e := range events {
		switch {
		case callsOff(&e.plan):
			last = append(last, e)
		case e.plan.End != nil:
			place(next[e.inst], e)
			next[e.inst] = 1
		default:
			place(next[e.inst], e)
		}
	}
	first := len(out)
	clear(next)
	for _, e := range last {
		place(first+next[e.inst], e)
		next[e.inst]++
	}
	return out
}

// spared leaves those of a group that no completion of the call has called off yet.
func spared(group, all []*pushEvent, out *postgres.Outcomes) []*pushEvent {
	return slices.DeleteFunc(group, func(e *pushEvent) bool {
		off := slices.ContainsFunc(all, func(by *pushEvent) bool {
			return callsOff(&by.plan) && out.Answers[by.ord].Answer == backend.Applied && by.callsOff(e.inst, e.run())
		})
		if off {
			out.Answer(e.ord, backend.Stale)
		}
		return off
	})
}

// distinct leaves one of several completions of the same attempt.
func distinct(events []*pushEvent, out *postgres.Outcomes) []*pushEvent {
	kept := events[:0]
	for i, e := range events {
		if i > 0 && kept[len(kept)-1].completion.Lease == e.completion.Lease {
			out.Answer(e.ord, backend.Stale)
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

func inOrder(events []*pushEvent) {
	slices.SortStableFunc(events, func(a, b *pushEvent) int { return compareRun(a.key(), b.key()) })
}

// span is a range of a table's keys.
type span struct {
	ord       int32
	inst      int32
	id        int32
	low, high string
	first     int32
}

func only(e *pushEvent, id int32, path graph.Path) span {
	return span{ord: e.ord, inst: int32(e.inst.index), id: id, low: string(path), high: string(path) + " "}
}

func spans[ID ~int32](to []span, e *pushEvent, ids []ID, under graph.Path) []span {
	s := span{ord: e.ord, inst: int32(e.inst.index), low: string(under), high: string(under) + "/", first: -1}
	if under == "" {
		s.high = "~"
	}
	for _, id := range ids {
		s.id = int32(id)
		to = append(to, s)
	}
	return to
}

func sortSpans(all []span) {
	slices.SortFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.inst, b.inst), cmp.Compare(a.id, b.id), cmp.Compare(a.low, b.low))
	})
}

// drops are what events take away, by table.
type drops struct {
	runs, counters, elements, values []span
	ended                            []*pushEvent
}

func (d *drops) unset(e *pushEvent) {
	if e.submission != nil {
		return
	}
	for _, w := range e.plan.Writes {
		if w.Value != nil && !w.Drops {
			continue
		}
		s := only(e, int32(w.Slot.Var), w.Slot.Scope)
		if w.Value == nil {
			s.first = -1
		}
		d.values = append(d.values, s)
	}
}

func (d *drops) clear(e *pushEvent) {
	if e.submission != nil {
		return
	}
	for _, cl := range e.plan.Clears {
		cleared := e.program().Cleared(cl.Region)
		if cl.AtWork {
			d.runs = spans(d.runs, e, cleared.Runs, cl.Path)
			d.elements = spans(d.elements, e, cleared.Barriers, cl.Path)
		}
		d.counters = spans(d.counters, e, cleared.Barriers, cl.Path)
		d.values = spans(d.values, e, cleared.Vars, cl.Path)
	}
	if e.takesAll() {
		d.ended = append(d.ended, e)
	}
}

func atWork(events []*pushEvent) []span {
	var all []span
	for _, e := range events {
		for _, cl := range e.plan.Clears {
			if cl.AtWork {
				all = spans(all, e, e.program().Cleared(cl.Region).Runs, cl.Path)
			}
		}
	}
	return all
}
