package dispatch

import (
	"fmt"
	"slices"
	"time"

	"pulley/engine/backend"
)

func (m *Machine) decide(now time.Time) {
	if m.draining && !m.late && !now.Before(m.until) {
		m.endDrain()
	}
	m.checkLeases(now)
	m.checkPermits(now)
	m.start()
	m.takeLimitTurn(now)
	m.renewLeases(now)
	m.claim(now, true)
	m.write(now)
	m.claim(now, false)
	m.sweep(now)
	m.notify(now)
	if m.draining && m.busy() == 0 && (m.late || !m.limits.shares) {
		m.stopped = true
		m.do(Stopped{})
	}
}

// endDrain drops and reports what a failing store did not take; the next holder of the lease runs it again.
func (m *Machine) endDrain() {
	m.late = true
	for _, t := range m.tasks.byAge(func(t *task) bool { return t.state == running && !t.lost }) {
		m.returnLease(t)
	}
	for i := range m.shards {
		s := &m.shards[i]
		if s.submitPause.fails > 0 {
			for s.subs.len() > 0 {
				m.dropSubmission(s.subs.pop())
			}
		}
		if s.commitPause.fails > 0 {
			for s.offered.len() > 0 {
				m.dropCompletion(s.offered.pop())
			}
		}
	}
}

// busy counts what a drain waits for.
func (m *Machine) busy() int {
	return m.tasks.count + len(m.abandoned) + len(m.subs) + len(m.calls) + m.unreleased()
}

func (m *Machine) unreleased() int {
	n := 0
	for i := range m.shards {
		n += len(m.shards[i].release) + len(m.shards[i].shortening) + len(m.shards[i].returning)
	}
	return n
}

func (m *Machine) start() {
	for m.slots() < m.cfg.Slots {
		t := m.nextStart()
		if t == nil {
			return
		}
		t.state, t.began = running, m.now
		m.running++
		t.shard.running++
		if most := timeout(t.task); most > 0 && m.cfg.Grace > 0 {
			m.limit(t, m.now.Add(most).Add(m.cfg.Grace))
		}
		m.starts = append(m.starts, Start{ID: t.id, Task: t.task})
		m.do(&m.starts[len(m.starts)-1])
	}
}

func (m *Machine) renewLeases(now time.Time) {
	for i := range m.shards {
		s := &m.shards[i]
		if s.renewing {
			continue
		}
		if n := min(len(s.release), renewBatch); n > 0 {
			m.send(now, &call{op: OpRenew, shard: s, release: n}, Call{Leases: s.release[:n:n], Grant: backend.Grant{Lease: handBack}})
			s.release = s.release[n:]
			s.renewing = true
			continue
		}
		if m.shorten(now, s) || m.returnForLater(now, s) {
			continue
		}
		if !s.renewPause.isOver(now) {
			continue
		}
		if tasks := m.renewals(s); len(tasks) > 0 {
			leases := make([]backend.Lease, len(tasks))
			for i, t := range tasks {
				leases[i] = t.task.Lease
			}
			m.send(now, &call{op: OpRenew, shard: s, tasks: tasks}, Call{Leases: leases, Grant: backend.Grant{Lease: m.cfg.Lease}})
			s.renewing = true
		}
	}
}

// shorten makes the leases of tasks with dead workers end after their pauses: a later claim redelivers them. Those of one call
// use their longest pause.
func (m *Machine) shorten(now time.Time, s *shard) bool {
	n := min(len(s.shortening), renewBatch)
	if n == 0 {
		return false
	}
	leases, rest := make([]backend.Lease, n), time.Duration(0)
	for i, r := range s.shortening[:n] {
		leases[i], rest = r.lease, max(rest, r.pause)
	}
	s.shortening = s.shortening[n:]
	m.send(now, &call{op: OpRenew, shard: s, shortened: n, until: now.Add(rest)}, Call{Leases: leases, Grant: backend.Grant{Lease: rest}})
	s.renewing = true
	return true
}

// returnForLater returns tasks that are too many for their limits. Those of one call are due together.
func (m *Machine) returnForLater(now time.Time, s *shard) bool {
	if len(s.returning) == 0 {
		return false
	}
	var leases []backend.Lease
	due := s.returning[0].due
	s.returning = slices.DeleteFunc(s.returning, func(r returningLease) bool {
		if !r.due.Equal(due) || len(leases) == renewBatch {
			return false
		}
		leases = append(leases, r.lease)
		return true
	})
	m.send(now, &call{op: OpRenew, shard: s, shortened: len(leases), until: due}, Call{Leases: leases, Grant: backend.Grant{Lease: handBack, Pause: max(due.Sub(now), 0)}})
	s.renewing = true
	return true
}

