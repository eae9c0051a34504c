package pull

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// scanned is an instance with all that stands in the ledger.
type scanned struct {
	id          uuid.UUID
	workflow    int32
	input       []byte
	completions []completion
	known       map[graph.Run]bool
}

// cycle rescans the running instances of a shard and enters what has become runnable. It is repeated
// where the server gave it up for another; repeating it is always right.
func (b *Backend) cycle(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	for try := 1; ; try++ {
		c := &cycling{b: b, shard: shard, grant: grant, programs: map[int32]*plan.Program{}}
		err := pgx.BeginFunc(ctx, b.store.Pool, func(tx pgx.Tx) error { return c.run(ctx, tx) })
		if err == nil {
			return c.out, nil
		}
		if try == commitTries || !postgres.Contended(err) && !errors.Is(err, errNewWorkflow) {
			return backend.Committed{}, err
		}
		// A workflow that this process has not seen is read outside of the transaction: a cycle must
		// not wait for a second connection while it holds one.
		for number := range c.missing {
			if _, err := b.store.Program(ctx, number); err != nil {
				return backend.Committed{}, err
			}
		}
	}
}

// errNewWorkflow stops a cycle that met a workflow which must be read first.
var errNewWorkflow = errors.New("workflow not read yet")

// cycling is one cycle.
type cycling struct {
	b        *Backend
	shard    int
	grant    backend.Grant
	programs map[int32]*plan.Program
	missing  map[int32]bool
	out      backend.Committed
	entries  entries
	ends     ends
}

// entries are the parameters of enter.sql, and the programs of their instances.
type entries struct {
	instance [][16]byte
	node     []int32
	path     []string
	args     []string
	program  map[backend.Key]*plan.Program
}

// ends are the parameters of end.sql.
type ends struct {
	instance [][16]byte
	status   []string
	result   []*string
	failure  []*string
}

func (c *cycling) run(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, lockCycleSQL, c.shard); err != nil {
		return err
	}
	c.entries.program = map[backend.Key]*plan.Program{}
	if c.b.scan == ScanSQL {
		return c.runSQL(ctx, tx)
	}
	found, err := c.scan(ctx, tx)
	if err != nil {
		return err
	}
	for _, in := range found {
		p := c.program(in.workflow)
		if p == nil {
			continue
		}
		if err := c.judge(in, p); err != nil {
			return err
		}
	}
	if c.missing != nil {
		return errNewWorkflow
	}
	return c.write(ctx, tx)
}

// scan reads the ledger of all running instances of the shard.
func (c *cycling) scan(ctx context.Context, tx pgx.Tx) ([]*scanned, error) {
	rows, err := tx.Query(ctx, scanSQL, c.shard)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []*scanned
	for rows.Next() {
		var id [16]byte
		var workflow int32
		var input, result, failure []byte
		var node, attempt *int32
		var path *string
		var done *int64
		if err := rows.Scan(&id, &workflow, &input, &node, &path, &attempt, &done, &result, &failure); err != nil {
			return nil, err
		}
		if len(found) == 0 || found[len(found)-1].id != id {
			found = append(found, &scanned{id: id, workflow: workflow, input: input, known: map[graph.Run]bool{}})
		}
		if node == nil {
			continue
		}
		in := found[len(found)-1]
		run := graph.Run{Node: graph.NodeID(*node), Path: graph.Path(*path)}
		in.known[run] = true
		if done == nil {
			continue
		}
		row := completion{run: run, attempt: int(*attempt), done: *done, result: result}
		if failure != nil {
			row.failure = &plan.Failure{}
			if err := json.Unmarshal(failure, row.failure); err != nil {
				return nil, err
			}
		}
		in.completions = append(in.completions, row)
	}
	return found, rows.Err()
}

// judge finds what an instance can run now that is not in the ledger yet. An instance whose ledger the
// core cannot follow is ended: it must not stop the others of its shard.
func (c *cycling) judge(in *scanned, p *plan.Program) error {
	r, err := rebuild(p, in.input, in.completions)
	switch {
	case err != nil:
		return c.end(in.id, &plan.End{Failure: &plan.Failure{Type: "LedgerError", Message: err.Error()}})
	case r.end != nil:
		return c.end(in.id, r.end)
	}
	for _, e := range r.runnable {
		if !in.known[e.run] {
			c.enter(p, in.id, e.run, string(e.args))
		}
	}
	return nil
}

