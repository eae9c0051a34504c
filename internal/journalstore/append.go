package journalstore

import (
	"encoding/json"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Appending is an append under way, which a simulated host looks into before it answers.
type Appending interface {
	// Append returns what the statement appends.
	Append() Append
	// Memory passes an instance of the append's shard to m as the owner remembers it, and reports whether memory has it.
	Memory(id uuid.UUID, m Memory) bool
}

// Append is what one append makes durable.
type Append struct {
	Shard        int
	Epoch        int64
	SkipExisting bool // existing instances are skipped, no error
	Events       []AppendedEvent
	Ends         []AppendedEnd
	Created      []AppendedEnd
}

// AppendedEvent is the end of an attempt, a snapshot, or a count of deliveries.
type AppendedEvent struct {
	Instance uuid.UUID
	Run      graph.Run
	Seq      int64 // zero: not stored, since its instance ends with this append
	Kind     int16
	Timed    bool
	Token    int64
	Data     []byte
}

// The kinds of events, as the table events has them: a result, a failure, a failure that is retried, a snapshot, and the
// deliveries of an attempt.
const (
	KindResult   = 0
	KindFailure  = 1
	KindRetry    = 2
	KindSnapshot = 3
	KindDelivery = 4
)

// AppendedEnd is an instance that ends, or a new one.
type AppendedEnd struct {
	Instance backend.Instance
	Input    json.RawMessage
	Token    int64
}

// Memory receives an instance as its owner remembers it.
type Memory struct {
	Run     func(run graph.Run, attempt int)
	Barrier func(run graph.Run, required, completed, elements int, soft bool)
	Value   func(slot plan.Slot, base json.RawMessage, appended int)
}
