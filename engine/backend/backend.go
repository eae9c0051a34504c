package backend

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Backend stores instances and decides atomically what each event changes. It is safe for concurrent use. Arguments belong to the
// backend until the call returns; its results belong to the caller.
//
// An error means that nothing of the call was applied, unless IsUnknown holds for it: then the connection was lost around the
// commit, and reading back failed too. Any failed call may be repeated, since an id or a token guards every write.
type Backend interface {
	// Shards is the number of shards of the store; it never changes. Calls name a shard from zero on.
	Shards() int

	// Submit stores new instances and makes their first node runs ready. It answers an id that exists Duplicate, and an input
	// that the program refuses Refused.
	Submit(ctx context.Context, subs []Submission, grant Grant) (Committed, error)

	// Claim leases up to grant.Max node runs that are due: ready ones, and ones with an expired lease. Every lease has a new
	// token, which fences the previous holder.
	Claim(ctx context.Context, shard int, grant Grant) (Committed, error)

	// Complete applies completions of one shard, each whole or not at all, independently of the others: Outcomes[i] answers
	// completions[i]. All that are applied commit together.
	Complete(ctx context.Context, shard int, completions []Completion, grant Grant) (Committed, error)

	// Renew renews leases for grant.Lease from now, and reports for each whether it is still held. With a Lease of zero it
	// returns them: the node runs are due at once, before all that were not handed out yet, or after grant.Pause; the tokens are
	// stale, and the deliveries do not count.
	Renew(ctx context.Context, shard int, leases []Lease, grant Grant) ([]bool, error)

	// Sweep removes a bounded number of rows that ended instances left; More asks for another call.
	Sweep(ctx context.Context, shard int) (Swept, error)

	// Lookup reads instances, in the order of ids; an unknown one has the zero Status.
	Lookup(ctx context.Context, ids []uuid.UUID) ([]Instance, error)

	// Close closes connections, and cuts off calls under way.
	Close()
}

// Canceler is a backend that can cancel instances.
type Canceler interface {
	// Cancel ends running instances as Canceled, with the reason in their Failure: queued node runs are removed, leased ones
	// fenced. It returns the instances as they are then, in the order of ids. One that ended before is unchanged; an unknown one
	// has the zero Status.
	Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]Instance, error)
}

// CanceledType is the failure type of a cancelled instance.
const CanceledType = "Canceled"

// Listener is a backend that notifies other processes of ready work.
type Listener interface {
	// Listen calls wake, from one goroutine, whenever there may be work, and avoids repetitions. It returns nil when ctx ends, or
	// an error when it cannot continue. Wakes may be lost, so the caller must also poll.
	Listen(ctx context.Context, wake func()) error

	// Notify wakes all other listeners.
	Notify(ctx context.Context) error
}

// Overlapper is a backend that stores more if two large commits of a shard overlap: while the statements of one run, the other is planned.
type Overlapper interface {
	Backend

	// OverlapsCommits does nothing.
	OverlapsCommits()
}

// Placer is a backend that serves some shards itself, and the others through their owners.
type Placer interface {
	// IsLocal reports whether this backend starts what is submitted to a shard without a detour. The answer may change at any
	// time, and any shard works.
	IsLocal(shard int) bool
}

// Grant tells for whom, how many, and for how long ready node runs are leased.
type Grant struct {
	Owner string        // names the engine in the store, for people
	Max   int           // node runs; zero leases none
	Lease time.Duration // positive; on the store's clock
	Pause time.Duration `json:",omitempty"` // of returned leases: after which they are due; zero: at once

	// Priority is that of urgent node runs which wait to be claimed. Submit and Complete lease at once only what has at least this
	// priority, and leave the rest to claims. Claim leases only what would be handed out before a node run of this priority that becomes
	// ready now. Backends without priorities need not heed it.
	Priority int `json:",omitempty"`

	// Order is that of a claim with Priority 0. Fair is set for writes by those that claim in any order, or that do not know who claims: a
	// node run that a write without it leaves in the store may be handed out by time only. Only a TurnTaker heeds them.
	Order Order `json:",omitempty"`
	Fair  bool  `json:",omitempty"`
}

// Submission is a new instance.
type Submission struct {
	ID      uuid.UUID // one id is one instance
	Program *plan.Program
	Input   json.RawMessage // a JSON object
}

// Key identifies a node run across instances.
type Key struct {
	Instance uuid.UUID
	Run      graph.Run
}

