package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"pulley/adapter/protocol"
)

// waits wait for the ends of the workflows that this process started, some at once, and report them. One that takes longer than its
// turn goes to the end of the queue, so that a few long ones do not hide the ends of others.
type waits struct {
	system *system
	client client.Client

	mu      sync.Mutex
	queue   []string
	waiting map[string]bool // ids that are in the queue, or being waited for
	news    chan struct{}   // has a token while the queue may have something

	ended sync.WaitGroup
}

// turn is how long a wait may last. It is that of a long poll in Temporal.
const turn = 20 * time.Second

// startWaits begins to wait, until ctx ends.
func startWaits(ctx context.Context, s *system, c client.Client, atOnce int) *waits {
	w := &waits{system: s, client: c, waiting: map[string]bool{}, news: make(chan struct{}, 1)}
	slots := make(chan struct{}, atOnce)
	w.ended.Go(func() {
		for {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			id, ok := w.next(ctx)
			if !ok {
				return
			}
			w.ended.Go(func() {
				defer func() { <-slots }()
				w.await(ctx, id)
			})
		}
	})
	return w
}

// add adds workflows that are not there.
func (w *waits) add(ids ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if !w.waiting[id] {
			w.waiting[id] = true
			w.queue = append(w.queue, id)
		}
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// next takes a workflow from the queue. It waits until there is one, and reports false when ctx ends.
func (w *waits) next(ctx context.Context) (id string, ok bool) {
	for {
		w.mu.Lock()
		if len(w.queue) > 0 {
			id, w.queue = w.queue[0], w.queue[1:]
			w.mu.Unlock()
			return id, true
		}
		w.mu.Unlock()
		select {
		case <-w.news:
		case <-ctx.Done():
			return "", false
		}
	}
}

// await waits for a workflow for a turn, and reports its end.
func (w *waits) await(ctx context.Context, id string) {
	waiting, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	state, err := result(waiting, w.client, id, "")
	w.mu.Lock()
	delete(w.waiting, id)
	w.mu.Unlock()
	switch {
	case err == nil:
		w.system.env.Ended(id, state.Status, state.Value+state.Message) // one of them is empty
		return
	case ctx.Err() != nil:
		return
	case waiting.Err() == nil:
		w.system.env.Problem(err)
		select {
		case <-time.After(pauseMost):
		case <-ctx.Done():
			return
		}
	}
	w.add(id)
}

// result waits for the end of a workflow, of its latest run if the run's id is empty.
func result(ctx context.Context, c client.Client, id, run string) (protocol.State, error) {
	state := protocol.State{ID: id, Status: protocol.Completed}
	err := c.GetWorkflow(ctx, id, run).Get(ctx, &state.Value)
	var failure *temporal.WorkflowExecutionError
	if errors.As(err, &failure) {
		return protocol.State{ID: id, Status: protocol.Failed, Message: failure.Error()}, nil
	}
	return state, err
}
