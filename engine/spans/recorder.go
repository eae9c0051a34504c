package spans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/clip"
	"pulley/internal/telemetry"
)

// Config configures a Recorder. Exporter must be set.
type Config struct {
	Exporter sdktrace.SpanExporter // sends spans; Close shuts it down

	// Part of the instances that are traced, chosen by their ids, so that engines with the same part choose the same ones.
	// Zero: all. From 0 to 1
	Part float64

	// Engine names the engine, as the attribute service.instance.id. Zero: no name. The environment's OTEL_SERVICE_NAME and
	// OTEL_RESOURCE_ATTRIBUTES replace it, and the service's name, pulley.
	Engine string

	// Store tells when an instance was submitted that another program submitted and whose id has no time in it. Zero: the spans of
	// such instances begin when they end.
	Store backend.Inspector

	Problem func(error) // gets, once a minute at most, what was lost. Zero: nothing is reported
}

// Recorder records the spans of one engine. It is safe for concurrent use.
type Recorder struct {
	cfg      Config
	queue    *queue
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	origins  origins

	lookups chan ending
	looking context.Context // of the calls of the store
	cutOff  context.CancelFunc
	closing chan struct{}
	looked  chan struct{}
}

// ending is an instance whose submission has to be looked up.
type ending struct {
	instance backend.Instance
	at       time.Time
	workflow string
}

// lookupsMost bounds instances that wait to be looked up.
const lookupsMost = 1024

// lookupTimeout bounds one look.
const lookupTimeout = 5 * time.Second

// New makes a recorder; Close ends it.
func New(cfg Config) (*Recorder, error) {
	if cfg.Exporter == nil {
		return nil, errors.New("spans: Exporter is not set")
	}
	if !(cfg.Part >= 0 && cfg.Part <= 1) {
		return nil, fmt.Errorf("spans: Part is %g, must be from 0 to 1", cfg.Part)
	}
	if cfg.Part == 0 {
		cfg.Part = 1
	}
	if cfg.Problem == nil {
		cfg.Problem = func(error) {}
	}
	res, err := telemetry.Resource(cfg.Engine)
	if err != nil {
		return nil, fmt.Errorf("spans: %w", err)
	}
	r := &Recorder{cfg: cfg, queue: newQueue(cfg.Exporter, cfg.Problem), lookups: make(chan ending, lookupsMost), closing: make(chan struct{}), looked: make(chan struct{})}
	r.provider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.queue), sdktrace.WithIDGenerator(givenIDs{}), sdktrace.WithSampler(sampler{cfg.Part}), sdktrace.WithResource(res))
	r.tracer = r.provider.Tracer("pulley/engine/spans")
	r.looking, r.cutOff = context.WithCancel(context.Background())
	go r.lookUp()
	return r, nil
}

// Provider returns the provider with which actions in Go can record spans of their own: what they record with their context is part
// of their attempt. otel.SetTracerProvider makes it the one of the program.
func (r *Recorder) Provider() trace.TracerProvider { return r.provider }

// Close sends the spans that wait until ctx ends, and shuts the exporter down. It is called once, after the engine has stopped: what
// ends later has no span. The error says what could not be sent.
func (r *Recorder) Close(ctx context.Context) error {
	close(r.closing)
	select {
	case <-r.looked:
	case <-ctx.Done():
	}
	r.cutOff()
	<-r.looked
	return r.queue.close(ctx)
}

// Observer returns an observer that records instances, and then calls o.
func (r *Recorder) Observer(o engine.Observer) engine.Observer {
	records := engine.Observer{
		Submitted: func(id uuid.UUID, at time.Time) {
			if r.traces(id) {
				r.origins.note(id, func(o *origin) { o.submitted = at })
			}
		},
		Leased: func(task backend.Task, _ time.Time) {
			if id := task.Lease.Key.Instance; r.traces(id) {
				r.origins.note(id, func(o *origin) { o.workflow = nameOf(task.Program) })
			}
		},
		Ended: func(inst backend.Instance, at time.Time) {
			if r.traces(inst.ID) {
				r.end(inst, at)
			}
		},
	}
	return records.Then(o)
}

func (r *Recorder) traces(id uuid.UUID) bool { return isTraced(InstanceTrace(id), r.cfg.Part) }

// nameOf returns the workflow's name; empty: it is not known.
func nameOf(p *plan.Program) string {
	if p == nil {
		return ""
	}
	return p.Workflow()
}

// end records an instance, at once if it is known when it was submitted.
func (r *Recorder) end(inst backend.Instance, at time.Time) {
	from := r.origins.take(inst.ID)
	if from.submitted.IsZero() && inst.ID.Version() == 7 {
		from.submitted = time.Unix(inst.ID.Time().UnixTime())
	}
	if !from.submitted.IsZero() || r.cfg.Store == nil {
		r.record(inst, from.workflow, from.submitted, at)
		return
	}
	select {
	case r.lookups <- ending{inst, at, from.workflow}:
	default: // the store is slow: its end is known, at least
		r.record(inst, from.workflow, time.Time{}, at)
	}
}

// lookUp looks up submissions until Close, and then those that wait.
func (r *Recorder) lookUp() {
	defer close(r.looked)
	for {
		select {
		case e := <-r.lookups:
			r.recordFound(e)
		case <-r.closing:
			for len(r.lookups) > 0 {
				r.recordFound(<-r.lookups)
			}
			return
		}
	}
}

