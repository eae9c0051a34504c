package oracle

import (
	"cmp"
	"math"
	"slices"
)

// judgeOwners checks I11: while an owner may rely on its lease, no other has one. A lease begins when its owner receives it,
// which is after the store granted it, and ends in the owner's own view. So if two overlap, the store granted them at once.
func judgeOwners(j *judgement) {
	j.Why = "no node run was leased twice with the end of its owner's view (until_ns and at_ns)"
	for _, r := range j.runs {
		if len(r.leased) < 2 {
			continue
		}
		beliefs := j.beliefs(r)
		if len(beliefs) < 2 {
			continue
		}
		j.Judged++
		j.judgeBeliefs(r, beliefs)
	}
}

// belief is the time during which an owner may rely on a lease.
type belief struct {
	line     int
	owner    holder
	from, to int64
}

// beliefs are in the order of their starts. A lease without its end is left out.
func (j *judgement) beliefs(r *runRecord) []belief {
	of := make(map[int64]*belief, len(r.leased))
	for _, line := range r.leased {
		e := &j.history[line]
		if e.AtNS == 0 || e.UntilNS == 0 || of[e.Token] != nil {
			continue
		}
		of[e.Token] = &belief{line: line, owner: e.holder(), from: e.AtNS, to: e.UntilNS}
	}
	for _, line := range r.renewals {
		if e := &j.history[line]; e.Answer == AnswerApplied && of[e.Token] != nil {
			of[e.Token].to = max(of[e.Token].to, e.UntilNS)
		}
	}
	given := j.releasedAt(r)
	out := make([]belief, 0, len(of))
	for token, b := range of {
		if at, ok := given[token]; ok {
			b.to = min(b.to, at)
		}
		b.to = min(b.to, j.believesUntil(b.owner.process))
		if b.to > b.from { // otherwise it had expired when its owner received it
			out = append(out, *b)
		}
	}
	slices.SortFunc(out, func(a, b belief) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.line, b.line)) })
	return out
}

// releasedAt returns the moments, by token, from which an owner no longer relies on its lease: it offered a completion that was
// or may have been applied, returned the lease, or learned that it is lost.
func (j *judgement) releasedAt(r *runRecord) map[int64]int64 {
	at := map[int64]int64{}
	note := func(e *Event) {
		if before, known := at[e.Token]; !known || e.AtNS < before {
			at[e.Token] = e.AtNS
		}
	}
	for _, line := range r.released {
		note(&j.history[line])
	}
	for _, line := range slices.Concat(r.renewals, r.answered) {
		if e := &j.history[line]; e.Answer == AnswerStale {
			note(e)
		}
	}
	without := j.withoutEffect(r)
	for _, line := range r.offered {
		if e := &j.history[line]; !without[e.Token] {
			note(e)
		}
	}
	return at
}

func (j *judgement) withoutEffect(r *runRecord) map[int64]bool {
	open := j.openOffers(r)
	without := map[int64]bool{}
	for _, line := range r.answered {
		token := j.history[line].Token
		without[token] = open[token] == 0
	}
	for _, line := range r.answered {
		if e := &j.history[line]; e.Answer == AnswerApplied {
			without[e.Token] = false
		}
	}
	return without
}

// openOffers counts, by token, the completions with an unknown answer. Any of them may have been applied.
func (x *index) openOffers(r *runRecord) map[int64]int {
	open := map[int64]int{}
	for _, line := range r.offered {
		open[x.history[line].Token]++
	}
	for _, line := range r.answered {
		if e := &x.history[line]; e.Answer != AnswerUnknown && open[e.Token] > 0 {
			open[e.Token]--
		}
	}
	return open
}

// believesUntil returns the moment from which a process relies on nothing.
func (x *index) believesUntil(process string) int64 {
	p := x.processes[process]
	switch {
	case p == nil:
	case p.killed >= 0:
		return x.history[p.killed].AtNS
	case p.sessionsClosed >= 0 && p.last >= 0: // it died by itself, at some moment after its last event
		return x.history[p.last].AtNS
	}
	return math.MaxInt64
}

// mayBeRetry reports whether a lease may be right while an earlier one seemed in force: lines may be missing, such as the
// completion after which the next attempt was due.
func (j *judgement) mayBeRetry(before, b belief) bool {
	return j.rules.Partial && j.history[before.line].Attempt != j.history[b.line].Attempt
}

func (j *judgement) judgeBeliefs(r *runRecord, all []belief) {
	var longest, other *belief // the longest, and the longest of other owners
	for i := range all {
		b := &all[i]
		earlier := longest
		if earlier != nil && earlier.owner == b.owner {
			earlier = other
		}
		if earlier != nil && earlier.to > b.from && !j.mayBeRetry(*earlier, *b) {
			j.violate([]int{earlier.line, b.line}, "%s has a lease on %s (token %d) for %d ns during which %s may believe in its own (token %d)",
				b.owner, r.key, j.history[b.line].Token, min(earlier.to, b.to)-b.from, earlier.owner, j.history[earlier.line].Token)
		}
		switch {
		case longest == nil || b.to > longest.to:
			if longest != nil && longest.owner != b.owner {
				other = longest
			}
			longest = b
		case b.owner != longest.owner && (other == nil || b.to > other.to):
			other = b
		}
	}
}