func (m *Machine) renewals(s *shard) []*task {
	var tasks []*task
	for len(s.renew) > 0 && len(tasks) < renewBatch {
		t := s.renew[0]
		s.renew = s.renew[1:]
		if t.cohort != nil && !t.lost {
			tasks = append(tasks, t)
		}
	}
	if len(s.renew) == 0 {
		s.renew = nil
	}
	return tasks
}

func (m *Machine) taskCapacity() int {
	if m.draining {
		return 0
	}
	slots := m.cfg.Slots + m.cfg.Prefetch
	return max(0, min(
		slots-m.slots()-m.ready.len()-m.reserved,
		slots+m.cfg.Pending-m.tasks.count-m.reserved))
}

// reservedCapacity estimates what the successors of the offered completions need.
func (m *Machine) reservedCapacity() int {
	sum := 0
	for i := range m.shards {
		sum += m.shards[i].expected(m.shards[i].offered.len())
	}
	return sum
}

// expected estimates the successors of n completions by those of the last commit; at most n.
func (s *shard) expected(n int) int {
	return min((n*s.yieldTasks+s.yieldOf-1)/s.yieldOf, n)
}

// hasEnoughReady reports that more than half of Prefetch waits for a slot: capacity can accumulate, so that one claim fills it,
// not one for each free slot.
func (m *Machine) hasEnoughReady() bool { return m.ready.len() > m.cfg.Prefetch/2 }

func (m *Machine) needsClaim(s *shard, now time.Time, overdue bool) bool {
	if s.claiming || !s.claimPause.isOver(now) {
		return false
	}
	return s.pollDue(now) || !overdue && s.more && s.pressing >= m.pressing && !m.hasEnoughReady()
}

func (s *shard) pollDue(now time.Time) bool {
	return !now.Before(s.poll) || !s.due.IsZero() && !now.Before(s.due)
}

// claim looks for work: first, with overdue, on shards not claimed from for long; later where work is known and nothing better
// uses the capacity. If no work is known, claims take half the capacity: what a commit makes ready needs the other half, or it
// would need a claim as well. Every shard that wants work gets an equal part, and at least one.
func (m *Machine) claim(now time.Time, overdue bool) {
	room, want := m.taskCapacity(), 0
	known := false
	for i := range m.shards {
		if s := &m.shards[i]; m.needsClaim(s, now, overdue) {
			want++
			known = known || s.more && s.claimAnswered
		}
	}
	spread := m.speculativeCapacity(room)
	if !overdue {
		if m.pressing == 0 {
			room -= m.reservedCapacity()
		}
		spread = min(spread, room)
		if known {
			spread = room
		}
	}
	first := m.nextClaim
	for i := 0; i < m.cfg.Shards && want > 0 && room > 0 && m.claims < m.cfg.Committers; i++ {
		at := (first + i) % m.cfg.Shards
		s := &m.shards[at]
		if !m.needsClaim(s, now, overdue) {
			continue
		}
		part := max(1, (spread+want-1)/want)
		room, spread, want = room-part, spread-part, want-1
		grant := m.grant(part)
		if urgent := m.pressing; s.pressing < urgent {
			grant.Priority = urgent
		}
		grant.Order = m.nextOrder(s)
		s.claiming, s.more = true, false
		m.claims++
		m.nextClaim = (at + 1) % m.cfg.Shards
		m.send(now, &call{op: OpClaim, shard: s}, Call{Grant: grant})
	}
}

// speculativeCapacity bounds claims without known work: half the capacity, and with the claims in flight at most half of all
// that the engine may hold.
func (m *Machine) speculativeCapacity(room int) int {
	free := (m.cfg.Slots + m.cfg.Prefetch + 1) / 2
	for _, c := range m.calls {
		if c.op == OpClaim {
			free -= c.max
		}
	}
	return max(0, min((room+1)/2, free))
}

// write commits completions and submissions, lane after lane, while committers are free and the lanes do not linger.
func (m *Machine) write(now time.Time) {
	lanes := 2 * m.cfg.Shards
	for busy := true; busy; {
		busy = false
		for i := 0; i < lanes && m.writes < m.cfg.Committers; i++ {
			at := (m.nextLane + i) % lanes
			s := &m.shards[at/2]
			if at%2 == 0 && m.commit(now, s) || at%2 == 1 && m.submit(now, s) {
				m.nextLane = (at + 1) % lanes
				busy = true
				break
			}
		}
	}
}

// lingerMax is several times the duration of a large write on a busy server.
const lingerMax = 20 * time.Millisecond

