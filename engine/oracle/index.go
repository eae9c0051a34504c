package oracle

import (
	"slices"

	"pulley/engine/reference"
)

// index sorts a history by the objects of its events. Lines are indices of the history.
type index struct {
	history   History
	has       map[Kind]bool
	runs      []*runRecord // in the order of their first events
	instances []*instanceRecord
	byRun     map[runKey]*runRecord
	byID      map[string]*instanceRecord
	inspected []int
	processes map[string]*processRecord
	begun     map[callID]int
	open      map[callID]int // without an answer, or with an unknown one
	bad       []int          // lines of what was meant to go wrong
	stamped   bool           // every event has a time
}

type callID struct {
	process string
	call    int64
}

// processRecord has lines; -1: none.
type processRecord struct{ last, killed, sessionsClosed int }

type instanceRecord struct {
	id          string
	lines       []int
	runs        []*runRecord
	submittedAt []int
	submitted   []int
	refused     []int
	bad         bool
	ended       []int
	lookups     []int
	terminal    []int // those of looked that showed an end
	inspected   []int
	broken      bool // a completion that failed for good was applied, or may have been
	failing     int  // line of the first offer of such a completion; -1: none
	failed      bool // failed or cancelled: some that began did not end
	canceled    bool
	canceling   []int
}

type runRecord struct {
	key           runKey
	instance      *instanceRecord
	enqueued      []int
	arrived       []int
	elements      []int
	gathered      []int
	leased        []int
	started       []int
	renewals      []int
	released      []int
	offered       []int
	answered      []int
	cancellations []int
	mayFail       bool // a completion is, or was answered as, a failure
}

func newIndex(h History) *index {
	x := &index{
		history: h, has: map[Kind]bool{}, byRun: map[runKey]*runRecord{}, byID: map[string]*instanceRecord{},
		processes: map[string]*processRecord{}, begun: map[callID]int{}, open: map[callID]int{}, stamped: true,
	}
	for i := range h {
		e := &h[i]
		x.has[e.Kind] = true
		x.stamped = x.stamped && e.AtNS != 0
		x.note(e, i)
		if !kinds[e.Kind].instance && e.Instance == "" {
			x.addGlobal(e, i)
			continue
		}
		instance := x.instance(e.Instance)
		instance.lines = append(instance.lines, i)
		if kinds[e.Kind].run {
			x.run(e, instance).add(e, i)
		} else {
			instance.add(e, i)
		}
	}
	for _, r := range x.runs {
		if r.mayFail {
			x.fails(r)
		}
	}
	return x
}

// fails records that a completion of a run may have failed its instance, or a branch of it, for good.
func (x *index) fails(r *runRecord) {
	open := x.openOffers(r)
	failed := map[int64]bool{}
	for _, line := range r.answered {
		if e := &x.history[line]; e.Answer == AnswerApplied && e.Error != nil && !e.Again {
			failed[e.Token], r.instance.broken = true, true
		}
	}
	for _, line := range r.offered {
		e := &x.history[line]
		if !failed[e.Token] && (e.Error == nil || open[e.Token] == 0) {
			continue
		}
		r.instance.broken = true
		if r.instance.failing < 0 || line < r.instance.failing {
			r.instance.failing = line
		}
	}
}

func (x *index) note(e *Event, line int) {
	if e.Bad != "" && e.Kind != FaultBegan {
		x.bad = append(x.bad, line)
	}
	p := x.processes[e.process()]
	if p == nil {
		p = &processRecord{-1, -1, -1}
		x.processes[e.process()] = p
	}
	switch e.Kind {
	case Killed:
		p.killed = line
	case SessionsClosed:
		p.sessionsClosed = line
	case FaultBegan:
	default:
		p.last = line
	}
	if e.Call == 0 {
		return
	}
	key := callID{e.process(), e.Call}
	switch e.Kind {
	case Submitting, Claiming, Offered, Renewing:
		if _, begun := x.begun[key]; !begun {
			x.begun[key], x.open[key] = line, line
		}
	case Submitted, Claimed, Answered, Renewed:
		if e.Answer != AnswerUnknown {
			delete(x.open, key)
		}
	}
}

