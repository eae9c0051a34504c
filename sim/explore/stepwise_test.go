package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/sim/db"
)

// stepwise is a client of push on the simulated database as a backend.Backend: each call is made and waited for, and nothing
// else happens meanwhile.
type stepwise struct {
	w *world
	p *process

	sent int // round trips before it was armed
	lose int // the one since then whose reply is lost; zero: none
	lost bool
}

var (
	_ backend.Backend  = (*stepwise)(nil)
	_ backend.Canceler = (*stepwise)(nil)
)

// newStepwise opens a database for some instances of a workload, in a world without engines.
func newStepwise(load *workload, shards, instances int, seed uint64) *stepwise {
	c := Case{
		Backend: "push", Seed: seed, Program: load.Program, Shards: shards, Engines: 1, Slots: 1, Batch: 1, Committers: 1,
		LeaseUS: time.Hour.Microseconds(), PollUS: 1, SweepUS: 1, LatencyUS: 100, ServiceUS: 1,
		MarksUS: (2 * time.Minute).Microseconds(), // as package push
	}
	for range instances {
		c.Arrivals = append(c.Arrivals, Arrival{AtUS: -1}) // nobody submits it but us
	}
	s := &stepwise{w: newWorld(c, load, nil)}
	s.w.queue = calendar{} // the engine does not begin
	s.p = s.w.engines[0]
	s.reopen()
	return s
}

// reopen has the client's process die, and another one begin in its place.
func (s *stepwise) reopen() {
	for _, c := range slices.Clone(s.w.server.conns) {
		c.close()
	}
	s.p.life++
	s.p.alive, s.p.free, s.p.client = true, nil, s.w.store.client(s.p)
	s.settle()
}

// crash has the server die and come back.
func (s *stepwise) crash() {
	s.w.server.crash(1)
	s.settle()
	s.reopen()
}

// advance lets time go by in which nothing happens.
func (s *stepwise) advance(d time.Duration) { s.w.now += int64(d) }

// settle lets all happen that is to.
func (s *stepwise) settle() {
	for !s.w.queue.empty() {
		s.one()
	}
}

func (s *stepwise) one() {
	s.strike()
	o := s.w.queue.pop()
	if !o.who.off(o.act) && (o.to == nil || o.life == o.to.life) {
		s.w.now = o.at
		o.who.do(o.act)
	}
}

// strike has the reply to a request be lost that is on its way, if its number has come.
func (s *stepwise) strike() {
	if s.lose == 0 || s.trips() < s.lose || s.lost {
		return
	}
	for _, c := range s.w.server.conns {
		if c.phase == asking {
			c.lost, s.lost = true, true
		}
	}
}

// arm begins to count round trips, and has the reply to one lost: the server does what it was asked, and the connection breaks.
func (s *stepwise) arm(lose int) {
	s.sent, s.lose, s.lost = s.w.result.Counts.Whats[Sends], lose, false
}

func (s *stepwise) trips() int { return s.w.result.Counts.Whats[Sends] - s.sent }

// disarm tells how many round trips there were, and whether a reply was lost.
func (s *stepwise) disarm() (trips int, lost bool) {
	s.lose = 0
	return s.trips(), s.lost
}

// wait lets things happen until a call is over, and then the rest.
func (s *stepwise) wait(done *bool) {
	for !*done {
		s.one() // an empty calendar is a bug, and a panic
	}
	s.settle()
}

func (s *stepwise) Shards() int { return s.w.Shards }
func (s *stepwise) Close()      {}

func (s *stepwise) Submit(_ context.Context, subs []backend.Submission, grant backend.Grant) (out backend.Committed, err error) {
	done := false
	s.p.client.submit(subs, grant, func(o backend.Committed, e error) { out, err, done = o, e, true })
	s.wait(&done)
	return out, err
}

func (s *stepwise) Claim(_ context.Context, shard int, grant backend.Grant) (out backend.Committed, err error) {
	done := false
	s.p.client.claim(shard, grant, func(o backend.Committed, e error) { out, err, done = o, e, true })
	s.wait(&done)
	return out, err
}

func (s *stepwise) Complete(_ context.Context, shard int, completions []backend.Completion, grant backend.Grant) (out backend.Committed, err error) {
	done := false
	s.w.judge.offered(s.w, completions)
	s.p.client.complete(shard, completions, grant, func(o backend.Committed, e error) { out, err, done = o, e, true })
	s.wait(&done)
	return out, err
}

func (s *stepwise) Extend(_ context.Context, shard int, leases []backend.Lease, grant backend.Grant) (held []bool, err error) {
	done := false
	s.p.client.extend(shard, leases, grant, func(h []bool, e error) { held, err, done = h, e, true })
	s.wait(&done)
	return held, err
}

