//go:build !notemporal

package adapters

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/temporal"

	"pulley/bench/peers/peer"
)

func init() { register(temporalAdapter()) }

func temporalAdapter() *peer.Adapter {
	return &peer.Adapter{
		Name: "temporal", Title: "Temporal, server and worker in the race's process", Databases: 2,
		Store:   "the race's Postgres, a database for state and one for visibility",
		Modules: []string{"go.temporal.io/server", "go.temporal.io/sdk"},
		Options: []peer.Option{
			{Name: "shards", Doc: "numHistoryShards", Default: peer.Fixed("16")},
			{Name: "partitions", Doc: "of the task queue", Default: peer.Fixed("1")},
			{Name: "connections", Doc: "maxConns of the main store", Default: peer.Fixed("20")},
			{Name: "pollers", Doc: "of workflow tasks, and of activity tasks", Default: peer.Fixed("64")},
			{Name: "activities", Doc: "local ones run within the workflow's task", Words: []string{"regular", "local"}, Default: peer.Fixed("regular")},
		},
		Notes: map[string]string{
			"": "workflow code with an activity for each task; eager start of workflows and eager activities are on, rate limits " +
				"are raised; the client waits for each result with the SDK's long poll. Every result of an activity is " +
				"in the history, as with us",
			"independent": "a workflow of one activity: Temporal has no tasks outside of workflows",
			"fanout":      "the activities' futures are awaited in the workflow's code; the join is an activity that is given their sum",
			"loop":        "a loop in the workflow's code",
		},
		Setup: setupTemporal,
		Open:  openTemporal,
	}
}

const (
	temporalNamespace = "race"
	temporalQueue     = "race"
	temporalWorkflow  = "run"
	temporalStarts    = 64 // concurrent starts
)

// temporalSystem is a server, a worker and a client of Temporal.
type temporalSystem struct {
	work   *peer.Work
	local  bool
	server temporal.Server
	client client.Client
	worker worker.Worker

	life   context.Context // of the waits for results
	cancel context.CancelFunc
	waits  sync.WaitGroup
}

func openTemporal(ctx context.Context, env peer.Env, work *peer.Work) (_ peer.System, err error) {
	cfg, err := temporalConfig(env)
	if err != nil {
		return nil, err
	}
	t := &temporalSystem{work: work, local: env.Options["activities"] == "local"}
	t.life, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close(ctx))
		}
	}()
	server, err := newTemporalServer(cfg, env)
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("starting Temporal's server: %w", err)
	}
	t.server = server
	if t.client, err = dialTemporal(ctx, cfg.PublicClient.HostPort, env); err != nil {
		return nil, err
	}
	w := worker.New(t.client, temporalQueue, worker.Options{
		MaxConcurrentWorkflowTaskPollers: env.Options.Int("pollers"),
		MaxConcurrentActivityTaskPollers: env.Options.Int("pollers"),
	})
	w.RegisterWorkflowWithOptions(t.run, workflow.RegisterOptions{Name: temporalWorkflow})
	for name, f := range map[string]any{"step": t.step, "member": t.member, "join": t.join} {
		w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	if err := w.Start(); err != nil {
		return nil, fmt.Errorf("starting Temporal's worker: %w", err)
	}
	t.worker = w
	return t, nil
}

// dialTemporal connects a client. The server accepts connections a little after its start.
func dialTemporal(ctx context.Context, address string, env peer.Env) (client.Client, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: temporalNamespace, Logger: logger(env)})
		if err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connecting to Temporal's server: %w", err)
		case <-tick.C:
		}
	}
}

func (t *temporalSystem) step(_ context.Context, payload string) (string, error) {
	return t.work.Step(payload)
}

func (t *temporalSystem) member(_ context.Context, payload string, element int) (int64, error) {
	return t.work.Member(payload, element)
}

func (t *temporalSystem) join(_ context.Context, payload string, sum int64) (int64, error) {
	return t.work.Join(payload, sum)
}

func (t *temporalSystem) execute(ctx workflow.Context, name string, args ...any) workflow.Future {
	if t.local {
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
		f := map[string]any{"step": t.step, "member": t.member, "join": t.join}[name]
		return workflow.ExecuteLocalActivity(ctx, f, args...)
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	return workflow.ExecuteActivity(ctx, name, args...)
}

func (t *temporalSystem) run(ctx workflow.Context, payload string) (string, error) {
	w := t.work.Workload
	if w.Shape == peer.Fanout {
		return t.fanout(ctx, payload)
	}
	for range max(w.Rounds, 1) {
		for range w.Steps {
			if err := t.execute(ctx, "step", payload).Get(ctx, &payload); err != nil {
				return "", err
			}
		}
	}
	return payload, nil
}

func (t *temporalSystem) fanout(ctx workflow.Context, payload string) (string, error) {
	if err := t.execute(ctx, "step", payload).Get(ctx, &payload); err != nil {
		return "", err
	}
	futures := make([]workflow.Future, t.work.Workload.Width)
	for i := range futures {
		futures[i] = t.execute(ctx, "member", payload, i)
	}
	sum := int64(0)
	for _, f := range futures {
		var value int64
		if err := f.Get(ctx, &value); err != nil {
			return "", err
		}
		sum += value
	}
	err := t.execute(ctx, "join", payload, sum).Get(ctx, &sum)
	return strconv.FormatInt(sum, 10), err
}

func (t *temporalSystem) Submit(ctx context.Context, first, count int) error {
	errs := make(chan error, count)
	slots := make(chan struct{}, temporalStarts)
	for i := range count {
		slots <- struct{}{}
		go func() {
			errs <- t.start(ctx, first+i)
			<-slots
		}()
	}
	var all []error
	for range count {
		if err := <-errs; err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all[:min(len(all), 3)]...)
}

func (t *temporalSystem) start(ctx context.Context, instance int) error {
	run, err := t.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "instance-" + strconv.Itoa(instance), TaskQueue: temporalQueue, EnableEagerStart: true,
	}, temporalWorkflow, peer.Payload(instance))
	if err != nil {
		return err
	}
	t.waits.Go(func() {
		var result string
		err := run.Get(t.life, &result)
		if t.life.Err() == nil {
			t.work.Ended(instance, result, err)
		}
	})
	return nil
}

// Close implements peer.System. It abandons pending waits.
func (t *temporalSystem) Close(context.Context) error {
	t.cancel()
	t.waits.Wait()
	if t.worker != nil {
		t.worker.Stop()
	}
	if t.client != nil {
		t.client.Close()
	}
	if t.server != nil {
		return t.server.Stop()
	}
	return nil
}
