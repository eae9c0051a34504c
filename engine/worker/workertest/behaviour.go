package workertest

import "pulley/engine/worker"

// Behaviour is what an action of the suite does.
type Behaviour string

// The behaviours. Each names the arguments that the action is called with.
const (
	// Echo gives the object of its arguments as its result.
	Echo Behaviour = "echo"

	// Decline fails with type Declined and message [DeclineMessage].
	Decline Behaviour = "decline"

	// Hang never ends by itself. It ends in order when the executor asks for that, by whatever means it has.
	Hang Behaviour = "hang"

	// Ignore never ends by itself, and ignores whatever can be ignored.
	Ignore Behaviour = "ignore"

	// Huge gives a string of [HugeBytes] bytes.
	Huge Behaviour = "huge"

	// Flood writes output without an end, and no value in it is complete.
	Flood Behaviour = "flood"

	// Nothing ends as if all went well, and gives no result.
	Nothing Behaviour = "nothing"

	// Invalid gives a string that has the byte 0xFF in it, which is no UTF-8.
	Invalid Behaviour = "invalid"

	// Garbage prints a line "hello, I am no result" to where results go, and then gives true.
	Garbage Behaviour = "garbage"

	// Half writes the first half of a result and ends, as if all went well.
	Half Behaviour = "half"

	// ActionDie ends by SIGKILL, or as near to it as there is, without a result.
	ActionDie Behaviour = "die"

	// Freeze stops itself by SIGSTOP, or as near to it as there is.
	Freeze Behaviour = "freeze"

	// Orphan starts a process in a session of its own that runs for ten minutes, keeps what it inherits open, and has the
	// argument token, a text, in its command line. It gives true once that process has its session.
	Orphan Behaviour = "orphan"

	// OrphanHang starts such a process, too, and then never ends by itself.
	OrphanHang Behaviour = "orphan_hang"
)

// DeclineMessage is the message of Decline's failure.
const DeclineMessage = `no "money" is left for ü`

// HugeBytes is the length of Huge's result: more than any value may have.
const HugeBytes = 8 << 20

// Behaviours lists all, in the order of the suite.
func Behaviours() []Behaviour {
	return []Behaviour{Echo, Decline, Hang, Ignore, Huge, Flood, Nothing, Invalid, Garbage, Half, ActionDie, Freeze, Orphan, OrphanHang}
}

// failureTypes are what behaviours fail with, unless a harness says something else.
var failureTypes = map[Behaviour]string{
	Decline: "Declined",
	Huge:    worker.TypeLimit,
	Flood:   worker.TypeLimit,
	Nothing: worker.TypeResult,
	Invalid: worker.TypeResult,
	Garbage: worker.TypeResult,
	Half:    worker.TypeResult,
}
