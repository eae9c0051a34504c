package bench

import (
	"context"
	"time"

	"pulley/reports/record"
)

var (
	Shapes    = shapes
	Graphs    = graphs
	CeilingOf = ceilingOf
)

func (c *Case) InstanceWrites(ctx context.Context) (record.InstanceWrites, error) {
	return c.instanceWrites(ctx)
}

func PlanOf(l Load, nodes int, perS float64) (instances, inFlight int) {
	p := l.plan(nodes, perS)
	return p.instances, p.inFlight
}

// perS is a scheduler's rate of ended instances, given how many are in flight. Pilots returns the instances of each pilot run
// and how many were in flight, and the same of the counted runs.
func Pilots(l Load, nodes int, perS func(inFlight int) float64, starts time.Duration) (pilots [][2]int, instances, inFlight int) {
	p, done := l.plan(nodes, 0), false
	for try := 1; !done; try++ {
		pilots = append(pilots, [2]int{p.instances, p.inFlight})
		took := starts + time.Duration(float64(p.instances)/perS(p.inFlight)*float64(time.Second))
		p, done = l.afterPilot(try, p, l.plan(nodes, float64(p.instances)/took.Seconds()), took)
	}
	return pilots, p.instances, p.inFlight
}
