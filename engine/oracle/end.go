package oracle

import (
	"maps"
	"slices"

	"pulley/engine/expr"
	"pulley/engine/reference"
)

// judgeEnds checks I7: one end, which does not change and is the reference's.
func judgeEnds(j *judgement) {
	for _, r := range j.instances {
		shown := r.ends()
		if len(shown) == 0 {
			continue
		}
		j.Judged++
		if len(r.ended) > 1 {
			j.violate(r.ended, "the instance ended %d times", len(r.ended))
		}
		if len(r.submitted)+len(r.submittedAt) == 0 && !j.rules.Partial {
			j.violate(shown[:1], "an instance ended that was not submitted")
		}
		first := j.history[shown[0]].end()
		for _, line := range shown[1:] {
			if other := j.history[line].end(); !sameEnd(first, other) {
				j.violate([]int{shown[0], line}, "the end changed: %s, and then %s", first.Describe(), other.Describe())
				break
			}
		}
		switch {
		case j.rules.CommitOrder && len(r.ended) > 0:
			j.judgeAfterEnd(r)
		case j.stamped:
			j.judgeLeasedAfterEnd(r)
		}
		if first.Status == reference.Canceled {
			j.judgeCanceled(r, shown[0])
		} else {
			j.judgeOutcome(r, shown[0], first)
		}
	}
}

func (j *judgement) judgeCanceled(r *instanceRecord, line int) {
	if len(r.canceling) == 0 && !j.rules.Partial || len(r.canceling) > 0 && r.canceling[0] > line && j.rules.CommitOrder {
		j.violate([]int{line}, "the instance was canceled, and nobody had asked for that")
	}
}

func (j *judgement) judgeAfterEnd(r *instanceRecord) {
	end := r.ended[0]
	at, _ := slices.BinarySearch(r.lines, end)
	for _, line := range r.lines[at+1:] {
		switch e := &j.history[line]; {
		case e.Kind == LookedUp && e.Status == Running:
			j.violate([]int{end, line}, "the instance had ended and was running again")
		case e.Kind == Answered && e.Answer == AnswerApplied:
			j.violate([]int{end, line}, "a completion of %s was applied after the instance had ended", e.run())
		case e.Kind == Leased:
			j.violate([]int{end, line}, "%s was leased after the instance had ended", e.run())
		default:
			continue
		}
		return
	}
}

func (j *judgement) judgeOutcome(r *instanceRecord, line int, end reference.End) {
	if why := j.wrong(r, end); why != "" {
		j.violate([]int{line}, "%s", why)
	}
}

// judgeLeasedAfterEnd goes by the times of calls: no call made after a process has learned of the end returns a lease.
func (j *judgement) judgeLeasedAfterEnd(r *instanceRecord) {
	end := slices.Min(r.ends())
	for _, run := range r.runs {
		for _, line := range run.leased {
			if j.since(line) > j.history[end].AtNS {
				j.violate([]int{end, line}, "%s was leased after the instance had ended", run.key)
				return
			}
		}
	}
}

// wrong describes how an end differs from the reference interpreter's; "" if it does not, or there is no reference.
func (j *judgement) wrong(r *instanceRecord, end reference.End) string {
	if j.rules.Outcomes == nil || end.Status == reference.Canceled {
		return ""
	}
	differs := ""
	for _, o := range j.rules.Outcomes(r.id) {
		d := o.Differs(end)
		if d == "" {
			return ""
		}
		if differs == "" {
			differs = d
		}
	}
	return differs
}

func sameEnd(a, b reference.End) bool {
	return a.Status == b.Status && reference.SameError(a.Error, b.Error) && sameJSON(a.Result, b.Result)
}

// Invalid JSON equals only itself.
func sameJSON(a, b []byte) bool {
	if string(a) == string(b) {
		return true
	}
	x, err := expr.Decode(a, expr.Unlimited)
	if err != nil {
		return false
	}
	y, err := expr.Decode(b, expr.Unlimited)
	return err == nil && reference.Same(x, y)
}

// judgeLiveness checks the visible part of I9: every submitted instance has ended. The bound is how long the recorder waited
// before it stopped.
func judgeLiveness(j *judgement) {
	for _, r := range j.instances {
		if !r.exists() {
			continue
		}
		if r.hasEnded() {
			j.Judged++
			continue
		}
		running := len(r.lookups) > 0 && j.history[r.lookups[len(r.lookups)-1]].Status == Running
		if j.rules.Partial && !running {
			continue // its end may be unrecorded
		}
		j.Judged++
		last := r.lines[len(r.lines)-1]
		j.violate([]int{r.lines[0], last}, "the instance was submitted and has not ended")
	}
}

// judgeLeftovers checks I10. Only the last inspection of an instance, and the last of all of them, counts: a store may sweep
// some time after the end.
func judgeLeftovers(j *judgement) {
	j.Why = "no inspection came after an end"
	for _, r := range j.instances {
		if len(r.inspected) == 0 {
			continue
		}
		if last := r.inspected[len(r.inspected)-1]; r.hasEndedBy(last) {
			j.Judged++
			j.judgeRows([]int{r.ends()[0], last}, last)
		}
	}
	if len(j.inspected) == 0 {
		return
	}
	last := j.inspected[len(j.inspected)-1]
	for _, r := range j.instances {
		if len(r.submitted) > 0 && !r.hasEndedBy(last) {
			return // the rows may be its own
		}
	}
	j.Judged++
	j.judgeRows([]int{last}, last)
}

func (j *judgement) judgeRows(lines []int, inspection int) {
	rows := j.history[inspection].Rows
	for _, table := range slices.Sorted(maps.Keys(rows)) {
		if n := rows[table]; n != 0 {
			j.violate(lines, "%d rows of %s are left after the end", n, table)
		}
	}
}