func (x *index) addGlobal(e *Event, line int) {
	if e.Kind == Inspected {
		x.inspected = append(x.inspected, line)
	}
}

func (r *instanceRecord) add(e *Event, line int) {
	r.bad = r.bad || e.Bad != ""
	switch e.Kind {
	case Submitting:
		r.submittedAt = append(r.submittedAt, line)
	case Submitted:
		switch e.Answer {
		case "", AnswerApplied, AnswerDuplicate:
			r.submitted = append(r.submitted, line)
		case AnswerRefused:
			r.refused = append(r.refused, line)
		}
	case Ended:
		r.ended = append(r.ended, line)
		r.saw(e.Status)
	case Canceling:
		r.canceling = append(r.canceling, line)
	case LookedUp:
		r.lookups = append(r.lookups, line)
		if terminal(e.Status) {
			r.terminal = append(r.terminal, line)
			r.saw(e.Status)
		}
	case Inspected:
		r.inspected = append(r.inspected, line)
	}
}

func (x *index) instance(id string) *instanceRecord {
	r := x.byID[id]
	if r == nil {
		r = &instanceRecord{id: id, failing: -1}
		x.byID[id] = r
		x.instances = append(x.instances, r)
	}
	return r
}

func (x *index) run(e *Event, instance *instanceRecord) *runRecord {
	key := e.run()
	r := x.byRun[key]
	if r == nil {
		r = &runRecord{key: key, instance: instance}
		x.byRun[key] = r
		x.runs = append(x.runs, r)
		instance.runs = append(instance.runs, r)
	}
	return r
}

func (r *runRecord) add(e *Event, line int) {
	list := &r.enqueued
	r.instance.bad = r.instance.bad || e.Bad != ""
	r.mayFail = r.mayFail || e.Error != nil
	switch e.Kind {
	case Renewed:
		list = &r.renewals
	case Released:
		list = &r.released
	case Renewing:
		return
	case Arrived:
		list = &r.arrived
	case Element:
		list = &r.elements
	case Gathered:
		list = &r.gathered
	case Leased:
		list = &r.leased
	case Started:
		list = &r.started
	case Offered:
		list = &r.offered
	case RunCancelled:
		list = &r.cancellations
	case Answered:
		list = &r.answered
	}
	*list = append(*list, line)
}

func (r *instanceRecord) saw(s reference.Status) {
	r.failed = r.failed || s != reference.Completed
	r.canceled = r.canceled || s == reference.Canceled
}

// final returns the lines of the applied completions that finished the run: those that are not retried.
func (x *index) final(r *runRecord) []int {
	var out []int
	for _, line := range r.answered {
		if e := &x.history[line]; e.Answer == AnswerApplied && !e.Again {
			out = append(out, line)
		}
	}
	return out
}

func (r *instanceRecord) ends() []int { return slices.Concat(r.ended, r.terminal) }

func (r *instanceRecord) hasEnded() bool { return len(r.ended)+len(r.terminal) > 0 }

// exists reports whether the store is known to have the instance: it reported it, or handed out a part of it.
func (r *instanceRecord) exists() bool {
	return len(r.submitted) > 0 || len(r.submittedAt) > 0 && slices.ContainsFunc(r.runs, func(run *runRecord) bool { return len(run.leased) > 0 })
}

func (r *instanceRecord) hasEndedBy(line int) bool {
	return len(r.ended) > 0 && r.ended[0] < line || len(r.terminal) > 0 && r.terminal[0] < line
}

// context returns lines with their neighbours of the same instances, in order.
func (x *index) context(lines []int) []Line {
	shows := map[int]bool{}
	var all []int
	for _, line := range lines {
		shows[line] = true
		all = append(all, line)
		if r := x.byID[x.history[line].Instance]; r != nil {
			at, _ := slices.BinarySearch(r.lines, line)
			all = append(all, r.lines[max(0, at-around):min(len(r.lines), at+around+1)]...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	out := make([]Line, len(all))
	for i, line := range all {
		out[i] = Line{Number: line + 1, Shows: shows[line], Event: x.history[line]}
	}
	return out
}
