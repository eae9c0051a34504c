package shadow

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// On the real server a statement goes on by itself as soon as the lock is free for which it has waited; on the simulated one it does
// so when the world comes to it. The world may end its session before that. A rollback undoes all that the statement has done by
// then, except for the numbers that it has drawn from a sequence. Whether it has drawn any is chance, and setting the sequence back
// is wrong: another statement that went on by itself may have drawn one, too. Therefore nextval is a function of the schema, as
// clock_timestamp is, and waits until the world has the statement go on. Identity columns draw without calling nextval; no design
// inserts into one behind a lock for which it may wait.

// numbersSQL makes that function. The keeper has a lock on the backend of each turn whose numbers are held back.
const numbersSQL = `CREATE FUNCTION nextval(regclass) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE numbers CONSTANT int := hashtext('numbers'); me CONSTANT int := pg_backend_pid();
	BEGIN
		PERFORM pg_advisory_lock_shared(numbers, me);
		PERFORM pg_advisory_unlock_shared(numbers, me);
		RETURN pg_catalog.nextval($1);
	END $$`

// holdNumbers keeps what waits for a lock from drawing numbers when it gets it.
func (p *Postgres) holdNumbers(t *turn) {
	p.execOn(p.keeper, "SELECT pg_advisory_lock(hashtext('numbers'), $1)", pid(t.real))
	t.heldBack = true
}

// giveNumbers ends that.
func (p *Postgres) giveNumbers(t *turn) {
	if t.heldBack {
		p.execOn(p.keeper, "SELECT pg_advisory_unlock(hashtext('numbers'), $1)", pid(t.real))
		t.heldBack = false
	}
}

// wantsNumber says whether what is under way on the real server would draw a number, and is kept from it.
func (p *Postgres) wantsNumber(t *turn) bool {
	return t.heldBack && p.blockedBy(t, []int32{pid(p.keeper)})
}

// blockedBy says whether what is under way on the real server waits for one of some backends.
func (p *Postgres) blockedBy(t *turn, pids []int32) (waits bool) {
	err := p.admin.QueryRow(p.t.Context(), "SELECT pg_blocking_pids($1) && $2::int[]", pid(t.real), pids).Scan(&waits)
	if err != nil {
		p.t.Fatal(err)
	}
	return waits
}

// pid names the backend of a connection.
func pid(c *pgx.Conn) int32 { return int32(c.PgConn().PID()) }

// TestNumbers has two statements wait for a lock. The first gets it, and has all the time that it needs to draw a number. Then one of
// the two is taken back. The other must draw the first number, and who comes after it the second.
func TestNumbers(t *testing.T, design Design) {
	p, d := newPostgres(t, design), &cases.Programs{}
	for what, takenBack := range map[string]int{"who got the lock is taken back": 0, "a statement that still waits for it is rolled back": 1} {
		t.Run(what, func(t *testing.T) {
			w, all := shadowWorld(t, d, design, 0, "") // it is not played
			defer all.Release()
			p.attach(w)
			lock := &pgsim.Statement{Name: "lock", SQL: "SELECT pg_advisory_xact_lock(1)"}
			draw := &pgsim.Statement{Name: "draw", SQL: "SELECT nextval('tokens')"}
			begin := func(batch ...db.Statement) *turn {
				one := p.turn(&world.Conn{})
				one.batch = batch
				p.enter(one)
				return one
			}
			holder := begin(lock)
			p.runBatch(holder, holder.batch)
			var waiting []*turn
			for range 2 {
				one := begin(lock, draw)
				one.state = blocked
				one.send(one.batch)
				p.mustWait(one)
				waiting = append(waiting, one)
			}
			p.control(holder, "COMMIT")
			for until := time.Now().Add(realTimeout); !p.wokenEarly(waiting[0]); {
				if time.Now().After(until) {
					t.Fatal("who is next does not get the lock")
				}
			}
			p.rollBack(waiting[takenBack], blocked)
			var got []string
			for _, replies := range [][]returned{p.awaitReplies(waiting[1-takenBack]), p.runBatch(holder, []db.Statement{draw})} {
				got = append(got, replies[len(replies)-1].lines()...)
			}
			if want := []string{"1", "2"}; !slices.Equal(got, want) {
				t.Errorf("%q were drawn; want %q", got, want)
			}
			for _, one := range append(waiting, holder) {
				p.control(one, "ROLLBACK")
				p.release(one)
			}
		})
	}
}