// program gives a workflow, or nil and notes that it must be read first.
func (c *cycling) program(number int32) *plan.Program {
	p := c.b.store.Known(number)
	if p == nil {
		if c.missing == nil {
			c.missing = map[int32]bool{}
		}
		c.missing[number] = true
	}
	return p
}

// enter notes a node run for the ledger.
func (c *cycling) enter(p *plan.Program, instance uuid.UUID, run graph.Run, args string) {
	e := &c.entries
	e.instance = append(e.instance, instance)
	e.node = append(e.node, int32(run.Node))
	e.path = append(e.path, string(run.Path))
	e.args = append(e.args, args)
	e.program[backend.Key{Instance: instance, Run: run}] = p
}

func (c *cycling) end(id uuid.UUID, end *plan.End) error {
	in := backend.Instance{ID: id, Status: backend.Completed, Result: end.Result}
	var result, failure *string
	if end.Failure == nil {
		text := string(end.Result)
		result = &text
	} else {
		in = backend.Instance{ID: id, Status: backend.Failed, Failure: end.Failure}
		data, err := json.Marshal(end.Failure)
		if err != nil {
			return err
		}
		text := string(data)
		failure = &text
	}
	c.out.Ended = append(c.out.Ended, in)
	c.ends.instance = append(c.ends.instance, id)
	c.ends.status = append(c.ends.status, string(in.Status))
	c.ends.result = append(c.ends.result, result)
	c.ends.failure = append(c.ends.failure, failure)
	return nil
}

// write enters what is runnable and ends what is over.
func (c *cycling) write(ctx context.Context, tx pgx.Tx) error {
	sent := time.Now()
	batch := &pgx.Batch{}
	e, n := &c.entries, &c.ends
	if len(e.instance) > 0 {
		batch.Queue(enterSQL, c.shard, e.instance, e.node, e.path, e.args, c.grant.Owner, c.grant.Max, micros(c.grant.Lease)).Query(func(rows pgx.Rows) error {
			return c.entered(rows, sent)
		})
	}
	if len(n.instance) > 0 {
		batch.Queue(endSQL, c.shard, n.instance, n.status, n.result, n.failure)
		batch.Queue(clearSQL, c.shard, n.instance)
		if c.b.scan == ScanSQL {
			batch.Queue(clearArrivalsSQL, c.shard, n.instance)
			batch.Queue(clearInboxSQL, c.shard, n.instance)
		}
	}
	if batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, batch).Close()
}

// entered makes tasks of the rows that were leased at once.
func (c *cycling) entered(rows pgx.Rows, sent time.Time) error {
	defer rows.Close()
	args := map[backend.Key]string{}
	for i, id := range c.entries.instance {
		args[backend.Key{Instance: id, Run: graph.Run{Node: graph.NodeID(c.entries.node[i]), Path: graph.Path(c.entries.path[i])}}] = c.entries.args[i]
	}
	for rows.Next() {
		var instance [16]byte
		var node int32
		var path, status string
		var token int64
		if err := rows.Scan(&instance, &node, &path, &status, &token); err != nil {
			return err
		}
		if status != "leased" {
			c.out.More = true
			continue
		}
		key := backend.Key{Instance: instance, Run: graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}}
		p := c.entries.program[key]
		if p == nil {
			return fmt.Errorf("instance %s: entered a node run that was not runnable", key.Instance)
		}
		c.out.Tasks = append(c.out.Tasks, backend.Task{
			Lease: backend.Lease{Key: key, Token: token}, Program: p, Action: p.Graph().Nodes[node].Action,
			Args: json.RawMessage(args[key]), Attempt: 1, Expires: sent.Add(c.grant.Lease),
		})
	}
	return rows.Err()
}

// inOrder sorts completions by instance, node and path: the order in which every commit locks rows.
func inOrder(events []*event) {
	slices.SortStableFunc(events, func(a, b *event) int { return a.compare(b) })
}
