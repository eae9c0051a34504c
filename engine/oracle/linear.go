package oracle

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// The deliveries of one node run, as operations on one thing: leases, completions and extensions, each with
// the time from which and until which it may have happened. They are right if they can have happened one
// after the other, each at a moment of its time, so that every answer is what it must be.

// operation is one of them.
type operation struct {
	kind     operationKind
	token    int64
	answer   Answer // of a completion or an extension; AnswerUnknown where none is known
	again    bool   // the completion is a failure that is tried again
	failure  bool   // the completion is a failure, which may be
	fenced   bool   // a stale answer may have had a reason that nobody recorded
	from, to int64
	line     int // that tells of it
}

type operationKind uint8

const (
	opLease operationKind = iota
	opComplete
	opRenew
	opEnd       // the instance ends: nothing of it is given out or applied any more
	opCancelRun // the run may be cancelled, since an error was caught beside it
)

// runState is what a store knows of a node run.
type runState struct {
	token int64 // the newest
	held  bool  // its lease is in force, or has ended with nobody told
	done  bool  // finished, cancelled, or of an instance that has ended
}

// successors are the states that may follow; none says that the operation cannot have been answered so.
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

// apply says what follows an operation.
func (s runState) apply(o *operation) successors {
	over := runState{token: s.token, done: true}
	switch o.kind {
	case opLease:
		if o.token <= s.token {
			return to()
		}
		return to(runState{token: o.token, held: !s.done, done: s.done}) // what is done and given out is I7's and I8's
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
		return to(s) // a lease that ran out may be lost already, or not yet
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

// inOrder says whether the operations, in the order in which they were over, explain each other. Most do,
// and then nothing has to be searched.
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

// search looks for any order in which the operations can have happened, for so long at most.
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
	return porcupine.CheckOperationsTimeout(model.ToModel(), history, max(limit, time.Nanosecond)) // zero would be no limit
}

// linear judges node runs one after the other.
type linear struct {
	*judgement
	budget time.Duration // for searching
	lost   []span        // calls that may have given leases that nobody recorded, in the order of their beginnings
	spent  int           // searches
	ops    []operation   // used again
}

// span is a time, and the last end of any span up to this one.
type span struct{ from, to, last int64 }

// searchTime is the default of Rules.SearchTime.
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

// at gives the time of a line: its own, or, where the lines' order says more or is all there is, its number.
func (j *judgement) at(line int) int64 {
	if j.rules.CommitOrder || !j.stamped {
		return int64(line)
	}
	return j.history[line].AtNS
}

// since gives the earliest time at which what a line tells may have happened: that of the call which told it.
// An end may be told by a later one than that which brought it about.
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

// mayBeLeased says whether a lease that nobody recorded may have been given in a time.
func (l *linear) mayBeLeased(from, to int64) bool {
	n, _ := slices.BinarySearchFunc(l.lost, to, func(s span, t int64) int {
		if s.from <= t {
			return -1
		}
		return 1
	})
	return n > 0 && l.lost[n-1].last >= from
}

// judge holds one run's deliveries against the model.
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
