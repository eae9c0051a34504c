package explore

import (
	"errors"
	"fmt"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
)

// pushClient is package push in a process, with its calls cut where it waits for the server.
type pushClient struct {
	p    *process
	s    *pushStore
	name int64
	num  int64
	free [][]int32
	next []int32
}

func (s *pushStore) client(p *process) client {
	s.backends++
	return &pushClient{p: p, s: s, name: s.backends, free: make([][]int32, s.w.Shards), next: make([]int32, s.w.Shards)}
}

const (
	commitTries   = 5
	extendTries   = 5
	callOffPasses = 5
	tidyPasses    = 4
)

var errCallOff = errors.New("runs that are to be called off go on and on")

func (c *pushClient) takeSlot(shard int) int32 {
	if n := len(c.free[shard]); n > 0 {
		slot := c.free[shard][n-1]
		c.free[shard] = c.free[shard][:n-1]
		return slot
	}
	c.next[shard]++
	return c.next[shard] - 1
}

// complete is Backend.Complete.
func (c *pushClient) complete(shard int, completions []backend.Completion, grant backend.Grant, k func(backend.Committed, error)) {
	out := postgres.NewOutcomes(len(completions))
	var events []*pushEvent
	read := &pushRead{s: c.s}
	for i := range completions {
		co := &completions[i]
		if out.Accept(i, co, shard, c.s.w.Shards) {
			e := &pushEvent{ord: int32(i), inst: c.s.w.instanceOf(co.Lease.Key.Instance), completion: co, token: co.Lease.Token}
			events = append(events, e)
			read.add(e, e.program().Needs(e.happened()).Slots)
		}
	}
	planned := func(err error) {
		if err != nil {
			k(backend.Committed{}, err)
			return
		}
		c.plan(shard, events, grant, out, k)
	}
	if len(read.wants) == 0 {
		planned(nil)
		return
	}
	c.p.query(planned, read)
}

// plan has the core plan events, and commits them group by group.
func (c *pushClient) plan(shard int, events []*pushEvent, grant backend.Grant, out *postgres.Outcomes, k func(backend.Committed, error)) {
	var planned, unfit []*pushEvent
	for _, e := range events {
		if e.plan, e.refused = e.program().Step(e.happened(), e.inbox, c.s.w.rng.Float64()); e.refused != nil {
			unfit = append(unfit, e)
		} else {
			planned = append(planned, e)
		}
	}
	c.refuse(unfit, out, func(err error) {
		if err != nil {
			k(backend.Committed{}, err)
			return
		}
		all := push.Groups(planned)
		var next func(i int)
		next = func(i int) {
			if i == len(all) {
				k(out.Committed(), nil)
				return
			}
			group := all[i]
			if c.s.w.Bug != bugMapOrder {
				inOrder(group)
			}
			group = distinct(group, out)
			if i > 0 {
				group = push.Spared(group, planned, out)
			}
			c.commit(shard, group, grant, out, func(err error) {
				if err != nil && i == 0 {
					k(backend.Committed{}, err)
					return
				}
				if err != nil {
					again(out, group, err)
				}
				next(i + 1)
			})
		}
		next(0)
	})
}

// again answers what was not committed although something else of the call was.
func again(out *postgres.Outcomes, events []*pushEvent, err error) {
	for _, e := range events {
		if a := &out.Answers[e.ord]; a.Answer == "" {
			*a = backend.Outcome{Answer: backend.Again, Err: err}
		}
	}
}

// refuse answers completions that the core would not plan.
func (c *pushClient) refuse(unfit []*pushEvent, out *postgres.Outcomes, k func(error)) {
	if len(unfit) == 0 {
		k(nil)
		return
	}
	l := c.leases(unfit)
	c.p.query(func(err error) {
		for _, e := range unfit {
			out.Answer(e.ord, backend.Stale)
			if _, ok := l.held[e.ord]; ok && err == nil {
				out.Refuse(e.ord, e.refused)
			}
		}
		k(err)
	}, l)
}

func (c *pushClient) leases(events []*pushEvent) *pushLeases {
	l := &pushLeases{s: c.s}
	for _, e := range events {
		l.leases = append(l.leases, heldRun{e.ord, e.inst, e.completion.Lease.Key.Run, e.token})
	}
	return l
}

// commit applies events in as few transactions as their data allows; see postgres.Halve.
func (c *pushClient) commit(shard int, events []*pushEvent, grant backend.Grant, out *postgres.Outcomes, k func(error)) {
	c.halve(out, events, func(events []*pushEvent, k func(error)) {
		open := slices.DeleteFunc(slices.Clone(events), func(e *pushEvent) bool { return out.Answers[e.ord].Answer != "" })
		if len(open) == 0 {
			k(nil)
			return
		}
		once := &pushOnce{c: c, shard: shard, events: open, grant: grant, out: out}
		once.begin(func(t *pushTx, err error) {
			if err != nil || t == nil {
				k(err)
				return
			}
			t.add(out, once.events)
			c.tidyAfter(t, func() { c.offerMoved(t, once.events, grant, out, k) })
		})
	}, k)
}

// halve is postgres.Halve.
func (c *pushClient) halve(out *postgres.Outcomes, events []*pushEvent, commit func([]*pushEvent, func(error)), k func(error)) {
	if len(events) == 0 {
		k(nil)
		return
	}
	commit(events, func(err error) {
		var unfit *postgres.UnfitError
		switch {
		case err == nil:
			k(nil)
			return
		case !postgres.Poisoned(err) && !errors.As(err, &unfit):
			k(err)
			return
		case len(events) > 1:
			half := len(events) / 2
			c.halve(out, events[:half], commit, func(err error) {
				if err != nil {
					k(err)
					return
				}
				c.halve(out, events[half:], commit, func(err error) {
					if err != nil {
						again(out, events[half:], err)
					}
					k(nil)
				})
			})
			return
		}
		if postgres.Overflowed(err) {
			err = fmt.Errorf("%w: %w", backend.ErrOverflow, err)
		}
		out.Refuse(events[0].ord, err)
		k(nil)
	})
}

// offerMoved commits completions again whose row was being changed by another transaction.
func (c *pushClient) offerMoved(t *pushTx, events []*pushEvent, grant backend.Grant, out *postgres.Outcomes, k func(error)) {
	moved := slices.DeleteFunc(slices.Clone(events), func(e *pushEvent) bool { return !t.moved[e.ord] })
	if len(moved) == 0 {
		k(nil)
		return
	}
	for _, e := range moved {
		out.Answer(e.ord, "")
	}
	c.commit(t.shard, moved, grant, out, func(err error) {
		if err != nil {
			again(out, moved, err)
		}
		k(nil)
	})
}