// endsLinger reports whether to write n members of a lane now, though more could share the transaction after another write's
// answer. It does if n is not much smaller than the writes in flight: a small write would take its fixed cost from a store that
// may serve other engines too. So engines that share a store write less often, and more at a time. Nothing lingers if little is
// being written, nor beyond lingerMax, since a write may hang. Each other write that goes first doubles the lane's weight.
func (m *Machine) endsLinger(lane *lane, n int) bool {
	if m.cfg.Batch == 1 || m.writing == 0 || n<<lane.passed+m.cfg.WriteCost >= m.writing || !lane.until.IsZero() && !m.now.Before(lane.until) {
		lane.passed, lane.until = 0, time.Time{}
		return true
	}
	if lane.until.IsZero() {
		lane.until = m.now.Add(lingerMax)
	}
	if lane.passedAt != m.sent {
		lane.passedAt = m.sent
		lane.passed++
	}
	return false
}

func (m *Machine) wrote(members int) {
	m.writes++
	m.writing += members
	m.sent++
}

// mayCommit reports whether a shard may have another commit in flight. One that overlaps is large, and the only other write: a store
// that has several shards' writes at a time gains nothing by it, and the two may wait for each other's rows.
func (m *Machine) mayCommit(s *shard) bool {
	if s.committing >= m.cfg.commitsPerShard() {
		return false
	}
	return s.committing == 0 || m.cfg.Batch == 1 || m.writes == 1 && s.commitPause.fails == 0 && m.offersLarge(s)
}

// offersLarge reports whether a shard offers enough for a commit that overlaps.
func (m *Machine) offersLarge(s *shard) bool {
	return m.cfg.Overlap > 0 && s.offered.len() >= min(m.cfg.Batch, m.cfg.Overlap)
}

// lingersForTasks reports whether a shard's next commit waits for the tasks that a reply has just brought.
func (m *Machine) lingersForTasks(now time.Time, s *shard) bool {
	return m.cfg.Batch > 1 && s.offered.len() < s.limit && !m.offersLarge(s) && s.linger.lasts(now, s.running)
}

func (m *Machine) commit(now time.Time, s *shard) bool {
	if s.offered.len() == 0 || !m.mayCommit(s) || !s.commitPause.isOver(now) || m.lingersForTasks(now, s) || !m.endsLinger(&s.commits, min(s.offered.len(), s.limit)) {
		return false
	}
	tasks := make([]*task, 0, min(s.offered.len(), s.limit))
	bytes := 0
	for s.offered.len() > 0 && len(tasks) < s.limit {
		t := s.offered.peek()
		if bytes += len(t.result); len(tasks) > 0 && bytes > m.cfg.BatchBytes {
			break
		}
		tasks = append(tasks, s.offered.pop())
	}
	completions := make([]backend.Completion, len(tasks))
	for i, t := range tasks {
		t.state = committing
		completions[i] = t.completion()
	}
	grant := m.grant(m.share(s, len(tasks), true))
	m.keepForUrgent(&grant, slices.ContainsFunc(tasks, func(t *task) bool { return t.priority >= m.pressing }))
	s.committing++
	m.wrote(len(tasks))
	m.send(now, &call{op: OpComplete, shard: s, tasks: tasks}, Call{Completions: completions, Grant: grant})
	return true
}

func (m *Machine) submit(now time.Time, s *shard) bool {
	if s.subs.len() == 0 || s.submitting || !s.submitPause.isOver(now) || !m.endsLinger(&s.submits, min(s.subs.len(), s.subLimit)) {
		return false
	}
	var subs []*submission
	bytes := 0
	for s.subs.len() > 0 && len(subs) < s.subLimit {
		if bytes += len(s.subs.peek().sub.Input); len(subs) > 0 && bytes > m.cfg.BatchBytes {
			break
		}
		subs = append(subs, s.subs.pop())
	}
	submissions := make([]backend.Submission, len(subs))
	for i, sub := range subs {
		submissions[i] = sub.sub
	}
	grant := m.grant(m.share(s, len(subs), false))
	m.keepForUrgent(&grant, slices.ContainsFunc(subs, func(sub *submission) bool { return backend.PriorityOf(sub.sub.Program) >= m.pressing }))
	s.submitting = true
	m.wrote(len(subs))
	m.send(now, &call{op: OpSubmit, shard: s, subs: subs}, Call{Submissions: submissions, Grant: grant})
	return true
}

// share returns how many tasks a write of n members may lease, a commit or a submission: an equal part of the capacity for each write that
// may start before its answer, and at least one for each member while capacity lasts. If it took everything, the other writes' successors
// would need claims, which cost as much again. With a backlog, claims need capacity too: then half of it is shared. The write
// still gets what its members are expected to make ready, or one, to learn if there is more.
func (m *Machine) share(s *shard, n int, commits bool) int {
	room, others := m.taskCapacity(), 0
	if m.cfg.Batch == 1 {
		others = m.running + s.offered.len()
	} else {
		others = m.writesToCome(s, commits)
	}
	parts := 1 + min(others, m.cfg.Committers-m.writes-1)
	if m.backlog() {
		return min(room, max(1, s.expected(n), room/2/parts))
	}
	return min(room, max(n, (room+parts-1)/parts))
}

