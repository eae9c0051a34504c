package pull

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// scanAndClaim scans instances, or all running ones of the shard if ids is nil, and claims what is due if claim is set. It ends
// an instance whose data the server refuses, and repeats the scan.
func (b *Backend) scanAndClaim(ctx context.Context, shard int, grant backend.Grant, ids [][16]byte, claim bool) (backend.Committed, error) {
	c, err := b.scanOnce(ctx, shard, grant, ids, claim)
	switch {
	case err == nil:
		return c.out, nil
	case !pgstore.Poisoned(err):
		return backend.Committed{}, err
	}
	ended, err := b.isolate(ctx, shard, c.ids, err)
	if err != nil {
		return backend.Committed{}, err
	}
	if c, err = b.scanOnce(ctx, shard, grant, ids, claim); err != nil {
		return backend.Committed{}, err
	}
	c.out.Ended = append(ended, c.out.Ended...)
	c.out.More = true // what was entered since then is not leased
	return c.out, nil
}

// isolate scans ever smaller parts of instances until it finds the one that makes scans fail, and ends it.
func (b *Backend) isolate(ctx context.Context, shard int, ids [][16]byte, because error) ([]backend.Instance, error) {
	switch len(ids) {
	case 0:
		return nil, because
	case 1:
		return b.endAll(ctx, shard, []backend.Instance{corruptEnd(ids[0], because)})
	}
	var out []backend.Instance
	for _, part := range [][][16]byte{ids[:len(ids)/2], ids[len(ids)/2:]} {
		c, err := b.scanOnce(ctx, shard, backend.Grant{}, part, false)
		var ended []backend.Instance
		switch {
		case err == nil:
			ended = c.out.Ended
		case pgstore.Poisoned(err):
			ended, err = b.isolate(ctx, shard, part, err)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, ended...)
	}
	return out, nil
}

// scanOnce scans once, and retries after contention. Repeating a scan is always right, so a lost commit needs no resolution.
func (b *Backend) scanOnce(ctx context.Context, shard int, grant backend.Grant, ids [][16]byte, claim bool) (c *scanTx, err error) {
	known := b.reading()
	err = b.store.RetryContended(ctx, fmt.Sprintf("a cycle on shard %d", shard), func() (err error) {
		c, err = b.runWithPrograms(ctx, known, func() *scanTx {
			c := b.newScanTx(shard, grant, nil, known)
			c.ids, c.all, c.claim = ids, ids == nil, claim
			return c
		})
		return err
	})
	return c, err
}

// runWithPrograms runs a transaction, and repeats it when it meets workflows that must be read first.
func (b *Backend) runWithPrograms(ctx context.Context, known *reading, make func() *scanTx) (*scanTx, error) {
	for {
		c := make()
		err := b.run(ctx, c)
		if !errors.Is(err, errNewWorkflow) {
			return c, err
		}
		if err := known.learn(ctx, c.missing); err != nil {
			return c, err
		}
	}
}

// scanAfterCommit makes the scan that a commit went without. On an error, More makes the caller claim, which scans.
func (b *Backend) scanAfterCommit(ctx context.Context, shard int, grant backend.Grant, ids [][16]byte, out *pgstore.Outcomes) {
	grant.Max = max(grant.Max-len(out.Result.Tasks), 0)
	c, err := b.scanAndClaim(ctx, shard, grant, ids, false)
	if err != nil {
		b.missed[shard].Store(true)
		out.Result.More = true
		return
	}
	out.Add(&c)
}

// errNewWorkflow stops a scan that met a workflow which must be read first.
var errNewWorkflow = errors.New("workflow not read yet")

type scanError struct{ error }

func (e *scanError) Unwrap() error { return e.error }

type reading struct {
	b    *Backend
	read map[int32]*plan.Program // nil: this process cannot read it, and skips its instances
}

func (b *Backend) reading() *reading { return &reading{b, map[int32]*plan.Program{}} }

