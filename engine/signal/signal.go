package signal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/worker"
)

// Action is the action of node runs that wait for a signal. Its argument name is the signal's name, and it gives the signal's value.
const Action = worker.WaitSignal

// Store is a backend that has signals.
type Store interface {
	backend.Backend
	backend.Signaler
}

// ErrUnknownInstance means that a store has no instance of an id.
var ErrUnknownInstance = errors.New("no such instance")

// ErrInstanceEnded means that an instance takes no signals any more.
var ErrInstanceEnded = errors.New("the instance has ended")

// keySpace is the name space of the ids of signals with keys.
var keySpace = uuid.MustParse("0d9c2c0b-3a58-4b3c-9a0e-52f6a5d3a1c7")

// Message is a signal as its sender gives it.
type Message struct {
	Instance uuid.UUID
	Name     string
	Value    json.RawMessage // JSON; empty: null
	Key      string          // of messages with the same key, the instance gets the first only; empty: none
}

// Send stores a signal for a running instance, wakes other engines, and reports whether the signal is new. If the answer of the store
// is lost, a message with a key may be sent again.
func Send(ctx context.Context, store Store, m Message) (bool, error) {
	s, err := m.signal()
	if err != nil {
		return false, err
	}
	found, err := store.Lookup(ctx, []uuid.UUID{m.Instance})
	switch {
	case err != nil:
		return false, err
	case found[0].Status == "":
		return false, fmt.Errorf("instance %s: %w", m.Instance, ErrUnknownInstance)
	case found[0].Status != backend.Running:
		return false, fmt.Errorf("instance %s: %w: it is %s", m.Instance, ErrInstanceEnded, found[0].Status)
	}
	created, err := store.SendSignal(ctx, s)
	if err != nil {
		return false, fmt.Errorf("instance %s: %w", m.Instance, err)
	}
	if l, ok := store.(backend.Listener); ok && created {
		_ = l.Notify(ctx) // the signal is stored; without notification it is found a little later
	}
	return created, nil
}

func (m Message) signal() (backend.Signal, error) {
	s := backend.Signal{ID: uuid.New(), Instance: m.Instance, Name: m.Name, Value: m.Value, Keyed: m.Key != ""}
	if len(s.Value) == 0 {
		s.Value = json.RawMessage("null")
	}
	if s.Keyed {
		s.ID = uuid.NewSHA1(keySpace, append(m.Instance[:], m.Key...))
	}
	switch {
	case len(s.Value) > valueMax:
		return s, fmt.Errorf("the value of a signal has %d bytes; give one of at most %d", len(s.Value), valueMax)
	case !json.Valid(s.Value):
		return s, errors.New("the value of a signal is no JSON; a text needs quotation marks")
	}
	return s, backend.CheckSignalName(m.Name)
}

// valueMax bounds the bytes of a signal's value, as the language's default bounds values.
const valueMax = 1 << 20

// nameOf reads the arguments of a call of Action.
func nameOf(args json.RawMessage) (string, error) {
	var given struct {
		Name *string `json:"name"`
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(&given); err != nil || given.Name == nil {
		return "", fmt.Errorf("@%s takes the name of a signal, a text: write @%s(name=\"approved\")", Action, Action)
	}
	return *given.Name, backend.CheckSignalName(*given.Name)
}

// timeoutOf returns the timeout of a task's node; zero: none.
func timeoutOf(t backend.Task) time.Duration {
	return t.Program.Graph().Nodes[t.Lease.Key.Run.Node].Timeout
}
