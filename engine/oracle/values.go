package oracle

import (
	"fmt"

	"pulley/internal/clip"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/reference"
)

// judgeArguments checks I4: the actions of an instance received what the reference interpreter gives them. It counts node runs,
// not attempts.
func judgeArguments(j *judgement) {
	j.Why = "there is no reference outcome of any instance"
	for _, r := range j.instances {
		var outcomes []reference.Outcome
		if j.rules.Outcomes != nil {
			outcomes = j.rules.Outcomes(r.id)
		}
		if len(outcomes) == 0 {
			continue
		}
		if got := j.received(r); got != nil {
			j.Judged++
			j.judgeReceived(r, got, outcomes)
		}
	}
}

// reception counts the node runs that received a call, with the most attempts of one.
type reception struct {
	key     string
	runs    int
	attempt int
	line    int // the first
}

// received counts the calls of an instance by content, in the order of their first starts. Nil: nothing started, or it is
// unreadable, which is reported.
func (j *judgement) received(r *instanceRecord) []*reception {
	byKey := map[string]*reception{}
	var all []*reception
	for _, run := range r.runs {
		var this *reception
		for _, line := range run.started {
			e := &j.history[line]
			args, err := expr.Decode(e.Args, expr.Unlimited)
			if _, isObject := args.(*starlark.Dict); err != nil || !isObject {
				j.violate([]int{line}, "the arguments of %s are not a JSON object", run.key)
				return nil
			}
			key := reference.CallKey(e.Action, e.Path, args)
			if this == nil {
				if this = byKey[key]; this == nil {
					this = &reception{key: key, line: line}
					byKey[key] = this
					all = append(all, this)
				}
				this.runs++
			} else if key != this.key {
				j.violate([]int{run.started[0], line}, "two attempts of %s received different arguments", run.key)
			}
			this.attempt = max(this.attempt, e.Attempt)
		}
	}
	return all
}

// judgeReceived needs one outcome that explains the calls.
func (j *judgement) judgeReceived(r *instanceRecord, got []*reception, outcomes []reference.Outcome) {
	complete := r.hasEnded() && !r.canceled && !j.rules.Partial
	var lines []int
	why := ""
	for _, o := range outcomes {
		line, text := explain(got, expect(o), complete)
		if text == "" {
			return
		}
		if why == "" {
			why = text
			if lines = []int{line}; line < 0 {
				lines = r.lines[len(r.lines)-1:]
			}
		}
	}
	j.violate(lines, "%s", why)
}

type expectation struct {
	key         string
	least, most int
	attempts    int
}

// expect counts calls in the order in which they were made.
func expect(o reference.Outcome) []*expectation {
	byKey := map[string]*expectation{}
	var all []*expectation
	for _, c := range o.Calls {
		key := c.Key()
		e := byKey[key]
		if e == nil {
			e = &expectation{key: key}
			byKey[key] = e
			all = append(all, e)
		}
		e.attempts = max(e.attempts, c.Attempt)
		if c.Attempt > 1 {
			continue
		}
		e.most++
		if !c.Optional {
			e.least++
		}
	}
	return all
}

// explain describes a call that was wrongly received or missing, with the line that shows it or -1; "" if the calls are as
// expected. A missing call counts only if the calls are complete.
func explain(got []*reception, want []*expectation, complete bool) (line int, text string) {
	wanted := make(map[string]*expectation, len(want))
	for _, w := range want {
		wanted[w.key] = w
	}
	runs := make(map[string]int, len(got))
	for _, g := range got {
		runs[g.key] = g.runs
		switch w := wanted[g.key]; {
		case w == nil:
			return g.line, fmt.Sprintf("the reference interpreter does not call %s", clip.Runes(g.key, quotedMax))
		case g.runs > w.most:
			return g.line, fmt.Sprintf("%d node runs received %s; the reference interpreter calls it %d times", g.runs, clip.Runes(g.key, quotedMax), w.most)
		case g.attempt > w.attempts:
			return g.line, fmt.Sprintf("attempt %d of %s; the reference interpreter takes %d", g.attempt, clip.Runes(g.key, quotedMax), w.attempts)
		}
	}
	if !complete {
		return -1, ""
	}
	for _, w := range want {
		if runs[w.key] < w.least {
			return -1, fmt.Sprintf("%d node runs received %s; the reference interpreter calls it %d times", runs[w.key], clip.Runes(w.key, quotedMax), w.least)
		}
	}
	return -1, ""
}

// judgeLists checks I6: an aggregate's list has the value of every element, in order.
func judgeLists(j *judgement) {
	for _, r := range j.runs {
		if len(r.elements) == 0 && len(r.gathered) == 0 {
			continue
		}
		elements := make(map[int]int, len(r.elements))
		for _, line := range r.elements {
			i := j.history[line].Index
			if before, twice := elements[i]; twice {
				j.violate([]int{before, line}, "element %d of %s arrived twice", i, r.key)
			}
			elements[i] = line
		}
		for _, line := range r.gathered {
			j.Judged++
			j.judgeList(r, line, elements)
		}
	}
}

func (j *judgement) judgeList(r *runRecord, line int, elements map[int]int) {
	e := &j.history[line]
	v, err := expr.Decode(e.Value, expr.Unlimited)
	list, ok := v.(*starlark.List)
	if err != nil || !ok {
		j.violate([]int{line}, "%s did not gather a JSON list", r.key)
		return
	}
	if list.Len() != e.Required {
		j.violate([]int{line}, "%s gathered %d elements of %d", r.key, list.Len(), e.Required)
		return
	}
	if len(elements) > e.Required {
		j.violate(append([]int{line}, r.elements...), "%d elements arrived at %s, which has %d", len(elements), r.key, e.Required)
	}
	for i := range list.Len() {
		at, arrived := elements[i]
		if !arrived {
			if !j.rules.Partial {
				j.violate([]int{line}, "element %d of %s did not arrive", i, r.key)
				return
			}
			continue
		}
		value, err := expr.Decode(j.history[at].Value, expr.Unlimited)
		if err != nil || !reference.Same(value, list.Index(i)) {
			j.violate([]int{at, line}, "element %d of %s is not the value that arrived", i, r.key)
			return
		}
	}
}
