package oracle

import (
	"cmp"
	"fmt"
	"slices"
)

// judgeEnqueues checks I1. If enqueues are invisible, as from outside a store, it checks what is handed out.
func judgeEnqueues(j *judgement) {
	if !j.has[Enqueued] {
		j.judgeHandedOut()
		return
	}
	for _, r := range j.runs {
		if len(r.enqueued) == 0 && len(r.leased) == 0 {
			continue
		}
		j.Judged++
		switch {
		case len(r.enqueued) > 1:
			j.violate(r.enqueued, "%s was enqueued %d times", r.key, len(r.enqueued))
		case len(r.enqueued) == 0 && !j.rules.Partial:
			j.violate(r.leased, "%s was leased without having been enqueued", r.key)
		}
	}
}

// judgeHandedOut checks that no owner receives a node run on which it holds a lease. I11 covers two owners.
func (j *judgement) judgeHandedOut() {
	j.Why = fmt.Sprintf("the history has no event %q, and none %q with the end of its owner's view (until_ns)", Enqueued, Leased)
	if j.rules.Revokes {
		j.Why = fmt.Sprintf("the history has no event %q, and the store may give out again what it has taken back", Enqueued)
		return
	}
	for _, r := range j.runs {
		beliefs := j.beliefs(r)
		if len(beliefs) == 0 {
			continue
		}
		j.Judged++
		last := map[holder]belief{}
		for _, b := range beliefs {
			if before, held := last[b.owner]; held && before.to > b.from && !j.mayBeRetry(before, b) {
				j.violate([]int{before.line, b.line}, "%s was handed out to %s twice at once", r.key, b.owner)
			} else if held && before.to > b.to {
				continue
			}
			last[b.owner] = b
		}
	}
}

// judgeCounters checks I2.
func judgeCounters(j *judgement) {
	for _, r := range j.runs {
		if len(r.arrived) == 0 {
			continue
		}
		j.Judged++
		required := j.history[r.arrived[0]].Required
		lines := make(map[int]int, len(r.arrived))
		most := 0
		for _, line := range r.arrived {
			e := &j.history[line]
			most = max(most, e.Completed)
			switch before, twice := lines[e.Completed]; {
			case e.Required != required:
				j.violate([]int{r.arrived[0], line}, "%s requires %d, and then %d", r.key, required, e.Required)
			case e.Completed > required:
				j.violate([]int{line}, "%s has %d arrivals and requires %d", r.key, e.Completed, required)
			case twice:
				j.violate([]int{before, line}, "two arrivals at %s were both counted as number %d", r.key, e.Completed)
			}
			lines[e.Completed] = line
		}
		if !j.rules.Partial {
			j.judgeFull(r, lines, most, required)
		}
	}
}

// judgeFull checks the second half of I2, for which every arrival must be recorded.
func (j *judgement) judgeFull(r *runRecord, lines map[int]int, most, required int) {
	if len(lines) < most {
		j.violate(r.arrived, "%s counts %d arrivals, but only %d were recorded", r.key, most, len(lines))
	}
	switch {
	case most < required && len(r.enqueued) > 0:
		j.violate(append([]int{r.enqueued[0]}, r.arrived...), "%s was enqueued with %d of %d arrivals", r.key, most, required)
	case most == required && len(r.enqueued) == 0 && !r.instance.failed: // otherwise it may have failed before
		j.violate([]int{lines[most]}, "%s has all of its %d arrivals and was not enqueued", r.key, required)
	}
}

// judgeDeliveries checks I3 by tokens and attempts, not by the order of lines: two processes may record a lease and an answer
// in either order.
//
// It then searches for an order in which what these rules accept can have happened.
func judgeDeliveries(j *judgement) {
	search := newLinear(j)
	for _, r := range j.runs {
		if len(r.leased) == 0 && len(r.offered) == 0 && len(r.answered) == 0 {
			continue
		}
		j.Judged++
		before := j.Total
		d := delivery{judgement: j, runRecord: r, search: search, lease: map[int64]int{}, offers: map[int64]int{}, applied: map[int64]int{}, unknown: map[int64]bool{}}
		d.byLine = j.fences(r.leased, func(line int, _ *Event) int { return line + 1 })
		d.byAttempt = j.fences(r.leased, func(_ int, e *Event) int { return e.Attempt })
		d.leases()
		d.sort()
		d.unknowns()
		d.finals()
		d.checkCancelled()
		for _, line := range r.answered {
			switch j.history[line].Answer {
			case AnswerApplied:
				d.judgeApplied(line)
			case AnswerStale:
				d.judgeStale(line)
			}
		}
		if j.Total == before {
			search.judge(r)
		}
	}
}

type delivery struct {
	*judgement
	*runRecord
	search  *linear
	lease   map[int64]int
	offers  map[int64]int
	applied map[int64]int
	unknown map[int64]bool
	newest  int // line with the greatest token; -1: none

	byLine, byAttempt fences
}

// fence is the lease with the greatest token up to a line, or up to an attempt.
type fence struct{ upTo, line int }

type fences []fence

