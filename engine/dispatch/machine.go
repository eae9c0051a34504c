package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// Errors in commands.
var (
	ErrLeaseLost     = errors.New("lease lost")                       // another engine may hold the task now
	ErrInstanceEnded = errors.New("instance ended")                   // the task's result is useless
	ErrWorkerDied    = errors.New("every delivery's worker died")     // the attempt fails
	ErrOverdue       = errors.New("the timeout passed")               // the attempt has failed; the task's result is useless
	ErrStopped       = errors.New("engine is stopping")               // the submission came too late; submit it elsewhere
	ErrFull          = errors.New("too many submissions are waiting") // wait for answers before submitting more
)

// Failure types of the machine.
const (
	RefusedType = "ResultRefused" // the store refused the task's result
	TimeoutType = "Timeout"       // the task did not return after its node's timeout
	DiedType    = "WorkerDied"    // the attempt was delivered MaxDeliveries times and never ended
)

// handBack is the lease that returns a task: due at once, without counting the delivery.
const handBack time.Duration = 0

// redeliveryPauseMin is the least pause before a redelivery: a store must tell its lease from a returned one.
const redeliveryPauseMin = time.Millisecond

const renewBatch = 1000

// Machine is the state machine of the package comment. It is not safe for concurrent use.
type Machine struct {
	cfg    Config
	shards []shard

	tasks     table             // held, and running ones with a lost lease
	held      map[uuid.UUID]int // tasks by instance; never zero
	abandoned map[TaskID]*gate  // they do not return after their cancellation, and keep their permits
	ready     waitingTasks      // without those that wait for a limit, too
	limits    limits
	unknown   map[string]*unknownAction
	leases    byTime[*cohort] // by next check
	newest    *cohort         // the cohort that a task joined last
	cohorts   uint64
	deadlines byTime[*task] // of running tasks
	subs      map[Ticket]*submission
	calls     map[CallID]*call

	running  int // at most Slots, with the abandoned tasks that keep a slot
	reserved int // node runs that grants in flight may still bring
	writes   int // commits and submissions in flight, ≤ Committers
	writing  int
	sent     int
	claims   int // in flight, ≤ Committers

	nextCall CallID

	// Rounds start here, so that every shard has its turn.
	nextLane, nextClaim, nextSweep int

	pressing int // the highest of the shards

	sweeping, notifying, notifyDue bool
	notifyAt                       time.Time // no notification before

	now                            time.Time // of the step
	begun, draining, late, stopped bool
	until                          time.Time // of the drain

	out    []Command
	starts []Start
}

type shard struct {
	index      int
	held       int
	offered    fifo[*task] // waiting for a commit
	subs       fifo[*submission]
	renew      []*task // leases to renew; some may have ended since
	release    []backend.Lease
	shortening []shorteningLease // of dead workers
	returning  []returningLease  // of tasks that are too many for their limits

	committing                     int
	running                        int
	linger                         linger // of the next commit
	submitting, claiming, renewing bool

	limit, subLimit int // of the next batch; halved by errors

	commits, submits lane

	more          bool      // work may be ready
	wake          bool      // work may be ready, and others were not notified yet
	claimAnswered bool      // more is certain: a claim was answered
	empty         bool      // the last claim, of any priority, brought nothing, and nothing was written since
	backlog       bool      // the last reply reported more
	turns         int       // claims of a backlog, if Fair
	pressing      int       // the priority of urgent work that may be ready in the store
	due           time.Time // when a task becomes due; zero: unknown
	poll          time.Time // when to claim in any case

	sweepAt time.Time

	// Tasks that the last commit brought, for how many completions. They estimate the successors of offered completions, whose
	// capacity claims leave free.
	yieldTasks, yieldOf int

	commitPause, submitPause, claimPause, renewPause, sweepPause pause
}

type shorteningLease struct {
	lease backend.Lease
	pause time.Duration
}

type returningLease struct {
	lease backend.Lease
	due   time.Time
}

// lane is the sequence of a shard's commits, or of its submissions.
type lane struct {
	passed   int // writes that went first while it lingered
	passedAt int
	until    time.Time // end of its linger; zero: none
}

type state uint8

const (
	waiting    state = iota // for a slot
	running                 // Start was sent, Done not received
	offered                 // its completion waits for a commit
	committing              // its completion is in flight
)

type task struct {
	id      TaskID
	shard   *shard
	task    backend.Task // renewals change Expires
	state   state
	held    bool // in the machine's table
	lost    bool // no longer held: its result is dropped
	refused bool
	gate    *gate     // of a waiting or running task
	began   time.Time // of a running task

	priority int
	order    time.Time       // of waiting tasks: see backend.Task.Since; if that is not known, its arrival, less its head start
	result   json.RawMessage // the offered one
	failure  *plan.Failure

	cohort         *cohort // nil: not watched
	before, behind *task

	deadline time.Time // when the running task is abandoned; zero: never
	place    int
}

