package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

const (
	pauseLeast = 20 * time.Millisecond // after an error; it doubles up to a second
	pauseMost  = time.Second

	// extraConnections are those of the consumer, its sign of life, the keeper's three duties, and requests. Each slot has one, too.
	extraConnections = 9
)

func main() { adapter.Main(&system{}) }

// system is a process's part of the system.
type system struct {
	settings settings
	env      *adapter.Env
	db       store
	consumer consumer
	keeper   keeper
}

func (s *system) Describe() protocol.Hello {
	const docs = "https://github.com/pgq/skytools-legacy/blob/master/doc/"
	return protocol.Hello{
		Name: "pgq", System: "PgQ", SystemVersion: "3.5.2 (PL only) with pgq_coop 3.4", Promises: defaults.promises(),
		Shapes:   []protocol.Shape{protocol.ShapeSingle, protocol.ShapeGraph, protocol.ShapeRetries},
		Settings: defaults.list(),
		Documentation: []string{
			docs + "pgq-sql.txt", docs + "pgq-nodupes.txt", "https://github.com/pgq/pgq/tree/v3.5.2", "https://github.com/pgq/pgq-coop/tree/v3.4",
			"https://github.com/pgq/pgqd", "https://manpages.ubuntu.com/manpages/trusty/man1/pgqadm.1.html", "https://github.com/pgq/pgq/issues/24",
		},
	}
}

func (s *system) Configure(env *adapter.Env) (protocol.Promises, error) {
	var err error
	s.settings, err = parseSettings(env.Settings)
	return s.settings.promises(), err
}

func (s *system) Create(ctx context.Context, env *adapter.Env) error {
	db, err := connect(ctx, env.Store.DSN, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.create(ctx, s.settings)
}

func (s *system) Open(ctx context.Context, env *adapter.Env, session adapter.Session) (_ adapter.Running, err error) {
	if s.db, err = connect(ctx, env.Store.DSN, session.Slots+extraConnections); err != nil {
		return nil, err
	}
	s.env = env
	s.keeper.start(ctx, s)
	s.consumer.start(ctx, s, session)
	return s, nil
}

// Submit repeats a commit whose answer was lost, which makes nothing twice.
func (s *system) Submit(ctx context.Context, instances []protocol.Instance) error {
	return adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) error { return s.db.submit(ctx, instances, s.env.Workloads) })
}

func (s *system) Look(ctx context.Context, ids []string) (states []protocol.State, err error) {
	err = adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) (err error) { states, err = s.db.look(ctx, ids); return err })
	return states, err
}

// Close lets events at work end. Those of the batch that had not begun stay in it, for others.
func (s *system) Close(ctx context.Context) error {
	err := s.consumer.close(ctx)
	s.keeper.close()
	s.db.Close()
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keeper is the adapter's pgqd: a part that every process has, so that there is one as long as a process lives.
type keeper struct {
	stop   context.CancelFunc
	duties sync.WaitGroup
}

func (k *keeper) start(ctx context.Context, s *system) {
	ctx, k.stop = context.WithCancel(ctx)
	for _, duty := range []struct {
		name  string
		every time.Duration
		do    func(context.Context) error
	}{
		{"the ticker", s.settings.tickerPeriod, s.db.tick},
		{"the retry queue", s.settings.retryPeriod, s.db.retryEvents},
		{"maintenance", s.settings.maintPeriod, s.db.maintain},
	} {
		k.duties.Go(func() {
			for wait := duty.every; pause(ctx, wait) == nil; {
				wait = duty.every
				if err := duty.do(ctx); err != nil && ctx.Err() == nil {
					s.env.Problem(fmt.Errorf("%s: %w", duty.name, err))
					wait = max(wait, pauseMost)
				}
			}
		})
	}
}

func (k *keeper) close() {
	k.stop()
	k.duties.Wait()
}
