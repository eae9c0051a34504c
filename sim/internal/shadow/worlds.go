package shadow

import (
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"testing"

	"pulley/internal/depth"
	"pulley/internal/pgtest"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// Main is TestMain of packages that play worlds beside Postgres.
func Main(m *testing.M) {
	debug.SetGCPercent(800) // worlds are small and short
	pgtest.Main(m)
}

var realCases = flag.Uint64("real-cases", 0, "how many worlds of each design are replayed on Postgres; 0: a few")

var realFrom = flag.Uint64("real-from", 0, "the first of the worlds that are replayed on Postgres")

// realWorlds returns which worlds of a design are replayed on Postgres: those of the command line; otherwise many at night, and
// few before each change, including one with a server crash.
func realWorlds(night uint64) (from, to uint64) {
	from, cases := *realFrom, *realCases
	if cases == 0 {
		cases = depth.Of(6, night)
		from += depth.Of[uint64](crashSeed-1, 0)
	}
	return from, from + cases
}

// crashSeed is the seed of a world with a server crash.
const crashSeed = 5

// shadowFaults bounds a world's faults: more programs find more than longer worlds.
const shadowFaults = 36

// shadowWorld makes a world in which the servers can be compared. The real server's steps cannot be interrupted, so statements
// yield only before their commit, and a waiter continues at once.
func shadowWorld(t *testing.T, d *cases.Programs, of Design, seed uint64, bug string) (*world.World, *pgsim.Worlds) {
	t.Helper()
	load, err := d.Of(seed, of.Name)
	if err != nil {
		t.Fatal(err)
	}
	c := cases.Draw(seed, of.Name, load)
	c.Bug, c.Grain = bug, 0
	c.Faults = c.Faults[:min(len(c.Faults), shadowFaults)]
	all := &pgsim.Worlds{Workload: load}
	w := all.Begin(c, of.NewDesign, nil)
	s, grain := w.Server, int(seed%4)*2
	s.Yield = func() bool { return grain > 0 && s.Turn != nil && s.Turn.OnlyCommitLeft() && w.Rand.IntN(grain) == 0 }
	s.Ready = func(session *db.Session) { session.Data.(*world.Conn).Ready(0) }
	return w, all
}

// shadowed plays a world on both servers up to the first difference.
func shadowed(t *testing.T, p *Postgres, d *cases.Programs, seed uint64, bug string) error {
	t.Helper()
	w, all := shadowWorld(t, d, p.design, seed, bug)
	defer all.Release()
	p.attach(w)
	p.crashes = 0
	if seed%32 == crashSeed {
		p.crashes = 1
	}
	w.Play()
	p.compareCommitted(true)
	for _, turn := range p.turns {
		p.rollBack(turn, turn.state)
		p.release(turn)
	}
	if p.differs != nil { // their state is unknown
		p.close()
		p.open()
	}
	p.count["round trips"] += w.Result.Counts.StepKinds[world.Sends]
	p.count["faults"] += faultsOf(&w.Result.Counts)
	switch v := w.Result.Violations; {
	case errors.Is(p.differs, errRace):
		return nil
	case p.differs != nil:
		return fmt.Errorf("case %d: %w", seed, p.differs)
	case len(v) > 0 && bug == "":
		return fmt.Errorf("case %d: %s", seed, v[0])
	}
	return nil
}

func faultsOf(c *world.Counts) (n int) {
	for _, k := range c.Faults {
		n += k
	}
	return n
}

// Test plays worlds with faults on the simulated server and on Postgres, statement by statement: several engines run a design's
// real code, and both servers execute its statements in the same order with the same clock. It checks that rows, counts, errors,
// lock waits, committed rows and notifications are equal.
func Test(t *testing.T, designs ...Design) {
	for _, design := range designs {
		t.Run(design.Name, func(t *testing.T) {
			from, to := realWorlds(4 * design.Cases)
			p, d, next := newPostgres(t, design), &cases.Programs{}, from
			defer func() {
				depth.Done(t, "worlds=%d from=%d ended-early=%d statements=%d faults=%d", next-from, from, p.count["races"]+p.count["overtaken"],
					p.count["round trips"], p.count["faults"])
			}()
			for ; next < to; next++ {
				if err := depth.Interrupted().Err(); err != nil {
					t.Fatalf("%v; continue with -real-from %d -real-cases %d", err, next, to-next)
				}
				seed := next
				p.every = 24
				err := shadowed(t, p, d, seed, "")
				if err != nil { // repeat, to see after which statement committed rows differ
					p.every = 1
					err = shadowed(t, p, d, seed, "")
				}
				if err != nil {
					t.Fatalf("%v\nsee it again with: go test -run '%s' -real-from %d -real-cases 1", err, t.Name(), seed)
				}
			}
			t.Logf("%d worlds, identical: %v", to-from, p.count)
		})
	}
}
