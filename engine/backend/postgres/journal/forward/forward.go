// Package forward sends calls to the owner of a shard, which is another engine, and brings back what it answers.
//
// A [Request] is a row of the table requests; the owner takes it, and writes its [Response] beside it. A notification goes with
// each: the owner hears of the request, and the engine that asks hears of the answer, which it then reads. Should a notification
// be lost, each looks by itself, rarely. The engine that asks waits for as long as that owner is there. Where no answer comes, it withdraws the request, whose row says what was applied: an append that
// is made for a request marks it in its own transaction, and does not are applied once it is withdrawn. A crash of the server empties the
// table; then what became of a request is not known.
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
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

// ErrForeign is the error of a call to a shard that somebody else owns, or nobody: nothing of it was applied.
var ErrForeign = errors.New("the shard has another owner")

// Operation names a call.
type Operation string

// The calls that are forwarded.
const (
	Claim    Operation = "claim"
	Complete Operation = "complete"
	Renew    Operation = "renew"
	Sweep    Operation = "sweep"
	Cancel   Operation = "cancel"
)

// Request is a call as it is sent.
type Request struct {
	Op          Operation       `json:"op"`
	Grant       backend.Grant   `json:"grant"`
	Completions []Completion    `json:"completions,omitempty"`
	Leases      []backend.Lease `json:"leases,omitempty"`
	IDs         []uuid.UUID     `json:"ids,omitempty"`
	Reason      string          `json:"reason,omitempty"`
}

// Completion is one with its program by number, zero for none, and bytes that need not be JSON.
type Completion struct {
	Lease   backend.Lease `json:"lease"`
	Program int32         `json:"program"`
	Attempt int           `json:"attempt"`
	Result  []byte        `json:"result,omitempty"`
	Failure *plan.Failure `json:"failure,omitempty"`
}

// Response is an answer as it is sent.
type Response struct {
	Foreign  bool               `json:"foreign,omitempty"` // the shard is not the answerer's any more
	Error    string             `json:"error,omitempty"`
	Unknown  bool               `json:"unknown,omitempty"` // of the error
	Outcomes []Outcome          `json:"outcomes,omitempty"`
	Tasks    []Task             `json:"tasks,omitempty"`
	Ended    []backend.Instance `json:"ended,omitempty"`
	More     bool               `json:"more,omitempty"`
	DueAfter time.Duration      `json:"due_after,omitempty"` // from the answer; zero: none
	Held     []bool             `json:"held,omitempty"`
	Swept    backend.Swept      `json:"swept"`
}

// Outcome is one of a completion.
type Outcome struct {
	Answer backend.Answer `json:"answer"`
	Error  string         `json:"error,omitempty"`
}

// Task is one that is handed out, with its program by number.
type Task struct {
	Lease   backend.Lease `json:"lease"`
	Program int32         `json:"program"`
	Action  string        `json:"action"`
	Args    []byte        `json:"args"`
	Attempt int           `json:"attempt"`

	Deliveries int `json:"deliveries"`
}

// Store is what a Desk needs of the store.
type Store interface {
	Number(ctx context.Context, p *plan.Program) (int32, error)
	Program(ctx context.Context, number int32) (*plan.Program, error)
	Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error)
	Incarnation(ctx context.Context) (string, error)
	Outlived(life string)
	Retry(ctx context.Context, doing, remedy string, try func() error) error
}

// Pool is what it needs of the pool of connections.
type Pool interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Forwarder is where an engine's requests leave from and arrive at. It is safe for concurrent use.
type Forwarder struct {
	Store   Store
	Pool    Pool
	Clock   postgres.Clock
	Channel string          // by which owners are told of requests, and engines of answers
	Context context.Context // of the engine: nothing is insisted on after it

	mu       sync.Mutex
	awaited  map[uuid.UUID]chan struct{} // of requests in flight: each is told when its answer is there
	answered map[int][]uuid.UUID         // requests from here whose answers were read, by shard
}

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL gives a statement as it is sent, by the name of its file.
func SQL(name string) (string, error) { return postgres.Statement(statementFiles, name) }

// Send puts completions into the form in which they are sent.
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

// Receive is the opposite of Send.
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
