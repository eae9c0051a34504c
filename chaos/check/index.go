package check

import "slices"

// index is a history sorted by what its events are about. Lines are indices of the history.
type index struct {
	history   History
	has       map[Kind]bool
	runs      []*runRecord // in the order of their first events
	instances []*instanceRecord
	byRun     map[runKey]*runRecord
	byID      map[string]*instanceRecord
	inspected []int // of all instances together
}

// instanceRecord is what a history tells of one instance.
type instanceRecord struct {
	id        string
	lines     []int
	runs      []*runRecord
	submitted []int
	ended     []int
	looked    []int
	terminal  []int // of looked, those that showed an end
	inspected []int
	broken    bool // a completion was applied that failed for good
	failed    bool // it ended so, or was canceled: not all that began came to its end
	canceled  bool // it ended so
	canceling []int
}

// runRecord is what a history tells of one node run.
type runRecord struct {
	key      runKey
	instance *instanceRecord
	enqueued []int
	arrived  []int
	elements []int
	gathered []int
	leased   []int
	started  []int
	offered  []int
	answered []int
	off      []int
}

func newIndex(h History) *index {
	x := &index{history: h, has: map[Kind]bool{}, byRun: map[runKey]*runRecord{}, byID: map[string]*instanceRecord{}}
	for i := range h {
		e := &h[i]
		x.has[e.Kind] = true
		if e.Instance == "" {
			x.inspected = append(x.inspected, i)
			continue
		}
		instance := x.instance(e.Instance)
		instance.lines = append(instance.lines, i)
		switch e.Kind {
		case Submitted:
			instance.submitted = append(instance.submitted, i)
		case Ended:
			instance.ended = append(instance.ended, i)
			instance.saw(e.Status)
		case Canceling:
			instance.canceling = append(instance.canceling, i)
		case Looked:
			instance.looked = append(instance.looked, i)
			if terminal(e.Status) {
				instance.terminal = append(instance.terminal, i)
				instance.saw(e.Status)
			}
		case Inspected:
			instance.inspected = append(instance.inspected, i)
		default:
			x.run(e, instance).add(e, i)
		}
	}
	return x
}

func (x *index) instance(id string) *instanceRecord {
	r := x.byID[id]
	if r == nil {
		r = &instanceRecord{id: id}
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
	switch e.Kind {
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
	case CalledOff:
		list = &r.off
	case Answered:
		list = &r.answered
		if e.Answer == AnswerApplied && e.Error != nil && !e.Again {
			r.instance.broken = true
		}
	}
	*list = append(*list, line)
}

// saw notes how the instance ended.
func (r *instanceRecord) saw(s Status) {
	r.failed = r.failed || s != Completed
	r.canceled = r.canceled || s == Canceled
}

// final gives the lines of the applied completions that finished the run: those that are not tried
// again.
func (x *index) final(r *runRecord) []int {
	var out []int
	for _, line := range r.answered {
		if e := &x.history[line]; e.Answer == AnswerApplied && !e.Again {
			out = append(out, line)
		}
	}
	return out
}

// ends gives the lines that show the instance's end: those that tell of it first.
func (r *instanceRecord) ends() []int { return slices.Concat(r.ended, r.terminal) }

// over tells whether the instance is known to have ended.
func (r *instanceRecord) over() bool { return len(r.ended)+len(r.terminal) > 0 }

// overBy tells whether it is known to have ended before a line.
func (r *instanceRecord) overBy(line int) bool {
	return len(r.ended) > 0 && r.ended[0] < line || len(r.terminal) > 0 && r.terminal[0] < line
}

// context gives lines with their neighbours of the same instances, in order.
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
