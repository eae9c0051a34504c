package oracle

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// The deliveries of one node run are operations on one object: leases, completions and renewals, each with the times from and
// until which it may have happened. They are right if they can have happened one after the other, each at a moment of its time,
// with the given answers.

type operation struct {
	kind     operationKind
	token    int64
	answer   Answer // a completion's or renewal's; AnswerUnknown if lost
	again    bool   // the completion is a failure that is retried
	failure  bool   // the completion is or may be a failure
	fenced   bool   // a stale answer may have an unrecorded reason
	from, to int64
	line     int
}

type operationKind uint8

const (
	opLease operationKind = iota
	opComplete
	opRenew
	opEnd       // the instance ends: nothing of it is handed out or applied any more
	opCancelRun // a caught failure may cancel the run
)

type runState struct {
	token int64
	held  bool // its lease is in force, or ended without notice
	done  bool // finished, cancelled, or of an ended instance
}

// successors are the states that may follow; none means that the answer is impossible.
type successors struct {
	states [3]runState
	n      int
}

func to(states ...runState) successors {
	s := successors{n: len(states)}
	copy(s.states[:], states)
	return s
}

func (s *successors) all() []runState { return s.states[:s.n] }

func (s runState) apply(o *operation) successors {
	over := runState{token: s.token, done: true}
	switch o.kind {
	case opLease:
		if o.token <= s.token {
			return to()
		}
		return to(runState{token: o.token, held: !s.done, done: s.done}) // I7 and I8 cover what is done and handed out
	case opEnd:
		return to(over)
	case opCancelRun:
		return to(over, s)
	}
	current := s.held && !s.done && s.token == o.token
	if o.kind == opRenew {
		if o.answer == AnswerApplied && !current {
			return to()
		}
		return to(s) // an expired lease may be lost already, or not yet
	}
	free := runState{token: s.token}
	switch o.answer {
	case AnswerApplied:
		switch {
		case !current:
			return to()
		case o.again:
			return to(free)
		}
		return to(over)
	case AnswerStale:
		switch {
		case !current:
			return to(s)
		case o.fenced:
			return to(free)
		}
		return to()
	case AnswerUnknown:
		switch {
		case !current:
			return to(s)
		case o.failure:
			return to(s, over, free)
		}
		return to(s, over)
	}
	return to(s)
}

// inOrder reports whether the operations, in the order of their ends, explain each other. Most do, and need no search.
func inOrder(ops []operation) bool {
	slices.SortFunc(ops, func(a, b operation) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from), cmp.Compare(a.line, b.line))
	})
	now := []runState{{}}
	for i := range ops {
		var next []runState
		for _, s := range now {
			after := s.apply(&ops[i])
			for _, n := range after.all() {
				if !slices.Contains(next, n) {
					next = append(next, n)
				}
			}
		}
		if now = next; len(now) == 0 {
			return false
		}
	}
	return true
}

// search ends after a limited time.
func search(ops []operation, limit time.Duration) porcupine.CheckResult {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{runState{}} },
		Step: func(state, input, _ any) []any {
			after := state.(runState).apply(input.(*operation))
			var next []any
			for _, s := range after.all() {
				next = append(next, s)
			}
			return next
		},
	}
	history := make([]porcupine.Operation, len(ops))
	for i := range ops {
		history[i] = porcupine.Operation{Input: &ops[i], Call: ops[i].from, Return: ops[i].to}
	}
	return porcupine.CheckOperationsTimeout(model.ToModel(), history, max(limit, time.Nanosecond)) // zero would be unlimited
}

type linear struct {
	*judgement
	budget time.Duration
	lost   []span // calls that may have granted unrecorded leases, in the order of their starts
	spent  int
	ops    []operation
}

// span is a time, and the last end of any span up to this one.
type span struct{ from, to, last int64 }

const searchTime = 20 * time.Second

func newLinear(j *judgement) *linear {
	l := &linear{judgement: j, budget: cmp.Or(j.rules.SearchTime, searchTime)}
	for call, line := range j.open {
		end := int64(math.MaxInt64)
		if p := j.processes[call.process]; p.sessionsClosed >= 0 {
			end = j.at(p.sessionsClosed)
		}
		l.lost = append(l.lost, span{from: j.at(line), to: end})
	}
	slices.SortFunc(l.lost, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	last := int64(math.MinInt64)
	for i := range l.lost {
		last = max(last, l.lost[i].to)
		l.lost[i].last = last
	}
	return l
}

// at returns the time of a line, or its number if the order of lines is stricter or there are no times.
func (j *judgement) at(line int) int64 {
	if j.rules.CommitOrder || !j.stamped {
		return int64(line)
	}
	return j.history[line].AtNS
}

// since returns the earliest time at which what a line reports may have happened: the start of its call. A later call may also
// report an end.
func (j *judgement) since(line int) int64 {
	if j.rules.CommitOrder || !j.stamped {
		return math.MinInt64
	}
	e := &j.history[line]
	if e.SinceNS != 0 {
		return e.SinceNS
	}
	if e.Kind == Leased && e.Call != 0 {
		if at, known := j.begun[callID{e.process(), e.Call}]; known {
			return j.history[at].AtNS
		}
	}
	return math.MinInt64
}

func (l *linear) mayBeLeased(from, to int64) bool {
	n, _ := slices.BinarySearchFunc(l.lost, to, func(s span, t int64) int {
		if s.from <= t {
			return -1
		}
		return 1
	})
	return n > 0 && l.lost[n-1].last >= from
}

func (l *linear) judge(r *runRecord) {
	l.operations(r)
	if inOrder(l.ops) {
		return
	}
	l.spent++
	began := time.Now()
	result := porcupine.Unknown
	if l.budget > 0 {
		result = search(l.ops, l.budget)
	}
	l.budget -= time.Since(began)
	switch result {
	case porcupine.Unknown:
		l.undecided++
	case porcupine.Illegal:
		var lines []int
		for _, o := range l.ops {
			if o.line >= 0 {
				lines = append(lines, o.line)
			}
		}
		slices.Sort(lines)
		l.violate(slices.Compact(lines), "in no order can the deliveries of %s have happened: %d leases, completions and renewals", r.key, len(l.ops))
	}
}
