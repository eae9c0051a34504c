package oracle

import "math"

func (l *linear) operations(r *runRecord) {
	l.ops = l.ops[:0]
	given := l.leases(r)
	l.completions(r, given)
	l.addRenewals(r)
	if r.instance.hasEnded() {
		line := r.ending(l.index)
		l.ops = append(l.ops, operation{kind: opEnd, from: l.since(line), to: l.at(line), line: line})
	}
	if r.instance.broken || len(r.cancellations) > 0 {
		since := int64(math.MinInt64)
		if len(r.cancellations) == 0 && r.instance.failing >= 0 && !l.rules.Partial {
			since = l.at(r.instance.failing)
		}
		l.ops = append(l.ops, operation{kind: opCancelRun, from: since, to: math.MaxInt64, line: -1})
	}
}

// leases returns the earliest time of each, by token.
func (l *linear) leases(r *runRecord) map[int64]int64 {
	given := make(map[int64]int64, len(r.leased))
	for _, line := range r.leased {
		e := &l.history[line]
		from := l.since(line)
		if l.rules.CommitOrder {
			from = l.at(line)
		}
		given[e.Token] = from
		l.ops = append(l.ops, operation{kind: opLease, token: e.Token, from: from, to: l.at(line), line: line})
	}
	return given
}

// completions adds the offers with their answers. Offers and answers of one token are matched by call, or in order.
func (l *linear) completions(r *runRecord, given map[int64]int64) {
	answers := map[callOf][]int{}
	for _, line := range r.answered {
		key := l.callOf(line)
		answers[key] = append(answers[key], line)
	}
	for _, line := range r.offered {
		e := &l.history[line]
		if _, known := given[e.Token]; !known { // part of the history is missing
			given[e.Token] = math.MinInt64
			l.ops = append(l.ops, operation{kind: opLease, token: e.Token, from: math.MinInt64, to: l.at(line), line: -1})
		}
		key := l.callOf(line)
		o := operation{kind: opComplete, token: e.Token, answer: AnswerUnknown, failure: e.Error != nil, from: l.at(line), to: l.latestEffect(e), line: line}
		if list := answers[key]; len(list) > 0 {
			answers[key] = list[1:]
			l.answer(&o, list[0])
		} else if l.rules.CommitOrder && !l.rules.Partial {
			o.answer = AnswerNone // a recorder of commits saw none
		}
		if l.rules.Partial { // the answer may be an earlier one's
			o.from = math.MinInt64
		}
		o.fenced = o.answer == AnswerStale && (l.rules.Partial || l.rules.Revokes || l.mayBeLeased(given[e.Token], o.to))
		l.ops = append(l.ops, o)
	}
}

type callOf struct {
	token, call int64
	process     string
}

func (l *linear) callOf(line int) callOf {
	e := &l.history[line]
	if e.Call == 0 {
		return callOf{token: e.Token}
	}
	return callOf{e.Token, e.Call, e.process()}
}

func (l *linear) answer(o *operation, line int) {
	e := &l.history[line]
	o.answer, o.again, o.failure = e.Answer, e.Again, o.failure || e.Again || e.Error != nil
	if e.Answer != AnswerUnknown {
		o.to, o.line = l.at(line), line
	}
}

// Later, a process's requests can no longer be applied.
func (l *linear) latestEffect(e *Event) int64 {
	if p := l.processes[e.process()]; p.sessionsClosed >= 0 {
		return max(l.at(p.sessionsClosed), l.at(p.last))
	}
	return math.MaxInt64
}

func (l *linear) addRenewals(r *runRecord) {
	for _, line := range r.renewals {
		if e := &l.history[line]; e.Answer == AnswerApplied {
			l.ops = append(l.ops, operation{kind: opRenew, token: e.Token, answer: e.Answer, from: l.since(line), to: l.at(line), line: line})
		}
	}
}

func (r *runRecord) ending(x *index) int {
	ends := r.instance.ends()
	first := ends[0]
	for _, line := range ends {
		if line < first {
			first = line
		}
	}
	return first
}
