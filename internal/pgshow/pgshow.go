package pgshow

import (
	"bytes"
	"context"
	_ "embed" // for the statements
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
	"pulley/internal/pgstore"
)

var (
	//go:embed sql/instance.sql
	instanceSQL string
	//go:embed sql/named.sql
	namedSQL string
	//go:embed sql/list.sql
	listSQL string
)

// Design has a design's statements. Empty: it does not store what that shows.
type Design struct {
	// Runs reads the open node runs of an instance: node, path, attempt, deliveries, owner's name, leased, due. $1 shard, $2
	// instance, $3 most.
	Runs string

	// Barriers reads the barriers that are not full: node, path, completed, required or 0. $1 shard, $2 instance, $3 most.
	Barriers string

	// Done counts completed node runs: node, count. $1 shard, $2 instance, $3 most rows to read.
	Done string

	// Counts counts the node runs of instances: id, done or null, running, waiting. $1 shard, $2 instances, $3 most for each.
	Counts string
}

// rowsMost bounds what is read of a table that also has completed node runs of an instance.
const rowsMost = 100_000

// movedBy is how far a queue moves what is to be first: see queue/overdue.sql.
const movedBy = 100

// Inspect reads an instance. also, if not nil, reads more of a running one in the same transaction; it must not use the store.
func (d *Design) Inspect(ctx context.Context, s *pgstore.Store, id uuid.UUID, most int, also func(tx pgx.Tx, workflow int32, out *backend.Snapshot) error) (out backend.Snapshot, err error) {
	if most < 1 {
		return out, fmt.Errorf("inspecting instance %s: %d node runs; ask for 1 or more", id, most)
	}
	var workflow int32
	err = reading(ctx, s, func(tx pgx.Tx) error {
		var err error
		if workflow, err = readInstance(ctx, tx, s.Shards(), id, &out); err != nil || out.Status != backend.Running {
			return err
		}
		if err := d.readOpen(ctx, tx, s.Shards(), most, &out); err != nil || also == nil {
			return err
		}
		return also(tx, workflow, &out)
	})
	if err != nil || out.Status == "" {
		return out, postgres.Explain(err)
	}
	var unreadable *pgstore.UnreadableError
	if out.Program, err = s.Program(ctx, workflow); err != nil && !errors.As(err, &unreadable) {
		return out, postgres.Explain(err)
	}
	Arrange(&out, most)
	return out, nil
}

// reading calls read with a transaction that only reads, and sees one moment.
func reading(ctx context.Context, s *pgstore.Store, read func(pgx.Tx) error) error {
	return s.InTransaction(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, read)
}

func readInstance(ctx context.Context, tx pgx.Tx, shards int, id uuid.UUID, out *backend.Snapshot) (workflow int32, err error) {
	out.ID = id
	var input, result, failure []byte
	var ended *time.Time
	err = tx.QueryRow(ctx, instanceSQL, backend.ShardOf(id, shards), id).
		Scan(&workflow, &out.Status, &input, &result, &failure, &out.Submitted, &ended, &out.Now)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, err
	}
	out.Input, out.Result = input, result
	if ended != nil {
		out.Ended = *ended
	}
	if failure != nil {
		out.Failure = &plan.Failure{}
		err = json.Unmarshal(failure, out.Failure)
	}
	return workflow, err
}

func (d *Design) readOpen(ctx context.Context, tx pgx.Tx, shards, most int, out *backend.Snapshot) error {
	shard := backend.ShardOf(out.ID, shards)
	if d.Runs != "" {
		rows, _ := tx.Query(ctx, d.Runs, shard, out.ID, most+1) // its error is that of the rows
		var r backend.OpenRun
		if _, err := pgx.ForEachRow(rows, []any{&r.Run.Node, &r.Run.Path, &r.Attempt, &r.Deliveries, &r.Engine, &r.Leased, &r.Due}, func() error {
			if r.Due.Before(out.Now.AddDate(-movedBy/2, 0, 0)) {
				r.Due = r.Due.AddDate(movedBy, 0, 0)
			}
			out.Runs = append(out.Runs, r)
			return nil
		}); err != nil {
			return err
		}
	}
	if d.Barriers != "" {
		rows, _ := tx.Query(ctx, d.Barriers, shard, out.ID, most+1)
		var b backend.OpenBarrier
		if _, err := pgx.ForEachRow(rows, []any{&b.Run.Node, &b.Run.Path, &b.Completed, &b.Required}, func() error {
			out.Barriers = append(out.Barriers, b)
			return nil
		}); err != nil {
			return err
		}
	}
	if d.Done == "" {
		return nil
	}
	out.Done = map[graph.NodeID]int{}
	rows, _ := tx.Query(ctx, d.Done, shard, out.ID, rowsMost)
	var node graph.NodeID
	var n int
	_, err := pgx.ForEachRow(rows, []any{&node, &n}, func() error {
		out.Done[node] = n
		return nil
	})
	return err
}

