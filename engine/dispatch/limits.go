package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/limit"
)

// ErrPermitLost is the cause of a task's cancellation whose limit's permits could not be renewed.
var ErrPermitLost = errors.New("permit lost")

// gate holds tasks that wait for a limit, and what this engine may start.
type gate struct {
	limit.Limit
	queue   waitingTasks
	running int // attempts, with those that do not return

	permits int       // as many may run; during a turn, no more than ran at its begin
	until   time.Time // end of the permits
	starts  []starts  // granted, earliest first

	pausing
}

// starts are granted starts, on the store's clock.
type starts struct {
	first time.Time
	left  int
}

// limits are the gates of a machine.
type limits struct {
	known    bool    // a turn was answered: until then, nothing starts
	gates    []*gate // by name, so that commands are in order
	byName   map[string]*gate
	ofAction map[string]*gate
	waiting  int // tasks in all gates

	turning bool      // a turn is in flight
	turned  time.Time // begin of the last turn
	next    time.Time // of the next turn
	shares  bool      // the store may have shares of this engine
	pause   pause

	clock storeClock
}

// Parts of the usual time between turns.
const (
	soonPart = 10 // of a new need, and after another engine's save
	idleFold = 10 // while the engine needs nothing
)

func (m *Machine) limited() bool { return m.cfg.LimitTurn > 0 }

// takeLimitTurn tells the store what the engine needs of each limit, and learns what it may start.
func (m *Machine) takeLimitTurn(now time.Time) {
	l := &m.limits
	if !m.limited() || l.turning || m.late || now.Before(m.nextLimitTurn()) {
		return
	}
	needs := map[string]limit.Need{}
	for _, g := range l.gates {
		g.permits = min(g.permits, g.running)
		g.dropLateStarts(now, &l.clock)
		if need := g.need(); need != (limit.Need{}) {
			needs[g.Name] = need
			l.shares = true
		}
	}
	l.turning, l.turned = true, now
	m.send(now, &call{op: OpLimits, shard: &m.shards[0], needs: len(needs)}, Call{Needs: needs})
}

// nextLimitTurn is when the next turn is due; the last one gives up all shares.
func (m *Machine) nextLimitTurn() time.Time {
	l := &m.limits
	if m.draining && l.shares && m.busy() == 0 {
		return l.pause.until
	}
	return latest(l.next, l.pause.until)
}

func (g *gate) need() limit.Need {
	n := limit.Need{Running: g.running, Waiting: g.queue.len()}
	for _, s := range g.starts {
		n.Granted += s.left
	}
	n.Granted = min(n.Granted, n.Waiting)
	return n
}

func (m *Machine) limitsTurned(now time.Time, c *call, ev Reply) {
	l := &m.limits
	l.turning = false
	if ev.Err != nil {
		m.failed(now, c, &l.pause, ev.Err)
		return
	}
	l.pause.reset()
	l.clock.observe(ev.Limits)
	l.known = true
	m.replaceGates(ev.Limits.Limits)
	taken, needed := true, false
	for _, granted := range ev.Limits.Limits {
		g := l.byName[granted.Name]
		needed = needed || g.need() != limit.Need{}
		if !granted.Taken {
			taken = false
			continue
		}
		g.engines = granted.Grant.Engines
		g.permits, g.until = granted.Grant.Permits, c.sent.Add(m.cfg.Lease)
		if granted.Grant.Starts > 0 {
			g.starts = append(g.starts, starts{granted.Grant.First, granted.Grant.Starts})
		}
	}
	pause := m.cfg.LimitTurn
	switch {
	case !taken:
		pause /= soonPart
	case !needed:
		l.shares = c.needs > 0
		if pause *= idleFold; l.shares {
			pause = m.cfg.LimitTurn
		}
	}
	l.next = now.Add(pause)
}

// replaceGates makes the gates those of the limits.
func (m *Machine) replaceGates(found []backend.LimitGrant) {
	l := &m.limits
	same := len(found) == len(l.byName)
	for _, f := range found {
		g := l.byName[f.Name]
		if g == nil {
			same = false
			continue
		}
		same = same && slices.Equal(g.Actions, f.Actions)
		g.Limit = f.Limit
	}
	if same {
		return
	}
	old := l.byName
	l.gates, l.byName, l.ofAction = nil, map[string]*gate{}, map[string]*gate{}
	for _, f := range found {
		g := old[f.Name]
		if g == nil {
			g = &gate{}
		}
		g.Limit = f.Limit
		l.gates, l.byName[f.Name] = append(l.gates, g), g
		for _, action := range f.Actions {
			if l.ofAction[action] == nil {
				l.ofAction[action] = g
			}
		}
	}
	m.requeue()
}

// requeue puts all tasks to the gates of their actions, after these changed.
func (m *Machine) requeue() {
	m.ready, m.limits.waiting = waitingTasks{}, 0
	for _, g := range m.limits.gates {
		g.queue, g.running = waitingTasks{}, 0
	}
	for _, g := range m.abandoned {
		if g != nil {
			g.running++
		}
	}
	for _, t := range m.tasks.byAge(func(t *task) bool { return t.state == waiting || t.state == running }) {
		t.gate = m.limits.ofAction[t.task.Action]
		switch {
		case t.state == waiting:
			m.enqueue(t)
		case t.gate != nil:
			t.gate.running++
		}
	}
}

// enqueue lets a task wait for a slot, and for its limit.
func (m *Machine) enqueue(t *task) {
	g := t.gate
	if g == nil {
		m.ready.push(t)
		return
	}
	g.queue.push(t)
	m.limits.waiting++
	if l := &m.limits; !l.turning && !g.mayStart(m.now, &l.clock) {
		if soon := l.turned.Add(m.cfg.LimitTurn / soonPart); soon.Before(l.next) {
			l.next = soon
		}
	}
}

