package dispatch

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

func (m *Machine) handleReply(now time.Time, ev Reply) {
	c, ok := m.calls[ev.Call]
	if !ok {
		m.report(fmt.Errorf("dispatch: reply to call %d, which is not in flight", ev.Call))
		return
	}
	delete(m.calls, ev.Call)
	m.reserved -= c.max
	if ev.Err == nil {
		ev.Err = c.checkAnswer(ev)
	}
	if due := ev.Committed.NextDue; !due.IsZero() && !due.After(now) {
		ev.Committed.More, ev.Committed.NextDue = true, time.Time{} // it is due by now
	}
	switch c.op {
	case OpSubmit:
		m.submitted(now, c, ev)
	case OpClaim:
		m.claimed(now, c, ev)
	case OpComplete:
		m.completed(now, c, ev)
	case OpRenew:
		m.handleRenewed(now, c, ev)
	case OpSweep:
		m.swept(now, c, ev)
	case OpNotify:
		m.notified(now, ev)
	case OpLimits:
		m.limitsTurned(now, c, ev)
	}
}

func (c *call) checkAnswer(ev Reply) error {
	want, got := 0, 0
	switch c.op {
	case OpSubmit, OpComplete:
		want, got = len(c.subs)+len(c.tasks), len(ev.Committed.Outcomes)
	case OpRenew:
		want, got = len(c.tasks), len(ev.Held)
		if c.release+c.shortened > 0 {
			return nil // best effort: leases no longer held do not matter
		}
	}
	if want != got {
		return fmt.Errorf("the backend gave %d answers for %d", got, want)
	}
	return nil
}

func (m *Machine) failed(now time.Time, c *call, p *pause, err error) {
	wait := p.fail(now, m.cfg.RetryMin, m.cfg.RetryMax)
	m.report(&callError{op: c.op, shard: c.shard.index, wait: wait, err: err})
}

// callError is the error of a call that will be repeated. Its text is made only when read.
type callError struct {
	op    Op
	shard int
	wait  time.Duration // before the repetition
	err   error
}

func (e *callError) Error() string {
	return fmt.Sprintf("%s on shard %d, tried again in %v: %v", e.op, e.shard, e.wait, e.err)
}

func (e *callError) Unwrap() error { return e.err }

func (m *Machine) submitted(now time.Time, c *call, ev Reply) {
	s := c.shard
	m.writes, m.writing = m.writes-1, m.writing-len(c.subs)
	s.submitting = false
	if ev.Err != nil {
		m.failed(now, c, &s.submitPause, ev.Err)
		s.subLimit = max(1, len(c.subs)/2)
		m.resubmit(c.subs, ev.Err)
		return
	}
	s.submitPause.reset()
	s.subLimit = min(m.cfg.Batch, s.subLimit*2)
	var again []*submission
	for i, sub := range c.subs {
		out := ev.Committed.Outcomes[i]
		if out.Answer == backend.Again {
			sub.err = out.Err
			again = append(again, sub)
			continue
		}
		delete(m.subs, sub.ticket)
		if !sub.forgotten {
			m.do(Answer{Ticket: sub.ticket, Outcome: out})
		}
	}
	if ev.Committed.More {
		highest := s.pressing
		for _, sub := range c.subs {
			highest = max(highest, backend.PriorityOf(sub.sub.Program))
		}
		m.press(s, highest)
	}
	if len(again) > 0 {
		m.failed(now, c, &s.submitPause, again[0].err)
		m.resubmit(again, again[0].err)
	}
	m.committed(now, c, ev.Committed)
}

// resubmit queues submissions again in front, but one that failed alone at the end.
func (m *Machine) resubmit(subs []*submission, err error) {
	s := m.shardOf(backend.Key{Instance: subs[0].sub.ID})
	var again []*submission
	for _, sub := range subs {
		sub.err = err
		switch {
		case sub.forgotten:
			delete(m.subs, sub.ticket)
		case m.late:
			m.dropSubmission(sub)
		default:
			again = append(again, sub)
		}
	}
	if len(subs) == 1 && len(again) == 1 {
		s.subs.push(again[0])
		return
	}
	s.subs.unpop(again)
}

func (m *Machine) dropSubmission(sub *submission) {
	delete(m.subs, sub.ticket)
	err := ErrStopped
	if sub.err != nil {
		err = fmt.Errorf("%w, and the last attempt failed: %w", ErrStopped, sub.err)
	}
	m.do(Answer{Ticket: sub.ticket, Err: err})
}

func (m *Machine) claimed(now time.Time, c *call, ev Reply) {
	s := c.shard
	m.claims--
	s.claiming = false
	if ev.Err != nil {
		s.more = true
		m.failed(now, c, &s.claimPause, ev.Err)
		return
	}
	s.poll, s.claimAnswered = now.Add(m.cfg.Poll), true
	if !s.due.IsZero() && !s.due.After(c.sent) {
		s.due = time.Time{}
	}
	switch {
	case !ev.Committed.More || len(ev.Committed.Tasks) > 0:
		s.claimPause.reset()
	case c.order == backend.ByTime:
		// Others probably have it locked: an immediate retry would only add load.
		s.claimPause.fail(now, m.cfg.RetryMin, m.cfg.Poll)
	}
	s.more, s.backlog = s.more || ev.Committed.More, ev.Committed.More
	s.empty = c.priority == 0 && c.order == backend.ByTime && !ev.Committed.More && len(ev.Committed.Tasks) == 0
	if c.order == backend.ByTime {
		m.press(s, leastOf(&ev.Committed))
	}
	m.merge(s, ev.Committed)
	m.bring(now, c, ev.Committed.Tasks)
	m.end(ev.Committed.Ended)
}