// History reads completed node runs: node, path, attempt, result, failure, order. Parameters of sql: $1 shard, $2 instance, $3 most
// rows to read, $4 most.
func History(ctx context.Context, s *pgstore.Store, sql string, id uuid.UUID, most int) (out []backend.CompletedRun, err error) {
	if most < 1 {
		return nil, fmt.Errorf("the history of instance %s: %d node runs; ask for 1 or more", id, most)
	}
	err = reading(ctx, s, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sql, backend.ShardOf(id, s.Shards()), id, rowsMost, most)
		var r backend.CompletedRun
		var result, failure []byte
		var order int64
		_, err := pgx.ForEachRow(rows, []any{&r.Run.Node, &r.Run.Path, &r.Attempt, &result, &failure, &order}, func() error {
			one := r
			one.Result = bytes.Clone(result)
			if failure != nil {
				one.Failure = &plan.Failure{}
				if err := json.Unmarshal(failure, one.Failure); err != nil {
					return err
				}
			}
			out = append(out, one)
			return nil
		})
		return err
	})
	return out, postgres.Explain(err)
}

// Arrange sorts a snapshot, leaves out barriers that no run has reached, and cuts it to most of each kind.
func Arrange(out *backend.Snapshot, most int) {
	order := func(a, b graph.Run) int { return backend.Key{Run: a}.Compare(backend.Key{Run: b}) }
	out.Barriers = slices.DeleteFunc(out.Barriers, func(b backend.OpenBarrier) bool {
		if b.Completed > 0 || out.Program == nil {
			return false
		}
		nodes := out.Program.Graph().Nodes // the count of a spread's aggregate becomes known when it is reached
		return b.Required == 0 || int(b.Run.Node) >= len(nodes) || nodes[b.Run.Node].Required > 0
	})
	slices.SortFunc(out.Runs, func(a, b backend.OpenRun) int { return order(a.Run, b.Run) })
	slices.SortFunc(out.Barriers, func(a, b backend.OpenBarrier) int { return order(a.Run, b.Run) })
	if len(out.Runs) > most {
		out.Runs, out.Cut = out.Runs[:most], true
	}
	if len(out.Barriers) > most {
		out.Barriers, out.Cut = out.Barriers[:most], true
	}
}

// span is how many instances of a shard are looked at for one page of some of them.
const span = 100_000

// List reads a page of instances.
func (d *Design) List(ctx context.Context, s *pgstore.Store, f backend.Filter) (page backend.Page, err error) {
	if f.Most < 1 || f.CountMost < 1 {
		return page, fmt.Errorf("listing %d instances with %d node runs; ask for 1 or more", f.Most, f.CountMost)
	}
	if f.After == uuid.Nil {
		f.After = uuid.Max
	}
	err = reading(ctx, s, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&page.Now); err != nil {
			return err
		}
		workflows, err := named(ctx, tx, f.Workflow)
		if err != nil {
			return err
		}
		l := lister{ctx: ctx, tx: tx, shards: s.Shards(), filter: f, page: &page}
		if f.Workflow == "" || len(workflows) > 0 {
			err = l.read(workflows)
		}
		if err == nil && d.Counts != "" {
			err = l.count(d.Counts)
		}
		return err
	})
	return page, postgres.Explain(err)
}

func named(ctx context.Context, tx pgx.Tx, name string) ([]int32, error) {
	if name == "" {
		return nil, nil
	}
	rows, err := tx.Query(ctx, namedSQL, name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int32])
}

