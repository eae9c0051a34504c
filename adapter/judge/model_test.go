package judge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"pulley/adapter/judge"
	"pulley/adapter/protocol"
)

// world is a model of a right system: a store, processes that lease tasks from it, and pulley, which submits, kills, pauses and
// notes. Whatever can happen next happens at random. A planted bug makes the system wrong in one way.
type world struct {
	*rand.Rand
	choice
	history judge.History
	now     int64 // ns
	lease   int64 // ns

	store       map[string]*stored
	submissions []*stored // in their order
	slots       []*process
	dead        []*process // whose pipes may have lines
	incarnation int
	batches     int64
	tokens      int
	faults      int
	toSend      [][]protocol.Instance
	hit         bool // the planted bug did something
	calmed      bool // no more faults
}

// choice is what kind of system a world has.
type choice struct {
	promises protocol.Promises
	process  int  // number of processes
	slot     int  // of each
	quiet    bool // no faults
	fenced   bool // only the holder of the lease completes a task; otherwise the first does
	counts   int  // what an attempt's number counts: 0 nothing, 1 failures, 2 deliveries
	fails    bool // some tasks fail at first
	ends     bool // processes report ends only
	slow     bool // retries come after hours
	bug      bug
}

type stored struct {
	id       string
	workload *protocol.Workload
	tasks    map[key]*storedTask
	end      protocol.Status // empty: open
	value    string
	stuck    bool // by a planted bug: never begins
}

type key struct {
	task  string
	round int
}

type storedTask struct {
	done                 bool
	value                string
	deliveries, failures int
	holder               *execution
	until                int64
}

type process struct {
	number, incarnation int
	dead, paused        bool
	fault               string
	lines               []judge.Entry // in its pipe
	requests            []judge.Entry // Sent and Asked
	answers             []judge.Entry // of what was stored, not yet written
	open                map[int64][]protocol.Instance
	work                []*execution
	ends                []*stored // to be reported
}

type execution struct {
	of      *stored
	key     key
	attempt int
	inputs  map[string]string
	state   int // 0: leased, 1: started, 2: finished
	value   string
}

func (w *world) chance(p float64) bool { return w.Float64() < p }

// bugged reports whether the planted bug is this one and happens now.
func (w *world) bugged(b bug, p float64) bool {
	if w.bug != b || !w.chance(p) {
		return false
	}
	w.hit = true
	return true
}

// note adds an entry to the history.
func (w *world) note(e judge.Entry) {
	e.AtNS = w.now
	w.history.Entries = append(w.history.Entries, e)
}

// write puts a line into a process's pipe.
func (p *process) write(e judge.Entry) {
	e.Process, e.Incarnation = p.number, p.incarnation
	p.lines = append(p.lines, e)
}

// read notes the next line of a pipe.
func (w *world) read(p *process) bool {
	if len(p.lines) == 0 {
		return false
	}
	e := p.lines[0]
	p.lines = p.lines[1:]
	if e.Kind == judge.Submitted || e.Kind == judge.Refused {
		delete(p.open, e.Batch)
	}
	w.note(e)
	return true
}

func (w *world) start(number int) *process {
	w.incarnation++
	p := &process{number: number, incarnation: w.incarnation, open: map[int64][]protocol.Instance{}}
	w.note(judge.Entry{Kind: judge.Opened, Process: number, Incarnation: p.incarnation})
	return p
}

// send submits the next batch to a process.
func (w *world) send(p *process) bool {
	if len(w.toSend) == 0 || p.dead {
		return false
	}
	w.batches++
	e := judge.Entry{Kind: judge.Sent, Process: p.number, Incarnation: p.incarnation, Batch: w.batches, Instances: w.toSend[0]}
	w.toSend = w.toSend[1:]
	w.note(e)
	p.requests = append(p.requests, e)
	p.open[e.Batch] = e.Instances
	return true
}

func (w *world) ask(p *process, ids []string) {
	w.batches++
	e := judge.Entry{Kind: judge.Asked, Process: p.number, Incarnation: p.incarnation, Batch: w.batches, IDs: ids}
	w.note(e)
	p.requests = append(p.requests, e)
}

// answer executes one request of a process, or writes an answer.
func (w *world) answer(p *process) bool {
	if len(p.answers) > 0 {
		p.write(p.answers[0])
		p.answers = p.answers[1:]
		return true
	}
	if len(p.requests) == 0 {
		return false
	}
	i := 0
	if w.promises.Order == "" {
		i = w.IntN(len(p.requests))
	}
	e := p.requests[i]
	p.requests = slices.Delete(p.requests, i, i+1)
	if e.Kind == judge.Asked {
		var states []protocol.State
		for _, id := range e.IDs {
			states = append(states, w.state(id))
		}
		p.answers = append(p.answers, judge.Entry{Kind: judge.Looked, Batch: e.Batch, States: states})
		return true
	}
	if w.cut(p) {
		if w.chance(0.5) {
			w.insert(e.Instances)
		}
		p.answers = append(p.answers, judge.Entry{Kind: judge.Refused, Batch: e.Batch, Message: "connection lost"})
		return true
	}
	w.insert(e.Instances)
	p.answers = append(p.answers, judge.Entry{Kind: judge.Submitted, Batch: e.Batch})
	return true
}