// learn reads workflows outside transactions: waiting for a second connection while holding one could deadlock.
func (r *reading) learn(ctx context.Context, missing map[int32]bool) error {
	for number := range missing {
		p, err := r.b.store.Program(ctx, number)
		if err != nil && !errors.As(err, new(*pgstore.UnreadableError)) {
			return err
		}
		r.read[number] = p
	}
	return nil
}

type scanTx struct {
	b        *Backend
	shard    int
	grant    backend.Grant
	programs *reading

	submitted []pgstore.Started // to be stored, sorted by id
	events    []*commitEvent    // to be committed, in key order
	ids       [][16]byte        // instances to scan, sorted
	all       bool              // scan all that run
	bare      bool              // no scan
	claim     bool              // also lease what is due

	conn              pgstore.Conn
	serverIncarnation string
	xid               string // of the transaction, if it changes anything
	fresh             map[[16]byte]bool
	applied           map[int32]bool // by ord of the events found: whether the row could be changed
	ignored           map[int32]bool // by ord: cancelled by an earlier event of the transaction

	missing        map[int32]bool // workflows to read before another try
	found          []*scanned     // by index in ids; nil unless it runs
	replays        map[uuid.UUID]*replay
	endedInstances map[uuid.UUID]bool // in this scan
	notOpen        map[uuid.UUID]bool // without open runs

	entries       []entry
	cancelledRows runs
	ends          []backend.Instance
	tasks         []handed
	out           backend.Committed
}

// Tasks in before are deducted from the grant.
func (b *Backend) newScanTx(shard int, grant backend.Grant, before *pgstore.Outcomes, known *reading) *scanTx {
	if before != nil {
		grant.Max = max(grant.Max-len(before.Result.Tasks), 0)
	}
	return &scanTx{b: b, shard: shard, grant: grant, programs: known, endedInstances: map[uuid.UUID]bool{}, replays: map[uuid.UUID]*replay{}}
}

type entry struct {
	key        backend.Key
	program    *plan.Program
	args       []plan.Arg
	storedArgs *string // args to be stored, unless an arrival has them
	wait       time.Duration
	leased     bool
	task       json.RawMessage // the assembled arguments, if leased
}

type handed struct {
	task backend.Task
	args []plan.Arg
}

type runs struct {
	instance [][16]byte
	node     []int32
	path     []string
}

func (r *runs) add(key backend.Key) {
	r.instance = append(r.instance, key.Instance)
	r.node = append(r.node, int32(key.Run.Node))
	r.path = append(r.path, string(key.Run.Path))
}

// run runs the transaction. If the outcome is unknown, c has the results that it would have.
func (b *Backend) run(ctx context.Context, c *scanTx) error {
	var err error
	if c.serverIncarnation, err = b.store.Incarnation(ctx); err != nil {
		return err
	}
	if c.conn, err = b.store.Pool.Acquire(ctx); err != nil {
		return err
	}
	defer c.conn.Release()
	err = c.scanInTransaction(ctx)
	if err != nil && c.conn.InTransaction() {
		_, _ = c.conn.Exec(ctx, "ROLLBACK") // a retry may use this connection
	}
	return err
}

func (c *scanTx) scanInTransaction(ctx context.Context) error {
	first := &pgx.Batch{}
	first.Queue("BEGIN")
	if c.all || c.claim || len(c.ids) > 0 {
		first.Queue(lockScanSQL, c.shard).QueryRow(func(row pgx.Row) error { return row.Scan(nil, &c.xid) })
	}
	if err := c.queueFirst(first); err != nil {
		return err
	}
	looks := len(c.ids) > 0 && c.b.scan == ScanApp && !c.bare && !c.all && !c.mayCancel()
	if looks {
		c.queueScan(first, c.ids)
	}
	if err := c.conn.SendBatch(ctx, first).Close(); err != nil {
		return err
	}
	if !c.changes() {
		_, err := c.conn.Exec(ctx, "ROLLBACK")
		return err
	}
	if err := c.advance(ctx); err != nil {
		return err
	}
	if !c.bare {
		if err := c.findRunnable(ctx, looks); err != nil {
			return &scanError{err}
		}
	}
	return c.conclude(ctx)
}

