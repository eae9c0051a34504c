package dispatch

import (
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
)

// Check compares the machine's counters with what they count, and its state with the promised bounds, and reports every
// difference. It takes linear time: it is for tests and simulators.
func (m *Machine) Check() error {
	var errs []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("dispatch: "+format, args...))
		}
	}
	states := map[state]int{}
	held, ofShard, runningOf := map[uuid.UUID]int{}, map[*shard]int{}, map[*shard]int{}
	for _, t := range m.tasks.byAge(func(*task) bool { return true }) {
		ofShard[t.shard]++
		if t.state == running {
			runningOf[t.shard]++
		}
		states[t.state]++
		held[t.task.Lease.Key.Instance]++
		must(t.lost || t.cohort != nil || t.state >= offered, "task %d is held unwatched", t.id)
	}
	must(len(m.tasks.pages) <= m.tasks.count, "%d pages are kept for %d tasks", len(m.tasks.pages), m.tasks.count)
	must(maps.Equal(held, m.held), "%d instances are counted as having tasks, %d have some, or another number of them", len(m.held), len(held))
	must(m.running == states[running], "%d slots are counted, %d tasks run", m.running, states[running])
	must(m.slots() <= m.cfg.Slots, "%d of %d slots are taken", m.slots(), m.cfg.Slots)
	for id := range m.abandoned {
		must(m.tasks.get(id) == nil || m.tasks.get(id).state >= offered, "task %d runs and is abandoned", id)
	}
	must(m.ready.len()+m.limits.waiting == states[waiting], "%d tasks queue, %d of them for limits, %d wait", m.ready.len()+m.limits.waiting, m.limits.waiting, states[waiting])
	must(m.ready.len() == 0 || m.slots() == m.cfg.Slots || m.limited() && !m.limits.known, "%d tasks wait beside a free slot", m.ready.len())
	m.checkLimits(must)

	inFlight := map[Op]int{}
	reserved, committed, writing := 0, 0, 0
	for _, c := range m.calls {
		inFlight[c.op]++
		reserved += c.max
		if c.op == OpComplete || c.op == OpSubmit {
			writing += len(c.tasks) + len(c.subs)
		}
		if c.op == OpComplete {
			committed += len(c.tasks)
		}
	}
	queued, subs := 0, 0
	for i := range m.shards {
		s := &m.shards[i]
		queued += s.offered.len()
		subs += s.subs.len()
		must(s.held == ofShard[s], "shard %d is counted as having %d tasks, it has %d", i, s.held, ofShard[s])
		must(s.running == runningOf[s], "shard %d is counted as having %d running tasks, it has %d", i, s.running, runningOf[s])
		must(s.committing <= m.cfg.commitsPerShard(), "shard %d has %d commits in flight", i, s.committing)
	}
	must(queued == states[offered], "%d completions queue, %d are offered", queued, states[offered])
	must(committed == states[committing], "%d completions are in flight, %d are committing", committed, states[committing])
	must(reserved == m.reserved, "%d grants are counted, %d are in flight", m.reserved, reserved)
	must(m.writes == inFlight[OpComplete]+inFlight[OpSubmit], "%d writes are counted, %d are in flight", m.writes, inFlight[OpComplete]+inFlight[OpSubmit])
	must(m.writing == writing, "%d members of writes are counted, %d are in flight", m.writing, writing)
	must(m.writes <= m.cfg.Committers, "%d writes are in flight for %d committers", m.writes, m.cfg.Committers)
	must(m.claims == inFlight[OpClaim] && m.claims <= m.cfg.Committers, "%d claims are counted, %d in flight", m.claims, inFlight[OpClaim])
	must(inFlight[OpRenew] <= m.cfg.Shards && inFlight[OpSweep] <= 1 && inFlight[OpNotify] <= 1 && inFlight[OpLimits] <= 1, "too many calls are in flight: %v", inFlight)
	must(len(m.subs) <= m.cfg.Queue, "%d submissions wait in a queue of %d", len(m.subs), m.cfg.Queue)
	must(subs <= len(m.subs), "%d submissions queue of %d", subs, len(m.subs))
	bound := m.cfg.Slots + m.cfg.Prefetch + m.cfg.Pending
	must(m.tasks.count+m.reserved <= bound, "%d tasks are held and %d may come, the bound is %d", m.tasks.count, m.reserved, bound)
	must(!m.stopped || m.busy() == 0, "stopped with something left")
	return errors.Join(errs...)
}

func (m *Machine) checkLimits(must func(bool, string, ...any)) {
	queued, attempts := 0, map[*gate]int{}
	for _, t := range m.tasks.byAge(func(t *task) bool { return t.state == running && t.gate != nil }) {
		attempts[t.gate]++
	}
	for _, g := range m.abandoned {
		attempts[g]++
	}
	for name, g := range m.limits.byName {
		queued += g.queue.len()
		must(g.running == attempts[g], "limit %s counts %d running attempts, there are %d", name, g.running, attempts[g])
	}
	must(queued == m.limits.waiting, "%d tasks are counted as waiting for limits, %d do", m.limits.waiting, queued)
}
