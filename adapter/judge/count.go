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

// Restarts are the times from the death of a process until work continued, of the instances on which it had worked last: until another
// process started or finished one of their tasks, or they ended.
type Restarts struct {
	Instances int     `json:"instances"` // that continued, once for each such death
	Missing   int     `json:"missing"`   // that never did
	P50MS     float64 `json:"p50_ms"`
	P99MS     float64 `json:"p99_ms"`
	MaxMS     float64 `json:"max_ms"`
}

func (j *judge) count() {
	c := &j.verdict.Counts
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
		case Died:
			c.Deaths++
		}
	}
	for _, in := range j.instances {
		j.countInstance(in)
		for _, k := range in.workload.keys {
			if r := in.runs[k]; r != nil {
				j.countRun(r)
			}
		}
	}
	if n := c.Kills + c.Deaths; n > 0 {
		c.RepeatedPerKill = float64(c.RepeatedExecutions) / float64(n)
	}
	c.Restarts = j.restarts()
}

func (j *judge) restarts() (r Restarts) {
	last := map[string]int{}            // the incarnation that worked on an open instance last
	worked := map[int]map[string]bool{} // and the other way round
	died := map[string]int64{}          // when it died, of instances that have not continued
	forget := func(instance string) {
		delete(worked[last[instance]], instance)
		delete(last, instance)
	}
	var after []float64
	for at := range j.h.Entries {
		switch e := &j.h.Entries[at]; e.Kind {
		case Killed, Died:
			for instance := range worked[e.Incarnation] {
				if _, waits := died[instance]; !waits {
					died[instance] = e.AtNS
				}
			}
		case Looked:
			for _, s := range e.States {
				if s.Status == protocol.Completed || s.Status == protocol.Failed {
					forget(s.ID)
					delete(died, s.ID) // when it continued, nobody saw
				}
			}
		case Started, Finished, Failed, Ended:
			if from, waits := died[e.Instance]; waits && e.Incarnation != last[e.Instance] {
				after = append(after, float64(e.AtNS-from)/1e6)
				delete(died, e.Instance)
			}
			if forget(e.Instance); e.Kind == Ended {
				delete(died, e.Instance) // the dead process had said so
				continue
			}
			if last[e.Instance] = e.Incarnation; worked[e.Incarnation] == nil {
				worked[e.Incarnation] = map[string]bool{}
			}
			worked[e.Incarnation][e.Instance] = true
		}
	}
	slices.Sort(after)
	if r.Instances, r.Missing = len(after), len(died); len(after) > 0 {
		r.P50MS, r.P99MS, r.MaxMS = rank(after, 0.5), rank(after, 0.99), after[len(after)-1]
	}
	return r
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

// countRun counts a run's executions.
func (j *judge) countRun(r *run) {
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
}