// writesToCome counts the lanes that may write beside one of this shard, for its commits or its submissions.
func (m *Machine) writesToCome(s *shard, commits bool) int {
	n := 0
	for i := range m.shards {
		o := &m.shards[i]
		if o.held > 0 && (o != s || !commits || m.writes == 0 && m.offersLarge(s)) {
			n++
		}
		if o.subs.len() > 0 && (o != s || commits) {
			n++
		}
	}
	return n
}

func (m *Machine) backlog() bool {
	for i := range m.shards {
		if m.shards[i].backlog {
			return true
		}
	}
	return false
}

func (m *Machine) sweep(now time.Time) {
	if m.sweeping || m.draining {
		return
	}
	for i := range m.shards {
		at := (m.nextSweep + i) % m.cfg.Shards
		s := &m.shards[at]
		if now.Before(s.sweepAt) {
			continue
		}
		m.nextSweep = (at + 1) % m.cfg.Shards
		m.sweeping = true
		m.send(now, &call{op: OpSweep, shard: s}, Call{})
		return
	}
}

func (m *Machine) notify(now time.Time) {
	// Capacity that calls in flight may still use counts as free: if they bring nothing, this engine claims the ready work.
	full := m.draining || m.cfg.Slots+m.cfg.Prefetch <= m.slots()+m.ready.len() || m.hasEnoughReady()
	for i := range m.shards {
		if s := &m.shards[i]; s.wake && full && s.more {
			m.notifyDue = true
			s.wake = false
		} else if !s.more && !s.claiming {
			s.wake = false // this engine took it all
		}
	}
	if !m.cfg.Notify {
		m.notifyDue = false
	}
	if m.notifyDue && !m.notifying && !now.Before(m.notifyAt) {
		m.notifyDue, m.notifying = false, true
		m.send(now, &call{op: OpNotify, shard: &m.shards[0]}, Call{})
	}
}

func (m *Machine) grant(most int) backend.Grant {
	return backend.Grant{Owner: m.cfg.Owner, Max: most, Lease: m.cfg.Lease, Fair: m.cfg.Fair}
}

// send puts a call in flight, and reserves what it may bring.
func (m *Machine) send(now time.Time, c *call, cmd Call) {
	m.nextCall++
	cmd.ID, cmd.Op, cmd.Shard = m.nextCall, c.op, c.shard.index
	cmd.Grant.Owner = m.cfg.Owner
	c.sent, c.max, c.priority, c.order = now, cmd.Grant.Max, cmd.Grant.Priority, cmd.Grant.Order
	m.reserved += c.max
	m.calls[cmd.ID] = c
	m.do(cmd)
}

func (m *Machine) dropCompletion(t *task) {
	m.report(fmt.Errorf("%s: its completion was not committed before the engine had to stop; it will be run again", describe(t.task)))
	m.remove(t)
}

// Next returns when Step must be called at the latest without an event, always later than the last Step; zero: never.
func (m *Machine) Next() time.Time {
	var next time.Time
	by := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if m.stopped || !m.begun {
		return next
	}
	if m.draining && !m.late {
		by(m.until)
	}
	if len(m.leases) > 0 {
		by(m.leases[0].check)
	}
	if len(m.deadlines) > 0 {
		by(m.deadlines[0].deadline)
	}
	if m.notifyDue && !m.notifying {
		by(m.notifyAt)
	}
	room := m.taskCapacity()
	spare := room > m.reservedCapacity() && !m.hasEnoughReady() // for all shards: computed once
	m.nextOfLimits(by)
	for i := range m.shards {
		m.nextOf(&m.shards[i], room > 0, spare, by)
	}
	return next
}

// nextOf passes the times of one shard to by: of claims only with capacity, and for a backlog only with spare capacity. An
// event frees lanes that wait for a reply, a slot or a committer: these have no time.
func (m *Machine) nextOf(s *shard, room, spare bool, by func(time.Time)) {
	if room && !s.claiming && m.claims < m.cfg.Committers {
		at := s.poll
		if !s.due.IsZero() && s.due.Before(at) {
			at = s.due
		}
		if s.more && spare && s.pressing >= m.pressing {
			at = s.claimPause.until
		}
		by(latest(at, s.claimPause.until))
	}
	if m.writes < m.cfg.Committers {
		if s.offered.len() > 0 && m.mayCommit(s) {
			by(latest(latest(s.commitPause.until, s.commits.until), s.linger.until))
		}
		if s.subs.len() > 0 && !s.submitting {
			by(latest(s.submitPause.until, s.submits.until))
		}
	}
	if len(s.renew) > 0 && !s.renewing {
		by(s.renewPause.until)
	}
	if !m.sweeping && !m.draining {
		by(s.sweepAt)
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
