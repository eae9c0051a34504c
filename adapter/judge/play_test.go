package judge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"pulley/adapter/judge"
	"pulley/adapter/protocol"
)

const second = int64(1e9)

// workloads are those of all worlds.
func workloads(fails bool) []protocol.Workload {
	list := []protocol.Workload{
		{Name: "single", Result: "a", Tasks: []protocol.Task{{Name: "a", Add: 3}}},
		{Name: "pair", Result: "b", Tasks: []protocol.Task{{Name: "a", Add: 3}, {Name: "b", Needs: []string{"a"}, Add: 5, Bytes: 30}}},
		{Name: "diamond", Result: "d", Tasks: []protocol.Task{
			{Name: "a", Add: 3, Bytes: 20}, {Name: "b", Needs: []string{"a"}, Add: 5}, {Name: "c", Needs: []string{"a"}, Add: 7},
			{Name: "d", Needs: []string{"b", "c"}, Add: 11},
		}},
		{Name: "rounds", Result: "b", Repeat: 3, Tasks: []protocol.Task{{Name: "a", Add: 3}, {Name: "b", Needs: []string{"a"}, Add: 5}}},
	}
	if fails {
		list[0].Tasks[0].Fails, list[2].Tasks[2].Fails = 2, 1
	}
	return list
}

// newWorld makes a world with some instances to submit.
func newWorld(seed uint64, c choice) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 7)), choice: c, lease: 2 * second, store: map[string]*stored{}}
	w.history = judge.History{Promises: c.promises, Workloads: workloads(c.fails), Processes: c.process, Slots: c.slot}
	id := 0
	for range 2 + w.IntN(4) {
		var batch []protocol.Instance
		for range 1 + w.IntN(3) {
			id++
			name := w.history.Workloads[w.IntN(len(w.history.Workloads))].Name
			batch = append(batch, protocol.Instance{ID: fmt.Sprintf("i%d", id), Workload: name})
		}
		w.toSend = append(w.toSend, batch)
	}
	for number := range c.process {
		w.slots = append(w.slots, w.start(number))
	}
	return w
}

// step lets something happen to one process, and time pass.
func (w *world) step() bool {
	w.now += int64(w.IntN(int(second / 10)))
	p := w.slots[w.IntN(len(w.slots))]
	if p.paused {
		return false
	}
	switch w.IntN(8) {
	case 0:
		return w.answer(p)
	case 1, 2:
		return w.claim(p)
	case 3, 4, 5:
		return w.proceed(p)
	case 6:
		return w.report(p)
	}
	return w.read(p)
}

// disturb lets a fault happen to one process, or end.
func (w *world) disturb() {
	p := w.slots[w.IntN(len(w.slots))]
	switch {
	case p.paused && w.chance(0.5):
		p.paused = false
		w.note(judge.Entry{Kind: judge.FaultEnded, Fault: p.fault})
	case p.paused:
	case w.chance(0.4):
		p.paused = true
		w.faults++
		p.fault = fmt.Sprintf("pause-%d", w.faults)
		w.note(judge.Entry{Kind: judge.FaultBegan, Fault: p.fault, Process: p.number, Incarnation: p.incarnation})
	case w.chance(0.3):
		w.ask(p, w.sent())
	default:
		w.kill(p)
		w.slots[p.number] = w.start(p.number)
	}
	if len(w.dead) > 0 && w.chance(0.5) {
		w.drain(w.dead[0])
	}
}

func (w *world) kill(p *process) {
	kind := judge.Killed
	if w.chance(0.2) {
		kind = judge.Died
	}
	w.note(judge.Entry{Kind: kind, Process: p.number, Incarnation: p.incarnation})
	p.dead, p.work, p.requests, p.answers, p.ends = true, nil, nil, nil, nil
	w.dead = append(w.dead, p)
}

// drain reads what a dead process left, and submits again what it did not answer.
func (w *world) drain(p *process) {
	for w.read(p) {
	}
	w.dead = w.dead[1:]
	for number := int64(1); number <= w.batches; number++ {
		instances, open := p.open[number]
		if !open {
			continue
		}
		w.note(judge.Entry{Kind: judge.Unanswered, Process: p.number, Incarnation: p.incarnation, Batch: number})
		if w.promises.Resubmit == protocol.Once {
			w.toSend = append(w.toSend, instances)
		}
	}
}

// play plays a world to its end, and returns its history.
func (w *world) play() *judge.History {
	for range 150 + w.IntN(250) {
		if w.chance(0.05) {
			w.send(w.slots[w.IntN(len(w.slots))])
		}
		if !w.quiet && w.chance(0.04) {
			w.disturb()
		}
		if w.promises.Execution == protocol.AtMostOnce {
			w.giveUp()
		}
		w.step()
	}
	w.calm()
	w.now += 200 * second
	w.note(judge.Entry{Kind: judge.Waited, WaitedMS: 150_000})
	w.ask(w.slots[0], w.sent())
	for range 2000 { // no more claims
		p := w.slots[w.IntN(len(w.slots))]
		if !w.answer(p) && !w.read(p) {
			w.report(p)
		}
	}
	for _, p := range w.slots {
		for w.answer(p) {
		}
		for w.read(p) {
		}
	}
	if w.ends {
		w.history.Report = protocol.ReportEnds
		w.history.Entries = slices.DeleteFunc(w.history.Entries, func(e judge.Entry) bool {
			return e.Kind == judge.Started || e.Kind == judge.Finished || e.Kind == judge.Failed
		})
	}
	return &w.history
}

// sent lists the instances that were submitted, each once.
func (w *world) sent() (ids []string) {
	for _, e := range w.history.Entries {
		for _, in := range e.Instances {
			if !slices.Contains(ids, in.ID) {
				ids = append(ids, in.ID)
			}
		}
	}
	return ids
}

// calm ends all faults, and lets the system do what it can.
func (w *world) calm() {
	for _, p := range w.slots {
		if p.paused {
			p.paused = false
			w.note(judge.Entry{Kind: judge.FaultEnded, Fault: p.fault})
		}
	}
	w.calmed = true
	for idle := 0; idle < 300; {
		for len(w.dead) > 0 {
			w.drain(w.dead[0])
		}
		w.send(w.slots[w.IntN(len(w.slots))])
		if w.promises.Execution == protocol.AtMostOnce {
			w.giveUp()
		}
		if idle++; w.step() {
			idle = 0
		}
	}
}

// giveUp fails the instances whose only execution of a task was lost: what a system does that executes at most once.
func (w *world) giveUp() {
	if w.quiet {
		return // nothing is lost, only slow
	}
	for _, s := range w.submissions {
		for _, t := range s.tasks {
			if s.end == "" && !t.done && t.holder != nil && t.until+10*second < w.now && w.bug != bugTwice {
				s.end = protocol.Failed
			}
		}
	}
}
