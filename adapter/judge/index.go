package judge

import (
	"maps"
	"slices"
	"strings"

	"pulley/adapter/protocol"
)

// none is the place of an entry that is not there.
const none = -1

// instance is what a history tells of an instance. Numbers are places of entries.
type instance struct {
	id       string
	workload *workload
	sent     []int
	accepted int // the first entry Submitted; or none
	ends     []end
	looks    []look
	runs     map[runKey]*run
	entries  []int           // all that name the instance
	lost     map[runKey]bool // it completed, and they never finished
	second   bool            // there was a second instance of its id
}

// workload is one with what is looked up in it often.
type workload struct {
	*protocol.Workload
	tasks map[string]*protocol.Task
	keys  []runKey // the runs of an instance, in order
}

func newWorkload(w *protocol.Workload) *workload {
	out := &workload{Workload: w, tasks: map[string]*protocol.Task{}}
	for i := range w.Tasks {
		out.tasks[w.Tasks[i].Name] = &w.Tasks[i]
	}
	for round := range max(1, w.Repeat) {
		for i := range w.Tasks {
			out.keys = append(out.keys, out.key(w.Tasks[i].Name, round+1))
		}
	}
	return out
}

// key names a task's run; rounds count only in a workload that has them.
func (w *workload) key(task string, round int) runKey {
	if w.Repeat <= 1 {
		round = 0
	}
	return runKey{task, round}
}

// end is a report that an instance has ended, or an answer that says so.
type end struct {
	asked, at int // asked: of a look, else none
	status    protocol.Status
	value     string
}

// look is an answer about an instance.
type look struct {
	asked, at int
	state     protocol.State
}

// runKey is a task in a round; the round is 0 in a workload without rounds.
type runKey struct {
	task  string
	round int
}

// run is the executions of a task in a round.
type run struct {
	in                      *instance
	key                     runKey
	starts, finishes, fails []int
	values                  map[string]int // that executions gave: the entry
	used                    []string       // by successors and the end, in order, each once
	usedBy                  map[string]int // the first entry that shows it
}

// text is a value without its padding.
func text(value string) string { return strings.TrimRight(value, " ") }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// batch is the question of an answer.
type batch struct {
	incarnation int
	number      int64
}

// index sorts the entries by instance.
func (j *judge) index() {
	questions := map[batch]int{}
	j.disturbed = len(j.h.Entries)
	for at := range j.h.Entries {
		e := &j.h.Entries[at]
		key := batch{e.Incarnation, e.Batch}
		if e.disturbs() {
			j.disturbed = min(j.disturbed, at)
		}
		switch e.Kind {
		case Sent:
			questions[key] = at
			j.indexSent(e, at)
		case Submitted, Refused, Unanswered:
			j.indexAnswer(e, at, questions, key)
		case Asked:
			questions[key] = at
		case Looked:
			j.indexLooked(e, at, questions, key)
		case Started, Finished, Failed:
			j.indexTask(e, at)
		case Ended:
			if in := j.known(e.Instance, at); in != nil {
				in.ends = append(in.ends, end{none, at, e.Status, text(e.Value)})
			}
		case Waited:
			if j.isLongEnough(at) {
				j.waits = append(j.waits, at)
			}
		}
	}
}

func (j *judge) indexSent(e *Entry, at int) {
	for _, sent := range e.Instances {
		in := j.by[sent.ID]
		if in == nil {
			in = &instance{id: sent.ID, workload: j.workloads[sent.Workload], accepted: none, runs: map[runKey]*run{}, lost: map[runKey]bool{}}
			if in.workload == nil {
				j.reasons["an instance of a workload that is not in the history"]++
				in.workload = newWorkload(&protocol.Workload{Name: sent.Workload})
			}
			j.by[sent.ID] = in
			j.instances = append(j.instances, in)
		}
		in.sent, in.entries = append(in.sent, at), append(in.entries, at)
	}
}

func (j *judge) indexAnswer(e *Entry, at int, questions map[batch]int, key batch) {
	question, asked := questions[key]
	if asked && j.h.Entries[question].Kind == Asked && e.Kind != Submitted {
		return // who asks for states asks again
	}
	if !asked || j.h.Entries[question].Kind != Sent {
		j.reasons["an answer to a batch that was not sent"]++
		return
	}
	for _, sent := range j.h.Entries[question].Instances {
		in := j.by[sent.ID]
		in.entries = append(in.entries, at)
		if e.Kind == Submitted && in.accepted == none {
			in.accepted = at
		}
	}
}

func (j *judge) indexLooked(e *Entry, at int, questions map[batch]int, key batch) {
	asked, is := questions[key]
	if !is || j.h.Entries[asked].Kind != Asked {
		j.reasons["states that nobody asked for"]++
		return
	}
	for _, s := range e.States {
		in := j.known(s.ID, at)
		if in == nil {
			continue
		}
		in.looks = append(in.looks, look{asked, at, s})
		if s.Status == protocol.Completed || s.Status == protocol.Failed {
			in.ends = append(in.ends, end{asked, at, s.Status, text(s.Value)})
		}
	}
}

// known returns the instance that an entry names; nil: it was never submitted.
func (j *judge) known(id string, at int) *instance {
	in := j.by[id]
	if in == nil {
		j.reasons["an entry names an instance that was not submitted before"]++
		return nil
	}
	in.entries = append(in.entries, at)
	return in
}

func (j *judge) indexTask(e *Entry, at int) {
	in := j.known(e.Instance, at)
	if in == nil {
		return
	}
	switch {
	case in.workload.tasks[e.Task] == nil:
		j.reasons["an entry names a task that its workload does not have"]++
		return
	case in.workload.Repeat > 1 && (e.Round < 1 || e.Round > in.workload.Repeat):
		j.reasons["an entry names no round, or one that its workload does not have"]++
		return
	}
	r := in.run(in.workload.key(e.Task, e.Round))
	switch e.Kind {
	case Started:
		r.starts = append(r.starts, at)
	case Failed:
		r.fails = append(r.fails, at)
	case Finished:
		r.finishes = append(r.finishes, at)
		value := text(e.Value)
		if _, twice := r.values[value]; !twice {
			r.values[value] = at
		}
	}
}

// run returns a run, which may have no execution yet.
func (in *instance) run(k runKey) *run {
	r := in.runs[k]
	if r == nil {
		r = &run{in: in, key: k, values: map[string]int{}, usedBy: map[string]int{}}
		in.runs[k] = r
	}
	return r
}

// result is the run whose value is the instance's.
func (in *instance) result() runKey { return in.workload.key(in.workload.Result, in.workload.Repeat) }

// source is the run whose value an input must be.
func (in *instance) source(k runKey, input string) runKey {
	if input == protocol.Previous {
		return in.workload.key(in.workload.Result, k.round-1)
	}
	return runKey{input, k.round}
}

// inputs lists the names of the inputs that a run must have.
func (in *instance) inputs(k runKey) []string {
	t := in.workload.tasks[k.task]
	if len(t.Needs) == 0 && k.round > 1 {
		return []string{protocol.Previous}
	}
	return t.Needs
}

func (r *run) use(value string, at int) {
	if _, is := r.usedBy[value]; !is {
		r.used, r.usedBy[value] = append(r.used, value), at
	}
}

// completed reports whether the instance completed, by any report or answer.
func (in *instance) completed() bool {
	return slices.ContainsFunc(in.ends, func(e end) bool { return e.status == protocol.Completed })
}