type submission struct {
	ticket    Ticket
	sub       backend.Submission
	forgotten bool
	err       error // of the last try
}

type call struct {
	op    Op
	shard *shard
	max   int
	sent  time.Time

	priority int           // of the grant
	order    backend.Order // of the grant

	tasks   []*task
	subs    []*submission
	release int

	shortened int       // leases that end after a pause
	until     time.Time // when these end

	needs int // of limits
}

// New makes a machine. It fails if the configuration is out of its bounds.
func New(cfg Config) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("dispatch: %w", err)
	}
	m := &Machine{
		cfg:       cfg,
		shards:    make([]shard, cfg.Shards),
		tasks:     table{pages: map[TaskID]*page{}},
		held:      map[uuid.UUID]int{},
		abandoned: map[TaskID]*gate{},
		unknown:   map[string]*unknownAction{},
		subs:      map[Ticket]*submission{},
		calls:     map[CallID]*call{},
	}
	for i := range m.shards {
		m.shards[i] = shard{
			index: i, limit: cfg.Batch, subLimit: cfg.Batch,
			more:       true, // unknown: claim at once
			yieldTasks: 1, yieldOf: 1,
		}
	}
	return m, nil
}

// Step processes events, in order, and returns the commands for now, in order. Without events it is a timer's tick. Time must not
// go backwards. The slice is valid until the next Step.
func (m *Machine) Step(now time.Time, events ...Event) []Command {
	clear(m.out)
	clear(m.starts)
	m.out, m.starts = m.out[:0], m.starts[:0]
	if m.stopped {
		return nil
	}
	m.now = now
	if !m.begun {
		m.begin(now)
	}
	for _, ev := range events {
		m.handle(now, ev)
	}
	m.decide(now)
	return m.out
}

// SubmitCapacity returns how many more submissions the machine accepts now.
func (m *Machine) SubmitCapacity() int {
	if m.draining {
		return 0
	}
	return m.cfg.Queue - len(m.subs)
}

// Idle reports that of every shard, the last answer to a claim brought nothing, and that nothing was written since or is to be written.
// Tasks may run, or wait for permits or for their time.
func (m *Machine) Idle() bool {
	if m.writes > 0 || len(m.subs) > 0 {
		return false
	}
	for i := range m.shards {
		if s := &m.shards[i]; !s.empty || s.offered.len() > 0 {
			return false
		}
	}
	return true
}

// begin spreads the shards' timers over their period.
func (m *Machine) begin(now time.Time) {
	m.begun = true
	for i := range m.shards {
		s := &m.shards[i]
		part := time.Duration(i+1) * 1000 / time.Duration(m.cfg.Shards)
		s.poll = now.Add(m.cfg.Poll / 1000 * part)
		s.sweepAt = now.Add(m.cfg.Sweep / 1000 * part)
	}
}

func (m *Machine) handle(now time.Time, ev Event) {
	switch ev := ev.(type) {
	case Submit:
		m.handleSubmission(ev)
	case Forget:
		m.forget(ev.Ticket)
	case Done:
		m.handleDone(&ev)
	case *Done:
		m.handleDone(ev)
	case Reply:
		m.handleReply(now, ev)
	case Notified:
		for i := range m.shards {
			m.shards[i].more = true
		}
	case Ended:
		m.end(ev.Instances)
	case Drain:
		m.drain(ev.Until)
	}
}

func (m *Machine) handleSubmission(ev Submit) {
	switch {
	case m.draining:
		m.do(Answer{Ticket: ev.Ticket, Err: ErrStopped})
		return
	case m.SubmitCapacity() <= 0:
		m.do(Answer{Ticket: ev.Ticket, Err: ErrFull})
		return
	}
	sub := &submission{ticket: ev.Ticket, sub: ev.Submission}
	m.subs[ev.Ticket] = sub
	m.shardOf(backend.Key{Instance: ev.Submission.ID}).subs.push(sub)
}

func (m *Machine) forget(ticket Ticket) {
	sub, ok := m.subs[ticket]
	if !ok {
		return
	}
	sub.forgotten = true
	s := m.shardOf(backend.Key{Instance: sub.sub.ID})
	s.subs.remove(func(other *submission) bool {
		if other == sub {
			delete(m.subs, ticket)
		}
		return other == sub
	})
}