func (s *stepwise) Sweep(_ context.Context, shard int) (swept backend.Swept, err error) {
	done := false
	s.p.client.sweep(shard, func(o backend.Swept, e error) { swept, err, done = o, e, true })
	s.wait(&done)
	return swept, err
}

func (s *stepwise) Cancel(_ context.Context, ids []uuid.UUID, _ string) ([]backend.Instance, error) {
	out := make([]backend.Instance, len(ids))
	for i, id := range ids {
		inst := s.w.instanceOf(id)
		if inst == nil {
			return nil, errors.New("a stepwise client cancels what it knows only")
		}
		inst.canceled = inst.canceled || !inst.ended
		done := false
		var err error
		s.p.client.cancel(inst, func(e error) { err, done = e, true })
		if s.wait(&done); err != nil {
			return nil, err
		}
		out[i] = s.stored(inst)
	}
	return out, nil
}

func (s *stepwise) Lookup(_ context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	out := make([]backend.Instance, len(ids))
	for i, id := range ids {
		out[i] = s.stored(s.w.instanceOf(id))
	}
	return out, nil
}

// stored reads an instance's row.
func (s *stepwise) stored(inst *instance) (out backend.Instance) {
	out.ID = inst.id
	s.store().instances.Committed(func(key int32, row instanceRow) bool {
		if key == int32(inst.index) {
			out.Status, out.Result, out.Failure = row.status, row.result, row.failure
		}
		return true
	})
	return out
}

func (s *stepwise) store() *pushStore { return s.w.store.(*pushStore) }

// tamper changes a row of the database behind everybody's back, and says whether there was one.
func tamper[K, V any](s *stepwise, table *db.Table[K, V], change func(V) V) (changed bool) {
	done := false
	s.p.query(func(error) { done = true }, tampering(func(x *db.Exec) error {
		var first *db.Version[K, V]
		table.All(x, func(v *db.Version[K, V]) bool {
			first = v
			return false
		})
		if first == nil {
			return nil
		}
		var err error
		changed, err = table.Update(x, first, db.NoKeyUpdate, change(first.Value))
		return err
	}))
	s.wait(&done)
	return changed
}

type tampering func(*db.Exec) error

// Run implements db.Statement.
func (t tampering) Run(x *db.Exec) error { return t(x) }

// ids are those of the instances that may be submitted.
func (s *stepwise) ids() []uuid.UUID {
	ids := make([]uuid.UUID, len(s.w.insts))
	for i, inst := range s.w.insts {
		ids[i] = inst.id
	}
	return ids
}

// dump writes down what is durable, a line for each row, in the words that dumpPostgres uses for the real tables. Left out are
// times, what tokens are (but not whether they are known, as those of the leases that are held), and why an instance was
// canceled.
func (s *stepwise) dump(known map[int64]bool) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	st := s.store()
	st.instances.Committed(func(k int32, r instanceRow) bool {
		failure := []byte(nil)
		if r.failure != nil && r.status != backend.Canceled {
			failure, _ = json.Marshal(r.failure) // of strings only
		}
		add("instance %d %s untidy %t result %s failure %s", k, r.status, r.untidy, r.result, failure)
		return true
	})
	st.queue.Committed(func(k runKey, q queued) bool {
		args, err := backend.EncodeArgs(q.args)
		if err != nil {
			args = []byte(err.Error())
		}
		add("queue %d %d %q attempt %d leased %t known %t first %t args %s", k.inst, k.node, k.path, q.attempt, q.owner != 0, known[q.token],
			q.due < s.w.server.clock()-50*365*24*int64(time.Hour), args)
		return true
	})
	st.readiness.Committed(func(k runKey, r readiness) bool {
		add("readiness %d %d %q %d of %d soft %t", k.inst, k.node, k.path, r.completed, r.required, r.soft)
		return true
	})
	st.inbox.Committed(func(k valueKey, v json.RawMessage) bool {
		add("inbox %d %d %q %d %s", k.inst, k.id, k.path, k.element, v)
		return true
	})
	st.elements.Committed(func(k valueKey, c collected) bool {
		add("elements %d %d %q %d", k.inst, k.id, k.path, k.element)
		for i, place := range c.places {
			add("elements %d %d %q %d: %d %s", k.inst, k.id, k.path, k.element, place, c.vals[i])
		}
		return true
	})
	st.commits.Committed(func(k commitKey, c commitRow) bool {
		add("commit %d %d %d stale %v", k.shard, k.slot, c.number, append([]int32{}, c.stale...))
		return true
	})
	slices.Sort(lines)
	return lines
}