// loseWaiting counts a waiting task out that was removed.
func (m *Machine) loseWaiting(t *task) {
	if t.gate == nil {
		m.ready.lose(t)
		return
	}
	t.gate.queue.lose(t)
	m.limits.waiting--
}

// overflows reports that the engine has as many tasks of the limit as it should hold.
func (m *Machine) overflows(g *gate) bool {
	most := max(1, (m.cfg.Slots+m.cfg.Prefetch)/2)
	return g.queue.len() >= max(1, most/len(m.limits.gates)) || m.limits.waiting >= most
}

// nextStart returns the first task that may start now, taken from its queue; nil: none may.
func (m *Machine) nextStart() *task {
	l := &m.limits
	if m.limited() && !l.known {
		return nil
	}
	var oldest *gate
	for _, g := range l.gates {
		if g.queue.len() > 0 && g.mayStart(m.now, &l.clock) && (oldest == nil || g.queue.first().isBefore(oldest.queue.first())) {
			oldest = g
		}
	}
	if m.ready.len() > 0 && (oldest == nil || m.ready.first().isBefore(oldest.queue.first())) {
		return m.ready.pop()
	}
	if oldest == nil {
		return nil
	}
	l.waiting--
	t := oldest.queue.pop()
	oldest.use()
	return t
}

// mayStart reports whether the limit lets one more attempt start now.
func (g *gate) mayStart(now time.Time, clock *storeClock) bool {
	if g.Concurrency > 0 && (g.running >= g.permits || !now.Before(g.until)) {
		return false
	}
	if g.Rate == (limit.Rate{}) {
		return true
	}
	g.dropLateStarts(now, clock)
	return len(g.starts) > 0 && !now.Before(clock.after(g.starts[0].first))
}

// dropLateStarts drops starts that were not used within their slack.
func (g *gate) dropLateStarts(now time.Time, clock *storeClock) {
	for len(g.starts) > 0 {
		s := &g.starts[0]
		if !now.After(clock.before(s.first, g.Rate.Slack())) {
			return
		}
		g.skipStart()
	}
}

func (g *gate) skipStart() {
	s := &g.starts[0]
	s.first = s.first.Add(g.Rate.Every())
	if s.left--; s.left == 0 {
		g.starts = g.starts[1:]
	}
}

func (g *gate) use() {
	g.running++
	if len(g.starts) > 0 {
		g.skipStart()
	}
}

// leaveGate frees the permit of an attempt that ended.
func (t *task) leaveGate(now time.Time) {
	if t.gate != nil {
		t.gate.lasted(now.Sub(t.began))
		t.gate.running--
		t.gate = nil
	}
}

// checkPermits cancels running tasks whose permits have ended, since others may have them.
func (m *Machine) checkPermits(now time.Time) {
	for _, g := range m.limits.gates {
		if g.Concurrency == 0 || g.running == 0 || now.Before(g.until) {
			continue
		}
		lost := m.tasks.byAge(func(t *task) bool { return t.state == running && t.gate == g && !t.lost })
		for _, t := range lost {
			t.shard.release = append(t.shard.release, t.task.Lease)
			m.abandon(t, ErrPermitLost)
		}
		if len(lost) > 0 {
			m.report(fmt.Errorf("limit %s: its permits could not be renewed for %v, so %d running tasks are cancelled, and delivered again: %w", g.Name, m.cfg.Lease, len(lost), ErrPermitLost))
		}
	}
}

// nextOfLimits passes the times at which limits need a step to by.
func (m *Machine) nextOfLimits(by func(time.Time)) {
	l := &m.limits
	if !m.limited() {
		return
	}
	if !l.turning && !m.late {
		by(latest(m.nextLimitTurn(), m.now.Add(1)))
	}
	free := m.slots() < m.cfg.Slots
	for _, g := range l.gates {
		if g.Concurrency > 0 && g.running > 0 && g.until.After(m.now) {
			by(g.until)
		}
		if free && g.queue.len() > 0 && len(g.starts) > 0 && (g.Concurrency == 0 || g.running < g.permits) {
			if at := l.clock.after(g.starts[0].first); at.After(m.now) {
				by(at)
			}
		}
	}
}

// storeClock relates the store's clock to the engine's, by the turn of the last seconds that enclosed it most narrowly. Of two
// clocks, one may gain a thousandth of this on the other at most.
type storeClock struct {
	asked, answered, store time.Time
}

const storeClockKept = 10 * time.Second

func (c *storeClock) observe(turn backend.LimitTurn) {
	width := turn.Answered.Sub(turn.Asked)
	if c.store.IsZero() || width <= c.answered.Sub(c.asked) || turn.Answered.Sub(c.answered) > storeClockKept || c.contradicts(turn) {
		*c = storeClock{turn.Asked, turn.Answered, turn.Now}
	}
}

// contradicts reports that one of the clocks was set.
func (c *storeClock) contradicts(turn backend.LimitTurn) bool {
	drift := turn.Answered.Sub(c.asked) / 1000
	return c.after(turn.Now).Before(turn.Asked.Add(-drift)) || c.asked.Add(turn.Now.Sub(c.store)).After(turn.Answered.Add(drift))
}

// after returns when a time of the store has certainly come.
func (c *storeClock) after(at time.Time) time.Time { return c.answered.Add(at.Sub(c.store)) }

// before returns until when a time of the store has certainly not been over for longer than slack. Where that is not known well
// enough, it leaves a quarter of the slack, since otherwise nothing would start.
func (c *storeClock) before(at time.Time, slack time.Duration) time.Time {
	return latest(c.asked.Add(at.Sub(c.store)+slack), c.after(at).Add(slack/4))
}
