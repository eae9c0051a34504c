// Command queue is an adapter for pulley, and the system that it drives: a queue on a table of Postgres with FOR UPDATE SKIP LOCKED.
//
// Authors of adapters in Go can copy it. main.go is the adapter, and store.go is the queue.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

const (
	leaseDefault = 2000 // milliseconds
	poll         = 100 * time.Millisecond
	pauseLeast   = 20 * time.Millisecond // after an error; it doubles up to a second
	pauseMost    = time.Second
)

func main() { adapter.Main(&queue{}) }

// queue is a process's part of the system.
type queue struct {
	db    store
	env   *adapter.Env
	lease time.Duration

	news    chan struct{} // has a token for each slot that should look for a job
	quit    chan struct{} // is closed when no more jobs are taken
	abandon context.CancelFunc
	slots   sync.WaitGroup
}

func (q *queue) Describe() protocol.Hello {
	return protocol.Hello{
		Name: "queue.go", System: "a table with SKIP LOCKED", SystemVersion: "1",
		Promises: promises(leaseDefault),
		Shapes:   []protocol.Shape{protocol.ShapeSingle, protocol.ShapeGraph, protocol.ShapeRetries},
		Settings: []protocol.Setting{{Name: "lease_ms", Default: strconv.Itoa(leaseDefault), About: "how long a job is leased, in milliseconds, from 100"}},
	}
}

// promises are what the store keeps: submissions and results are committed before they are answered, and each happens once.
func promises(leaseMS int64) protocol.Promises {
	return protocol.Promises{
		Submit: protocol.Durable, Resubmit: protocol.Once, Execution: protocol.AtLeastOnce, Results: protocol.Once,
		RecoversMS: leaseMS + 3000, // the lease of a dead process ends; a slot polls, or ends its pause after an error
	}
}

func (q *queue) Configure(env *adapter.Env) (protocol.Promises, error) {
	ms, err := strconv.ParseInt(env.Settings["lease_ms"], 10, 64)
	if err != nil || ms < 100 || ms > 3_600_000 {
		return protocol.Promises{}, fmt.Errorf("lease_ms is %q; choose milliseconds from 100 to 3600000", env.Settings["lease_ms"])
	}
	q.lease = time.Duration(ms) * time.Millisecond
	return promises(ms), nil
}

func (q *queue) Create(ctx context.Context, env *adapter.Env) error {
	db, err := connect(ctx, env.Store.DSN, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.create(ctx)
}

// Open starts the slots. Each may use two connections, one of them to renew a lease.
func (q *queue) Open(ctx context.Context, env *adapter.Env, session adapter.Session) (_ adapter.Running, err error) {
	if q.db, err = connect(ctx, env.Store.DSN, 2*session.Slots+2); err != nil {
		return nil, err
	}
	q.env, q.news, q.quit = env, make(chan struct{}, session.Slots), make(chan struct{})
	jobs, abandon := context.WithCancel(ctx)
	q.abandon = abandon
	for range session.Slots {
		q.slots.Go(func() { q.work(ctx, jobs) })
	}
	return q, nil
}

func (q *queue) Submit(ctx context.Context, instances []protocol.Instance) error {
	defer q.wake()
	return q.persist(ctx, func() error { return q.db.submit(ctx, instances, q.env.Workloads) })
}

func (q *queue) Look(ctx context.Context, ids []string) (states []protocol.State, err error) {
	err = q.persist(ctx, func() (err error) { states, err = q.db.look(ctx, ids); return err })
	return states, err
}

// Close lets jobs at work end. When ctx ends, it gives them back.
func (q *queue) Close(ctx context.Context) error {
	close(q.quit)
	defer context.AfterFunc(ctx, q.abandon)()
	q.slots.Wait()
	q.abandon()
	q.db.Close()
	return nil
}

// work is a slot: it takes a job and executes it, again and again. ctx is the process's, and jobs ends when they are given back.
func (q *queue) work(ctx, jobs context.Context) {
	for {
		select {
		case <-q.quit:
			return
		default:
		}
		j, err := q.db.take(jobs, q.lease)
		if j != nil {
			q.execute(ctx, jobs, *j)
			continue
		}
		wait := poll // for other processes, which make jobs ready, and for the ends of their leases
		if err != nil {
			q.env.Problem(err)
			wait = pauseMost
		}
		select {
		case <-q.news:
		case <-time.After(wait):
		case <-q.quit:
		}
	}
}

// execute executes a job and stores its value. A job that was to fail, or that is given back, is released. One that cannot be executed is
// tried again when its lease ends.
func (q *queue) execute(ctx, jobs context.Context, j job) {
	renewing, stop := context.WithCancel(jobs)
	var renewal sync.WaitGroup
	renewal.Go(func() { q.renew(renewing, jobs, j) })
	value, err := q.env.Execute(jobs, j.Execution)
	stop()
	renewal.Wait()
	if err != nil {
		if errors.Is(err, adapter.ErrScripted) || jobs.Err() != nil {
			q.env.Problem(q.db.release(ctx, j))
		}
		return
	}
	var end *string
	isResult := q.env.Workloads[j.Workload].Result == j.Task
	// A commit whose answer is lost is repeated. What is stored already changes nothing, and its end is reported again.
	err = q.persist(jobs, func() (err error) { end, err = q.db.complete(jobs, j, value, isResult); return err })
	q.env.Problem(err)
	if end != nil {
		q.env.Ended(j.Instance, protocol.Completed, *end)
	}
	q.wake()
}

// renew renews a lease until renewing ends. If the lease was lost, the job's result will not count, and nothing else follows.
func (q *queue) renew(renewing, jobs context.Context, j job) {
	tick := time.NewTicker(q.lease / 4)
	defer tick.Stop()
	for {
		select {
		case <-renewing.Done():
			return
		case <-tick.C:
			q.env.Problem(q.db.renew(jobs, j, q.lease))
		}
	}
}

// wake lets idle slots look for jobs.
func (q *queue) wake() {
	for range cap(q.news) {
		select {
		case q.news <- struct{}{}:
		default:
			return
		}
	}
}

// persist repeats what fails, until ctx ends, or the store says that it is wrong. Everything in the store may be repeated.
func (q *queue) persist(ctx context.Context, do func() error) error {
	for pause := pauseLeast; ; pause = min(2*pause, pauseMost) {
		err := do()
		if err == nil || isWrong(err) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		q.env.Problem(err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}
