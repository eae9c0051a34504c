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

// On the real server a statement continues as soon as it gets the lock that it waited for; on the simulated one it does when the
// world lets it. The world may end its session before that. A rollback then undoes everything except numbers drawn from a
// sequence. Setting the sequence back would be wrong, because another statement may have drawn one too. Therefore nextval is a
// function of the schema that waits until the world lets the statement continue. Identity columns draw without calling nextval;
// no design inserts into one after a lock that it may wait for.

// numbersSQL makes that function. The keeper locks the backend of each turn whose numbers are held back.
const numbersSQL = `CREATE FUNCTION nextval(regclass) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE numbers CONSTANT int := hashtext('numbers'); me CONSTANT int := pg_backend_pid();
	BEGIN
		PERFORM pg_advisory_lock_shared(numbers, me);
		PERFORM pg_advisory_unlock_shared(numbers, me);
		RETURN pg_catalog.nextval($1);
	END $$`

// holdNumbers keeps a waiting statement from drawing numbers once it gets its lock.
func (p *Postgres) holdNumbers(t *turn) {
	p.execOn(p.keeper, "SELECT pg_advisory_lock(hashtext('numbers'), $1)", pid(t.real))
	t.heldBack = true
}

func (p *Postgres) giveNumbers(t *turn) {
	if t.heldBack {
		p.execOn(p.keeper, "SELECT pg_advisory_unlock(hashtext('numbers'), $1)", pid(t.real))
		t.heldBack = false
	}
}

// wantsNumber reports whether the real statement is held back from drawing a number.
func (p *Postgres) wantsNumber(t *turn) bool {
	return t.heldBack && p.blockedBy(t, []int32{pid(p.keeper)})
}

func (p *Postgres) blockedBy(t *turn, pids []int32) (waits bool) {
	err := p.admin.QueryRow(p.t.Context(), "SELECT pg_blocking_pids($1) && $2::int[]", pid(t.real), pids).Scan(&waits)
	if err != nil {
		p.t.Fatal(err)
	}
	return waits
}

func pid(c *pgx.Conn) int32 { return int32(c.PgConn().PID()) }

// TestNumbers has two statements wait for a lock. The first gets it and has enough time to draw a number. Then one of the two is
// rolled back. It checks that the other draws the first number, and the next statement the second.
func TestNumbers(t *testing.T, design Design) {
	p, d := newPostgres(t, design), &cases.Programs{}
	for what, takenBack := range map[string]int{"who got the lock is taken back": 0, "a statement that still waits for it is rolled back": 1} {
		t.Run(what, func(t *testing.T) {
			w, all := shadowWorld(t, d, design, 0, "")
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
