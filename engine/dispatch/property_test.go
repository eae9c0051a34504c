package dispatch

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/internal/depth"
)

// world is a machine, a minimal store, and everything on the way between them. Each applied completion makes the instance's
// next run ready, for steps runs.
type world struct {
	t     *rapid.T
	m     *Machine
	model *Machine // receives the same events, must give the same commands
	cfg   Config
	now   time.Time

	rows      []*row
	instances map[uuid.UUID]bool
	calls     []*flight
	running   []Start
	cancelled map[TaskID]bool
	started   map[backend.Lease]bool
	offered   map[backend.Lease]bool
	answered  map[Ticket]int
	forgotten map[Ticket]bool
	tickets   Ticket
	stopped   bool
}

type flight struct {
	call  Call
	reply *Reply // nil: the store has not seen the call
}

type row struct {
	key     backend.Key
	token   int64
	expires time.Time
	leased  bool
	done    bool

	deliveries int
}

const (
	steps    = 3 // node runs of each instance, in sequence
	sleeping = 1 // the node that is a sleep
)

func newWorld(t *rapid.T) *world {
	cfg := Config{
		Owner:      "me",
		Shards:     rapid.IntRange(1, 3).Draw(t, "shards"),
		Slots:      rapid.IntRange(1, 4).Draw(t, "slots"),
		Prefetch:   rapid.IntRange(0, 3).Draw(t, "prefetch"),
		Batch:      rapid.IntRange(1, 4).Draw(t, "batch"),
		BatchBytes: 100,
		Committers: rapid.IntRange(1, 3).Draw(t, "committers"),
		WriteCost:  rapid.IntRange(0, 2).Draw(t, "apart"),
		Overlap:    rapid.IntRange(0, 4).Draw(t, "overlap"),
		Pending:    rapid.IntRange(1, 6).Draw(t, "pending"),
		Queue:      rapid.IntRange(1, 5).Draw(t, "queue"),

		MaxDeliveries: rapid.IntRange(1, 3).Draw(t, "deliveries"),

		Lease: 300 * time.Millisecond, Poll: 50 * time.Millisecond, Sweep: 200 * time.Millisecond,
		Notify: rapid.Bool().Draw(t, "notify"), NotifyEvery: 5 * time.Millisecond,
		RetryMin: 5 * time.Millisecond, RetryMax: 40 * time.Millisecond,
		Grace: time.Duration(rapid.IntRange(0, 1).Draw(t, "grace")) * 20 * time.Millisecond,
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	model, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, m: m, model: model, cfg: cfg, now: time.Unix(1000, 0),
		instances: map[uuid.UUID]bool{}, cancelled: map[TaskID]bool{},
		started: map[backend.Lease]bool{}, offered: map[backend.Lease]bool{},
		answered: map[Ticket]int{}, forgotten: map[Ticket]bool{},
	}
	w.step()
	return w
}

func (w *world) step(events ...Event) {
	w.t.Helper()
	commands := slices.Clone(w.m.Step(w.now, events...))
	if again := w.model.Step(w.now, events...); len(again) != len(commands) {
		w.t.Fatalf("the same events gave %d commands, then %d", len(commands), len(again))
	} else {
		for i := range again {
			if _, report := again[i].(Report); !report && !reflect.DeepEqual(again[i], commands[i]) {
				w.t.Fatalf("the same events gave %+v, then %+v", commands[i], again[i])
			}
		}
	}
	for _, c := range commands {
		w.command(c)
	}
	if err := w.m.Check(); err != nil {
		w.t.Fatal(err)
	}
	w.believed()
	if next := w.m.Next(); !next.IsZero() && !next.After(w.now) {
		w.t.Fatalf("next step at %v, now %v", next, w.now)
	}
	most := w.cfg.Slots
	if w.cfg.Grace > 0 {
		most *= 2
	}
	if len(w.running) > most {
		w.t.Fatalf("%d tasks run in %d slots", len(w.running), w.cfg.Slots)
	}
}

func (w *world) command(c Command) {
	w.t.Helper()
	if w.stopped {
		w.t.Fatalf("%+v came after the end", c)
	}
	switch c := c.(type) {
	case Call:
		w.call(c)
	case *Start:
		if c.Task.Deliveries > w.cfg.MaxDeliveries {
			w.t.Fatalf("%+v started at its delivery %d of %d", c.Task.Lease, c.Task.Deliveries, w.cfg.MaxDeliveries)
		}
		if w.started[c.Task.Lease] {
			w.t.Fatalf("%+v started twice", c.Task.Lease)
		}
		if !w.now.Before(c.Task.Expires) {
			w.t.Fatalf("%+v started after its lease", c.Task.Lease)
		}
		w.started[c.Task.Lease] = true
		w.running = append(w.running, *c)
	case Cancel:
		w.cancelled[c.ID] = true
	case Failed:
		l := c.Completion.Lease
		if r := w.find(l.Key); c.Completion.Failure.Type != DiedType || r.token == l.Token && r.deliveries < w.cfg.MaxDeliveries {
			w.t.Fatalf("%+v failed with %+v at its delivery %d of %d", l, c.Completion.Failure, r.deliveries, w.cfg.MaxDeliveries)
		}
		w.offered[l] = true
	case Answer:
		if w.answered[c.Ticket]++; w.answered[c.Ticket] > 1 || w.forgotten[c.Ticket] {
			w.t.Fatalf("submission %d was answered %d times, forgotten %v", c.Ticket, w.answered[c.Ticket], w.forgotten[c.Ticket])
		}
	case Stopped:
		w.stopped = true
		if len(w.calls) > 0 || len(w.running) > 0 {
			w.t.Fatalf("stopped with %d calls and %d tasks under way", len(w.calls), len(w.running))
		}
	}
}

