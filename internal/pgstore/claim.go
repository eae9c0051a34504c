package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Claiming says how a design claims.
type Claiming struct {
	Queue *Queue
	Owner any // as the queue's rows store it

	// Place returns what stands for a run's path in the key of its row; nil: the path itself.
	Place func(p *plan.Program, run graph.Run) graph.Path

	Turns *Turns // of claims that are not by time; nil: all are

	Values Values
}

// Values reads what the arguments of claimed node runs refer to. number is a run's index in the claim.
type Values interface {
	Need(instance uuid.UUID, number int32, slots []plan.Slot)
	Read(batch *pgx.Batch, shard int) // queues a statement that reads all needed values
	Value(instance uuid.UUID, number int32, slot plan.Slot) (json.RawMessage, bool)
}

type claimed struct {
	task     backend.Task // without arguments that refer to values
	workflow int32
	args     []plan.Arg // if they refer to values
}

// Claim leases node runs that are due, and reads when the next one is. After backend.ErrUnknown, leases may exist until they
// expire.
func (s *Store) Claim(ctx context.Context, shard int, grant backend.Grant, by Claiming) (backend.Committed, error) {
	out, rows, err := s.claim(ctx, shard, grant, by)
	if err = WrapUnknown(err); err == nil {
		if out.Tasks, err = s.claimedTasks(ctx, shard, rows, by); err != nil {
			err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
		}
	}
	if err != nil {
		return backend.Committed{}, postgres.Explain(err)
	}
	return out, nil
}

func (s *Store) claim(ctx context.Context, shard int, grant backend.Grant, by Claiming) (out backend.Committed, found []claimed, err error) {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return out, nil, err
	}
	defer conn.Release() // before reading a workflow on another connection: waiting for one while holding one could deadlock
	sent := s.Clock.Now()
	batch := &pgx.Batch{}
	statement, args := "claim", []any{shard, grant.Max, by.Owner, grant.Lease.Microseconds()}
	if waited := grant.HeadStart(); waited > 0 {
		statement, args = "claim_urgent", append(args, waited.Microseconds())
	}
	sql, byTurns := by.Queue.statements[statement], by.Turns != nil && grant.Order != backend.ByTime && grant.Priority == 0
	if byTurns {
		var last any
		sql, last = by.Turns.claim(shard, grant.Order)
		args = append(args, last)
	}
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		var until uuid.UUID
		if found, until, err = collectClaimed(rows, sent, grant.Lease); err == nil && byTurns {
			by.Turns.had(shard, grant.Order, found, grant.Max, until)
		}
		return err
	})
	batch.Queue(by.Queue.statements["next_due"], shard).Query(func(rows pgx.Rows) error {
		var us int64
		_, err := pgx.ForEachRow(rows, []any{&us}, func() error {
			out.NextDue = sent.Add(time.Duration(max(us, 0)) * time.Microsecond)
			out.More = us <= 0
			return nil
		})
		return err
	})
	return out, found, conn.SendBatch(ctx, batch).Close()
}

// collectClaimed reads the rows of a claim, and up to which instance it looked, if it tells that.
func collectClaimed(rows pgx.Rows, sent time.Time, lease time.Duration) (all []claimed, until uuid.UUID, err error) {
	defer rows.Close()
	for rows.Next() {
		var c claimed
		row := rows.RawValues() // text as it is, the rest in binary
		if len(row) > 9 {
			copy(until[:], row[9])
		}
		if row[0] == nil { // nothing was due
			continue
		}
		run := graph.Run{Node: graph.NodeID(Int4(row[1])), Path: graph.Path(row[2])}
		c.task.Lease = backend.Lease{Key: backend.Key{Instance: uuid.UUID(row[0]), Run: run}, Token: Int8(row[3])}
		c.task.Attempt, c.workflow, c.task.Expires = int(Int4(row[4])), Int4(row[5]), sent.Add(lease)
		c.task.Since = sent.Add(time.Duration(Int8(row[8])) * time.Microsecond)
		c.task.Deliveries = int(Int4(row[7]))
		switch args := row[6]; {
		case args == nil: // a sleep
			c.task.Args = json.RawMessage("{}")
		case ByReference(args):
			if c.args, err = backend.DecodeArgs(args); err != nil {
				return nil, until, err
			}
		default:
			c.task.Args = slices.Clone(args)
		}
		all = append(all, c)
	}
	return all, until, rows.Err()
}

