package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/engine/worker"
)

// Kind is the value of a message's key "pulley".
type Kind string

// The kinds of workers' messages.
const (
	KindHello     Kind = "hello"
	KindResult    Kind = "result"
	KindError     Kind = "error"
	KindHeartbeat Kind = "heartbeat"
	KindBye       Kind = "bye"
)

// IsKnown reports whether workers send messages of this kind.
func (k Kind) IsKnown() bool {
	return slices.Contains([]Kind{KindHello, KindResult, KindError, KindHeartbeat, KindBye}, k)
}

// Bounds of a greeting.
const (
	SlotsMax         = 10_000
	HeartbeatMSLeast = 10
	HeartbeatMSMax   = 60_000
	actionsMax       = 10_000
)

// Message is a worker's message, with the fields of its kind.
type Message struct {
	Kind Kind

	ID        string
	IDIsText  bool // false: the id came as a number, and is its text
	Value     json.RawMessage
	ErrorType string
	Text      string

	IDs []string

	Hello *Greeting
}

// Greeting is a worker's description of itself. Check validates it.
type Greeting struct {
	Version     int      `json:"version"`
	Name        string   `json:"name"`
	Language    string   `json:"language"`
	Slots       *int     `json:"slots"`        // nil: 1
	HeartbeatMS int64    `json:"heartbeat_ms"` // 0: no heartbeats
	Actions     []Action `json:"actions"`
}

// Action is an action that a worker knows.
type Action struct {
	Name     string   `json:"name"`
	Args     []string `json:"args"`     // nil: any
	Required []string `json:"required"` // nil: all of Args
	Open     bool     `json:"open"`     // it also accepts others than Args
	Doc      string   `json:"doc"`
}

// Heartbeat bounds the worker's silence; 0: no heartbeats.
func (g *Greeting) Heartbeat() time.Duration { return time.Duration(g.HeartbeatMS) * time.Millisecond }

// SlotCount is the worker's number of concurrent attempts.
func (g *Greeting) SlotCount() int {
	if g.Slots == nil {
		return 1
	}
	return *g.Slots
}

// Check returns all mistakes of the greeting, one per line.
func (g *Greeting) Check() error {
	if g.Version != Version {
		return fmt.Errorf("its version of the protocol is %d; pulley speaks version %d", g.Version, Version)
	}
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if strings.TrimSpace(g.Name) == "" {
		wrong("it has no name; send a text, such as the program's name")
	}
	if n := g.SlotCount(); n < 1 || n > SlotsMax {
		wrong("slots is %d; choose from 1 to %d", n, SlotsMax)
	}
	if n := g.HeartbeatMS; n != 0 && (n < HeartbeatMSLeast || n > HeartbeatMSMax) {
		wrong("heartbeat_ms is %d; choose from %d to %d, or 0 for a worker that sends no heartbeats", n, HeartbeatMSLeast, HeartbeatMSMax)
	}
	switch n := len(g.Actions); {
	case n == 0:
		wrong("it lists no actions; list one at least")
	case n > actionsMax:
		wrong("it lists %d actions; at most %d may be", n, actionsMax)
	default:
		errs = append(errs, g.checkActions()...)
	}
	return errors.Join(errs...)
}

func (g *Greeting) checkActions() (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	seen := map[string]bool{}
	for i, a := range g.Actions {
		switch {
		case !worker.IsActionName(a.Name):
			wrong("actions[%d]: %q is not an action's name: write letters, digits, _ and single dots, as in mail.send", i, a.Name)
		case seen[a.Name]:
			wrong("actions[%d]: %s is there twice", i, a.Name)
		}
		seen[a.Name] = true
		names := map[string]bool{}
		for _, arg := range a.Args {
			switch {
			case !worker.IsActionName(arg) || strings.Contains(arg, "."):
				wrong("action %s: %q is not an argument's name: write letters, digits and _", a.Name, arg)
			case names[arg]:
				wrong("action %s: its argument %s is there twice", a.Name, arg)
			}
			names[arg] = true
		}
		for _, arg := range a.Required {
			if !names[arg] {
				wrong("action %s: it requires %s, which is not among its args", a.Name, arg)
			}
		}
	}
	return errs
}

// parse returns nil if a line of valid JSON is no message, and an error with the message if a field is invalid.
func parse(line []byte) (*Message, error) {
	var m struct {
		Pulley  any             `json:"pulley"`
		ID      json.RawMessage `json:"id"`
		Value   json.RawMessage `json:"value"`
		Type    any             `json:"type"`
		Message any             `json:"message"`
		IDs     []any           `json:"ids"`
	}
	// Only fields of the kind are checked.
	err := json.Unmarshal(line, &m)
	kind, isText := m.Pulley.(string)
	if !isText {
		return nil, nil
	}
	message := &Message{Kind: Kind(kind), Value: m.Value}
	switch message.Kind {
	case KindHello:
		message.Hello = &Greeting{}
		return message, wordField(json.Unmarshal(line, message.Hello))
	case KindResult, KindError:
		if !message.setID(m.ID) {
			return message, errors.New("its id is not the text that the run had")
		}
	case KindHeartbeat:
		for _, id := range m.IDs {
			message.IDs = append(message.IDs, fmt.Sprint(id))
		}
	}
	switch message.Kind {
	case KindResult:
		if len(m.Value) == 0 {
			return message, errors.New("it has no value; send null where there is none")
		}
	case KindError:
		var typed, texted bool
		message.ErrorType, typed = m.Type.(string)
		message.Text, texted = m.Message.(string)
		if !typed || message.ErrorType == "" || !texted {
			return message, errors.New("its type is a text that is not empty, and its message a text")
		}
	}
	var field *json.UnmarshalTypeError
	if errors.As(err, &field) {
		err = nil // ids that are no list
	}
	return message, err
}

func (m *Message) setID(raw json.RawMessage) bool {
	if json.Unmarshal(raw, &m.ID) == nil && string(raw) != "null" {
		m.IDIsText = true
		return true
	}
	n, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil {
		return false
	}
	m.ID = strconv.FormatUint(n, 10)
	return true
}

func wordField(err error) error {
	var field *json.UnmarshalTypeError
	if errors.As(err, &field) {
		return fmt.Errorf("its field %s is a %s, where a %s belongs", field.Field, field.Value, field.Type)
	}
	return err
}
