package backend

// Order is the order in which Claim hands out the node runs that wait.
type Order uint8

// The orders. Turns are those of a round robin: each workflow, or each instance, that has node runs to hand out gets as many as the others,
// as far as it has them, and the next claim continues behind the last one's.
const (
	ByTime     Order = iota // in which they became ready, less their head starts
	ByWorkflow              // by turns of workflows
	ByInstance              // by turns of instances
)

// TurnTaker is a backend whose Claim heeds Grant.Order. Others hand out by time.
type TurnTaker interface {
	Backend

	// TakesTurns does nothing.
	TakesTurns()
}
