package postgres

import (
	"bytes"
	"context"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
)

const (
	// SweepInstances is how many instances that need cleanup one sweep reads.
	SweepInstances = 100
	// SweepRows is how many rows one statement of a sweep removes.
	SweepRows = 1_000

	// cleanupQueueMax bounds how many ended instances wait to be cleaned up in the background, and cleanupPasses how often it
	// goes over one that left more rows than a statement removes. What is beyond that is left to Sweep.
	cleanupQueueMax = 1_000
	cleanupPasses   = 4
	// cleanupTimeout bounds the cleanup of what the background has taken at once.
	cleanupTimeout = time.Minute

	// After a sweep that found as many instances as it looks at, the next cleanup waits sweepRests times as long as that sweep worked,
	// sweepRestMost at most: what a burst of canceled instances left goes in the background of those that run.
	sweepRests    = 5
	sweepRestMost = time.Second

	// overdueRows is how many of the rows that are due one sweep looks at for leases that are over.
	overdueRows = 10_000
)

// Overdue puts node runs of a shard whose lease is over before what waits for its first. Without it they would be claimed
// all the same, as if they had been queued when their lease ended; where more is queued than there is room for, that is a
// second wait for what had its turn.
func (s *Store) Overdue(ctx context.Context, q *Queue, shard int) error {
	_, err := s.Pool.Exec(ctx, q.statements["overdue"], shard, overdueRows)
	return Explain(err)
}

//go:embed sql/needs_cleanup.sql
var needsCleanupSQL string

// Cleanup has the statements by which a design removes what ended instances left: instances that it marks with needs_cleanup.
type Cleanup struct {
	queue       *Queue   // where leases are that may be over
	names       []string // of the tables
	tables      []string // statements that each remove rows of instances from one of them
	markCleaned string   // marks those of instances as cleaned up of which no table has a row
}

// CleanupTable is a table with rows of instances, by shard and instance_id.
type CleanupTable struct {
	Name string
	Key  string // the columns behind these, in which completions lock

	// Leave is whether rows that somebody holds are left to another pass; else they are waited for.
	Leave bool
}

// NewCleanup makes the statements for a design, whose leases are on a queue, and adds them to those that the queue knows: cleanup_
// and a table's name removes its rows, mark_cleaned marks instances. Tables are in the order in which completions lock.
func NewCleanup(q *Queue, tables ...CleanupTable) *Cleanup {
	c := &Cleanup{queue: q}
	var none strings.Builder
	for _, t := range tables {
		v := Variant{File: "cleanup/rows", Names: []string{"{table}", t.Name, "{key}", t.Key}}
		if t.Leave {
			v.Parts = []string{"leave"}
		}
		sql := v.text(statementFiles)
		c.names, c.tables, q.designStatements["cleanup_"+t.Name] = append(c.names, t.Name), append(c.tables, sql), sql
		none.WriteString("\n            AND NOT EXISTS (SELECT FROM " + t.Name + " t WHERE t.shard = $1 AND t.instance_id = u.id)")
	}
	c.markCleaned = Variant{File: "cleanup/mark", Names: []string{"{none left}", none.String()}}.text(statementFiles)
	q.designStatements["mark_cleaned"] = c.markCleaned
	return c
}

// Sweeper removes the rows that ended instances left in the tables of a design, in the background and when it is called.
// It is safe for concurrent use.
type Sweeper struct {
	store *Store
	sql   *Cleanup

	turn       chan struct{}   // holds one value while no cleanup is under way: one would skip the rows that another has locked
	background context.Context // of the background
	stop       context.CancelFunc
	idle       chan struct{} // the background has come to rest

	mu      sync.Mutex
	ended   [][][16]byte // instances to be cleaned up in the background, by shard
	waiting int          // how many these are
	last    int          // the shard whose turn was the last
	working bool         // in the background
	closed  bool
	rested  time.Time // when a sweep may clean up again
}

// NewSweeper makes one. Who does owns it, and closes it before the store.
func NewSweeper(store *Store, sql *Cleanup) *Sweeper {
	s := &Sweeper{store: store, sql: sql, turn: make(chan struct{}, 1), idle: make(chan struct{}, 1), ended: make([][][16]byte, store.Shards())}
	s.turn <- struct{}{}
	s.background, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends the background and waits for that. What it did not get done is left to the sweeps of others, or of the next life.
func (s *Sweeper) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	for s.isWorking() {
		s.store.Clock.Wait(context.Background(), -1, s.idle)
	}
}

func (s *Sweeper) isWorking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.working
}

// CleanInBackground has what instances left that have just ended removed in the background. Nobody waits for it: what finds no room,
// what fails and what a crash takes still needs cleanup in the store, where Sweep finds it.
func (s *Sweeper) CleanInBackground(shard int, ids ...[16]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids = ids[:min(len(ids), cleanupQueueMax-s.waiting)]
	if s.closed || len(ids) == 0 {
		return
	}
	s.ended[shard] = append(s.ended[shard], ids...)
	s.waiting += len(ids)
	if !s.working {
		s.working = true
		s.store.Clock.Go(s.work)
	}
}

