package shadow

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/sim/db"
)

// errRace ends a world in which Postgres has woken the waiters of a transaction in another order than the simulated server.
// Postgres promises no order to waiters for different rows, so it is no difference; but the worlds diverge from there.
var errRace = errors.New("two that waited were woken in another order")

// realTimeout bounds quick operations of the real server on a busy machine.
const realTimeout = 5 * time.Minute

func (p *Postgres) control(t *turn, sql string) {
	ctx, cancel := context.WithTimeout(p.t.Context(), realTimeout)
	defer cancel()
	if _, err := t.real.Exec(ctx, sql); err != nil {
		p.differ("%s: %v", sql, err)
	}
}

func (t *turn) send(batch []db.Statement) {
	t.got = make(chan []returned, 1)
	go func(c *pgx.Conn, got chan<- []returned) { got <- replies(c, batch) }(t.real, t.got)
}

// runBatch executes a batch on the real server. The batch must not wait for a lock.
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

func (p *Postgres) waits(t *turn) bool {
	return p.waitsFor(t, func(*turn) bool { return true })
}

// waitsFor reports whether it waits for a lock of one of some turns, or behind one. Postgres's own processes, such as vacuum, do
// not count.
func (p *Postgres) waitsFor(t *turn, those func(*turn) bool) bool {
	var pids []int32
	for _, o := range p.turns {
		if o != t && o.real != nil && those(o) {
			pids = append(pids, pid(o.real))
		}
	}
	return len(pids) > 0 && p.blockedBy(t, pids)
}

// mustWait checks that the real statement waits for a lock. Once it gets the lock, it draws no number until the world lets it
// continue.
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

// cancel ends a batch on the real server. A cancel between two statements has no effect, so cancel repeats it until the batch is
// over.
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

func (p *Postgres) race(kind string) {
	p.count[kind]++
	p.differs, p.w.Over = errRace, true
}

// overtakes ends the world where the result is chance. Either t continues before another statement that was woken earlier or with
// it; or the clock has jumped since t was woken, and the real server may read it before or after.
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

// wakes reports whether t's batch, which begins by ending a transaction, has woken a statement that has not continued yet. On the
// simulated server that one is next; on the real one the rest of the batch may lock first.
func (p *Postgres) wakes(t *turn) bool {
	for _, o := range p.turns {
		if o != t && o.state == blocked && o.unblockedAt > 0 {
			return true
		}
	}
	return false
}

// wokenEarly reports whether it has its lock on the real server and not yet on the simulated one.
func (p *Postgres) wokenEarly(t *turn) bool {
	return t.state == blocked && (len(t.got) > 0 || p.wantsNumber(t))
}