func (m *Machine) committed(now time.Time, c *call, done backend.Committed) {
	s := c.shard
	if done.More {
		s.more, s.wake, s.backlog = true, true, true
	}
	s.empty = false
	m.merge(s, done)
	m.bring(now, c, done.Tasks)
	m.end(done.Ended)
}

// bring adopts what a call's reply brought.
func (m *Machine) bring(now time.Time, c *call, tasks []backend.Task) {
	if len(tasks) > 0 {
		c.shard.linger.begin(now, now.Sub(c.sent), c.shard.running)
	}
	m.adopt(now, tasks)
}

func (m *Machine) merge(s *shard, done backend.Committed) {
	if !done.NextDue.IsZero() && (s.due.IsZero() || done.NextDue.Before(s.due)) {
		s.due = done.NextDue
	}
}

func (m *Machine) completed(now time.Time, c *call, ev Reply) {
	s := c.shard
	m.writes, m.writing = m.writes-1, m.writing-len(c.tasks)
	s.committing--
	if ev.Err != nil {
		m.failed(now, c, &s.commitPause, ev.Err)
		s.limit = max(1, len(c.tasks)/2)
		m.reoffer(s, c.tasks)
		return
	}
	s.commitPause.reset()
	s.limit = min(m.cfg.Batch, s.limit*2)
	if c.max > 0 { // a call without capacity shows nothing
		s.yieldTasks, s.yieldOf = len(ev.Committed.Tasks), len(c.tasks)
		if len(ev.Committed.Tasks) >= c.max {
			s.yieldTasks = s.yieldOf // with more capacity it might have brought more
		}
	}
	var again []*task
	var err error
	for i, t := range c.tasks {
		switch out := ev.Committed.Outcomes[i]; out.Answer {
		case backend.Refused:
			m.refuse(t, out.Err)
		case backend.Again:
			again, err = append(again, t), out.Err
		default:
			m.remove(t) // applied, or stale: another engine has it
		}
	}
	if ev.Committed.More {
		highest := s.pressing
		for _, t := range c.tasks {
			highest = max(highest, t.priority)
		}
		m.press(s, highest)
	}
	if len(again) > 0 {
		m.failed(now, c, &s.commitPause, err)
		m.reoffer(s, again)
	}
	m.committed(now, c, ev.Committed)
}

// reoffer queues completions again in front, but one that failed alone at the end.
func (m *Machine) reoffer(s *shard, tasks []*task) {
	var again []*task
	for _, t := range tasks {
		switch {
		case t.lost:
			m.remove(t)
			continue
		case m.late:
			m.dropCompletion(t)
			continue
		}
		t.state = offered
		again = append(again, t)
	}
	if len(tasks) == 1 && len(again) == 1 {
		s.offered.push(again[0])
		return
	}
	s.offered.unpop(again)
}

func (m *Machine) end(ended []backend.Instance) {
	var over map[uuid.UUID]bool
	for _, inst := range ended {
		if m.held[inst.ID] > 0 {
			if over == nil {
				over = map[uuid.UUID]bool{}
			}
			over[inst.ID] = true
		}
	}
	if over == nil {
		return
	}
	for _, t := range m.tasks.byAge(func(t *task) bool { return over[t.task.Lease.Key.Instance] && !t.lost }) {
		m.lose(t, ErrInstanceEnded)
	}
}

func (m *Machine) handleRenewed(now time.Time, c *call, ev Reply) {
	s := c.shard
	s.renewing = false
	if c.release > 0 {
		if ev.Err != nil {
			m.report(fmt.Errorf("handing back %d tasks of shard %d, which others get only when their leases end: %w", c.release, s.index, ev.Err))
		}
		m.notifyDue = true
		return
	}
	if c.shortened > 0 {
		if ev.Err != nil {
			m.report(fmt.Errorf("%d tasks of shard %d that are due after a pause are delivered again only when their leases end: %w", c.shortened, s.index, ev.Err))
			return
		}
		m.merge(s, backend.Committed{NextDue: c.until})
		return
	}
	if ev.Err != nil {
		m.failed(now, c, &s.renewPause, ev.Err)
		s.renew = append(s.renew, c.tasks...)
		return
	}
	s.renewPause.reset()
	for i, t := range c.tasks {
		switch {
		case !t.held || t.lost:
		case ev.Held[i]:
			t.task.Expires = c.sent.Add(m.cfg.Lease)
			m.watch(t)
		default:
			m.lost(t)
		}
	}
}

// lost drops a task whose lease was lost, and reports that unless its commit will.
func (m *Machine) lost(t *task) {
	if t.state != committing {
		m.report(fmt.Errorf("%s: %w; its result is dropped", describe(t.task), ErrLeaseLost))
	}
	m.lose(t, ErrLeaseLost)
}

func (m *Machine) swept(now time.Time, c *call, ev Reply) {
	s := c.shard
	m.sweeping = false
	if ev.Err != nil {
		m.failed(now, c, &s.sweepPause, ev.Err)
		s.sweepAt = s.sweepPause.until
		return
	}
	s.sweepPause.reset()
	s.sweepAt = now.Add(m.cfg.Sweep)
	if ev.Swept.More {
		s.sweepAt = now
	}
}

func (m *Machine) notified(now time.Time, ev Reply) {
	m.notifying = false
	m.notifyAt = now.Add(m.cfg.NotifyEvery)
	if ev.Err != nil {
		m.notifyAt = now.Add(max(m.cfg.NotifyEvery, m.cfg.RetryMin))
		m.report(fmt.Errorf("waking other engines, which will find the work when they poll: %w", ev.Err))
	}
}
