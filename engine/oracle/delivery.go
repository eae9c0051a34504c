package oracle

import (
	"cmp"
	"fmt"
	"slices"
)

// judgeEnqueues holds I1: a node run is enqueued exactly once. Where enqueues cannot be seen, as from outside
// of a store, it is seen from what is handed out.
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

// judgeHandedOut wants that no owner is given a node run while it holds a lease on it. What two owners are
// given is I11's.
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

// judgeCounters holds I2: no counter goes beyond what is required, and a node run is enqueued exactly
// when its counter is full.
func judgeCounters(j *judgement) {
	for _, r := range j.runs {
		if len(r.arrived) == 0 {
			continue
		}
		j.Judged++
		required := j.history[r.arrived[0]].Required
		lines := make(map[int]int, len(r.arrived)) // of each count
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

// judgeFull holds the second half of I2, which needs every arrival to have been recorded.
func (j *judgement) judgeFull(r *runRecord, lines map[int]int, most, required int) {
	if len(lines) < most {
		j.violate(r.arrived, "%s counts %d arrivals, but only %d were recorded", r.key, most, len(lines))
	}
	switch {
	case most < required && len(r.enqueued) > 0:
		j.violate(append([]int{r.enqueued[0]}, r.arrived...), "%s was enqueued with %d of %d arrivals", r.key, most, required)
	case most == required && len(r.enqueued) == 0 && !r.instance.failed: // else it may have failed on the way
		j.violate([]int{lines[most]}, "%s has all of its %d arrivals and was not enqueued", r.key, required)
	}
}

// judgeDeliveries holds I3. It relies on tokens and attempts, not on the order of lines: a lease and
// an answer that were recorded by two processes may stand in either order.
//
// What these rules let pass is searched for an order in which it can have happened.
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

// delivery is the deliveries of one node run, by token.
type delivery struct {
	*judgement
	*runRecord
	search  *linear
	lease   map[int64]int // line
	offers  map[int64]int
	applied map[int64]int
	unknown map[int64]bool
	newest  int // line of the lease with the greatest token; -1 without one

	byLine, byAttempt fences
}

// fence is the lease with the greatest token among those up to a line, or up to an attempt.
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

// at gives the line of the lease with the greatest token up to a key.
func (f fences) at(key int) (line int, found bool) {
	i, _ := slices.BinarySearchFunc(f, key+1, func(a fence, k int) int { return cmp.Compare(a.upTo, k) })
	if i == 0 {
		return 0, false
	}
	return f[i-1].line, true
}

// leases checks that every token is given once, in growing order where the order is known.
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

// sort enters offers and answers under their tokens.
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

// unknowns enters the tokens of completions whose answers nobody got.
func (d *delivery) unknowns() {
	for token, n := range d.openOffers(d.runRecord) {
		d.unknown[token] = n > 0
	}
}

// finals checks that one completion at most finished the run.
func (d *delivery) finals() {
	if finals := d.final(d.runRecord); len(finals) > 1 {
		d.violate(finals, "%d completions of %s were applied, each for good", len(finals), d.key)
	}
}

// checkCancelled checks that a run that was cancelled is not given out, and that no completion of it is
// applied. The order of the lines must be that of the commits for it.
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

// judgeApplied checks that the token was the current one. A lease that was recorded after the answer
// is I8's: then the run was given out again although it was done.
func (d *delivery) judgeApplied(line int) {
	e := &d.history[line]
	current, found := d.byLine.at(line)
	if e.Again { // the attempts after it have greater tokens, rightly
		current, found = d.byAttempt.at(e.Attempt)
	}
	if found && d.history[current].Token > e.Token {
		d.violate([]int{current, line}, "a completion of %s was applied with token %d; the current one was %d", d.key, e.Token, d.history[current].Token)
	}
}

// judgeStale checks that there was a reason to turn the completion down.
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

// judgeDurability holds what a history shows of I8: a node run that was done is not given out again,
// and an instance that was acknowledged is known.
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
