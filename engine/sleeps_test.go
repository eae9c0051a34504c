package engine_test

import (
	"testing"
	"time"

	"pulley/engine"
	"pulley/engine/ir"
)

// An engine stops while an instance sleeps. Another one, which polls too rarely to matter, must wake in time, and not before.
func TestSleepOutlivesItsEngine(t *testing.T) {
	onEveryDesign(t, func(s *site) {
		const sleep = time.Second
		s.lease = time.Second
		p := program(s.T, "fn main(input: [x], output: [x]):\n    sleep x\n    x = @add(a=x, b=1)\n    sleep 0\n", ir.Limits{})
		one := s.host(s.open(), engine.Config{Poll: time.Hour})
		begun := time.Now()
		id := s.submitted(one, p, `{"x": 1}`)
		s.stop(one)
		two := s.host(s.open(), engine.Config{Poll: time.Hour})
		inst, err := two.Wait(s.ctx, id)
		if err != nil || string(inst.Result) != "2" {
			s.Errorf("%s %v, %v", inst.Result, inst.Failure, err)
		}
		if took := time.Since(begun); took < sleep {
			s.Errorf("it ended after %v, and sleeps for %v", took, sleep)
		}
	})
}
