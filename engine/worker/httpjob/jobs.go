package httpjob

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"pulley/engine/dispatch"
	"pulley/engine/worker"
	"pulley/internal/pause"
)

const cancelsMax = 1000

// Jobs starts jobs on one server. It is safe for concurrent use.
type Jobs struct {
	client *client

	background context.Context
	end        context.CancelCauseFunc
	cancel     chan struct{}

	mu         sync.Mutex
	closed     bool
	working    int           // listings and cancellations under way
	idle       chan struct{} // closed when working is 0 after Close
	executions map[string]*executions
}

// ErrClosed fails attempts after Close.
var ErrClosed = errors.New("httpjob: closed")

// New makes a client of a server; it sends nothing. The caller closes it.
func New(c Config) (*Jobs, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	life, end := context.WithCancelCause(context.Background())
	return &Jobs{
		client: newClient(c), background: life, end: end,
		cancel: make(chan struct{}, cancelsMax), idle: make(chan struct{}), executions: map[string]*executions{},
	}, nil
}

// Close waits until ctx ends for cancellations, and aborts the rest. Running jobs continue: another engine finds them. Attempts
// must have returned before. Closing twice is safe.
func (j *Jobs) Close(ctx context.Context) error {
	j.mu.Lock()
	if !j.closed {
		j.closed = true
		if j.working == 0 {
			close(j.idle)
		}
	}
	j.mu.Unlock()
	var err error
	select {
	case <-j.idle:
	case <-ctx.Done():
		err = fmt.Errorf("httpjob: some jobs were not cancelled in time: %w", context.Cause(ctx))
	}
	j.end(ErrClosed)
	<-j.idle // soon: all work ends with life
	if t, ok := j.client.http.Transport.(*http.Transport); ok && j.client.config.Transport == nil {
		t.CloseIdleConnections()
	}
	return err
}

// begin runs work in a goroutine that Close waits for. It returns false after Close, unless other work is under way.
func (j *Jobs) begin(work func()) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed && j.working == 0 {
		return false
	}
	j.working++
	go func() {
		defer j.ended()
		work()
	}()
	return true
}

func (j *Jobs) ended() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.working--; j.closed && j.working == 0 {
		close(j.idle)
	}
}

// Func makes an action that starts a job for each attempt, and waits for its end.
func (j *Jobs) Func(job Job) (worker.Func, error) {
	if err := job.validate(j.client.config.Dialect); err != nil {
		return nil, err
	}
	if job.AtOnce == 0 {
		job.AtOnce = AtOnceDefault
	}
	a := &action{jobs: j, limit: job.Limit, slots: make(chan struct{}, job.AtOnce)}
	if j.client.config.Dialect == Plain {
		a.dialect = &plain{client: j.client, job: job}
		return a.run, nil
	}
	d, err := newCloudRun(j.client, job, j.executionsOf(job.Name))
	if err != nil {
		return nil, err
	}
	d.cancelOnStart = func(id string) { a.release(start{}, id) }
	a.dialect = d
	return a.run, nil
}

// executionsOf returns what actions with the same job share.
func (j *Jobs) executionsOf(name string) *executions {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, ok := j.executions[name]
	if !ok {
		e = &executions{
			client: j.client, url: resourceURL(j.client.config.URL, name) + "/executions", jobs: j,
			known: map[string]found{}, byKey: map[string][]string{}, page: pageSizeMax,
		}
		j.executions[name] = e
	}
	return e
}

type action struct {
	jobs    *Jobs
	dialect dialect
	limit   time.Duration
	slots   chan struct{}
}