func (r *Recorder) recordFound(e ending) {
	ctx, cancel := context.WithTimeout(r.looking, lookupTimeout)
	defer cancel()
	s, err := r.cfg.Store.Inspect(ctx, e.instance.ID, 1)
	if err != nil {
		s = backend.Snapshot{}
	}
	if e.workflow == "" {
		e.workflow = nameOf(s.Program)
	}
	r.record(e.instance, e.workflow, s.Submitted, e.at)
}

func (r *Recorder) record(inst backend.Instance, workflow string, submitted, ended time.Time) {
	if submitted.IsZero() || submitted.After(ended) {
		submitted = ended
	}
	name := workflow
	if name == "" {
		name = "workflow"
	}
	ctx := withIDs(context.Background(), ids{InstanceTrace(inst.ID), InstanceSpan(inst.ID)})
	_, span := r.tracer.Start(ctx, name, trace.WithNewRoot(), trace.WithTimestamp(submitted), trace.WithAttributes(
		attribute.String("pulley.instance", inst.ID.String()), attribute.String("pulley.workflow", workflow), attribute.String("pulley.status", string(inst.Status)),
	))
	if inst.Failure != nil {
		fail(span, inst.Failure, inst.Status == backend.Failed)
	}
	span.End(trace.WithTimestamp(ended))
}

// messageRunes bounds an error's message in a span.
const messageRunes = 1000

func fail(span trace.Span, f *plan.Failure, isError bool) {
	kind, message := f.Type, clip.Runes(f.Type+": "+f.Message, messageRunes)
	if worker.IsDeath(f) {
		kind, message = dispatch.DiedType, clip.Runes(f.Message, messageRunes)
	}
	span.SetAttributes(attribute.String("error.type", kind))
	if !isError {
		span.AddEvent(message)
		return
	}
	span.SetStatus(codes.Error, message)
}

// Workers returns an executor that records the attempts of w, and passes their spans on to what they call. It is a worker.Knower if w
// is one.
func (r *Recorder) Workers(w worker.Executor) worker.Executor {
	return worker.Wrap(w, func(ctx context.Context, task backend.Task, next worker.Executor) (json.RawMessage, *plan.Failure) {
		id := task.Lease.Key.Instance
		if !r.traces(id) {
			return next.Execute(ctx, task)
		}
		span := r.begin(task)
		defer span.End() // also if the action ends its goroutine
		sc := span.SpanContext()
		ctx = worker.WithTraceParent(trace.ContextWithSpan(ctx, span), fmt.Sprintf("00-%s-%s-%s", sc.TraceID(), sc.SpanID(), sc.TraceFlags()))
		result, failure := next.Execute(ctx, task)
		if failure != nil {
			fail(span, failure, true)
		}
		return result, failure
	})
}

func (r *Recorder) begin(task backend.Task) trace.Span {
	key := task.Lease.Key
	instance := trace.NewSpanContext(trace.SpanContextConfig{TraceID: InstanceTrace(key.Instance), SpanID: InstanceSpan(key.Instance), TraceFlags: trace.FlagsSampled, Remote: true})
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), instance)
	ctx = withIDs(ctx, ids{instance.TraceID(), AttemptSpan(key, task.Attempt, task.Deliveries)})
	options := []trace.SpanStartOption{trace.WithAttributes(
		attribute.String("pulley.instance", key.Instance.String()), attribute.String("pulley.workflow", nameOf(task.Program)), attribute.String("pulley.action", task.Action),
		attribute.String("pulley.node_run", runName(task)), attribute.Int("pulley.attempt", task.Attempt), attribute.Int("pulley.delivery", task.Deliveries),
	)}
	if before, has := spanBefore(key, task.Attempt, task.Deliveries); has {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: instance.WithSpanID(before)}))
	}
	_, span := r.tracer.Start(ctx, "@"+task.Action, options...)
	return span
}

// spanBefore returns the span of the delivery or of the attempt before.
func spanBefore(key backend.Key, attempt, delivery int) (trace.SpanID, bool) {
	switch {
	case delivery > 1:
		return AttemptSpan(key, attempt, delivery-1), true
	case attempt > 1:
		return AttemptSpan(key, attempt-1, 1), true
	}
	return trace.SpanID{}, false
}

func runName(task backend.Task) string {
	if task.Program == nil {
		return ""
	}
	return task.Program.RunName(task.Lease.Key.Run)
}

// origin is where an instance comes from, as far as this engine knows.
type origin struct {
	submitted time.Time
	workflow  string
}

// originsMost bounds the instances of a generation of origins.
const originsMost = 1 << 16

// origins forgets the instances that were noted longest ago. Its zero value is empty.
type origins struct {
	mu         sync.Mutex
	young, old map[uuid.UUID]origin
}

func (o *origins) note(id uuid.UUID, what func(*origin)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.young == nil || len(o.young) >= originsMost {
		o.young, o.old = map[uuid.UUID]origin{}, o.young
	}
	known := o.get(id)
	what(&known)
	o.young[id] = known
	delete(o.old, id)
}

func (o *origins) get(id uuid.UUID) origin {
	if known, ok := o.young[id]; ok {
		return known
	}
	return o.old[id]
}

func (o *origins) take(id uuid.UUID) origin {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.get(id)
	delete(o.young, id)
	delete(o.old, id)
	return known
}
