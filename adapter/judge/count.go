package judge

import (
	"math"
	"slices"

	"pulley/adapter/protocol"
)

// Counts are the figures of a history, whatever was promised.
type Counts struct {
	InstancesSubmitted int `json:"instances_submitted"`
	InstancesAccepted  int `json:"instances_accepted"`
	InstancesEnded     int `json:"instances_ended"`  // completed or failed
	InstancesFailed    int `json:"instances_failed"` // of these
	InstancesOpen      int `json:"instances_open"`   // when they were looked up last
	InstancesLost      int `json:"instances_lost"`   // accepted, not ended, and unknown when they were looked up last

	BatchesUnanswered int `json:"batches_unanswered"`
	BatchesRefused    int `json:"batches_refused"`
	Problems          int `json:"problems"`
	Kills             int `json:"kills"`
	Deaths            int `json:"deaths"` // of processes by themselves
	Faults            int `json:"faults"`

	Executions         int     `json:"executions"`
	RepeatedExecutions int     `json:"repeated_executions"` // beyond the first of a task and those after its failures
	RepeatedPerKill    float64 `json:"repeated_per_kill"`   // and death; 0 without one
	ExecutionsAfterEnd int     `json:"executions_after_end"`
	ValuesDiffered     int     `json:"values_differed"` // tasks of which two values or more counted

	Restarts Restarts `json:"restarts"`
}

// Restarts are the times from the death of a process until its work was started elsewhere.
type Restarts struct {
	Executions int     `json:"executions"` // that deaths cut short, and that were started elsewhere afterwards
	Missing    int     `json:"missing"`    // never started elsewhere, and their instances did not end
	P50MS      float64 `json:"p50_ms"`
	P99MS      float64 `json:"p99_ms"`
	MaxMS      float64 `json:"max_ms"`
}

func (j *judge) count() {
	c := &j.verdict.Counts
	deaths := map[int]int{} // entries by incarnation
	for at := range j.h.Entries {
		switch e := &j.h.Entries[at]; e.Kind {
		case Unanswered:
			c.BatchesUnanswered++
		case Refused:
			c.BatchesRefused++
		case Problem:
			c.Problems++
		case FaultBegan:
			c.Faults++
		case Killed:
			c.Kills++
			deaths[e.Incarnation] = at
		case Died:
			c.Deaths++
			deaths[e.Incarnation] = at
		}
	}
	var restarts []float64
	for _, in := range j.instances {
		j.countInstance(in)
		for _, k := range in.workload.keys {
			if r := in.runs[k]; r != nil {
				restarts = append(restarts, j.countRun(r, deaths)...)
			}
		}
	}
	if n := c.Kills + c.Deaths; n > 0 {
		c.RepeatedPerKill = float64(c.RepeatedExecutions) / float64(n)
	}
	slices.Sort(restarts)
	if c.Restarts.Executions = len(restarts); len(restarts) > 0 {
		c.Restarts.P50MS, c.Restarts.P99MS = rank(restarts, 0.5), rank(restarts, 0.99)
		c.Restarts.MaxMS = restarts[len(restarts)-1]
	}
}

// rank is the nearest-rank quantile of a sorted list.
func rank(sorted []float64, q float64) float64 {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func (j *judge) countInstance(in *instance) {
	c := &j.verdict.Counts
	c.InstancesSubmitted++
	if in.accepted != none {
		c.InstancesAccepted++
	}
	switch {
	case len(in.ends) > 0:
		c.InstancesEnded++
		if slices.ContainsFunc(in.ends, func(e end) bool { return e.status == protocol.Failed }) {
			c.InstancesFailed++
		}
	case len(in.looks) == 0:
	case in.looks[len(in.looks)-1].state.Status == protocol.Open:
		c.InstancesOpen++
	case in.accepted != none:
		c.InstancesLost++
	}
}

// countRun counts a run's executions, and returns the times in ms after which those that a death cut short were started
// elsewhere.
func (j *judge) countRun(r *run, deaths map[int]int) []float64 {
	c := &j.verdict.Counts
	c.Executions += len(r.starts)
	c.RepeatedExecutions += max(0, len(r.starts)-1-len(r.fails))
	if ended := r.in.firstEnd(); ended != none {
		for _, at := range r.starts {
			if at > ended {
				c.ExecutionsAfterEnd++
			}
		}
	}
	var ms []float64
	for _, at := range r.starts {
		incarnation := j.h.Entries[at].Incarnation
		death, dead := deaths[incarnation]
		if !dead || j.endedIn(r, at, incarnation) {
			continue
		}
		next, elsewhere := j.nextStart(r, at, incarnation)
		switch from := j.h.Entries[death].AtNS; {
		case next == none && len(r.in.ends) == 0 && len(r.finishes) == 0:
			c.Restarts.Missing++
		case next != none && elsewhere >= from:
			ms = append(ms, float64(elsewhere-from)/1e6)
		}
	}
	return ms
}

// endedIn reports whether an execution finished or failed.
func (j *judge) endedIn(r *run, start, incarnation int) bool {
	after := func(at int) bool { return at > start && j.h.Entries[at].Incarnation == incarnation }
	return slices.ContainsFunc(r.finishes, after) || slices.ContainsFunc(r.fails, after)
}

// nextStart returns the next start in another incarnation, and its time.
func (j *judge) nextStart(r *run, start, incarnation int) (at int, ns int64) {
	i := slices.IndexFunc(r.starts, func(at int) bool { return at > start && j.h.Entries[at].Incarnation != incarnation })
	if i < 0 {
		return none, 0
	}
	return r.starts[i], j.h.Entries[r.starts[i]].AtNS
}
