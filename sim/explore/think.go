package explore

import (
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// A design that does not say what it has planned has the twin plan by itself.

// think plans what happened, and all that follows from it.
func (t *twin) think(h *happened) {
	if h.born {
		if t.unborn = true; !h.later {
			t.bear()
		}
		return
	}
	t.bear()
	r := t.Runs[h.run]
	if h.retried {
		t.retry(h, r)
		return
	}
	p, ok := t.step(plan.Event{Run: h.run, Attempt: r.attempt, Result: h.result, Failure: h.failure})
	if !ok {
		return
	}
	if p.Retry != nil {
		t.wrong("I4", "%s was taken as ended by attempt %d, and is to be tried again", t.name(h.run), r.attempt)
		return
	}
	delete(t.Runs, h.run)
	t.obey(&p)
	t.goOn()
}

// bear begins an instance that was stored to be begun later.
func (t *twin) bear() {
	if !t.unborn {
		return
	}
	t.unborn = false
	p, err := t.w.load.start()
	if err != nil {
		t.wrong("I12", "it cannot begin: %v", err)
		return
	}
	t.obey(p)
	t.goOn()
}

func (t *twin) retry(h *happened, r *runTwin) {
	t.w.note(Retried, t.inst.index, int64(h.run.Node), h.token, 0)
	r.attempt++
}

// step plans an event with the values that the twin has.
func (t *twin) step(ev plan.Event) (plan.Plan, bool) {
	in := t.Inbox(ev)
	if t.Program.Needs(ev).Elements {
		t.Forget(ev.Run)
	}
	p, err := t.w.load.compiled.Step(ev, in, 0)
	if err != nil {
		t.wrong("I12", "%s cannot be planned: %v", t.name(ev.Run), err)
	}
	return p, err == nil
}

// goOn plans the runs that go on, one after the other, and clears what is over in the end.
func (t *twin) goOn() {
	for len(t.follow) > 0 && t.ending == nil {
		run := t.follow[0]
		t.follow = t.follow[1:]
		p, ok := t.step(plan.Event{Run: run, Fired: true})
		if !ok {
			break
		}
		t.obey(&p)
	}
	if t.ending == nil {
		t.Clear()
	}
	t.follow, t.Clears = nil, t.Clears[:0]
}

// granted is a lease that an owner gave in memory.
func (j *judgeOf) granted(inst *instance, run graph.Run, token int64, attempt int) {
	j.w.note(Leased, inst.index, int64(run.Node), token, int64(attempt))
	t := j.twin(inst)
	t.bear()
	r := t.Runs[run]
	if j.clocks && (t.end != nil || r == nil || token < r.token) {
		return // who gives it cannot know that the shard is another's; what comes of it is fenced
	}
	t.leased(run, token, attempt)
}