func (x *index) fences(leased []int, key func(line int, e *Event) int) fences {
	var f fences
	for _, line := range leased {
		if k := key(line, &x.history[line]); k > 0 {
			f = append(f, fence{k, line})
		}
	}
	slices.SortStableFunc(f, func(a, b fence) int { return cmp.Compare(a.upTo, b.upTo) })
	for i := 1; i < len(f); i++ {
		if x.history[f[i-1].line].Token > x.history[f[i].line].Token {
			f[i].line = f[i-1].line
		}
	}
	return f
}

func (f fences) at(key int) (line int, found bool) {
	i, _ := slices.BinarySearchFunc(f, key+1, func(a fence, k int) int { return cmp.Compare(a.upTo, k) })
	if i == 0 {
		return 0, false
	}
	return f[i-1].line, true
}

// leases checks that every token is issued once, in growing order if the order is known.
func (d *delivery) leases() {
	d.newest = -1
	for _, line := range d.leased {
		token := d.history[line].Token
		if before, twice := d.lease[token]; twice {
			d.violate([]int{before, line}, "token %d of %s was given twice", token, d.key)
		}
		d.lease[token] = line
		if d.newest < 0 || token > d.history[d.newest].Token {
			d.newest = line
		} else if d.rules.CommitOrder && token < d.history[d.newest].Token {
			d.violate([]int{d.newest, line}, "token %d of %s was given after token %d", token, d.key, d.history[d.newest].Token)
		}
	}
}

func (d *delivery) sort() {
	for _, line := range d.offered {
		token := d.history[line].Token
		d.offers[token] = line
		if _, leased := d.lease[token]; !leased && !d.rules.Partial {
			d.violate([]int{line}, "a completion of %s was offered with token %d, which nobody was given", d.key, token)
		}
	}
	for _, line := range d.answered {
		e := &d.history[line]
		if _, offered := d.offers[e.Token]; !offered && !d.rules.Partial {
			d.violate([]int{line}, "a completion of %s was answered that was not offered (token %d)", d.key, e.Token)
		}
		switch e.Answer {
		case AnswerApplied:
			if before, twice := d.applied[e.Token]; twice {
				d.violate([]int{before, line}, "the completion of %s with token %d was applied twice", d.key, e.Token)
			}
			d.applied[e.Token] = line
		}
	}
}

func (d *delivery) unknowns() {
	for token, n := range d.openOffers(d.runRecord) {
		d.unknown[token] = n > 0
	}
}

// finals checks that at most one completion finished the run.
func (d *delivery) finals() {
	if finals := d.final(d.runRecord); len(finals) > 1 {
		d.violate(finals, "%d completions of %s were applied, each for good", len(finals), d.key)
	}
}

// checkCancelled checks that a cancelled run is not handed out, and that no completion of it is applied. The lines must be in
// the order of the commits.
func (d *delivery) checkCancelled() {
	if len(d.cancellations) == 0 || !d.rules.CommitOrder {
		return
	}
	for _, line := range slices.Concat(d.leased, d.answered) {
		if e := &d.history[line]; line > d.cancellations[0] && (e.Kind == Leased || e.Answer == AnswerApplied) {
			d.violate([]int{d.cancellations[0], line}, "%s was %s after it had been cancelled", d.key, e.Kind)
		}
	}
}

// judgeApplied checks that the token was current. A lease recorded after the answer is I8's: the run was done and handed out
// again.
func (d *delivery) judgeApplied(line int) {
	e := &d.history[line]
	current, found := d.byLine.at(line)
	if e.Again { // later attempts rightly have greater tokens
		current, found = d.byAttempt.at(e.Attempt)
	}
	if found && d.history[current].Token > e.Token {
		d.violate([]int{current, line}, "a completion of %s was applied with token %d; the current one was %d", d.key, e.Token, d.history[current].Token)
	}
}

func (d *delivery) judgeStale(line int) {
	token := d.history[line].Token
	_, applied := d.applied[token]
	lease, leased := d.lease[token]
	switch {
	case d.rules.Partial, d.rules.Revokes, applied, d.unknown[token], len(d.cancellations) > 0, d.instance.hasEnded(),
		d.newest >= 0 && d.history[d.newest].Token > token,
		leased && d.search.mayBeLeased(d.since(lease), d.at(line)):
		return
	}
	d.violate([]int{line}, "the completion of %s with token %d, the current one, was answered stale", d.key, token)
}

// judgeDurability checks the visible part of I8: a finished node run is not handed out again, and an acknowledged instance is
// known.
func judgeDurability(j *judgement) {
	for _, r := range j.runs {
		finals := j.final(r)
		if len(finals) == 0 {
			continue
		}
		j.Judged++
		done := &j.history[finals[0]]
		for _, line := range r.leased {
			if e := &j.history[line]; line > finals[0] && e.Token > done.Token {
				j.violate([]int{finals[0], line}, "%s was done with token %d and was given out again with token %d", r.key, done.Token, e.Token)
				break
			}
		}
	}
	for _, r := range j.instances {
		if len(r.submitted) == 0 {
			continue
		}
		j.Judged++
		for _, line := range r.lookups {
			if line > r.submitted[0] && j.history[line].Status == "" {
				j.violate([]int{r.submitted[0], line}, "the store had acknowledged the instance and does not know it")
				break
			}
		}
	}
}
