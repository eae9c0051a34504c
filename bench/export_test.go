package bench

import (
	"context"
	"time"

	"pulley/reports/record"
)

// What tests of this package see of its inside.
var (
	Shapes    = shapes
	Graphs    = graphs
	CeilingOf = ceilingOf
)

// InstanceWrites is what an instance of the case writes.
func (c *Case) InstanceWrites(ctx context.Context) (record.InstanceWrites, error) {
	return c.instanceWrites(ctx)
}

// PlanOf says how many instances a run has, and how many of them are there at once.
func PlanOf(l Load, nodes int, perS float64) (instances, inFlight int) {
	p := l.plan(nodes, perS)
	return p.instances, p.inFlight
}

// Pilots plans the runs of a scheduler that ends so many instances in a second, given how many are in flight, and takes a while to start.
// It gives the instances of each pilot run and how many were in flight, and the same of the runs that count.
func Pilots(l Load, nodes int, perS func(inFlight int) float64, starts time.Duration) (pilots [][2]int, instances, inFlight int) {
	p, done := l.plan(nodes, 0), false
	for try := 1; !done; try++ {
		pilots = append(pilots, [2]int{p.instances, p.inFlight})
		took := starts + time.Duration(float64(p.instances)/perS(p.inFlight)*float64(time.Second))
		p, done = l.afterPilot(try, p, l.plan(nodes, float64(p.instances)/took.Seconds()), took)
	}
	return pilots, p.instances, p.inFlight
}
