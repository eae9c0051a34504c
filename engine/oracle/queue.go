package oracle

import (
	"fmt"
	"slices"
	"strings"
)

// Queue counts what went into a store and what came out, for instances and for node runs, in linear time. It shares only the
// history with the oracles: an independent count finds what the invariants' rules may miss.
type Queue struct {
	Instances Count `json:"instances"`
	Runs      Count `json:"runs"`
}

// Count has the numbers in and out. A lost submission was acknowledged and has not ended; a lost node run is of such an
// instance, was handed out and not done. Duplicated ended, or was done for good, more than once. Unexpected came out and never
// went in. Recovered is right: it came out although no answer had acknowledged that it went in, or, of node runs, was done
// after the answer of a completion, or a whole delivery, had been lost.
type Count struct {
	Attempted    int `json:"attempted"`    // instances sent; node runs handed out
	Acknowledged int `json:"acknowledged"` // instances acknowledged by the store; node runs with an acknowledged completion
	Done         int `json:"done"`         // instances that ended; node runs likewise
	Lost         int `json:"lost"`
	Duplicated   int `json:"duplicated"`
	Unexpected   int `json:"unexpected"`
	Recovered    int `json:"recovered"`

	Examples []string `json:"examples,omitempty"` // the first few errors
}

const examplesMax = 10

// CountQueue counts a history. partial is as in Rules: lines may be missing, so nothing counts as lost or unexpected.
func CountQueue(h History, partial bool) Queue {
	x := newIndex(h)
	var q Queue
	for _, r := range x.instances {
		q.Instances.addInstance(r, partial)
	}
	for _, r := range x.runs {
		if len(r.leased)+len(r.answered) > 0 {
			q.Runs.addRun(x, r, partial)
		}
	}
	return q
}

// Result is Violated if anything is lost, duplicated or unexpected, and Inconclusive if nothing went in.
func (q Queue) Result() Result {
	wrong := 0
	for _, c := range []Count{q.Instances, q.Runs} {
		wrong += c.Lost + c.Duplicated + c.Unexpected
	}
	switch {
	case wrong > 0:
		return Violated
	case q.Instances.Attempted == 0 || q.Runs.Attempted == 0:
		return Inconclusive
	}
	return Holds
}

// String prints the counts for people.
func (q Queue) String() string {
	return fmt.Sprintf("instances: %snode runs: %s", q.Instances, q.Runs)
}

// String prints the counts for people.
func (c Count) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d attempted, %d acknowledged, %d done; %d lost, %d duplicated, %d unexpected, %d recovered\n",
		c.Attempted, c.Acknowledged, c.Done, c.Lost, c.Duplicated, c.Unexpected, c.Recovered)
	for _, e := range c.Examples {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	return b.String()
}

func (c *Count) wrong(n *int, format string, args ...any) {
	*n++
	if len(c.Examples) < examplesMax {
		c.Examples = append(c.Examples, fmt.Sprintf(format, args...))
	}
}

func (c *Count) addInstance(r *instanceRecord, partial bool) {
	attempted, acknowledged := len(r.submittedAt)+len(r.submitted) > 0, len(r.submitted) > 0
	out := len(r.ended) + len(r.terminal)
	for _, run := range r.runs {
		out += len(run.leased)
	}
	switch {
	case attempted:
		c.Attempted++
	case out > 0 && !partial:
		c.wrong(&c.Unexpected, "instance %s came out and was never submitted", r.id)
	}
	if acknowledged {
		c.Acknowledged++
	}
	if len(r.ended) > 1 {
		c.wrong(&c.Duplicated, "instance %s ended %d times", r.id, len(r.ended))
	}
	switch {
	case r.hasEnded():
		c.Done++
		if attempted && !acknowledged {
			c.Recovered++
		}
	case acknowledged && !partial:
		c.wrong(&c.Lost, "instance %s was acknowledged and has not ended", r.id)
	}
}

func (c *Count) addRun(x *index, r *runRecord, partial bool) {
	finals := x.final(r)
	unheard := 0
	for _, n := range x.openOffers(r) {
		unheard += n
	}
	switch {
	case len(r.leased) > 0:
		c.Attempted++
	case len(finals) > 0 && !partial:
		c.wrong(&c.Unexpected, "%s of instance %s was done and never handed out", r.key, r.key.instance)
	}
	switch {
	case len(finals) > 1:
		c.wrong(&c.Duplicated, "%s of instance %s was done %d times", r.key, r.key.instance, len(finals))
	case len(finals) == 0 && !partial && !r.instance.hasEnded() && len(r.instance.submitted) > 0:
		c.wrong(&c.Lost, "%s of instance %s was handed out and is not done", r.key, r.key.instance)
	}
	if len(r.answered) > 0 {
		c.Acknowledged++
	}
	if len(finals) == 0 {
		return
	}
	c.Done++
	if unheard > 0 || x.redelivered(r, finals[0]) {
		c.Recovered++
	}
}

// redelivered reports whether a lease came before the one that finished the run, and was not a failed attempt's.
func (x *index) redelivered(r *runRecord, final int) bool {
	attempt, token := x.history[final].Attempt, x.history[final].Token
	return slices.ContainsFunc(r.leased, func(line int) bool {
		return x.history[line].Token < token && x.history[line].Attempt == attempt
	})
}
