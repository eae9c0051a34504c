package backend

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Inspector is a backend that shows what it stores, to people. Its calls change nothing, and cost a bounded time.
type Inspector interface {
	// Inspect reads one instance, with most node runs and barriers at most of each. An unknown instance has the zero Status.
	Inspect(ctx context.Context, id uuid.UUID, most int) (Snapshot, error)

	// List reads a page of instances.
	List(ctx context.Context, f Filter) (Page, error)
}

// InspectWhole is Inspector.Inspect, with the limits of the store and the waits for signals of a running instance, if the backend has
// such.
func InspectWhole(ctx context.Context, store Inspector, id uuid.UUID, most int) (Snapshot, error) {
	s, err := store.Inspect(ctx, id, most)
	if err != nil || s.Status != Running {
		return s, err
	}
	if limiter, ok := store.(Limiter); ok {
		if s.Limits, _, err = limiter.Limits(ctx); err != nil {
			return s, err
		}
	}
	if signaler, ok := store.(Signaler); ok {
		s.Waits, _, err = signaler.Signals(ctx, id, most)
	}
	return s, err
}

// Snapshot is what a store has of an instance at one moment.
type Snapshot struct {
	Instance
	Program   *plan.Program // nil: this process cannot read it
	Input     json.RawMessage
	Now       time.Time // all times are of the store's clock
	Submitted time.Time
	Ended     time.Time // zero: it runs

	Runs     []OpenRun     // node runs that are ready, wait or are leased, by node and path
	Barriers []OpenBarrier // with arrivals, and not full, by node and path
	Cut      bool          // there are more of them

	// Done counts the completed runs of nodes. Nil: the design does not keep them.
	Done map[graph.NodeID]int

	Limits []StoredLimit // of the store, if the caller has read them
	Waits  []SignalWait  // of the instance, if the caller has read them

	// Owner owns the instance's shard, in a design whose shards have owners; otherwise nil.
	Owner *ShardOwner
}

// OpenRun is a node run that has not ended.
type OpenRun struct {
	Run        graph.Run
	Attempt    int    // from 1
	Deliveries int    // of the attempt so far, with the current one
	Leased     bool   // perhaps with an expired lease
	Engine     string // that has the lease; empty: not known
	Due        time.Time
}

// OpenBarrier is a barrier that waits for arrivals.
type OpenBarrier struct {
	Run       graph.Run
	Completed int
	Required  int // zero: not known yet
}

// ShardOwner is the engine that alone decides on a shard.
type ShardOwner struct {
	Name    string    // empty: nobody
	Expires time.Time // of its lease
	Adopted bool      // it, or an owner before it, has taken the instance over from the engine that stored it

	// Answered reports that the owner told of the runs and barriers, which only its memory has; Silence says why not.
	Answered bool
	Silence  string

	EvictedUntil time.Time // the owner has evicted the instance, and reloads it then; zero: it has it in memory
	Broken       string    // why the owner has set the instance aside; empty: it has not
}

// Filter chooses instances. Its zero value chooses all.
type Filter struct {
	Workflow  string    // its name, or that of its file without the directory; empty: any
	Status    Status    // empty: any
	Before    time.Time // submitted before; zero: any time
	Since     time.Time // submitted then or later; zero: any time
	After     uuid.UUID // those with lesser ids: the Next of the page before; zero: from the first
	Most      int       // instances in the page; at least 1
	CountMost int       // up to which node runs of an instance are counted; at least 1
}

// Page is a part of a list, by id, the greatest first: ids made by pulley are in the order of time.
type Page struct {
	Now       time.Time // of the store
	Instances []Listed
	Next      uuid.UUID // for Filter.After; zero: there are no more
}

// Listed is an instance in a list.
type Listed struct {
	ID        uuid.UUID
	Workflow  string
	Status    Status
	Failure   string // its type; empty: none
	Submitted time.Time
	Ended     time.Time // zero: it runs
	Counts    *RunCounts
}

// RunCounts counts the node runs of an instance. Each is at most Filter.CountMost.
type RunCounts struct {
	Done    *int // nil: the design does not keep them
	Running int  // leased
	Waiting int  // ready, or not yet due
}

// Historian is a backend that keeps the completed node runs of an instance while it runs.
type Historian interface {
	// History reads the last completed node runs of an instance, in the order of their ends, most of them at most.
	History(ctx context.Context, id uuid.UUID, most int) ([]CompletedRun, error)
}

// CompletedRun is a node run that has ended.
type CompletedRun struct {
	Run     graph.Run
	Attempt int // the last one, from 1
	Result  json.RawMessage
	Failure *plan.Failure // nil: it has a result
}

// Purger is a backend that can delete ended instances.
type Purger interface {
	// Purge deletes, in one transaction, those of a bounded number of instances of a shard that ended longer ago than age: the
	// first with greater ids than after. It leaves those whose cleanup is not finished. With dry it only counts them.
	Purge(ctx context.Context, shard int, after uuid.UUID, age time.Duration, dry bool) (Purged, error)
}

// Purged is the effect of one purge.
type Purged struct {
	Completed, Failed, Canceled int

	Last uuid.UUID // that was looked at
	More bool      // there are instances behind Last
}

// PurgeWalk purges a whole store, in as many transactions as it takes. Its zero value with a store walks over no shards.
type PurgeWalk struct {
	Store  Purger
	Shards int           // of the store
	Age    time.Duration // since an instance's end
	Dry    bool          // only counts

	shard int
	after uuid.UUID
}

// Step purges the next instances, and reports whether there may be more. After an error it can be called again.
func (w *PurgeWalk) Step(ctx context.Context) (p Purged, more bool, err error) {
	if w.shard >= w.Shards {
		return p, false, nil
	}
	if p, err = w.Store.Purge(ctx, w.shard, w.after, w.Age, w.Dry); err != nil {
		return p, true, err
	}
	if w.after = p.Last; !p.More {
		w.shard, w.after = w.shard+1, uuid.Nil
	}
	return p, w.shard < w.Shards, nil
}
