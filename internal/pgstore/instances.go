package pgstore

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// programsMax is the size at which the cache of programs is cleared.
const programsMax = 1000

// Number returns the number of a program's stored definition, which it stores if new.
func (s *Store) Number(ctx context.Context, p *plan.Program) (int32, error) {
	hash := p.Hash()
	s.mu.Lock()
	id, ok := s.numbers[hash]
	s.mu.Unlock()
	if ok {
		return id, nil
	}
	if err := s.storedOnce(ctx, "storing workflow "+p.Graph().Name, &id, workflowPutSQL, hash[:], p.Definition()); err != nil {
		return 0, fmt.Errorf("storing workflow %s: %w", p.Graph().Name, err)
	}
	s.remember(id, p)
	return id, nil
}

// storedOnce reads the row of a statement that stores it if missing. If another process stores it between the statement's two
// reads, the statement returns none, and is retried.
func (s *Store) storedOnce(ctx context.Context, doing string, to any, sql string, args ...any) error {
	return s.Retry(ctx, doing, "call again", func() error {
		err := s.Pool.QueryRow(ctx, sql, args...).Scan(to)
		if errors.Is(err, pgx.ErrNoRows) {
			return Retryable(err)
		}
		return err
	})
}

// UnreadableError says that this process cannot read a workflow, which a later version may have stored.
type UnreadableError struct{ error }

func (e *UnreadableError) Unwrap() error { return e.error }

// Program returns a stored workflow. The error is an UnreadableError if the definition is at fault.
func (s *Store) Program(ctx context.Context, number int32) (*plan.Program, error) {
	s.mu.Lock()
	p := s.programs[number]
	s.mu.Unlock()
	if p != nil {
		return p, nil
	}
	var definition []byte
	if err := s.Pool.QueryRow(ctx, workflowGetSQL, number).Scan(&definition); err != nil {
		return nil, fmt.Errorf("reading workflow %d: %w", number, err)
	}
	g, err := graph.Decode(definition)
	if err != nil {
		return nil, &UnreadableError{fmt.Errorf("workflow %d: %w", number, err)}
	}
	if p, err = plan.Compile(g); err != nil {
		return nil, &UnreadableError{fmt.Errorf("workflow %d: %w", number, err)}
	}
	s.remember(number, p)
	return p, nil
}

// CachedProgram returns a stored workflow if it is cached, else nil.
func (s *Store) CachedProgram(number int32) *plan.Program {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.programs[number]
}

// CachedNumber returns the number of a program's stored definition if it is cached, else zero.
func (s *Store) CachedNumber(p *plan.Program) int32 {
	hash := p.Hash()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.numbers[hash]
}

func (s *Store) remember(number int32, p *plan.Program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.programs) >= programsMax {
		clear(s.programs)
		clear(s.numbers)
	}
	s.numbers[p.Hash()] = number
	s.programs[number] = p
}

// EndedInstance returns an instance that completed or failed.
func EndedInstance(id uuid.UUID, end *plan.End) backend.Instance {
	if end.Failure != nil {
		return backend.Instance{ID: id, Status: backend.Failed, Failure: end.Failure}
	}
	return backend.Instance{ID: id, Status: backend.Completed, Result: end.Result}
}

// EndColumns returns the columns of an ended instance: result or failure is nil.
func EndColumns(in backend.Instance) (status string, result, failure json.RawMessage, err error) {
	if in.Failure != nil {
		failure, err = json.Marshal(in.Failure)
	}
	return string(in.Status), in.Result, failure, err
}

// NullableText returns a JSON value as a parameter, or null.
func NullableText(value json.RawMessage) *string {
	if len(value) == 0 {
		return nil
	}
	text := string(value)
	return &text
}

// Lookup reads instances; see backend.Backend.
func (s *Store) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	out := make([]backend.Instance, len(ids))
	places := map[uuid.UUID][]int{}
	for i, id := range ids {
		out[i].ID = id
		places[id] = append(places[id], i)
	}
	for shard, ids := range s.byShard(ids) {
		if len(ids) == 0 {
			continue
		}
		rows, err := s.Pool.Query(ctx, lookupSQL, shard, ids)
		if err != nil {
			return nil, postgres.Explain(err)
		}
		found, err := pgx.CollectRows(rows, scanInstance)
		if err != nil {
			return nil, postgres.Explain(err)
		}
		for _, in := range found {
			for _, i := range places[in.ID] {
				out[i] = in
			}
		}
	}
	return out, nil
}

