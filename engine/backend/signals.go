package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Signaler is a backend that stores signals, and which node runs wait for them. It decides nothing: package signal does. All times
// are the store's.
type Signaler interface {
	// SendSignal stores a signal, and reports whether it is new: one id is one signal, for as long as its instance runs. It does
	// not look at the instance. It fails with ErrSignalsFull if SignalsMax of the instance are there that no wait has taken.
	SendSignal(ctx context.Context, s Signal) (bool, error)

	// StoreWait stores the wait of a leased node run, or gives it the lease, unless it has a later one already. A repetition of an
	// attempt keeps what the wait has come to, and when it began. The wait is due after hold, and its deadline is timeout after its
	// beginning; zero: it has none.
	StoreWait(ctx context.Context, w SignalWait, timeout, hold time.Duration) error

	// TakeSignal gives a wait the oldest signal of its name that no other has taken; without one, a wait whose deadline has passed
	// times out. What a wait has come to is never changed. It is due after hold. It returns the wait as it is then, and the time;
	// stored is false if the wait has another lease, or is not there.
	TakeSignal(ctx context.Context, w SignalWait, hold time.Duration) (taken SignalWait, now time.Time, stored bool, err error)

	// ReturnSignal removes a wait, unless it has another lease, and lets others take the signal that it has taken.
	ReturnSignal(ctx context.Context, w SignalWait) error

	// RestWait lets a wait be due after rest, unless it is due already, or a signal of its name is there. due reports that.
	RestWait(ctx context.Context, w SignalWait, rest time.Duration) (due bool, err error)

	// ClaimWaits returns at most max waits that are due: a signal of their name is new, or their time has come. They are due again
	// after hold.
	ClaimWaits(ctx context.Context, max int, hold time.Duration) (ClaimedWaits, error)

	// MakeDue makes node runs due that no engine has leased, and reports which may be open still.
	MakeDue(ctx context.Context, shard int, keys []Key) (open []bool, err error)

	// RemoveWaits removes waits, unless they have another lease, with the signals that they have taken.
	RemoveWaits(ctx context.Context, waits []SignalWait) error

	// RemoveSignals removes all signals and waits of instances.
	RemoveSignals(ctx context.Context, instances []uuid.UUID) error

	// Signals reads the waits of an instance, and the signals that none has taken, at most max of each, oldest first.
	Signals(ctx context.Context, instance uuid.UUID, max int) ([]SignalWait, []StoredSignal, error)
}

// Signal is sent to an instance, in which one wait takes it.
type Signal struct {
	ID       uuid.UUID // makes a repetition safe
	Instance uuid.UUID
	Name     string
	Value    json.RawMessage // JSON
	Keyed    bool            // the sender may repeat it: the store remembers its id while the instance runs
}

// StoredSignal is a signal and when it was stored.
type StoredSignal struct {
	Signal
	Sent time.Time
}

// SignalsMax bounds the signals of an instance that no wait has taken.
const SignalsMax = 10_000

// ErrSignalsFull means that an instance has SignalsMax signals that no wait has taken.
var ErrSignalsFull = errors.New("the instance has 10000 signals that it has not taken; send more when it has taken some")

// SignalNameMax bounds the bytes of a signal's name.
const SignalNameMax = 200

// CheckSignalName refuses what is no signal's name.
func CheckSignalName(name string) error {
	switch {
	case name == "":
		return errors.New("the name of a signal is empty; give one such as approved")
	case len(name) > SignalNameMax:
		return fmt.Errorf("the name of a signal has %d bytes; give one of at most %d", len(name), SignalNameMax)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("the name of a signal is %q; give one of printable text", name)
	}
	return nil
}

// SignalWait is a node run that waits for a signal.
type SignalWait struct {
	Lease    Lease
	Attempt  int
	Name     string // of the signal
	Since    time.Time
	Deadline time.Time // zero: none

	State WaitState
	Value json.RawMessage // of the signal, if Received
}

// WaitState is what a wait has come to.
type WaitState string

// The states of waits.
const (
	Waiting  WaitState = "waiting"
	Received WaitState = "received"
	TimedOut WaitState = "timed out"
)

// ClaimedWaits are waits that are due.
type ClaimedWaits struct {
	Waits []SignalWait
	More  bool // more may be due

	// Instances have signals that nobody has taken for long: remove the signals of those that have ended.
	Instances []uuid.UUID
}