func (a *action) run(ctx context.Context, call worker.Call) (any, error) {
	select {
	case a.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, asFailure(context.Cause(ctx))
	}
	defer func() { <-a.slots }()
	if a.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.limit, &worker.Error{
			Type: worker.TypeTimeout, Message: fmt.Sprintf("the job took longer than its limit of %v", a.limit),
		})
		defer cancel()
	}
	if ctx.Err() != nil {
		return nil, asFailure(context.Cause(ctx))
	}
	s, err := a.dialect.prepare(call, keyOf(call))
	if err != nil {
		return nil, err
	}
	s.open = call.Delivery > 1 // an earlier delivery may have started it
	seen, err := a.dialect.start(ctx, &s)
	if err == nil {
		seen, err = a.follow(ctx, seen)
	}
	if err != nil {
		if endsJob(ctx) && (seen.id != "" || s.open) {
			a.release(s, seen.id)
		}
		return nil, asFailure(err)
	}
	result, err := a.dialect.finish(ctx, s, seen)
	return result, asFailure(err)
}

// follow polls a job until it has ended. With an error it also returns what is known of the job.
func (a *action) follow(ctx context.Context, seen status) (status, error) {
	c := a.jobs.client.config
	begun := time.Now()
	for seen.state == active {
		wait := jittered(c.Poll)
		if seen.retryAfter > 0 {
			wait = max(wait, seen.retryAfter+rand.N(c.Poll/4+1))
		}
		if err := pause.For(ctx, wait); err != nil {
			return seen, err
		}
		now, err := a.dialect.poll(ctx, seen.id)
		switch {
		case err == nil:
			seen = now
		case !isStatus(err, http.StatusNotFound) && !isStatus(err, http.StatusGone):
			return seen, err
		case time.Since(begun) > c.VisibilityDelay: // until then the server may not know it yet
			seen.state = lost
			seen.failure = &worker.Error{Type: TypeJobLost, Message: fmt.Sprintf("the server does not know the job that was started: %v", err)}
		}
	}
	return seen, nil
}

// jittered varies a time by up to a quarter.
func jittered(d time.Duration) time.Duration { return d - d/4 + rand.N(d/2+1) }

// endsJob reports whether a failing attempt cancels its job: not if the attempt continues elsewhere, or later.
func endsJob(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return !errors.Is(cause, dispatch.ErrLeaseLost) && !errors.Is(cause, dispatch.ErrStopped)
}

// release cancels a job in the background. Without an id it first looks for the job, until the job must have appeared.
func (a *action) release(s start, id string) {
	j := a.jobs
	name := id
	if name == "" {
		name = s.key
	}
	log := func(why any) {
		j.client.config.Log(fmt.Sprintf("the job %s could not be cancelled, and may continue: %v", name, why))
	}
	select {
	case j.cancel <- struct{}{}:
	default:
		log(fmt.Sprintf("%d others are being cancelled", cancelsMax))
		return
	}
	limit := j.client.config.CancelTimeout
	if id == "" {
		limit += j.client.config.VisibilityDelay // for the search
	}
	begun := j.begin(func() {
		defer func() { <-j.cancel }()
		ctx, stop := context.WithTimeoutCause(j.background, limit, fmt.Errorf("not done within %v", limit))
		defer stop()
		if err := a.cancelJob(ctx, s, id); err != nil {
			log(err)
		}
	})
	if !begun {
		<-j.cancel
		log(ErrClosed)
	}
}

func (a *action) cancelJob(ctx context.Context, s start, id string) error {
	begun := time.Now()
	for id == "" {
		found, err := a.dialect.find(ctx, s.key)
		switch awaitVisible := a.jobs.client.config.VisibilityDelay; {
		case err != nil:
			return err
		case found.id != "" && found.state != active:
			return nil
		case found.id != "":
			id = found.id
		case time.Since(begun) >= awaitVisible:
			return nil // it was never started
		default:
			if err := pause.For(ctx, awaitVisible/8); err != nil {
				return err
			}
		}
	}
	return a.dialect.cancel(ctx, id)
}

func asFailure(err error) error {
	var typed *worker.Error
	var e *sendError
	var noToken *tokenError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return typed
	case errors.As(err, &noToken):
		return &worker.Error{Type: TypeToken, Message: noToken.Error()}
	case errors.As(err, &e) && e.status == 0:
		return &worker.Error{Type: TypeUnavailable, Message: e.Error()}
	case errors.As(err, &e):
		return &worker.Error{Type: TypeHTTP, Message: e.Error()}
	}
	return err
}
