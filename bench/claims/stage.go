package claims

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pulley/bench/measure"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/scenarios"
	"pulley/scenarios/behaviour"
)

// stage is a schema with an engine, for measurements that are not whole runs.
type stage struct {
	dsn, schema string
	backend     backend.Backend
	engine      *engine.Engine
	applied     atomic.Int64
}

const stageApplication = "pulley claims"

func newStage(ctx context.Context, dsn, spec string, cfg engine.Config) (*stage, error) {
	s := prepareStage(dsn)
	if err := s.start(ctx, spec, cfg); err != nil {
		s.close(ctx)
		return nil, err
	}
	return s, nil
}

// prepareStage only chooses the schema. The stage must still be closed.
func prepareStage(dsn string) *stage {
	return &stage{dsn: dsn, schema: "pulley_claims_" + uuid.NewString()[:8]}
}

// start sets Backend, Observer.Committed, and Workers if nil.
func (s *stage) start(ctx context.Context, spec string, cfg engine.Config) (err error) {
	if s.backend, err = s.open(ctx, spec); err != nil {
		return err
	}
	cfg.Backend = s.backend
	if cfg.Workers == nil {
		cfg.Workers = behaviour.Plain().Timed()
	}
	cfg.Observer.Committed = func(n int, _ time.Time) { s.applied.Add(int64(n)) }
	if s.engine, err = engine.New(cfg); err != nil {
		return err
	}
	return s.engine.Start(ctx)
}

func (s *stage) open(ctx context.Context, spec string) (backend.Backend, error) {
	parsed, err := designs.Parse(spec)
	if err != nil {
		return nil, err
	}
	return parsed.Open(ctx, designs.OpenOptions{DSN: s.dsn, Schema: s.schema, Application: stageApplication})
}

// clear returns the number of removed rows.
func (s *stage) clear(ctx context.Context) (rows int, err error) {
	for shard := range s.backend.Shards() {
		for more := true; more; {
			swept, err := s.backend.Sweep(ctx, shard)
			if err != nil {
				return rows, err
			}
			rows, more = rows+swept.Rows, swept.More
		}
	}
	return rows, nil
}

// leave ends the engine and its sessions, and keeps the data.
func (s *stage) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if s.engine != nil {
		_ = s.engine.Stop(ctx)
	}
	if s.backend != nil {
		s.backend.Close()
	}
}

// close leaves and drops the schema. If that fails, the schema's name explains its origin.
func (s *stage) close(ctx context.Context) {
	s.leave(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	_ = postgres.DropSchema(ctx, s.dsn, s.schema)
}

type workload struct {
	scenarios.Workload
	program *plan.Program
}

func newWorkload(scenario string, size int) (workload, error) {
	found, err := scenarios.Find(scenario)
	if err != nil {
		return workload{}, err
	}
	w, err := found.Build(size, scenarios.Options{})
	if err != nil {
		return workload{}, err
	}
	program, err := plan.Compile(w.Graph)
	return workload{w, program}, err
}

func (s *stage) run(ctx context.Context, w workload) error {
	id, err := s.engine.Submit(ctx, engine.SubmitRequest{Program: w.program, Input: w.Input})
	if err != nil {
		return err
	}
	in, err := s.engine.Wait(ctx, id)
	if err != nil {
		return err
	}
	return w.check(in)
}

func (w workload) check(in backend.Instance) error {
	if in.Status != backend.Completed {
		return fmt.Errorf("instance %s %s: %s", in.ID, in.Status, in.Failure)
	}
	var got, want bytes.Buffer
	if err := json.Compact(&got, in.Result); err != nil {
		return fmt.Errorf("instance %s: the result cannot be read: %w", in.ID, err)
	}
	if err := json.Compact(&want, w.Expected); err != nil {
		return fmt.Errorf("%s %d: the expected result cannot be read: %w", w.Name, w.Size, err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		return fmt.Errorf("instance %s: the result is %.200s, not %.200s", in.ID, in.Result, w.Expected)
	}
	return nil
}

//go:embed sql/*.sql
var sqlFiles embed.FS

func query(name string) string { return measure.Statement(sqlFiles, name) }
