package judge

import (
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/sim/world"
)

// A design that does not say what it has planned has the twin plan by itself.

// think plans what happened, and all that follows from it.
func (t *Twin) think(h *Event) {
	if h.Born {
		if t.Unborn = true; !h.Later {
			t.bear()
		}
		return
	}
	t.bear()
	r := t.Runs[h.Run]
	if h.Retried {
		t.retry(h, r)
		return
	}
	p, ok := t.step(plan.Event{Run: h.Run, Attempt: r.Attempt, Result: h.Result, Failure: h.Failure})
	if !ok {
		return
	}
	if p.Retry != nil {
		t.Wrong("I4", "%s was taken as ended by attempt %d, and is to be tried again", t.Name(h.Run), r.Attempt)
		return
	}
	delete(t.Runs, h.Run)
	t.obey(&p)
	t.planContinuations()
}

// bear begins an instance that was stored to be begun later.
func (t *Twin) bear() {
	if !t.Unborn {
		return
	}
	t.Unborn = false
	p, err := t.World.Workload.Start()
	if err != nil {
		t.Wrong("I12", "it cannot begin: %v", err)
		return
	}
	t.obey(p)
	t.planContinuations()
}

func (t *Twin) retry(h *Event, r *runTwin) {
	t.World.Note(world.Retried, t.Inst.Index, int64(h.Run.Node), h.Token, 0)
	r.Attempt++
}

// step plans an event with the values that the twin has.
func (t *Twin) step(ev plan.Event) (plan.Plan, bool) {
	in := t.Inbox(ev)
	if t.Program.Needs(ev).Elements {
		t.Forget(ev.Run)
	}
	p, err := t.World.Workload.Compiled.Step(ev, in, 0)
	if err != nil {
		t.Wrong("I12", "%s cannot be planned: %v", t.Name(ev.Run), err)
	}
	return p, err == nil
}

// planContinuations plans the runs that go on, one after the other, and clears what is over in the end.
func (t *Twin) planContinuations() {
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

// Granted is a lease that an owner gave in memory.
func (j *Judge) Granted(inst *world.Instance, run graph.Run, token int64, attempt int) {
	j.w.Note(world.Leased, inst.Index, int64(run.Node), token, int64(attempt))
	t := j.twin(inst)
	t.bear()
	r := t.Runs[run]
	if j.clocks && (t.End != nil || r == nil || token < r.Token) {
		return // who gives it cannot know that the shard is another's; what comes of it is fenced
	}
	t.leased(run, token, attempt)
}