func (w *world) state(id string) protocol.State {
	s := w.store[id]
	switch {
	case s == nil:
		return protocol.State{ID: id, Status: protocol.Unknown}
	case s.end == "":
		return protocol.State{ID: id, Status: protocol.Open}
	}
	return protocol.State{ID: id, Status: s.end, Value: s.value}
}

func (w *world) insert(instances []protocol.Instance) {
	for _, in := range instances {
		old := w.store[in.ID]
		if old != nil && !w.bugged(bugSecondInstance, 1) || w.bugged(bugLostSubmit, 0.2) {
			continue
		}
		i := slices.IndexFunc(w.history.Workloads, func(wl protocol.Workload) bool { return wl.Name == in.Workload })
		s := &stored{id: in.ID, workload: &w.history.Workloads[i], tasks: map[key]*storedTask{}, stuck: w.bugged(bugNeverBegins, 0.2)}
		w.store[in.ID] = s // of a second instance, too: the executions of the first continue
		w.submissions = append(w.submissions, s)
	}
}

func (s *stored) task(k key) *storedTask {
	t := s.tasks[k]
	if t == nil {
		t = &storedTask{}
		s.tasks[k] = t
	}
	return t
}

// needs lists the inputs of a task, with what gives each.
func (s *stored) needs(k key) map[string]key {
	t := s.workload.Task(k.task)
	out := map[string]key{}
	for _, need := range t.Needs {
		out[need] = key{need, k.round}
	}
	if len(t.Needs) == 0 && k.round > 1 {
		out[protocol.Previous] = key{s.workload.Result, k.round - 1}
	}
	return out
}

func (s *stored) rounds() int { return max(1, s.workload.Repeat) }

// ready lists the tasks that a process may lease now, in order.
func (w *world) ready() (out []*execution) {
	for _, s := range w.submissions {
		if s.end != "" || s.stuck {
			continue
		}
		for round := 1; round <= s.rounds(); round++ {
			for i := range s.workload.Tasks {
				k := key{s.workload.Tasks[i].Name, round}
				if t := s.task(k); w.leasable(t) && w.fed(s, k) {
					out = append(out, &execution{of: s, key: k})
				}
			}
		}
	}
	return out
}

func (w *world) leasable(t *storedTask) bool {
	switch {
	case t.done:
		return false
	case t.holder == nil:
		return true
	case w.promises.Execution == protocol.AtMostOnce:
		return t.until < w.now && w.bugged(bugTwice, 1)
	case w.bug == bugNeverContinues && t.until < w.now:
		w.hit = true
		return false
	}
	return t.until < w.now
}

// fed reports whether all that a task needs is done.
func (w *world) fed(s *stored, k key) bool {
	for _, from := range s.needs(k) {
		if !s.task(from).done && !w.bugged(bugBeforeNeed, 0.02) {
			return false
		}
	}
	return true
}

// cut loses a message to the store, or its answer, now and then.
func (w *world) cut(p *process) bool {
	if w.quiet || w.calmed || !w.chance(0.03) {
		return false
	}
	w.faults++
	fault := fmt.Sprintf("cut-%d", w.faults)
	for _, kind := range []judge.Kind{judge.FaultBegan, judge.FaultEnded} {
		w.note(judge.Entry{Kind: kind, Fault: fault, Process: p.number, Incarnation: p.incarnation})
	}
	return true
}

// claim leases a task.
func (w *world) claim(p *process) bool {
	list := w.ready()
	if len(p.work) >= w.slot || len(list) == 0 {
		return false
	}
	i := w.IntN(len(list))
	if w.promises.Order != "" && !w.bugged(bugOrder, 0.3) {
		i = 0
	}
	x := list[i]
	t := x.of.task(x.key)
	if t.deliveries == 0 && w.bugged(bugLostTask, 0.05) {
		t.done = true
		w.after(x.of, x.key, p)
		return true
	}
	t.deliveries++
	t.holder, t.until = x, w.now+w.lease
	switch w.counts {
	case 1:
		x.attempt = t.failures + 1
	case 2:
		x.attempt = t.deliveries
	}
	x.inputs = map[string]string{}
	for name, from := range x.of.needs(x.key) {
		if value := x.of.task(from).value; value != "" {
			if w.bugged(bugMadeUp, 0.1) {
				value += "x"
			}
			x.inputs[name] = value
		}
	}
	if !w.cut(p) { // otherwise the answer is lost
		p.work = append(p.work, x)
	}
	return true
}

