// Package forward sends calls to the engine that owns a shard, and returns the owner's answer.
//
// A [Request] is a row of the table requests, and the owner writes its [Response] into the row. A notification announces each;
// in case it is lost, both sides also poll, rarely. The calling engine waits while the owner is alive. If no answer comes, it
// withdraws the request. An append made for a request marks it in the same transaction, and is not applied once the request is
// withdrawn; so the row tells what was applied.
package forward

import (
	"context"
	"embed"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// ErrForeign means that no engine, or another one, owns the shard: nothing of the call was applied.
var ErrForeign = errors.New("the shard has another owner")

// Operation names a call.
type Operation string

// The forwarded calls.
const (
	Claim    Operation = "claim"
	Complete Operation = "complete"
	Renew    Operation = "renew"
	MakeDue  Operation = "make_due"
	Sweep    Operation = "sweep"
	Cancel   Operation = "cancel"
	Inspect  Operation = "inspect"
)

// Request is a call as it is sent.
type Request struct {
	Op          Operation       `json:"op"`
	Grant       backend.Grant   `json:"grant"`
	Completions []Completion    `json:"completions,omitempty"`
	Leases      []backend.Lease `json:"leases,omitempty"`
	Keys        []backend.Key   `json:"keys,omitempty"`
	IDs         []uuid.UUID     `json:"ids,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	Most        int             `json:"most,omitempty"` // to inspect: node runs and barriers
}

// Completion is a backend.Completion with its program's number, zero for none. Result need not be JSON.
type Completion struct {
	Lease   backend.Lease `json:"lease"`
	Program int32         `json:"program"`
	Attempt int           `json:"attempt"`
	Result  []byte        `json:"result,omitempty"`
	Failure *plan.Failure `json:"failure,omitempty"`
}

// Inspected is what the memory of a shard's owner has of an instance.
type Inspected struct {
	Runs       []InspectedRun        `json:"runs,omitempty"`
	Barriers   []backend.OpenBarrier `json:"barriers,omitempty"`
	Known      bool                  `json:"known,omitempty"` // it has the instance
	Evicted    bool                  `json:"evicted,omitempty"`
	EvictedFor time.Duration         `json:"evicted_for,omitempty"` // from now
	Broken     string                `json:"broken,omitempty"`
}

// InspectedRun is an open node run. Its time is sent as a distance, since clocks differ.
type InspectedRun struct {
	backend.OpenRun
	DueIn time.Duration `json:"due_in"`
}

// Response is an answer as it is sent.
type Response struct {
	Inspected *Inspected         `json:"inspected,omitempty"`
	Foreign   bool               `json:"foreign,omitempty"` // the engine no longer owns the shard
	Error     string             `json:"error,omitempty"`
	Unknown   bool               `json:"unknown,omitempty"` // of the error
	Outcomes  []Outcome          `json:"outcomes,omitempty"`
	Tasks     []Task             `json:"tasks,omitempty"`
	Ended     []backend.Instance `json:"ended,omitempty"`
	More      bool               `json:"more,omitempty"`
	DueAfter  time.Duration      `json:"due_after,omitempty"` // after the answer; zero: none
	Held      []bool             `json:"held,omitempty"`
	Swept     backend.Swept      `json:"swept"`
}

// Outcome is a backend.Outcome as it is sent.
type Outcome struct {
	Answer backend.Answer `json:"answer"`
	Error  string         `json:"error,omitempty"`
}

// Task is a leased task with its program's number.
type Task struct {
	Lease   backend.Lease `json:"lease"`
	Program int32         `json:"program"`
	Action  string        `json:"action"`
	Args    []byte        `json:"args"`
	Attempt int           `json:"attempt"`

	Deliveries int `json:"deliveries"`
}

// Store is the part of the store that a Forwarder uses.
type Store interface {
	Number(ctx context.Context, p *plan.Program) (int32, error)
	Program(ctx context.Context, number int32) (*plan.Program, error)
	Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error)
	Incarnation(ctx context.Context) (string, error)
	Outlived(life string)
	Retry(ctx context.Context, doing, remedy string, try func() error) error
}

// Pool is a pool of connections.
type Pool interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Forwarder sends an engine's requests and fetches those to it. It is safe for concurrent use.
type Forwarder struct {
	Store   Store
	Pool    Pool
	Clock   pgstore.Clock
	Channel string          // for notifications of requests and answers
	Context context.Context // of the engine: once it ends, nothing is retried

	mu       sync.Mutex
	awaited  map[uuid.UUID]chan struct{} // of requests in flight: signalled when the answer is there
	answered map[int][]uuid.UUID         // requests with answers already read, by shard
}

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL returns a statement as it is sent, by file name.
func SQL(name string) (string, error) { return pgstore.Statement(statementFiles, name) }

// Send converts completions to the form in which they are sent.
func (d *Forwarder) Send(ctx context.Context, completions []backend.Completion) ([]Completion, error) {
	out := make([]Completion, len(completions))
	for i, c := range completions {
		out[i] = Completion{Lease: c.Lease, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
		if c.Program == nil {
			continue
		}
		var err error
		if out[i].Program, err = d.Store.Number(ctx, c.Program); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Receive is the inverse of Send.
func (d *Forwarder) Receive(ctx context.Context, sent []Completion) ([]backend.Completion, error) {
	out := make([]backend.Completion, len(sent))
	for i, c := range sent {
		out[i] = backend.Completion{Lease: c.Lease, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
		if c.Program == 0 {
			continue
		}
		var err error
		if out[i].Program, err = d.Store.Program(ctx, c.Program); err != nil {
			return nil, err
		}
	}
	return out, nil
}
