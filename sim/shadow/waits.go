package shadow

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/sim/db"
)

// errRace ends a world in which Postgres has woken those who waited for the same transaction in another order than the simulated
// server has. It promises none to those who wait for different rows of it, so that is no difference; but what comes after
// it is another world.
var errRace = errors.New("two that waited were woken in another order")

// realTimeout is how long the real server may take for what it does in moments, on a machine that has other work.
const realTimeout = 5 * time.Minute

// control begins or ends a transaction.
func (p *Postgres) control(t *turn, sql string) {
	ctx, cancel := context.WithTimeout(p.t.Context(), realTimeout)
	defer cancel()
	if _, err := t.real.Exec(ctx, sql); err != nil {
		p.differ("%s: %v", sql, err)
	}
}

// send begins with a batch on the real server.
func (t *turn) send(batch []db.Statement) {
	t.got = make(chan []returned, 1)
	go func(c *pgx.Conn, got chan<- []returned) { got <- replies(c, batch) }(t.real, t.got)
}

// runBatch makes a batch on the real server, which must not wait for a lock that another has.
func (p *Postgres) runBatch(t *turn, batch []db.Statement) []returned {
	alone := true
	for _, o := range p.turns {
		alone = alone && (o == t || o.real == nil)
	}
	if alone {
		return replies(t.real, batch)
	}
	t.send(batch)
	for {
		select {
		case got := <-t.got:
			return got
		case <-time.After(20 * time.Millisecond):
		}
		if p.waits(t) {
			if p.wakes(t) {
				p.race("overtaken")
			}
			p.differ("%s continues; on Postgres it waits for a lock", texts(t.batch))
			p.cancel(t)
			return nil
		}
	}
}

// waits says whether what is under way on the real server waits for a lock.
func (p *Postgres) waits(t *turn) bool {
	return p.waitsFor(t, func(*turn) bool { return true })
}

// waitsFor says whether it waits for a lock that one of some turns has, or is before it to get. Of what Postgres does by itself,
// such as vacuuming, nobody here knows.
func (p *Postgres) waitsFor(t *turn, those func(*turn) bool) bool {
	var pids []int32
	for _, o := range p.turns {
		if o != t && o.real != nil && those(o) {
			pids = append(pids, pid(o.real))
		}
	}
	return len(pids) > 0 && p.blockedBy(t, pids)
}

// mustWait wants what is under way on the real server to wait for a lock. When it gets that, it draws no number until the world
// has it go on.
func (p *Postgres) mustWait(t *turn) {
	p.giveNumbers(t)
	for until := time.Now().Add(realTimeout); ; {
		select {
		case got := <-t.got:
			t.got <- got
			if p.wakes(t) {
				p.race("overtaken")
			}
			p.differ("%s waits for a lock; on Postgres it does not: %v", texts(t.batch), got)
			return
		default:
		}
		if p.waits(t) {
			p.holdNumbers(t)
			return
		}
		if time.Now().After(until) {
			p.t.Fatalf("%s neither waits on Postgres nor ends", texts(t.batch))
		}
	}
}

// awaitReplies gives the replies to what has waited.
func (p *Postgres) awaitReplies(t *turn) []returned {
	p.giveNumbers(t)
	for until := time.Now().Add(realTimeout); time.Now().Before(until); {
		select {
		case got := <-t.got:
			return got
		case <-time.After(20 * time.Millisecond):
		}
		if p.waitsFor(t, p.wokenEarly) {
			p.race("races")
			break
		}
	}
	p.differ("%s continues; on Postgres it waits still", texts(t.batch))
	p.cancel(t)
	return nil
}

// cancel ends what is under way on the real server. Between two statements of a batch there is nothing that a cancel could end, so
// it is asked for until the batch is over.
func (p *Postgres) cancel(t *turn) {
	for until := time.Now().Add(realTimeout); time.Now().Before(until); {
		p.exec("SELECT pg_cancel_backend($1)", pid(t.real))
		select {
		case <-t.got:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	p.t.Fatalf("%s cannot be cancelled on Postgres", texts(t.batch))
}

// race ends the world.
func (p *Postgres) race(kind string) {
	p.count[kind]++
	p.differs, p.w.Over = errRace, true
}

// overtakes says whether t goes on while another, woken before or with it, has yet to: which of the two is first is chance on the
// real server; or whether the clock has jumped since t was woken, which the real server may read before that or after. That ends the
// world, too.
func (p *Postgres) overtakes(t *turn) bool {
	if t.unblockedAt > 0 && t.clock != p.w.Server.Clock() {
		p.race("overtaken")
		return true
	}
	for _, o := range p.turns {
		if o != t && o.state == blocked && 0 < o.unblockedAt && o.unblockedAt < p.w.Steps {
			p.race("overtaken")
			return true
		}
	}
	return false
}

// wakes says whether another has yet to go on that t's batch has woken, which begins by ending a transaction. On the simulated server
// that one is next; on the real one the rest of the batch may be first at what both want.
func (p *Postgres) wakes(t *turn) bool {
	for _, o := range p.turns {
		if o != t && o.state == blocked && o.unblockedAt > 0 {
			return true
		}
	}
	return false
}

// wokenEarly says whether it has what it waited for on the real server, and not yet on the simulated one.
func (p *Postgres) wokenEarly(t *turn) bool {
	return t.state == blocked && (len(t.got) > 0 || p.wantsNumber(t))
}
