package recovery

import (
	"maps"
	"slices"

	"pulley/engine/oracle"
)

// instanceSpan is an instance from its submission to its end; ended is never where none was seen.
type instanceSpan struct {
	id           string
	begun, ended int64
	applied      []int64 // when completions of it were, in order
	holds        []heldSpan
}

// heldSpan is a time in which an engine's process had something of an instance in hand: it had leased a node run, and no
// answer to its completion, or it had been asked to submit the instance, and had no answer either.
type heldSpan struct {
	process  string
	from, to int64 // never: it did not get one
}

func (l *instanceSpan) isInHand(process string, at int64) bool {
	return slices.ContainsFunc(l.holds, func(h heldSpan) bool { return h.process == process && h.from <= at && at < h.to })
}

type instanceSpans []instanceSpan

// holding is what begins and ends a hold, of an instance.
type holding struct {
	process     string
	token, call int64
}

// addHold notes what an event says of what its process has in hand. begun are holds of the instance, by their places.
func (l *instanceSpan) addHold(e *oracle.Event, begun map[holding]int) {
	var of holding
	switch e.Kind {
	case oracle.Leased, oracle.Answered, oracle.Released:
		of = holding{process: e.Source, token: e.Token}
	case oracle.Submitting, oracle.Submitted:
		of = holding{process: e.Source, call: e.Call}
	default:
		return
	}
	if e.Kind == oracle.Leased || e.Kind == oracle.Submitting {
		begun[of] = len(l.holds)
		l.holds = append(l.holds, heldSpan{process: e.Source, from: e.AtNS, to: never})
	} else if i, known := begun[of]; known {
		l.holds[i].to = min(l.holds[i].to, e.AtNS)
	}
}

// instanceSpansOf collects the instances of a history. An end that nobody told of is when it was found.
func instanceSpansOf(h oracle.History) instanceSpans {
	by := map[string]*instanceSpan{}
	begun := map[string]map[holding]int{}
	for i := range h {
		e := &h[i]
		if e.Instance == "" {
			continue
		}
		l := by[e.Instance]
		if l == nil {
			l = &instanceSpan{id: e.Instance, begun: never, ended: never}
			by[e.Instance], begun[e.Instance] = l, map[holding]int{}
		}
		l.addHold(e, begun[e.Instance])
		if e.Kind != oracle.LookedUp {
			l.begun = min(l.begun, e.AtNS)
		}
		if e.Kind == oracle.Answered && e.Answer == oracle.AnswerApplied {
			l.applied = append(l.applied, e.AtNS)
		}
		if e.Kind == oracle.Ended || e.Kind == oracle.LookedUp && e.Status != oracle.Running && e.Status != "" {
			l.ended = min(l.ended, e.AtNS)
		}
	}
	out := make(instanceSpans, 0, len(by))
	for _, id := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[id].applied)
		out = append(out, *by[id])
	}
	return out
}

// after gives how the instances that were open at a moment came back in the time from it on, or those of them that a process
// had in hand then: until each had a completion applied or had ended.
func (l instanceSpans) after(at, window int64, process string) recovered {
	var c recovered
	for i := range l {
		one := &l[i]
		if one.begun >= at || one.ended < at || process != "" && !one.isInHand(process, at) {
			continue
		}
		c.n++
		next := one.ended
		if i, _ := slices.BinarySearch(one.applied, at); i < len(one.applied) {
			next = min(next, one.applied[i])
		}
		if c.finished = max(c.finished, one.ended); next > c.recovered {
			c.recovered, c.last = next, one.id
		}
	}
	if c.n == 0 {
		return recovered{recovered: never, finished: never}
	}
	c.recovered, c.finished = within(c.recovered, at, window), within(c.finished, at, window)
	return c
}
