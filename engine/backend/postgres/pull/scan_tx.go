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
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

// scanAndClaim makes a cycle over instances, or over all running ones of the shard where ids is nil, and claims what is due
// if that is wanted. An instance with data that the server refuses is ended by itself; the cycle is then made
// again without it.
func (b *Backend) scanAndClaim(ctx context.Context, shard int, grant backend.Grant, ids [][16]byte, claim bool) (backend.Committed, error) {
	c, err := b.scanOnce(ctx, shard, grant, ids, claim)
	switch {
	case err == nil:
		return c.out, nil
	case !postgres.Poisoned(err):
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
	c.out.More = true // what was entered meanwhile is leased to nobody
	return c.out, nil
}

// isolate makes cycles over ever smaller parts of instances, one of which makes them fail, and ends that.
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
		case postgres.Poisoned(err):
			ended, err = b.isolate(ctx, shard, part, err)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, ended...)
	}
	return out, nil
}

// scanOnce makes one cycle. It is repeated where the server gave it up for another; repeating it is always right,
// and one whose commit is lost is followed by the next.
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

// runWithPrograms makes a transaction, anew where it has met workflows that are to be read first: each time, more of them are known.
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

// scanAfterCommit makes the cycle that what was committed had to do without. Its failure is nobody's loss: More makes the
// caller claim, which makes another.
func (b *Backend) scanAfterCommit(ctx context.Context, shard int, grant backend.Grant, ids [][16]byte, out *postgres.Outcomes) {
	grant.Max = max(grant.Max-len(out.Result.Tasks), 0)
	c, err := b.scanAndClaim(ctx, shard, grant, ids, false)
	if err != nil {
		b.missed[shard].Store(true)
		out.Result.More = true
		return
	}
	out.Add(&c)
}

// errNewWorkflow stops a cycle that met a workflow which must be read first.
var errNewWorkflow = errors.New("workflow not read yet")

// scanError is an error of the cycle, and not of what was to be committed with it.
type scanError struct{ error }

func (e *scanError) Unwrap() error { return e.error }

// reading is what the tries of one call know of workflows.
type reading struct {
	b    *Backend
	read map[int32]*plan.Program // nil: this process cannot read it, and its instances rest
}

func (b *Backend) reading() *reading { return &reading{b, map[int32]*plan.Program{}} }

// learn reads workflows, outside of transactions: a cycle must not wait for a second connection while it holds
// one. Every try knows more of them.
func (r *reading) learn(ctx context.Context, missing map[int32]bool) error {
	for number := range missing {
		p, err := r.b.store.Program(ctx, number)
		if err != nil && !errors.As(err, new(*postgres.UnreadableError)) {
			return err
		}
		r.read[number] = p
	}
	return nil
}

// scanTx is one transaction: what it commits first, and a cycle over the instances which that concerns.
type scanTx struct {
	b        *Backend
	shard    int
	grant    backend.Grant
	programs *reading

	submitted []postgres.Started // to be stored, in the order of ids
	events    []*commitEvent     // to be committed, in key order
	ids       [][16]byte         // instances that the cycle looks at, in order
	all       bool               // it looks at all that run
	bare      bool               // there is no cycle
	claim     bool               // what is due is leased as well

	conn              postgres.Conn
	serverIncarnation string // of the server
	xid               string // of the transaction, where it changes something for others to know
	fresh             map[[16]byte]bool
	applied           map[int32]bool // by ord of what was found: whether it could be changed
	ignored           map[int32]bool // by ord: cancelled by what comes before it in the same transaction

	missing        map[int32]bool // workflows to be read before another try
	found          []*scanned     // by their place in ids, nil where there is none that runs
	replays        map[uuid.UUID]*replay
	endedInstances map[uuid.UUID]bool // they have ended in this cycle
	notOpen        map[uuid.UUID]bool // none of their runs was open

	entries       []entry
	cancelledRows runs // rows of runs that were cancelled
	ends          []backend.Instance
	tasks         []handed
	out           backend.Committed
}

// newScanTx gives a transaction without anything to do. What the call has leased before is no longer granted.
func (b *Backend) newScanTx(shard int, grant backend.Grant, before *postgres.Outcomes, known *reading) *scanTx {
	if before != nil {
		grant.Max = max(grant.Max-len(before.Result.Tasks), 0)
	}
	return &scanTx{b: b, shard: shard, grant: grant, programs: known, endedInstances: map[uuid.UUID]bool{}, replays: map[uuid.UUID]*replay{}}
}

// entry is a node run for the ledger.
type entry struct {
	key        backend.Key
	program    *plan.Program
	args       []plan.Arg
	storedArgs *string // args as the ledger keeps them, where nothing else does
	wait       time.Duration
	leased     bool
	task       json.RawMessage // the arguments put together, where it is leased
}

// handed is a task that was claimed, with what its arguments are.
type handed struct {
	task backend.Task
	args []plan.Arg
}

// runs are node runs as parameters of a statement.
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

// run makes the transaction. An unconfirmed outcome is backend.ErrUnknown; c then holds what is so if it was applied.
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
		_, _ = c.conn.Exec(ctx, "ROLLBACK") // what comes next is best done on this connection
	}
	return err
}

// scanInTransaction commits what is to be committed with its cycle, in as many round trips as there are answers to be
// waited for.
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

// findRunnable finds what is runnable, claims what is due, and puts the arguments of all that is leased together.
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

// queueFirst adds the statements that commit what there is to be committed.
func (c *scanTx) queueFirst(batch *pgx.Batch) error {
	if c.submitted != nil {
		c.queueSubmit(batch)
	}
	if len(c.events) > 0 {
		return c.queueComplete(batch)
	}
	return nil
}

// changes says whether there is anything to go on with.
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

// conclude fences what was cancelled, enters what is runnable, ends what is over, and commits.
func (c *scanTx) conclude(ctx context.Context) error {
	batch := &pgx.Batch{}
	if r := &c.cancelledRows; len(r.instance) > 0 {
		var exactly scope // what follows a path in key order begins with a dot
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
	case postgres.Unconfirmed(err):
		return postgres.WrapUnknown(err)
	}
	return &scanError{err}
}

// collectTasks gives the claimed tasks of instances that have not ended.
func (c *scanTx) collectTasks() {
	for _, h := range c.tasks {
		if !c.endedInstances[h.task.Lease.Key.Instance] {
			c.out.Tasks = append(c.out.Tasks, h.task)
		}
	}
}

// attempt makes a transaction until it is applied, see postgres.Store.Commit, and without its cycle where the server refuses
// the data of that.
func (b *Backend) attempt(ctx context.Context, shard int, make func(known *reading) *scanTx) (c *scanTx, err error) {
	known := b.reading()
	bare := false
	err = b.store.Commit(ctx, postgres.Transaction{
		Purpose: fmt.Sprintf("committing on shard %d", shard),
		Run: func() (err error) {
			c, err = b.runWithPrograms(ctx, known, func() *scanTx {
				c := make(known)
				c.bare = bare
				return c
			})
			if !bare && errors.As(err, new(*scanError)) && postgres.Poisoned(err) {
				bare = true
				err = postgres.Retryable(err)
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

// addResult adds what a transaction did to what its call did, and makes the cycle that it did without.
func (b *Backend) addResult(ctx context.Context, c *scanTx, grant backend.Grant, out *postgres.Outcomes) {
	out.Add(&c.out)
	if c.bare && c.changes() {
		b.scanAfterCommit(ctx, c.shard, grant, c.ids, out)
	}
}

// put stores in a map that is made when it is first needed: most cycles hold little.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
