package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"pulley/internal/clip"
)

// Misbehaviour is something that a process did against the protocol.
type Misbehaviour struct {
	About    string // "output", "answers", "reports" or "input"
	Expected string
	Came     string // shortened
	Advice   string // what its author should do

	// Harmless is a mistake that the protocol forgives, such as text on standard output.
	Harmless bool
}

func (m *Misbehaviour) Error() string {
	return fmt.Sprintf("%s: expected %s; came %s; %s", m.About, m.Expected, m.Came, m.Advice)
}

// cameRunes bounds the quoted part of a line.
const cameRunes = 240

func quoteLine(line []byte) string {
	return clip.Runes(strings.ToValidUTF8(string(line), "\uFFFD"), cameRunes)
}

// Died is the error of calls to a process that has ended.
type Died struct {
	Process     int
	State       *os.ProcessState // nil: unknown
	Said        []string         // its last lines on standard error; at most saidMax
	BeforeReady bool             // it never answered ready
}

func (d *Died) Error() string {
	return fmt.Sprintf("adapter process %d ended with %v%s", d.Process, d.State, d.said())
}

func (d *Died) said() string {
	if len(d.Said) == 0 {
		return ", and wrote nothing to standard error"
	}
	return ", and on standard error: " + strings.Join(d.Said, " | ")
}

// Refused is the answer error of a process.
type Refused struct {
	Process int
	Batch   int64 // zero: the answer to setup or open
	Message string
}

func (r *Refused) Error() string {
	return fmt.Sprintf("adapter process %d refused: %s", r.Process, r.Message)
}

// Late is the error of a wait that ended before what it waited for.
type Late struct {
	Process int
	Awaited string
	Within  time.Duration
}

func (l *Late) Error() string {
	return fmt.Sprintf("adapter process %d: no %s within %v; look at its log, or give it more time", l.Process, l.Awaited, l.Within)
}

// cannotWorkStatus is the exit status of an adapter whose system cannot work here.
const cannotWorkStatus = 2

// CannotWork returns the reason that an adapter gave for not working here: its answer error in the place of ready, or its last
// lines on standard error if it exited with status 2 before the first ready.
func CannotWork(err error) (reason string, is bool) {
	var refused *Refused
	if errors.As(err, &refused) && refused.Batch == 0 {
		return refused.Message, true
	}
	var died *Died
	if errors.As(err, &died) && died.BeforeReady && died.State != nil && died.State.ExitCode() == cannotWorkStatus {
		return strings.Join(died.Said, "\n"), true
	}
	return "", false
}