func (s *Store) byShard(ids []uuid.UUID) [][][16]byte {
	sorted := slices.Clone(ids)
	slices.SortFunc(sorted, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	out := make([][][16]byte, s.shards)
	for _, id := range slices.Compact(sorted) {
		shard := backend.ShardOf(id, s.shards)
		out[shard] = append(out[shard], id)
	}
	return out
}

// Cancel ends running instances as canceled; see backend.Canceler. After its commit none of their node runs is claimed, and
// completions are stale. cleanUp then receives the instances that it ended in a shard; a sweep finds what cleanUp leaves.
func (s *Store) Cancel(ctx context.Context, ids []uuid.UUID, reason string, cleanUp func(shard int, ended [][16]byte)) ([]backend.Instance, error) {
	failure, err := json.Marshal(plan.Failure{Type: backend.CanceledType, Message: reason})
	if err != nil {
		return nil, fmt.Errorf("canceling: %w", err)
	}
	return s.CancelBy(ctx, ids, func(shard int, ids [][16]byte) (int, error) {
		ended, err := s.cancel(ctx, shard, ids, string(failure))
		if len(ended) > 0 {
			cleanUp(shard, ended)
		}
		return len(ended), err
	})
}

// CancelBy cancels with a function for one shard, which returns how many instances it ended.
func (s *Store) CancelBy(ctx context.Context, ids []uuid.UUID, cancel func(shard int, ids [][16]byte) (int, error)) ([]backend.Instance, error) {
	return s.untilEnded(ctx, func() ([]backend.Instance, error) { return s.cancelAll(ctx, ids, cancel) })
}

// untilEnded cancels until none of the instances runs: one submitted after its shard was served is left to the next try.
func (s *Store) untilEnded(ctx context.Context, cancel func() ([]backend.Instance, error)) (found []backend.Instance, err error) {
	err = s.Retry(ctx, "canceling", "cancel again when no client submits them any more", func() (err error) {
		if found, err = cancel(); err != nil {
			return err
		}
		i := slices.IndexFunc(found, func(in backend.Instance) bool { return in.Status == backend.Running })
		if i >= 0 {
			return Retryable(partly(true, fmt.Errorf("instance %s was submitted in the meantime, and runs", found[i].ID)))
		}
		return nil
	})
	if err != nil {
		return nil, postgres.Explain(err)
	}
	return found, nil
}

func (s *Store) cancelAll(ctx context.Context, ids []uuid.UUID, cancel func(shard int, ids [][16]byte) (int, error)) ([]backend.Instance, error) {
	canceled := 0
	for shard, ids := range s.byShard(ids) {
		if len(ids) == 0 {
			continue
		}
		ended, err := cancel(shard, ids)
		if err != nil {
			return nil, postgres.Explain(partly(canceled > 0, err))
		}
		canceled += ended
	}
	found, err := s.Lookup(ctx, ids)
	return found, partly(canceled > 0, err)
}

// partly marks the error of a call that was committed in part as ErrUnknown: the call may be repeated.
func partly(committed bool, err error) error {
	if err == nil || !committed {
		return err
	}
	return fmt.Errorf("%w: %w", backend.ErrUnknown, err)
}

func (s *Store) cancel(ctx context.Context, shard int, ids [][16]byte, failure string) ([][16]byte, error) {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	rows, err := conn.Query(ctx, cancelSQL, shard, ids, failure)
	if err == nil {
		var ended [][16]byte
		if ended, err = pgx.CollectRows(rows, pgx.RowTo[[16]byte]); err == nil {
			return ended, nil
		}
	}
	return nil, WrapUnknown(err)
}

func scanInstance(row pgx.CollectableRow) (backend.Instance, error) {
	var in backend.Instance
	var id [16]byte
	var result, failure []byte
	if err := row.Scan(&id, &in.Status, &result, &failure); err != nil {
		return in, err
	}
	in.ID, in.Result = id, result
	if failure != nil {
		in.Failure = &plan.Failure{}
		if err := json.Unmarshal(failure, in.Failure); err != nil {
			return in, fmt.Errorf("instance %s: failure: %w", in.ID, err)
		}
	}
	return in, nil
}

//go:embed sql/origins.sql
var originsSQL string

// Origins reads what instances were created from. It leaves out those that do not exist.
func (s *Store) Origins(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]postgres.Origin, error) {
	out := make(map[uuid.UUID]postgres.Origin, len(ids))
	for shard, ids := range s.byShard(ids) {
		if len(ids) == 0 {
			continue
		}
		rows, err := s.Pool.Query(ctx, originsSQL, shard, ids)
		if err != nil {
			return nil, postgres.Explain(err)
		}
		var id [16]byte
		var program, input []byte
		if _, err := pgx.ForEachRow(rows, []any{&id, &program, &input}, func() error {
			out[id] = postgres.Origin{Program: bytes.Clone(program), Input: bytes.Clone(input)}
			return nil
		}); err != nil {
			return nil, postgres.Explain(err)
		}
	}
	return out, nil
}
