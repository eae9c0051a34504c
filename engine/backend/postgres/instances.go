package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// programsMax bounds the cache of compiled workflows; beyond it, it starts anew.
const programsMax = 1000

// Number gives the number under which the program's definition is stored, storing it first if needed.
func (s *Store) Number(ctx context.Context, p *plan.Program) (int32, error) {
	hash := p.Hash()
	s.mu.Lock()
	id, ok := s.numbers[hash]
	s.mu.Unlock()
	if ok {
		return id, nil
	}
	for attempt := 0; ; attempt++ {
		err := s.Pool.QueryRow(ctx, workflowPutSQL, hash[:], p.Definition()).Scan(&id)
		// Another process may have stored it between the statement's two looks.
		if errors.Is(err, pgx.ErrNoRows) && attempt < 3 {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("storing workflow %s: %w", p.Graph().Name, err)
		}
		break
	}
	s.remember(id, p)
	return id, nil
}

// Program gives the workflow that is stored under a number.
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
		return nil, fmt.Errorf("workflow %d: %w", number, err)
	}
	if p, err = plan.Compile(g); err != nil {
		return nil, fmt.Errorf("workflow %d: %w", number, err)
	}
	s.remember(number, p)
	return p, nil
}

// Known gives the workflow that is stored under a number if it was read or stored here before, and nil
// otherwise.
func (s *Store) Known(number int32) *plan.Program {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.programs[number]
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

// Lookup reads instances of a design; see backend.Backend.
func (s *Store) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	out := make([]backend.Instance, len(ids))
	places := map[uuid.UUID][]int{}
	byShard := make([][][16]byte, s.shards)
	for i, id := range ids {
		out[i].ID = id
		if places[id] == nil {
			shard := backend.ShardOf(id, s.shards)
			byShard[shard] = append(byShard[shard], id)
		}
		places[id] = append(places[id], i)
	}
	for shard, ids := range byShard {
		if len(ids) == 0 {
			continue
		}
		rows, err := s.Pool.Query(ctx, lookupSQL, shard, ids)
		if err != nil {
			return nil, Explain(err)
		}
		found, err := pgx.CollectRows(rows, scanInstance)
		if err != nil {
			return nil, Explain(err)
		}
		for _, in := range found {
			for _, i := range places[in.ID] {
				out[i] = in
			}
		}
	}
	return out, nil
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
