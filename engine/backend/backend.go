package backend

import (
	"cmp"
	"context"
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

// Backend stores instances and decides, atomically, what each event changes. It is safe for
// concurrent use. Slices and messages that are handed over belong to the backend until the call
// returns; what it returns belongs to the caller.
//
// An error means that nothing of the call happened, except for one that IsUnknown holds for: then
// the connection was lost around the commit and reading back failed too; the same call may be made
// again, since every write is guarded by an id or a token.
type Backend interface {
	// Shards is the number of shards of the store; it never changes. Every call below but Submit and
	// Lookup names one, from zero on.
	Shards() int

	// Submit stores new instances and makes their first node runs ready. An id that is there already
	// is answered Duplicate and changes nothing. An input that the program refuses is answered Refused.
	Submit(ctx context.Context, subs []Submission, grant Grant) (Committed, error)

	// Claim leases up to grant.Max node runs that are due: ready, or leased with the lease expired.
	// Every lease carries a new token, which fences the holder before.
	Claim(ctx context.Context, shard int, grant Grant) (Committed, error)

	// Complete applies completions of one shard, each whole or not at all, independently of the
	// others: Outcomes[i] answers completions[i]. All that are applied commit together.
	Complete(ctx context.Context, shard int, completions []Completion, grant Grant) (Committed, error)

	// Renew renews the leases by grant.Lease from now, and gives, for each, whether the lease is
	// still held. A Lease of zero gives them back: the node runs are due at once and before what was not handed
	// out yet, the tokens are stale, and the deliveries do not count.
	Renew(ctx context.Context, shard int, leases []Lease, grant Grant) ([]bool, error)

	// Sweep removes what instances that ended left behind, a bounded piece per call; More asks for
	// another call.
	Sweep(ctx context.Context, shard int) (Swept, error)

	// Lookup reads instances. Outcomes come in the order of ids; an unknown one has the zero Status.
	Lookup(ctx context.Context, ids []uuid.UUID) ([]Instance, error)

	// Close lets go of connections. Calls under way are cut off.
	Close()
}

// Canceler is a backend whose instances can be ended from outside.
type Canceler interface {
	// Cancel ends running instances as Canceled, with the reason in their Failure: what is queued goes,
	// and what runs is fenced. It gives the instances as they stand afterwards, in the order of ids;
	// one that had ended before is as it was, and an unknown one has the zero Status.
	Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]Instance, error)
}

// CanceledType is the failure type of an instance that was canceled.
const CanceledType = "Canceled"

// Listener is a backend that hears of work that other processes made ready.
type Listener interface {
	// Listen calls wake, from one goroutine, whenever some may be there, and tells of nothing twice
	// that it can help. It returns when ctx ends, with nil, or when it can listen no longer. Wakes may
	// be lost: whoever listens must poll as well, if less often.
	Listen(ctx context.Context, wake func()) error

	// Notify wakes all other listeners.
	Notify(ctx context.Context) error
}

// Placer is a backend that does some shards' work itself, or better, and leaves that of others to whoever does it.
type Placer interface {
	// IsLocal says whether what is submitted to a shard is begun here, without a detour. It may change at any time,
	// and any shard will do.
	IsLocal(shard int) bool
}

// Grant says for whom ready node runs are leased, how many at most, and for how long.
type Grant struct {
	Owner string        // names the engine in the store; for people
	Max   int           // node runs; zero leases none
	Lease time.Duration // positive; counted on the store's clock
}

// Submission is a new instance.
type Submission struct {
	ID      uuid.UUID // the same id twice is one instance
	Program *plan.Program
	Input   json.RawMessage // a JSON object
}

// Key names a node run across instances.
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

// Lease is the right to run one attempt.
type Lease struct {
	Key   Key
	Token int64 // the fencing token: greater than that of every lease of the run before
}

// Task is a leased attempt, ready to run.
type Task struct {
	Lease   Lease
	Program *plan.Program   // with which to complete it
	Action  string          // empty for a sleep that is over: complete it at once, with null
	Args    json.RawMessage // a JSON object, references resolved
	Attempt int             // from 1: one more than the retries so far
	Expires time.Time       // on the local clock, never later than the lease's end on the store's

	// Deliveries is how often the attempt was leased, this time included: from 1. It counts what outlives engines; so does a
	// lease whose holder never heard of it, unless the store knows that: it may be too high, never too low.
	Deliveries int
}

// Completion is the end of an attempt.
type Completion struct {
	Lease   Lease
	Program *plan.Program
	Attempt int
	Result  json.RawMessage // JSON; where Failure is nil
	Failure *plan.Failure
}

// Committed is what a call changed.
type Committed struct {
	Outcomes []Outcome  // one for each submission or completion, in order; nil for Claim
	Tasks    []Task     // node runs that are leased to grant.Owner now, in order of readiness
	Ended    []Instance // instances that this call ended

	// More says that work is, or may be, ready that was not leased: claim when there is room.
	More bool

	// NextDue is when a node run that waits for its time becomes due, on the local clock; zero if none
	// is known of. It may be early, never needed: claiming is always right.
	NextDue time.Time
}

// DueAt notes when a node run that waits becomes due.
func (c *Committed) DueAt(at time.Time) {
	if c.NextDue.IsZero() || at.Before(c.NextDue) {
		c.NextDue = at
	}
}

// Outcome answers one submission or completion.
type Outcome struct {
	Answer Answer
	Err    error // why, for Refused and Again
}

// Answer is how a submission or completion ended.
type Answer string

// The answers.
const (
	Applied   Answer = "applied"
	Duplicate Answer = "duplicate" // of a submission: the instance is there already
	Stale     Answer = "stale"     // of a completion: the token is not the current one, or the instance has ended
	Refused   Answer = "refused"   // it cannot be applied, whatever is done; it changed nothing
	Again     Answer = "again"     // it was not applied or, where IsUnknown holds for Err, may have been; others of the call were; offer it again
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

// Instance is what is known of one.
type Instance struct {
	ID      uuid.UUID
	Status  Status
	Result  json.RawMessage // where Completed
	Failure *plan.Failure   // where Failed or Canceled
}

// Swept is what one sweep did.
type Swept struct {
	Rows int  // removed
	More bool // there is more to remove now
}

// ErrOverflow is in the error of a completion whose arrival would have taken a readiness counter
// beyond its required count (I2): the store and the program disagree.
var ErrOverflow = errors.New("readiness overflow")

// ErrUnknown is in the error of a commit whose outcome could not be found out (D7).
var ErrUnknown = errors.New("outcome of the commit unknown")

// IsUnknown says whether the error leaves open what happened.
func IsUnknown(err error) bool { return errors.Is(err, ErrUnknown) }

// ShardOf gives an instance's shard, one of n: FNV-1a of the id's bytes modulo n. It is part of
// what a database holds and never changes.
func ShardOf(id uuid.UUID, n int) int {
	if n <= 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write(id[:])
	return int(h.Sum32() % uint32(n))
}