// work cleans up until nothing waits for it. After an error the rest is left to Sweep: the store may be gone for long.
func (s *Sweeper) work() {
	for shard, ids := s.next(); len(ids) > 0; shard, ids = s.next() {
		if err := s.cleanQueued(shard, ids); err != nil {
			s.store.Problem(s.background, "cleaning up after ended instances", err)
			s.discardQueued()
		}
	}
}

// next takes instances of one shard, in the order of their ids, and gives none once the background has come to rest.
func (s *Sweeper) next() (shard int, ids [][16]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.waiting == 0 {
		s.working = false
		select {
		case s.idle <- struct{}{}:
		default: // nobody has looked since it was last told
		}
		return 0, nil
	}
	for len(ids) == 0 {
		s.last = (s.last + 1) % len(s.ended)
		list := s.ended[s.last]
		n := min(len(list), SweepInstances)
		ids, s.ended[s.last] = list[:n:n], list[n:]
	}
	s.waiting -= len(ids)
	slices.SortFunc(ids, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	return s.last, ids
}

// discardQueued drops what waits for the background.
func (s *Sweeper) discardQueued() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.ended)
	s.waiting = 0
}

// cleanQueued removes what instances left, in the background.
func (s *Sweeper) cleanQueued(shard int, ids [][16]byte) error {
	ctx, cancel := s.store.Clock.Within(s.background, cleanupTimeout)
	defer cancel()
	if err := s.acquireTurn(ctx); err != nil {
		return err
	}
	defer s.releaseTurn()
	for range cleanupPasses {
		if _, more, err := s.clean(ctx, shard, ids); err != nil || !more {
			return err
		}
	}
	return nil
}

// acquireTurn waits for the turn to clean up.
func (s *Sweeper) acquireTurn(ctx context.Context) error {
	select {
	case <-s.turn:
		return nil
	default:
	}
	if s.store.Clock.Wait(ctx, -1, s.turn) == Ended {
		return ctx.Err()
	}
	return nil
}

func (s *Sweeper) releaseTurn() { s.turn <- struct{}{} }

// clean removes some of what instances left, says how much and whether there is more in a table than one statement
// removes, and marks those as cleaned up of which nothing is left.
func (s *Sweeper) clean(ctx context.Context, shard int, ids [][16]byte) (removed int, more bool, err error) {
	for _, sql := range s.sql.tables {
		tag, err := s.store.Pool.Exec(ctx, sql, shard, ids, SweepRows)
		if err != nil {
			return removed, more, err
		}
		removed += int(tag.RowsAffected())
		more = more || tag.RowsAffected() >= SweepRows
	}
	_, err = s.store.Pool.Exec(ctx, s.sql.markCleaned, shard, ids)
	return removed, more, err
}

// Sweep implements backend.Backend.
func (s *Sweeper) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	var swept backend.Swept
	if err := backend.CheckShard(shard, s.store.Shards()); err != nil {
		return swept, err
	}
	from := s.store.Clock.Now()
	if err := s.store.Overdue(ctx, s.sql.queue, shard); err != nil {
		return swept, err
	}
	overdue := s.store.Clock.Now().Sub(from)
	if err := s.rest(ctx); err != nil { // leases that are over do not wait for that
		return swept, err
	}
	from = s.store.Clock.Now()
	if err := s.acquireTurn(ctx); err != nil {
		return swept, err
	}
	defer s.releaseTurn()
	rows, err := s.store.Pool.Query(ctx, needsCleanupSQL, shard, SweepInstances)
	if err != nil {
		return swept, Explain(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil || len(ids) == 0 {
		return swept, Explain(err)
	}
	swept.Rows, _, err = s.clean(ctx, shard, ids)
	if len(ids) == SweepInstances {
		s.restAfter(overdue + s.store.Clock.Now().Sub(from))
	}
	swept.More = swept.Rows > 0 || len(ids) == SweepInstances
	return swept, Explain(err)
}

// restAfter has the next cleanup of a sweep wait for several times as long as one sweep worked.
func (s *Sweeper) restAfter(worked time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rested = s.store.Clock.Now().Add(min(sweepRests*worked, sweepRestMost))
}

// rest waits until the next cleanup of a sweep may begin. It is not waited for with the turn, which the background may need.
func (s *Sweeper) rest(ctx context.Context) error {
	s.mu.Lock()
	rested := s.rested
	s.mu.Unlock()
	if rested.IsZero() {
		return nil
	}
	if pause := rested.Sub(s.store.Clock.Now()); pause > 0 && s.store.Clock.Wait(ctx, pause) == Ended {
		return ctx.Err()
	}
	return nil
}

// Cancel implements backend.Canceler.
func (s *Sweeper) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	return s.store.Cancel(ctx, ids, reason, func(shard int, ended [][16]byte) { s.CleanInBackground(shard, ended...) })
}
