package engine_test

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"pulley/engine"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/pgserver/pgwire"
)

// commits counts transactions through a proxy: after each, the server reports that it is ready and no transaction is open.
type commits struct{ count atomic.Int64 }

func (c *commits) open(uint64) pgwire.Judge {
	return func(m *pgwire.Message) pgwire.Verdict {
		if !m.Client && m.Type() == 'Z' && m.Body()[0] == 'I' {
			c.count.Add(1)
		}
		return pgwire.Verdict{Deliver: true}
	}
}

// An instance that runs alone costs one transaction to store it, and one per completion, which also hands out the next action
// or ends the instance. Background work can only add to that, so the fewest of several instances count.
func TestAHopIsOneCommit(t *testing.T) {
	const tries = 12
	var pushed []designs.Spec
	for _, name := range []string{"push", "eager", "journal"} {
		spec, err := designs.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		pushed = append(pushed, spec)
	}
	on(t, pushed, func(s *site) {
		var seen commits
		proxy, err := pgwire.Listen(s.dsn, seen.open)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(proxy.Close)
		s.dsn = proxy.DSN()
		e := s.host(s.open(), engine.Config{Poll: time.Hour, Sweep: time.Hour, Lease: time.Hour})
		for source, hops := range map[string]int64{
			"fn main(input: [x], output: [x]):\n    x = @add(a=x, b=1)\n":                                                 1,
			"fn main(input: [x], output: [x]):\n    x = @add(a=x, b=1)\n    x = @add(a=x, b=1)\n    x = @add(a=x, b=1)\n": 3,
		} {
			p := program(s.T, source, ir.Limits{})
			s.ends(e, p, `{"x": 1}`) // the first instance also stores the program
			fewest := int64(math.MaxInt64)
			for range tries {
				before := seen.count.Load()
				s.ends(e, p, `{"x": 1}`)
				fewest = min(fewest, seen.count.Load()-before)
			}
			if fewest != 1+hops {
				s.Errorf("an instance of %d actions takes %d transactions; want %d", hops, fewest, 1+hops)
			}
		}
	})
}