func (w *world) call(c Call) {
	w.t.Helper()
	for _, done := range c.Completions {
		if !w.offered[done.Lease] {
			w.t.Fatalf("%+v is committed and has not ended", done.Lease)
		}
	}
	if len(c.Completions) > w.cfg.Batch || len(c.Submissions) > w.cfg.Batch {
		w.t.Fatalf("%s of %d, the batch is %d", c.Op, len(c.Completions)+len(c.Submissions), w.cfg.Batch)
	}
	w.calls = append(w.calls, &flight{call: c})
}

// A lease that the machine believes to last longer than in the store is also another engine's (I11). An offered completion may
// be late: its token decides.
func (w *world) believed() {
	w.t.Helper()
	for _, t := range w.m.tasks.byAge(func(t *task) bool { return !t.lost && t.state < offered }) {
		r := w.find(t.task.Lease.Key)
		until := r.expires
		if r.token != t.task.Lease.Token {
			until = w.now
		}
		if !r.done && t.task.Expires.After(until) {
			w.t.Fatalf("I11: %+v seems to be held until %v, and is until %v", t.task.Lease, t.task.Expires, until)
		}
	}
}

func (w *world) lease(shard, most int) (tasks []backend.Task, more bool) {
	for _, r := range w.rows {
		if r.done || r.leased && r.expires.After(w.now) || backend.ShardOf(r.key.Instance, w.cfg.Shards) != shard {
			continue
		}
		if len(tasks) == most {
			return tasks, true
		}
		r.token++
		r.deliveries++
		r.leased, r.expires = true, w.now.Add(w.cfg.Lease)
		task := backend.Task{Lease: backend.Lease{Key: r.key, Token: r.token}, Action: "work", Expires: r.expires, Attempt: 1, Deliveries: r.deliveries}
		if r.key.Run.Node == sleeping {
			task.Action = ""
			w.offered[task.Lease] = true
		}
		tasks = append(tasks, task)
	}
	return tasks, false
}

func (w *world) find(key backend.Key) *row {
	for _, r := range w.rows {
		if r.key == key {
			return r
		}
	}
	w.t.Fatalf("%+v was never ready", key)
	return nil
}

func (w *world) carryOut(c Call) Reply {
	reply := Reply{Call: c.ID}
	switch c.Op {
	case OpSubmit:
		for _, sub := range c.Submissions {
			answer := backend.Duplicate
			if !w.instances[sub.ID] {
				answer = backend.Applied
				w.instances[sub.ID] = true
				w.rows = append(w.rows, &row{key: backend.Key{Instance: sub.ID}})
			}
			reply.Committed.Outcomes = append(reply.Committed.Outcomes, backend.Outcome{Answer: answer})
		}
	case OpComplete:
		for _, done := range c.Completions {
			reply.Committed.Outcomes = append(reply.Committed.Outcomes, backend.Outcome{Answer: w.apply(done, &reply)})
		}
	case OpRenew:
		for _, l := range c.Leases {
			r := w.find(l.Key)
			held := !r.done && r.token == l.Token
			switch {
			case held && c.Grant.Lease == 0:
				r.token++
				r.deliveries--
				r.leased = false
			case held:
				r.expires = w.now.Add(c.Grant.Lease)
			}
			reply.Held = append(reply.Held, held)
		}
	}
	switch c.Op {
	case OpSubmit, OpComplete, OpClaim:
		reply.Committed.Tasks, reply.Committed.More = w.lease(c.Shard, c.Grant.Max)
	}
	return reply
}

func (w *world) apply(done backend.Completion, reply *Reply) backend.Answer {
	r := w.find(done.Lease.Key)
	if r.done || r.token != done.Lease.Token {
		return backend.Stale
	}
	r.done = true
	next := done.Lease.Key
	if next.Run.Node++; next.Run.Node < graph.NodeID(steps) {
		w.rows = append(w.rows, &row{key: next})
		return backend.Applied
	}
	reply.Committed.Ended = append(reply.Committed.Ended, backend.Instance{ID: next.Instance, Status: backend.Completed})
	return backend.Applied
}