func (m *Machine) handleDone(ev *Done) {
	if g, ok := m.abandoned[ev.Task]; ok {
		delete(m.abandoned, ev.Task)
		if g != nil {
			g.running--
		}
		return
	}
	t := m.tasks.get(ev.Task)
	if t == nil || t.state != running {
		m.report(fmt.Errorf("dispatch: task %d ended, which is not running", ev.Task))
		return
	}
	m.running--
	t.shard.running--
	t.leaveGate(m.now)
	switch {
	case t.lost, ev.Returned:
		m.remove(t)
	case ev.Died:
		m.handleWorkerDeath(t, ev)
	default:
		m.offer(t, ev.Result, ev.Failure)
	}
}

func (m *Machine) handleWorkerDeath(t *task, ev *Done) {
	if t.task.Deliveries >= m.cfg.MaxDeliveries {
		m.fail(t, t.task.Deliveries, ev.Failure)
		return
	}
	rest := max(ev.RetryPause, redeliveryPauseMin)
	m.report(fmt.Errorf("%s: its worker died at delivery %d of %d, the next is due in %v: %w",
		describe(t.task), t.task.Deliveries, m.cfg.MaxDeliveries, rest, errorOf(ev.Failure)))
	t.shard.shortening = append(t.shard.shortening, shorteningLease{t.task.Lease, rest})
	m.remove(t)
}

func errorOf(f *plan.Failure) error {
	if f == nil {
		return errors.New("nothing says why")
	}
	return errors.New(f.Message)
}

// fail ends an attempt without deliveries left. cause is the last worker's end, if known.
func (m *Machine) fail(t *task, deliveries int, cause *plan.Failure) {
	text := fmt.Sprintf("action %s: attempt %d was delivered %d times, and each time its worker or engine died before it ended", t.task.Action, t.task.Attempt, deliveries)
	if cause != nil && cause.Message != "" {
		text += ", the last time with: " + cause.Message
	}
	text += "; find out what it does to its process, such as taking all memory, or allow more than MaxDeliveries where engines are stopped often"
	m.report(fmt.Errorf("%s: %w: after %d deliveries the attempt fails as %s", describe(t.task), ErrWorkerDied, deliveries, DiedType))
	m.offer(t, nil, &plan.Failure{Type: DiedType, Message: text, Action: t.task.Action, Pos: position(t.task)})
	m.do(Failed{Completion: t.completion()})
}

// offer passes the end of an attempt to the next commit.
func (m *Machine) offer(t *task, result json.RawMessage, failure *plan.Failure) {
	t.state, t.result, t.failure, t.gate = offered, result, failure, nil
	t.task.Args = nil // not needed any more, and may be large
	t.shard.offered.push(t)
	m.limit(t, time.Time{})
}

func (t *task) completion() backend.Completion {
	return backend.Completion{
		Lease: t.task.Lease, Program: t.task.Program, Attempt: t.task.Attempt, Result: t.result, Failure: t.failure,
	}
}

// Zero: unlimited.
func timeout(t backend.Task) time.Duration {
	if t.Program == nil {
		return 0
	}
	return t.Program.Graph().Nodes[t.Lease.Key.Run.Node].Timeout
}

func position(t backend.Task) ir.Pos {
	if t.Program == nil {
		return ir.Pos{}
	}
	return t.Program.Graph().Nodes[t.Lease.Key.Run.Node].Pos
}

// Nothing can end the task, so it runs on.
func (m *Machine) abandonTask(t *task) {
	m.running--
	t.shard.running--
	m.abandoned[t.id], t.gate = t.gate, nil
	if t.lost {
		m.report(fmt.Errorf("%s: it does not return %v after it was cancelled, and continues unheeded", describe(t.task), m.cfg.Grace))
		m.remove(t)
		return
	}
	text := fmt.Sprintf("action %s did not return within %v of its timeout of %v", t.task.Action, m.cfg.Grace, timeout(t.task))
	m.report(fmt.Errorf("%s: %w, and it does not return: it is cancelled, and continues unheeded", describe(t.task), ErrOverdue))
	m.offer(t, nil, &plan.Failure{Type: TimeoutType, Message: text, Action: t.task.Action})
	instead := t.completion()
	m.do(Cancel{ID: t.id, Cause: ErrOverdue, Instead: &instead})
}

// slots counts taken ones. Abandoned tasks take none until they outnumber the slots.
func (m *Machine) slots() int { return m.running + max(0, len(m.abandoned)-m.cfg.Slots) }

func (m *Machine) drain(until time.Time) {
	if m.draining {
		if until.Before(m.until) {
			m.until = until
		}
		return
	}
	m.draining, m.until = true, until
	for m.ready.len() > 0 {
		m.returnLease(m.ready.pop())
	}
	for _, g := range m.limits.gates {
		for ; g.queue.len() > 0; m.limits.waiting-- {
			m.returnLease(g.queue.pop())
		}
	}
}

