package workertest

import "pulley/engine/worker"

// Behaviour is what an action of the suite does.
type Behaviour string

// The behaviours, with the arguments of the action.
const (
	// Echo returns the object of its arguments.
	Echo Behaviour = "echo"

	// Decline fails with type Declined and message [DeclineMessage].
	Decline Behaviour = "decline"

	// Hang never ends by itself, but ends normally when the executor requests it.
	Hang Behaviour = "hang"

	// Ignore never ends by itself, and ignores every request that can be ignored.
	Ignore Behaviour = "ignore"

	// Huge returns a string of [HugeBytes] bytes.
	Huge Behaviour = "huge"

	// Flood writes endless output without a complete value.
	Flood Behaviour = "flood"

	// Nothing ends successfully without a result.
	Nothing Behaviour = "nothing"

	// Invalid returns a string with the byte 0xFF, which is not UTF-8.
	Invalid Behaviour = "invalid"

	// Garbage prints a line "hello, I am no result" to the output for results, and then returns true.
	Garbage Behaviour = "garbage"

	// Half writes the first half of a result and ends successfully.
	Half Behaviour = "half"

	// ActionDie ends by SIGKILL, or similarly, without a result.
	ActionDie Behaviour = "die"

	// Freeze stops itself by SIGSTOP, or similarly.
	Freeze Behaviour = "freeze"

	// Orphan starts a process in its own session that runs for ten minutes, keeps inherited files open, and has the argument
	// token, a text, in its command line. It returns true once that process has its session.
	Orphan Behaviour = "orphan"

	// OrphanHang also starts such a process, and then never ends by itself.
	OrphanHang Behaviour = "orphan_hang"
)

// DeclineMessage is the message of Decline's failure.
const DeclineMessage = `no "money" is left for ü`

// HugeBytes is the length of Huge's result: more than a value's limit.
const HugeBytes = 8 << 20

// Behaviours lists all, in the order of the suite.
func Behaviours() []Behaviour {
	return []Behaviour{Echo, Decline, Hang, Ignore, Huge, Flood, Nothing, Invalid, Garbage, Half, ActionDie, Freeze, Orphan, OrphanHang}
}

var failureTypes = map[Behaviour]string{
	Decline: "Declined",
	Huge:    worker.TypeLimit,
	Flood:   worker.TypeLimit,
	Nothing: worker.TypeResult,
	Invalid: worker.TypeResult,
	Garbage: worker.TypeResult,
	Half:    worker.TypeResult,
}
