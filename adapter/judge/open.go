package judge

import (
	"slices"

	"pulley/adapter/protocol"
)

// Bounds of the wait after which open work never continues.
const (
	waitMinMS    = 30_000
	waitRecovers = 10 // times Promises.RecoversMS
)

// WaitMS is for how long nothing must happen, with processes at work and without faults, so that Judge takes open work for work
// that never continues: ten times the promised time, at least half a minute, and the longest task's time.
func WaitMS(p protocol.Promises, workloads []protocol.Workload) float64 {
	longest := 0.0
	for i := range workloads {
		for _, t := range workloads[i].Tasks {
			longest = max(longest, t.MS)
		}
	}
	return max(waitMinMS, float64(waitRecovers*p.RecoversMS)) + longest
}

// judgeOpen asks whether an open instance was left alone.
func (j *judge) judgeOpen(in *instance) {
	recovers := j.h.Promises.RecoversMS > 0
	durable := j.h.Promises.Submit == protocol.Durable && in.accepted != none
	if len(in.looks) == 0 || !recovers && !durable {
		return
	}
	last := in.looks[len(in.looks)-1]
	if last.state.Status != protocol.Open || len(in.ends) > 0 {
		return
	}
	if !j.tasks() {
		j.reasons["an instance is open, and executions were not reported, which would show that it never continues"]++
		return
	}
	switch waited := j.waitBefore(in, last.asked); {
	case waited == none:
		j.open++
	case in.awaitsRetry():
		j.retrying++
	case durable && (!recovers || !in.began()):
		j.blame(RuleSubmit, in, runKey{}, "it was accepted in entry %d, is open in entry %d, and nothing happened for the %.0f ms before entry %d",
			in.accepted+1, last.at+1, j.h.Entries[waited].WaitedMS, waited+1)
	default:
		j.blame(RuleRecovers, in, runKey{}, "it is open in entry %d, and nothing happened for the %.0f ms before entry %d; its work is promised to continue within %d ms",
			last.at+1, j.h.Entries[waited].WaitedMS, waited+1, j.h.Promises.RecoversMS)
	}
}

// waitBefore returns a wait that was long enough, before which the instance was submitted and after which nothing of it
// happened until a look; or none.
func (j *judge) waitBefore(in *instance, asked int) int {
	for _, at := range slices.Backward(j.waits) {
		if at < asked && in.sent[0] < at && !slices.ContainsFunc(in.entries, func(e int) bool {
			return e > at && e < asked && j.h.Entries[e].isWork()
		}) {
			return at
		}
	}
	return none
}

// isLongEnough reports whether a wait is as long as it must be, and nothing happened in it while some process worked and no
// fault lasted.
func (j *judge) isLongEnough(at int) bool {
	wait := &j.h.Entries[at]
	if wait.WaitedMS < WaitMS(j.h.Promises, j.h.Workloads) {
		return false
	}
	begin := wait.AtNS - int64(wait.WaitedMS*1e6)
	working, faults := map[int]bool{}, map[string]bool{}
	for i := range j.h.Entries[:at] {
		e := &j.h.Entries[i]
		if e.isWork() && e.AtNS > begin {
			return false
		}
		switch e.Kind {
		case Opened:
			working[e.Incarnation] = true
		case Killed, Died:
			delete(working, e.Incarnation)
		case FaultBegan:
			faults[e.Fault] = true
		case FaultEnded:
			delete(faults, e.Fault)
		}
	}
	return len(working) > 0 && len(faults) == 0
}

// began reports whether a task of the instance ever started.
func (in *instance) began() bool {
	for _, r := range in.runs {
		if len(r.starts) > 0 {
			return true
		}
	}
	return false
}

// awaitsRetry reports whether a task failed, and nobody knows that it succeeded later: an execution that finished may have been
// too late for the store, and a start may have come before the failure.
func (in *instance) awaitsRetry() bool {
	for _, r := range in.runs {
		if len(r.fails) > 0 && len(r.used) == 0 {
			return true
		}
	}
	return false
}

// judgeOrder compares the order in which instances started with that of their submission: one was accepted before the other was
// sent. After a death or a fault, what was in hand at that time has no order.
func (j *judge) judgeOrder() {
	if j.h.Promises.Order != protocol.InOrder || j.h.Processes != 1 || j.h.Slots != 1 || !j.tasks() {
		return
	}
	accepted := map[int][]*instance{}
	for _, in := range j.instances {
		if in.accepted != none && in.began() { // what never starts is a matter of other rules
			accepted[in.accepted] = append(accepted[in.accepted], in)
		}
	}
	started := map[*instance]bool{}
	disturbed := none
	var waiting []*instance // accepted since, in that order
	for at := range j.h.Entries {
		e := &j.h.Entries[at]
		switch {
		case e.disturbs():
			disturbed, waiting = at, nil
		case e.Kind == Submitted:
			for _, in := range accepted[at] {
				if in.sent[0] > disturbed {
					waiting = append(waiting, in)
				}
			}
		case e.Kind == Started:
			in := j.by[e.Instance]
			if in == nil || started[in] {
				continue
			}
			started[in] = true
			for len(waiting) > 0 && started[waiting[0]] {
				waiting = waiting[1:]
			}
			if len(waiting) > 0 && waiting[0].accepted < in.sent[0] {
				first := waiting[0]
				j.blame(RuleOrder, in, runKey{}, "it was submitted in entry %d and started in entry %d, before instance %s, which was accepted in entry %d",
					in.sent[0]+1, at+1, first.id, first.accepted+1)
			}
		}
	}
}