func (w *world) end(id uuid.UUID) {
	if !w.instances[id] {
		return
	}
	for node := range graph.NodeID(steps) {
		key := backend.Key{Instance: id, Run: graph.Run{Node: node}}
		i := slices.IndexFunc(w.rows, func(r *row) bool { return r.key == key })
		if i < 0 {
			w.rows = append(w.rows, &row{key: key, done: true})
			continue
		}
		w.rows[i].done = true
	}
	w.step(Ended{Instances: []backend.Instance{{ID: id, Status: backend.Canceled}}})
}

// The answer is then on its way.
func (w *world) arrive() {
	if len(w.calls) == 0 {
		return
	}
	w.arrived(w.calls[rapid.IntRange(0, len(w.calls)-1).Draw(w.t, "call")])
}

func (w *world) arrived(f *flight) Reply {
	if f.reply == nil {
		reply := w.carryOut(f.call)
		f.reply = &reply
	}
	return *f.reply
}

// reply ends one call in flight: executed, failed, or executed with the answer lost. A call that has arrived can only fail by
// losing its answer.
func (w *world) reply(how string) {
	if len(w.calls) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.calls)-1).Draw(w.t, "call")
	f := w.calls[i]
	w.calls = slices.Delete(w.calls, i, i+1)
	var reply Reply
	if how != "failed" {
		reply = w.arrived(f)
	}
	if how != "carried out" {
		reply = Reply{Call: f.call.ID, Err: errors.New(how)}
	}
	w.step(reply)
}

func (w *world) finish(died bool) {
	if len(w.running) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.running)-1).Draw(w.t, "task")
	s := w.running[i]
	w.running = slices.Delete(w.running, i, i+1)
	if died {
		w.step(Done{Task: s.ID, Died: true, RetryPause: 7 * time.Millisecond})
		return
	}
	if !w.cancelled[s.ID] {
		w.offered[s.Task.Lease] = true
	}
	w.step(Done{Task: s.ID, Result: []byte("null")})
}

func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.step()
}

// comeToRest runs the world without faults while there is something to do, and reports whether everything ended within the
// bound.
func (w *world) comeToRest(over func() bool) bool {
	for range 2000 {
		switch {
		case over():
			return true
		case len(w.calls) > 0:
			w.reply("carried out")
		case len(w.running) > 0:
			w.finish(false)
		case w.m.Next().IsZero():
			return over()
		default:
			w.pass(w.m.Next().Sub(w.now))
		}
	}
	return false
}

func (w *world) allDone() bool {
	for _, r := range w.rows {
		if !r.done {
			return false
		}
	}
	for ticket := Ticket(1); ticket <= w.tickets; ticket++ {
		if w.answered[ticket] == 0 && !w.forgotten[ticket] {
			return false
		}
	}
	return len(w.rows) == steps*len(w.instances)
}

// Random histories have every fault of a store, and then none: everything must end, exactly once.
func TestMachineKeepsItsPromises(t *testing.T) {
	depth.Checks(t, 100, 3000)
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				w.tickets++
				id := uuid.UUID{byte(rapid.IntRange(0, 20).Draw(t, "id"))}
				w.step(Submit{Ticket: w.tickets, Submission: backend.Submission{ID: id}})
			},
			"forget": func(t *rapid.T) {
				if ticket := Ticket(rapid.IntRange(0, int(w.tickets)).Draw(t, "ticket")); ticket > 0 && w.answered[ticket] == 0 {
					w.forgotten[ticket] = true
					w.step(Forget{Ticket: ticket})
				}
			},
			"arrived":     func(*rapid.T) { w.arrive() },
			"carried out": func(*rapid.T) { w.reply("carried out") },
			"failed":      func(*rapid.T) { w.reply("failed") },
			"unknown":     func(*rapid.T) { w.reply("unknown") },
			"finish":      func(*rapid.T) { w.finish(false) },
			"died":        func(*rapid.T) { w.finish(true) },
			"woken":       func(*rapid.T) { w.step(Notified{}) },
			"ended":       func(t *rapid.T) { w.end(uuid.UUID{byte(rapid.IntRange(0, 20).Draw(t, "id"))}) },
			"pass": func(t *rapid.T) {
				w.pass(time.Duration(rapid.IntRange(0, 150).Draw(t, "ms")) * time.Millisecond)
			},
			"reclaimed": func(t *rapid.T) { // another engine takes expired runs
				w.lease(rapid.IntRange(0, w.cfg.Shards-1).Draw(t, "shard"), 1)
			},
		})
		if rapid.Bool().Draw(t, "drain") {
			w.step(Drain{Until: w.now.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "patience")) * time.Millisecond)})
			if !w.comeToRest(func() bool { return w.stopped }) {
				t.Fatalf("the drain does not end: %d held, %d calls", w.m.tasks.count, len(w.m.calls))
			}
			return
		}
		if !w.comeToRest(w.allDone) {
			t.Fatalf("not all came to its end: %d rows of %d instances, %d held", len(w.rows), len(w.instances), w.m.tasks.count)
		}
	})
}
