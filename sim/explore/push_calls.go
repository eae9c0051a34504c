package explore

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/sim/db"
)

// submit is Backend.Submit.
func (c *pushClient) submit(subs []backend.Submission, grant backend.Grant, k func(backend.Committed, error)) {
	out := postgres.NewOutcomes(len(subs))
	byShard := make([][]*pushEvent, c.s.w.Shards)
	for i := range subs {
		inst := c.s.w.instanceOf(subs[i].ID)
		begun, err := subs[i].Program.Start(subs[i].Input)
		if err != nil {
			out.Refuse(int32(i), err)
			continue
		}
		e := &pushEvent{ord: int32(i), inst: inst, submission: &subs[i], plan: begun}
		if slices.ContainsFunc(byShard[inst.shard], func(o *pushEvent) bool { return o.inst == inst }) {
			out.Answer(int32(i), backend.Duplicate)
			continue
		}
		byShard[inst.shard] = append(byShard[inst.shard], e)
	}
	committed := false
	var next func(shard int)
	next = func(shard int) {
		for shard < len(byShard) && len(byShard[shard]) == 0 {
			shard++
		}
		if shard == len(byShard) {
			k(out.Committed(), nil)
			return
		}
		events := byShard[shard]
		slices.SortFunc(events, func(a, b *pushEvent) int { return a.inst.index - b.inst.index })
		c.commit(shard, events, grant, out, func(err error) {
			if err != nil && !committed {
				k(backend.Committed{}, err)
				return
			}
			if err != nil {
				again(out, events, err)
			}
			committed = true
			next(shard + 1)
		})
	}
	next(0)
}

// claim is Backend.Claim.
func (c *pushClient) claim(shard int, grant backend.Grant, k func(backend.Committed, error)) {
	p := c.p
	claim := &pushClaim{s: c.s, shard: shard, most: grant.Max, owner: int32(p.index), lease: int64(grant.Lease)}
	due := &pushNextDue{s: c.s, shard: shard}
	var sent int64
	p.connect(func(conn *conn, err error) {
		if err != nil {
			k(backend.Committed{}, err)
			return
		}
		sent = p.now()
		conn.send([]db.Statement{claim, due}, func(err error) {
			conn.release()
			if err != nil {
				k(backend.Committed{}, unknown(err))
				return
			}
			c.claimed(claim, due, sent, grant, k)
		})
	})
}

// claimed gives claimed rows the values that their arguments refer to.
func (c *pushClient) claimed(claim *pushClaim, due *pushNextDue, sent int64, grant backend.Grant, k func(backend.Committed, error)) {
	var out backend.Committed
	if !due.none {
		out.NextDue = epoch.Add(time.Duration(sent + max(due.in, 0)))
		out.More = due.in <= 0
	}
	read, leased := &pushRead{s: c.s}, &pushLeased{s: c.s, stand: map[int32]bool{}}
	events := make([]*pushEvent, len(claim.tasks))
	for i, t := range claim.tasks {
		events[i] = &pushEvent{inst: t.inst}
		if slots := backend.Refs(t.args); len(slots) > 0 {
			read.add(events[i], slots)
			leased.leases = append(leased.leases, heldRun{int32(i), t.inst, t.run, t.token})
		}
	}
	finish := func(err error) {
		if err != nil {
			k(backend.Committed{}, fmt.Errorf("%w: %w", backend.ErrUnknown, err))
			return
		}
		for i, t := range claim.tasks {
			if len(backend.Refs(t.args)) > 0 && !leased.stand[int32(i)] {
				continue // it was called off meanwhile
			}
			var args json.RawMessage
			if args, err = backend.AssembleArgs(t.args, events[i].value); err != nil {
				continue // the instance has ended meanwhile
			}
			out.Tasks = append(out.Tasks, backend.Task{
				Lease:   backend.Lease{Key: backend.Key{Instance: t.inst.id, Run: t.run}, Token: t.token},
				Program: t.inst.twin.w.load.compiled, Action: t.action, Args: args, Attempt: t.attempt,
				Expires: epoch.Add(time.Duration(sent) + grant.Lease),
			})
		}
		k(out, nil)
	}
	if len(read.wants) == 0 {
		finish(nil)
		return
	}
	c.p.query(finish, read, leased)
}

// extend is Backend.Extend.
func (c *pushClient) extend(shard int, leases []backend.Lease, grant backend.Grant, k func([]bool, error)) {
	held := make([]bool, len(leases))
	l := &pushLeases{s: c.s, extend: int64(grant.Lease)}
	for i, lease := range leases {
		l.leases = append(l.leases, heldRun{int32(i), c.s.w.instanceOf(lease.Key.Instance), lease.Key.Run, lease.Token})
	}
	slices.SortFunc(l.leases, func(a, b heldRun) int { return compareRun(keyOf(a.inst, a.run), keyOf(b.inst, b.run)) })
	c.p.connect(func(conn *conn, err error) {
		if err != nil {
			k(nil, err)
			return
		}
		var try func(n int)
		try = func(n int) {
			this := *l
			conn.send([]db.Statement{&this}, func(err error) {
				if postgres.Contended(err) && n < extendTries {
					try(n + 1)
					return
				}
				conn.release()
				if err != nil {
					k(nil, unknown(err))
					return
				}
				for ord := range this.held {
					held[ord] = true
				}
				k(held, nil)
			})
		}
		try(1)
	})
}

// cancel is Backend.Cancel of one instance.
func (c *pushClient) cancel(inst *instance, k func(error)) {
	st := &cancelRunning{s: &c.s.base, inst: inst}
	c.p.query(func(err error) {
		if err != nil {
			k(unknown(err))
			return
		}
		look := func() {
			l := &lookedUp{s: &c.s.base, inst: inst}
			c.p.query(func(err error) {
				if err == nil && l.status == backend.Running {
					c.cancel(inst, k)
					return
				}
				k(err)
			}, l)
		}
		if st.ended {
			c.tidy(inst, 0, look)
			return
		}
		look()
	}, st)
}

// close is Backend.Close.
func (c *pushClient) close(k func()) { k() }
