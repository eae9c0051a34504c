package judge

import (
	"slices"

	"pulley/adapter/protocol"
)

// judgeSubmission asks whether an accepted instance is still there.
func (j *judge) judgeSubmission(in *instance) {
	told := none // the last entry that a look must come after
	for _, e := range in.ends {
		if e.asked == none && (told == none || e.at < told) {
			told = e.at
		}
	}
	told = max(told, in.accepted)
	looked := false
	for _, l := range in.looks {
		looked = looked || l.asked > told || l.state.Status == protocol.Completed || l.state.Status == protocol.Failed
		if l.state.Status != protocol.Unknown || in.accepted == none || l.asked < in.accepted || j.h.Promises.Submit != protocol.Durable {
			continue
		}
		if slices.ContainsFunc(in.ends, func(e end) bool { return e.at < l.asked }) {
			continue // its end was lost
		}
		j.blame(RuleSubmit, in, runKey{}, "it was accepted in entry %d, and the store does not know it in entry %d", in.accepted+1, l.at+1)
		return
	}
	if !looked && told != none {
		j.unlooked++
	}
}

// judgeEnds compares all reports and answers about an instance's end with each other, and its value with the result's.
func (j *judge) judgeEnds(in *instance) {
	if in.second || j.judgeLost(in) || len(in.ends) == 0 {
		return
	}
	first := in.ends[0]
	for _, e := range in.ends[1:] {
		if e.sameAs(first) {
			continue
		}
		j.blame(RuleEndChanged, in, runKey{}, "it %s in entry %d, and %s in entry %d", first, first.at+1, e, e.at+1)
		break
	}
	if first.status == protocol.Completed {
		j.judgeValue(in, first)
	}
}

// judgeLost looks for an answer that lacks an end which was known before its question.
func (j *judge) judgeLost(in *instance) bool {
	for _, l := range in.looks {
		if l.state.Status != protocol.Open && l.state.Status != protocol.Unknown {
			continue
		}
		for _, e := range in.ends {
			switch {
			case e.at > l.asked:
			case e.asked != none:
				j.blame(RuleEndChanged, in, runKey{}, "it %s in entry %d, and is %s in entry %d", e, e.at+1, l.state.Status, l.at+1)
				return true
			default:
				j.blame(RuleEndLost, in, runKey{}, "a process reported in entry %d that it %s, and the store says in entry %d that it is %s", e.at+1, e, l.at+1, l.state.Status)
				return true
			}
		}
	}
	return false
}

// judgeValue compares an instance's value with those of its result's task.
func (j *judge) judgeValue(in *instance, e end) {
	k := in.result()
	r := in.run(k)
	if !j.tasks() {
		v, err := protocol.ParseValue(e.value)
		if want := in.workload.Sum(); err != nil || v.Sum != want {
			j.blame(RuleResult, in, k, "it completed with the value %s in entry %d, and the sum of its result is %d", short(e.value), e.at+1, want)
		}
		return
	}
	if _, there := r.values[e.value]; there || in.lost[k] {
		return
	}
	rule := RuleResult
	if e.value != "" && j.given[e.value] == nil {
		rule = RuleValue
	}
	j.blame(rule, in, k, "it completed with the value %s in entry %d, %s", short(e.value), e.at+1, j.origin(r, e.value))
}

// sameAs reports whether two ends agree. Messages of failures may differ.
func (e end) sameAs(other end) bool {
	return e.status == other.status && (e.status == protocol.Failed || e.value == other.value)
}

// String describes the end within a sentence.
func (e end) String() string {
	if e.status == protocol.Completed {
		return "completed with " + short(e.value)
	}
	return string(e.status)
}

// oneEnd returns the value with which the instance completed, if all reports agree.
func (in *instance) oneEnd() (value string, one bool) {
	for i, e := range in.ends {
		if e.status != protocol.Completed || i > 0 && !e.sameAs(in.ends[0]) {
			return "", false
		}
		value = e.value
	}
	return value, len(in.ends) > 0
}

// firstEnd is the first entry that tells of the end; none: there is none.
func (in *instance) firstEnd() int {
	at := none
	for _, e := range in.ends {
		if at == none || e.at < at {
			at = e.at
		}
	}
	return at
}

// judgeExecution counts executions: none of a completed instance's task is too few, and two in an attempt may be too many.
func (j *judge) judgeExecution(in *instance) {
	if !j.tasks() {
		return
	}
	switch j.h.Promises.Execution {
	case protocol.AtLeastOnce:
		if !in.completed() {
			return
		}
		var first runKey
		for _, k := range in.workload.keys {
			if len(in.run(k).finishes) > 0 {
				continue
			}
			if len(in.lost) == 0 {
				first = k
			}
			in.lost[k] = true
		}
		if n := len(in.lost); n > 0 {
			j.blame(RuleAtLeastOnce, in, first, "it completed in entry %d, and %s never finished; such tasks: %d", in.firstEnd()+1, first, n)
		}
	case protocol.AtMostOnce:
		for _, k := range in.workload.keys {
			if r := in.runs[k]; r != nil {
				j.judgeAtMostOnce(in, r)
			}
		}
	}
}

// judgeAtMostOnce looks for a second start in an attempt. If the system does not count attempts, each failure begins a new one.
func (j *judge) judgeAtMostOnce(in *instance, r *run) {
	starts := map[int][]int{}
	for _, at := range r.starts {
		attempt := j.h.Entries[at].Attempt
		starts[attempt] = append(starts[attempt], at)
		list := starts[attempt]
		if len(list) < 2 || attempt == 0 && len(list) <= 1+len(r.fails) {
			continue
		}
		j.blame(RuleAtMostOnce, in, r.key, "%s started in entry %d, and started again in entry %d, both in attempt %d",
			r.key, list[0]+1, at+1, attempt)
		return
	}
}

// judgeAttempts asks whether a failed instance had a reason to fail.
func (j *judge) judgeAttempts(in *instance) {
	i := slices.IndexFunc(in.ends, func(e end) bool { return e.status == protocol.Failed })
	switch {
	case i < 0:
		return
	case !j.tasks() && j.h.Promises.Attempts > 0:
		j.reasons["an instance failed, and attempts were not reported"]++
		return
	}
	e, most, of := in.ends[i], 0, runKey{}
	for _, k := range in.workload.keys {
		r := in.runs[k]
		if r == nil {
			continue
		}
		n := len(r.starts)
		for _, at := range r.starts {
			n = max(n, j.h.Entries[at].Attempt)
		}
		if n > most {
			most, of = n, k
		}
	}
	switch promised := j.h.Promises.Attempts; {
	case promised == 0:
		j.blame(RuleAttempts, in, of, "it failed in entry %d after %d attempts at most, and the system promises to never give up", e.at+1, most)
	case most >= promised:
	case j.disturbed < e.at:
		j.early++
	default:
		j.blame(RuleAttempts, in, of, "it failed in entry %d, and no task had more than %d attempts of %d", e.at+1, most, promised)
	}
}