// proceed takes one execution of a process a step further.
func (w *world) proceed(p *process) bool {
	if len(p.work) == 0 {
		return false
	}
	i := w.IntN(len(p.work))
	x := p.work[i]
	line := judge.Entry{Instance: x.of.id, Task: x.key.task, Attempt: x.attempt}
	if x.of.workload.Repeat > 1 {
		line.Round = x.key.round
	}
	switch x.state {
	case 0:
		line.Kind, line.Inputs = judge.Started, x.inputs
		p.write(line)
		x.state = 1
	case 1:
		if t := x.of.task(x.key); t.failures < x.of.workload.Task(x.key.task).Fails {
			line.Kind, line.Message = judge.Failed, "as planned"
			p.write(line)
			p.work = slices.Delete(p.work, i, i+1)
			w.fail(x, p)
			break
		}
		w.tokens++
		var err error
		if x.value, err = protocol.Compute(x.of.workload.Task(x.key.task), x.inputs, fmt.Sprintf("%d.%d", p.incarnation, w.tokens)); err != nil {
			x.value = fmt.Sprintf("1:%d.%d", p.incarnation, w.tokens) // a planted bug left an input out
		}
		line.Kind, line.Value = judge.Finished, x.value
		p.write(line)
		x.state = 2
	default:
		p.work = slices.Delete(p.work, i, i+1)
		if !w.cut(p) { // otherwise the request is lost
			w.complete(x, p)
		}
	}
	return true
}

// fail tells the store of a failed attempt.
func (w *world) fail(x *execution, p *process) {
	t := x.of.task(x.key)
	if t.holder != x || x.of.end != "" {
		return
	}
	t.failures++
	t.holder = nil
	if w.slow {
		t.holder, t.until = &execution{}, w.now+10_000*second
	}
	if n := w.promises.Attempts; n > 0 && (t.failures >= n || w.bugged(bugGivesUp, 0.5)) || n == 0 && w.bugged(bugGivesUp, 0.5) {
		x.of.end = protocol.Failed
		p.ends = append(p.ends, x.of)
	}
}

// complete offers a value to the store.
func (w *world) complete(x *execution, p *process) {
	s, t := x.of, x.of.task(x.key)
	last := x.key == key{s.workload.Result, s.rounds()}
	switch {
	case s.end != "":
		if last && s.end == protocol.Completed && w.bugged(bugEndChanged, 1) {
			s.value = x.value
			p.ends = append(p.ends, s)
		}
		return
	case t.done:
		if w.promises.Results == protocol.Any || w.bugged(bugResultTwice, 1) {
			t.value = x.value
		}
		if w.promises.Results == protocol.Any {
			w.trigger(s, x.key)
		}
		return
	case w.fenced && t.holder != x:
		return
	}
	t.done, t.value = true, x.value
	w.after(s, x.key, p)
}

// trigger lets the tasks be executed again that need a task: what a system may do in which each completion starts what follows.
func (w *world) trigger(s *stored, done key) {
	for k, t := range s.tasks {
		for _, from := range s.needs(k) {
			if from == done && t.done {
				t.done, t.holder = false, nil
			}
		}
	}
}

// after ends an instance whose result is done.
func (w *world) after(s *stored, k key, p *process) {
	if k != (key{s.workload.Result, s.rounds()}) {
		return
	}
	if w.bugged(bugEndLost, 0.2) {
		s.task(k).done, s.stuck = false, true
		if w.chance(0.5) {
			delete(w.store, s.id)
		}
		p.write(judge.Entry{Kind: judge.Ended, Instance: s.id, Status: protocol.Completed, Value: s.task(k).value})
		return
	}
	s.end, s.value = protocol.Completed, s.task(k).value
	if first := s.task(key{s.workload.Tasks[0].Name, 1}); k.task != s.workload.Tasks[0].Name && w.bugged(bugOtherResult, 0.3) {
		s.value = first.value
	}
	p.ends = append(p.ends, s)
}

// report writes an end that the process knows of, or finds in the store.
func (w *world) report(p *process) bool {
	var s *stored
	switch {
	case len(p.ends) > 0:
		s = p.ends[0]
		p.ends = p.ends[1:]
	case w.chance(0.98) || len(w.submissions) == 0:
		return false
	default:
		if s = w.store[w.submissions[w.IntN(len(w.submissions))].id]; s == nil || s.end == "" {
			return false
		}
	}
	p.write(judge.Entry{Kind: judge.Ended, Instance: s.id, Status: s.end, Value: s.value})
	return true
}
