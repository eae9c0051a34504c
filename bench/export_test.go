package bench

// What tests of this package see of its inside.
var (
	Shapes    = shapes
	CeilingOf = ceilingOf
)

// PlanOf says how many instances a run has, and how many of them are there at once.
func PlanOf(l Load, nodes int, perS float64) (instances, inFlight int) {
	p := l.plan(nodes, perS)
	return p.instances, p.inFlight
}