type lister struct {
	ctx    context.Context
	tx     pgx.Tx
	shards int
	filter backend.Filter
	page   *backend.Page
}

// read merges the shards' lists. If one may continue behind its end, none after that is shown: the next page begins there.
func (l *lister) read(workflows []int32) error {
	var floor uuid.UUID // the greatest end of a list that may continue
	numbers := map[uuid.UUID]int32{}
	for shard := range l.shards {
		n, last, err := l.readShard(shard, workflows, numbers)
		if err != nil {
			return err
		}
		if n == l.filter.Most {
			last = l.page.Instances[len(l.page.Instances)-1].ID
		}
		if bytes.Compare(last[:], floor[:]) > 0 {
			floor = last
		}
	}
	slices.SortFunc(l.page.Instances, func(a, b backend.Listed) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	l.page.Instances = slices.DeleteFunc(l.page.Instances, func(i backend.Listed) bool { return bytes.Compare(i.ID[:], floor[:]) < 0 })
	if l.page.Next = floor; len(l.page.Instances) > l.filter.Most {
		l.page.Instances = l.page.Instances[:l.filter.Most]
		l.page.Next = l.page.Instances[l.filter.Most-1].ID
	}
	return l.name(numbers)
}

// readShard returns how many it read, and the last one that it looked at if there may be more.
func (l *lister) readShard(shard int, workflows []int32, numbers map[uuid.UUID]int32) (n int, last uuid.UUID, err error) {
	f := l.filter
	among := f.Most
	if workflows != nil || f.Status != "" || !f.Before.IsZero() || !f.Since.IsZero() {
		among = span
	}
	rows, _ := l.tx.Query(l.ctx, listSQL, shard, f.After, among, f.Most, workflows, nullable(string(f.Status)), nullable(f.Before), nullable(f.Since))
	var in backend.Listed
	var workflow int32
	var ended *time.Time
	_, err = pgx.ForEachRow(rows, []any{&in.ID, &workflow, &in.Status, &in.Failure, &in.Submitted, &ended}, func() error {
		if in.Status == "" {
			last = in.ID
			return nil
		}
		n++
		one := in
		if ended != nil {
			one.Ended = *ended
		}
		numbers[one.ID] = workflow
		l.page.Instances = append(l.page.Instances, one)
		return nil
	})
	return n, last, err
}

func nullable[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func (l *lister) name(numbers map[uuid.UUID]int32) error {
	var wanted []int32
	for _, in := range l.page.Instances {
		wanted = append(wanted, numbers[in.ID])
	}
	slices.Sort(wanted)
	rows, err := l.tx.Query(l.ctx, "SELECT id, coalesce(definition ->> 'name', '') FROM workflows WHERE id = ANY ($1)", slices.Compact(wanted))
	if err != nil {
		return err
	}
	names := map[int32]string{}
	var id int32
	var name string
	_, err = pgx.ForEachRow(rows, []any{&id, &name}, func() error {
		names[id] = name
		return nil
	})
	for i := range l.page.Instances {
		l.page.Instances[i].Workflow = names[numbers[l.page.Instances[i].ID]]
	}
	return err
}

func (l *lister) count(sql string) error {
	byShard := make([][]uuid.UUID, l.shards)
	at := map[uuid.UUID]*backend.Listed{}
	for i := range l.page.Instances {
		if in := &l.page.Instances[i]; in.Status == backend.Running {
			shard := backend.ShardOf(in.ID, l.shards)
			byShard[shard], at[in.ID] = append(byShard[shard], in.ID), in
		}
	}
	for shard, ids := range byShard {
		if len(ids) == 0 {
			continue
		}
		rows, _ := l.tx.Query(l.ctx, sql, shard, ids, l.filter.CountMost)
		var id uuid.UUID
		var n backend.RunCounts
		if _, err := pgx.ForEachRow(rows, []any{&id, &n.Done, &n.Running, &n.Waiting}, func() error {
			counts := n
			if n.Done != nil {
				counts.Done = new(min(*n.Done, l.filter.CountMost))
			}
			counts.Running, counts.Waiting = min(n.Running, l.filter.CountMost), min(n.Waiting, l.filter.CountMost)
			at[id].Counts = &counts
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