func (c *scanTx) findRunnable(ctx context.Context, scanned bool) error {
	if c.all {
		rows, err := c.conn.Query(ctx, runningSQL, c.shard)
		if err == nil {
			c.ids, err = pgx.CollectRows(rows, pgx.RowTo[[16]byte])
		}
		if err != nil {
			return err
		}
	}
	find := c.findSQL
	if c.b.scan == ScanApp {
		find = func(ctx context.Context) error { return c.findApp(ctx, scanned) }
	}
	if len(c.ids) > 0 {
		if err := find(ctx); err != nil {
			return err
		}
	}
	c.allot()
	if c.claim && c.missing == nil {
		if err := c.leaseDue(ctx); err != nil {
			return err
		}
	}
	if c.missing != nil {
		return errNewWorkflow
	}
	return c.assemble(ctx)
}

func (c *scanTx) queueFirst(batch *pgx.Batch) error {
	if c.submitted != nil {
		c.queueSubmit(batch)
	}
	if len(c.events) > 0 {
		return c.queueComplete(batch)
	}
	return nil
}

// changes reports whether a scan is needed: something was applied, or there is nothing else to do.
func (c *scanTx) changes() bool {
	if c.submitted == nil && c.events == nil {
		return true
	}
	for _, done := range c.applied {
		if done {
			return true
		}
	}
	return len(c.fresh) > 0
}

func (c *scanTx) conclude(ctx context.Context) error {
	batch := &pgx.Batch{}
	if r := &c.cancelledRows; len(r.instance) > 0 {
		var exactly scope // paths below one continue with a dot
		for i, path := range r.path {
			exactly.instance, exactly.id = append(exactly.instance, r.instance[i]), append(exactly.id, r.node[i])
			exactly.first, exactly.last = append(exactly.first, path), append(exactly.last, path+" ")
		}
		exactly.lock(batch, c.shard)
		batch.Queue(dropSQL, c.shard, r.instance, r.node, r.path)
	}
	c.queueEntries(batch)
	if err := c.queueEnds(batch); err != nil {
		return err
	}
	batch.Queue("COMMIT")
	err := c.conn.SendBatch(ctx, batch).Close()
	switch {
	case err == nil:
		c.collectTasks()
		return nil
	case pgstore.Unconfirmed(err):
		return pgstore.WrapUnknown(err)
	}
	return &scanError{err}
}

func (c *scanTx) collectTasks() {
	for _, h := range c.tasks {
		if !c.endedInstances[h.task.Lease.Key.Instance] {
			c.out.Tasks = append(c.out.Tasks, h.task)
		}
	}
}

// attempt retries a transaction until it is committed (pgstore.Store.Commit), without its scan if the server refuses the scan's
// data.
func (b *Backend) attempt(ctx context.Context, shard int, make func(known *reading) *scanTx) (c *scanTx, err error) {
	known := b.reading()
	bare := false
	err = b.store.Commit(ctx, pgstore.Transaction{
		Purpose: fmt.Sprintf("committing on shard %d", shard),
		Run: func() (err error) {
			c, err = b.runWithPrograms(ctx, known, func() *scanTx {
				c := make(known)
				c.bare = bare
				return c
			})
			if !bare && errors.As(err, new(*scanError)) && pgstore.Poisoned(err) {
				bare = true
				err = pgstore.Retryable(err)
			}
			return err
		},
		ID: func() (life, xid string) { return c.serverIncarnation, c.xid },
		Release: func() {
			b.store.Release(ctx, ledger, c.shard, c.ids, c.xid)
			c.out.Tasks, c.out.More = nil, true
		},
	})
	return c, err
}

func (b *Backend) addResult(ctx context.Context, c *scanTx, grant backend.Grant, out *pgstore.Outcomes) {
	out.Add(&c.out)
	if c.bare && c.changes() {
		b.scanAfterCommit(ctx, c.shard, grant, c.ids, out)
	}
}

// put stores in a map that may be nil: most scans hold little.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
