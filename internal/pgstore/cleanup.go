package pgstore

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
	"pulley/engine/backend/postgres"
)

const (
	// SweepInstances is the most instances that one sweep cleans up.
	SweepInstances = 100
	// SweepRows is the most rows that one statement of a sweep removes.
	SweepRows = 1_000

	// cleanupQueueMax bounds the instances queued for the background, cleanupPasses the passes over those with many rows. Sweep
	// finds the rest.
	cleanupQueueMax = 1_000
	cleanupPasses   = 4
	// cleanupTimeout bounds one cleanup in the background.
	cleanupTimeout = time.Minute

	// After a full sweep, the next one pauses for sweepRests times its duration, at most sweepRestMost, so that a burst of
	// cancelled instances does not slow those that run.
	sweepRests    = 5
	sweepRestMost = time.Second

	// overdueRows is how many due rows a sweep checks for expired leases.
	overdueRows = 10_000
)

// Overdue moves expired leases to the front of the queue. Claim would take them in the order in which they became due; behind a
// backlog, they would wait a second time.
func (s *Store) Overdue(ctx context.Context, q *Queue, shard int) error {
	_, err := s.Pool.Exec(ctx, q.statements["overdue"], shard, overdueRows)
	return postgres.Explain(err)
}

//go:embed sql/needs_cleanup.sql
var needsCleanupSQL string

// Cleanup is the statements that remove the rows of a design's ended instances.
type Cleanup struct {
	queue       *Queue   // with the leases
	names       []string // of the tables
	tables      []string // statements that remove rows, by table
	markCleaned string   // marks instances without rows as cleaned up
}

// CleanupTable is a table with rows of instances, by shard and instance_id.
type CleanupTable struct {
	Name string
	Key  string // the other key columns, in locking order

	// Leave skips locked rows. Otherwise the cleanup waits for them.
	Leave bool
}

// NewCleanup makes a design's cleanup statements and adds them to the queue's, as cleanup_TABLE and mark_cleaned. tables are in
// the order in which completions lock.
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

// Sweeper removes rows of ended instances, in the background and in Sweep. It is safe for concurrent use.
type Sweeper struct {
	store *Store
	sql   *Cleanup

	turn       chan struct{}   // held by the one cleanup that runs: two would skip each other's locked rows
	background context.Context // of the background
	stop       context.CancelFunc
	idle       chan struct{} // signalled when the background stops

	mu      sync.Mutex
	ended   [][][16]byte // queued for the background, by shard
	waiting int          // their number
	last    int          // the shard served last
	working bool         // the background runs
	closed  bool
	rested  time.Time // when a sweep may clean up again
}

// NewSweeper returns a sweeper. Its owner closes it before the store.
func NewSweeper(store *Store, sql *Cleanup) *Sweeper {
	s := &Sweeper{store: store, sql: sql, turn: make(chan struct{}, 1), idle: make(chan struct{}, 1), ended: make([][][16]byte, store.Shards())}
	s.turn <- struct{}{}
	s.background, s.stop = context.WithCancel(context.Background())
	return s
}

// Close stops the background and waits for it. Later sweeps do the rest.
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

// CleanInBackground removes what ended instances left. After an overflow, an error or a crash they still need cleanup, and Sweep
// finds them.
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

// work cleans up until nothing is queued. After an error it leaves the rest to Sweep: the store may be down for long.
func (s *Sweeper) work() {
	for shard, ids := s.next(); len(ids) > 0; shard, ids = s.next() {
		if err := s.cleanQueued(shard, ids); err != nil {
			s.store.Problem(s.background, "cleaning up after ended instances", err)
			s.discardQueued()
		}
	}
}

// next takes queued instances of one shard, sorted by id. If there are none, it ends the background.
func (s *Sweeper) next() (shard int, ids [][16]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.waiting == 0 {
		s.working = false
		select {
		case s.idle <- struct{}{}:
		default: // already signalled
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

func (s *Sweeper) discardQueued() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.ended)
	s.waiting = 0
}

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

// clean removes at most SweepRows rows of each table; more reports whether a table may have others. It marks instances without
// rows as cleaned up.
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
	if err := s.rest(ctx); err != nil { // only cleanup pauses, not expired leases
		return swept, err
	}
	from = s.store.Clock.Now()
	if err := s.acquireTurn(ctx); err != nil {
		return swept, err
	}
	defer s.releaseTurn()
	rows, err := s.store.Pool.Query(ctx, needsCleanupSQL, shard, SweepInstances)
	if err != nil {
		return swept, postgres.Explain(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil || len(ids) == 0 {
		return swept, postgres.Explain(err)
	}
	swept.Rows, _, err = s.clean(ctx, shard, ids)
	if len(ids) == SweepInstances {
		s.restAfter(overdue + s.store.Clock.Now().Sub(from))
	}
	swept.More = swept.Rows > 0 || len(ids) == SweepInstances
	return swept, postgres.Explain(err)
}

func (s *Sweeper) restAfter(worked time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rested = s.store.Clock.Now().Add(min(sweepRests*worked, sweepRestMost))
}

// rest pauses before a sweep's cleanup, without the turn, which the background may need.
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

var (
	purgeSQL    = Variant{File: "purge", Parts: []string{"delete"}}.text(statementFiles)
	purgeDrySQL = Variant{File: "purge", Parts: []string{"dry"}}.text(statementFiles)
)

// purgeSpan is how many instances a purge looks at.
const purgeSpan = 1000

// Purge deletes old ended instances; see backend.Purger.
func (s *Store) Purge(ctx context.Context, shard int, after uuid.UUID, age time.Duration, dry bool) (p backend.Purged, err error) {
	if err := backend.CheckShard(shard, s.shards); err != nil {
		return p, err
	}
	sql := purgeSQL
	if dry {
		sql = purgeDrySQL
	}
	var last *uuid.UUID
	var n int
	err = s.RetryContended(ctx, "purging ended instances", func() error {
		return s.Pool.QueryRow(ctx, sql, shard, after, purgeSpan, age.Microseconds()).Scan(&p.Completed, &p.Failed, &p.Canceled, &last, &n)
	})
	if err != nil {
		return backend.Purged{}, postgres.Explain(err)
	}
	if last != nil {
		p.Last = *last
	}
	p.More = n == purgeSpan
	return p, nil
}