func (m *Machine) returnLease(t *task) {
	t.shard.release = append(t.shard.release, t.task.Lease)
	if t.state == running {
		m.abandon(t, ErrStopped)
		return
	}
	m.remove(t)
}

func (m *Machine) adopt(now time.Time, tasks []backend.Task) {
	for i := range tasks {
		s := m.shardOf(tasks[i].Lease.Key)
		switch {
		case m.draining:
			s.release = append(s.release, tasks[i].Lease)
			continue
		case !now.Before(tasks[i].Expires):
			m.report(fmt.Errorf("%s: %w before it arrived: the store answers slower than the lease of %v lasts", describe(tasks[i]), ErrLeaseLost, m.cfg.Lease))
			continue
		}
		g := m.limits.ofAction[tasks[i].Action]
		mayRun := tasks[i].Action != "" && tasks[i].Deliveries <= m.cfg.MaxDeliveries
		if mayRun && m.cfg.Knows != nil && !m.cfg.Knows(tasks[i].Action) {
			m.leave(now, s, &tasks[i])
			continue
		}
		if mayRun && g != nil && m.overflows(g) {
			s.returning = append(s.returning, returningLease{tasks[i].Lease, g.returnAt(now, g.Limit, g.queue.len())})
			continue
		}
		t := m.tasks.add()
		t.shard, t.task, t.place, t.gate = s, tasks[i], -1, g
		t.priority, t.order = backend.PriorityOf(tasks[i].Program), tasks[i].Since
		if t.order.IsZero() {
			t.order = now.Add(-backend.HeadStart(tasks[i].Program))
		}
		s.held++
		m.held[t.task.Lease.Key.Instance]++
		m.watch(t)
		switch {
		case tasks[i].Action == "": // a due sleep
			m.offer(t, json.RawMessage("null"), nil)
		case tasks[i].Deliveries > m.cfg.MaxDeliveries:
			m.fail(t, tasks[i].Deliveries-1, nil)
		default:
			m.enqueue(t)
		}
	}
}

func (m *Machine) renewAt(t *task) time.Time { return t.task.Expires.Add(-m.cfg.Lease / 3 * 2) }

func (m *Machine) lose(t *task, cause error) {
	switch t.state {
	case running:
		m.abandon(t, cause)
	case waiting:
		m.remove(t)
		m.loseWaiting(t)
	case offered:
		t.shard.offered.remove(func(other *task) bool { return other == t })
		m.remove(t)
	case committing: // the commit decides; but it is not repeated
		t.lost = true
	}
}

// abandon cancels a running task, which keeps its slot until it ends, or for Grace.
func (m *Machine) abandon(t *task, cause error) {
	if t.lost {
		return
	}
	t.lost = true
	m.do(Cancel{ID: t.id, Cause: cause})
	m.unwatch(t)
	m.limit(t, time.Time{})
	if m.cfg.Grace > 0 {
		m.limit(t, m.now.Add(m.cfg.Grace))
	}
}

func (m *Machine) remove(t *task) {
	m.unwatch(t)
	m.limit(t, time.Time{})
	if !t.held {
		return
	}
	m.tasks.remove(t)
	t.shard.held--
	id := t.task.Lease.Key.Instance
	if m.held[id]--; m.held[id] == 0 {
		delete(m.held, id)
	}
}

// refuse turns a completion that cannot be applied into a failure that can.
func (m *Machine) refuse(t *task, why error) {
	if t.lost {
		m.remove(t)
		return
	}
	if t.refused {
		m.remove(t)
		m.report(fmt.Errorf("%s: the store refused its completion, and the failure that was to say so; it is left to its lease: %w", describe(t.task), why))
		return
	}
	t.refused = true
	t.state, t.result = offered, nil
	t.failure = &plan.Failure{Type: RefusedType, Message: fmt.Sprintf("the store refused the completion: %v", why), Action: t.task.Action}
	t.shard.offered.push(t)
}

func (m *Machine) shardOf(key backend.Key) *shard {
	return &m.shards[backend.ShardOf(key.Instance, m.cfg.Shards)]
}

func (m *Machine) do(c Command) { m.out = append(m.out, c) }

func (m *Machine) report(err error) { m.do(Report{Err: err}) }

func describe(t backend.Task) string {
	name := "action " + t.Action
	if t.Action == "" {
		name = "a sleep"
	}
	if path := t.Lease.Key.Run.Path; path != "" {
		name += "[" + string(path) + "]"
	}
	return fmt.Sprintf("%s of instance %s", name, t.Lease.Key.Instance)
}
