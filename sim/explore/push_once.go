package explore

import (
	"errors"
	"fmt"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
	"pulley/sim/db"
)

// pushOnce is commitOnce: one transaction, again where the server gave it up, settled where it was not confirmed.
type pushOnce struct {
	c         *pushClient
	shard     int
	events    []*pushEvent
	grant     backend.Grant
	out       *postgres.Outcomes
	slot      int32
	try       int
	unsure    bool
	contested push.Contested
	mark      mark
	begun     int64 // of the last try, on the engine's clock
	k         func(*pushTx, error)
}

func (o *pushOnce) begin(k func(*pushTx, error)) {
	o.grant.Max = max(o.grant.Max-len(o.out.Result.Tasks), 0)
	o.slot = o.c.takeSlot(o.shard)
	o.k = k
	o.again()
}

// end gives the place back, unless its last commit may still be under way.
func (o *pushOnce) end(settled bool, t *pushTx, err error) {
	if settled {
		o.c.free[o.shard] = append(o.c.free[o.shard], o.slot)
	}
	o.k(t, err)
}

func (o *pushOnce) again() {
	o.try++
	o.c.num++
	o.mark, o.begun = mark{int64(o.shard), o.c.name, o.slot, o.c.num}, o.c.p.now()
	t := &pushTx{c: o.c, shard: o.shard, mark: o.mark, grant: o.grant, sent: o.begun, contested: o.contested}
	t.begin(o.events, func(err error) { o.committed(t, err) })
}

// committed decides on what a transaction came to.
func (o *pushOnce) committed(t *pushTx, err error) {
	switch {
	case err == nil:
		o.end(true, t, nil)
	case (postgres.Contended(err) || errors.Is(err, errCallOff)) && o.try < commitTries:
		o.contested = t.met()
		o.again()
	case !backend.IsUnknown(err) && o.unsure && !postgres.Poisoned(err):
		o.end(t.isOver(err), nil, fmt.Errorf("%w: %w", backend.ErrUnknown, err))
	case !backend.IsUnknown(err):
		o.end(t.isOver(err), nil, err)
	case o.events[0].submission != nil:
		if o.try == commitTries {
			o.end(true, nil, err)
			return
		}
		o.unsure = true
		o.again()
	default:
		o.settle(func(open []*pushEvent, unclear error) {
			switch {
			case unclear != nil || o.try == commitTries && len(open) > 0:
				o.end(unclear == nil, nil, errors.Join(err, unclear))
			case len(open) == 0:
				o.end(true, nil, nil)
			default:
				o.events, o.unsure = open, true
				o.again()
			}
		})
	}
}

// over says whether a transaction that failed before its COMMIT is over, or was never begun.
func (t *pushTx) isOver(err error) bool {
	return t.conn == nil || errors.Is(err, errCallOff) || !postgres.Abandoned(err) || t.c.s.w.Bug == bugPlaceGiven
}

// settle finds out what an unconfirmed commit did.
func (o *pushOnce) settle(k func([]*pushEvent, error)) {
	c := o.c
	c.s.w.note(Settles, c.p.index, int64(len(o.events)), 0, 0)
	if c.s.w.Bug == bugUnknownIsSuccess || c.s.w.Bug == bugUnknownIsFailure {
		answer := backend.Applied
		if c.s.w.Bug == bugUnknownIsFailure {
			answer = backend.Stale
		}
		for _, e := range o.events {
			o.out.Answer(e.ord, answer)
		}
		k(nil, nil)
		return
	}
	held, fence := c.leases(o.events), c.leases(o.events)
	fence.fence = true
	m := &pushMark{s: c.s, mark: o.mark}
	c.p.connect(func(conn *conn, err error) {
		if err != nil {
			k(nil, err)
			return
		}
		failed := func(err error) bool {
			if err != nil {
				conn.release()
				k(nil, err)
			}
			return err != nil
		}
		conn.send([]db.Statement{db.Begin}, func(err error) {
			if failed(err) {
				return
			}
			conn.send([]db.Statement{held}, func(err error) {
				if failed(err) {
					return
				}
				conn.send([]db.Statement{fence}, func(err error) {
					if failed(err) {
						return
					}
					conn.send([]db.Statement{db.Commit}, func(err error) {
						conn.release()
						if err != nil {
							k(nil, err)
							return
						}
						c.p.query(func(err error) {
							if err != nil {
								k(nil, err)
								return
							}
							k(o.settled(fence.held, m), nil)
						}, m)
					})
				})
			})
		})
	})
}

func (o *pushOnce) settled(fenced map[int32]int64, m *pushMark) []*pushEvent {
	var open, unclear []*pushEvent
	forgotten := !m.took && o.c.p.now()-o.begun > o.c.s.w.marksKept()/2
	for _, e := range o.events {
		token, isOpen := fenced[e.ord]
		switch {
		case isOpen:
			e.token = token
			open = append(open, e)
		case m.took && !slices.Contains(m.stale, e.ord):
			o.out.Answer(e.ord, backend.Applied)
		case forgotten:
			unclear = append(unclear, e)
		default:
			o.out.Answer(e.ord, backend.Stale)
		}
	}
	postgres.Again(o.out, unclear, backend.ErrUnknown)
	o.out.Result.More = true
	return open
}