// Compare orders keys by instance, node and path: the order in which stores lock rows (D5).
func (k Key) Compare(o Key) int {
	return cmp.Or(
		slices.Compare(k.Instance[:], o.Instance[:]),
		cmp.Compare(k.Run.Node, o.Run.Node),
		strings.Compare(string(k.Run.Path), string(o.Run.Path)),
	)
}

// Lease is the right to execute one attempt.
type Lease struct {
	Key   Key
	Token int64 // fences: greater than those of earlier leases of the node run
}

// Task is a leased attempt.
type Task struct {
	Lease   Lease
	Program *plan.Program   // for its completion
	Action  string          // empty for a sleep that is due: complete it at once, with null
	Args    json.RawMessage // a JSON object, references resolved
	Attempt int             // from 1: the retries so far plus one
	Expires time.Time       // on the local clock, never later than the lease's end on the store's
	Since   time.Time       // of a claimed one, on the local clock: when it became ready, less its head start. Zero: not known

	// Deliveries counts the leases of the attempt, from 1, and outlives engines. It includes a lease that never reached its
	// holder, unless the store knows that: it may be too high, never too low.
	Deliveries int
}

// Completion is the end of an attempt.
type Completion struct {
	Lease   Lease
	Program *plan.Program
	Attempt int
	Result  json.RawMessage // JSON; unless Failure is set
	Failure *plan.Failure
}

// Committed is the effect of a call.
type Committed struct {
	Outcomes []Outcome  // one for each submission or completion, in order; nil for Claim
	Tasks    []Task     // leased to grant.Owner by this call, in order of readiness
	Ended    []Instance // ended by this call

	// More reports that work may be ready that was not leased: claim when there is capacity.
	More bool

	// NextDue is when a waiting node run becomes due, on the local clock; zero if none is known. It is a hint: claiming is always
	// right.
	NextDue time.Time
}

// DueAt lowers NextDue to at.
func (c *Committed) DueAt(at time.Time) {
	if c.NextDue.IsZero() || at.Before(c.NextDue) {
		c.NextDue = at
	}
}

// Outcome answers one submission or completion.
type Outcome struct {
	Answer Answer
	Err    error // the reason, for Refused, Full and Again
}

// Answer is the result of a submission or completion.
type Answer string

// The answers.
const (
	Applied   Answer = "applied"
	Duplicate Answer = "duplicate" // of a submission: the instance exists already
	Stale     Answer = "stale"     // of a completion: the token is not current, or the instance has ended
	Refused   Answer = "refused"   // it can never be applied; it changed nothing
	Full      Answer = "full"      // of a submission, only by SubmitAdmitted: a limit of instances has no place; it changed nothing
	Again     Answer = "again"     // not applied (or, if IsUnknown holds for Err, perhaps), while others of the call were; offer it again
)

// Status is an instance's state. It changes once.
type Status string

// The states.
const (
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Canceled  Status = "canceled"
)

// Instance is the public state of an instance.
type Instance struct {
	ID      uuid.UUID
	Status  Status
	Result  json.RawMessage // if Completed
	Failure *plan.Failure   // if Failed or Canceled
}

// Swept is the effect of one sweep.
type Swept struct {
	Rows int  // removed
	More bool // more can be removed now
}

// ErrOverflow means that an arrival exceeds its barrier's required count (I2): the store and the program disagree.
var ErrOverflow = errors.New("readiness overflow")

// ErrUnknown means that the outcome of a commit could not be resolved (D7).
var ErrUnknown = errors.New("outcome of the commit unknown")

// IsUnknown reports whether the error leaves the outcome open.
func IsUnknown(err error) bool { return errors.Is(err, ErrUnknown) }

// keySpace is the name space of IDOfKey.
var keySpace = uuid.MustParse("6b1f0cf6-9f4a-4c0e-8f0a-6f1f7b1f2f6d")

// IDOfKey returns the id of the instance that is submitted under an idempotency key: a UUID of version 8, from SHA-256. One key is
// one instance of a store. Databases rely on it; it never changes.
func IDOfKey(key string) uuid.UUID { return uuid.NewHash(sha256.New(), keySpace, []byte(key), 8) }

// ShardOf returns an instance's shard, one of n: FNV-1a of the id's bytes modulo n. Databases rely on it; it never changes.
func ShardOf(id uuid.UUID, n int) int {
	if n <= 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write(id[:])
	return int(h.Sum32() % uint32(n))
}