// ByReference reports whether encoded arguments (backend.EncodeArgs) refer to values; else they are the task's arguments.
func ByReference(stored []byte) bool { return len(stored) == 0 || stored[0] != '{' }

// claimedTasks makes tasks of claimed rows. It reads values before it checks the leases: if one is still held, its values were
// not deleted before.
func (s *Store) claimedTasks(ctx context.Context, shard int, rows []claimed, by Claiming) ([]backend.Task, error) {
	var leases Leases
	for i := range rows {
		t := &rows[i].task
		p, err := s.Program(ctx, rows[i].workflow)
		if err != nil {
			return nil, err
		}
		t.Program, t.Action = p, p.Graph().Nodes[t.Lease.Key.Run.Node].Action
		if t.Args != nil {
			continue
		}
		by.Values.Need(t.Lease.Key.Instance, int32(i), backend.Refs(rows[i].args))
		at := t.Lease
		if by.Place != nil {
			at.Key.Run.Path = by.Place(p, at.Key.Run)
		}
		leases.Add(int32(i), at)
	}
	stand := map[int32]bool{}
	if len(leases.Ord) > 0 {
		batch := &pgx.Batch{}
		by.Values.Read(batch, shard)
		batch.Queue(by.Queue.statements["leased"], leases.Parameters(shard)...).Query(func(rows pgx.Rows) error { return collectOrds(rows, stand) })
		if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
			return nil, err
		}
	}
	tasks := make([]backend.Task, 0, len(rows))
	for i, c := range rows {
		t := c.task
		if t.Args == nil {
			if !stand[int32(i)] { // cancelled since then
				continue
			}
			var err error
			if t.Args, err = backend.AssembleArgs(c.args, func(slot plan.Slot) (json.RawMessage, bool) {
				return by.Values.Value(t.Lease.Key.Instance, int32(i), slot)
			}); err != nil {
				continue // the instance has ended; its values are deleted before its leases
			}
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// Turns lets workflows and instances take turns in the claims of a design. Each store has its own: what matters is that every claim of an
// engine begins behind the one before.
type Turns struct {
	byWorkflow, byInstance string

	mu     sync.Mutex
	shards map[int]turn
}

// turn is where the next turns of a shard begin.
type turn struct {
	workflow int32
	instance uuid.UUID
}

// NewTurns returns the turns of a design whose queue has statements claim_by_workflow and claim_by_instance. Their fifth parameter is
// the last workflow, or the last instance, that had a turn: others come first.
func NewTurns(q *Queue) *Turns {
	return &Turns{byWorkflow: q.MustSQL("claim_by_workflow"), byInstance: q.MustSQL("claim_by_instance"), shards: map[int]turn{}}
}

// claim returns the statement of a claim by turns, and its fifth parameter.
func (t *Turns) claim(shard int, order backend.Order) (sql string, last any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if order == backend.ByWorkflow {
		return t.byWorkflow, t.shards[shard].workflow
	}
	return t.byInstance, [16]byte(t.shards[shard].instance)
}

// had notes what had turns in a claim that wanted most node runs. One that got less has looked at instances up to until; if that is zero,
// there are no more, and the next claim begins anew.
func (t *Turns) had(shard int, order backend.Order, rows []claimed, most int, until uuid.UUID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.shards[shard]
	switch last := len(rows) - 1; {
	case order == backend.ByWorkflow && last >= 0:
		now.workflow = rows[last].workflow
	case order == backend.ByInstance && len(rows) < most:
		now.instance = until
	case order == backend.ByInstance:
		now.instance = rows[last].task.Lease.Key.Instance
	}
	t.shards[shard] = now
}
