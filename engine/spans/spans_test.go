package spans_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/spans"
	"pulley/engine/worker"
)

// collector is the receiving end of a collector of OpenTelemetry, with its parser.
type collector struct {
	mu       sync.Mutex
	spans    []ptrace.Span
	services []map[string]any
	problems []error
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			c.problems = append(c.problems, err)
			return
		}
	}
	data, err := io.ReadAll(body)
	request := ptraceotlp.NewExportRequest()
	if err = errors.Join(err, request.UnmarshalProto(data)); err != nil || r.URL.Path != "/v1/traces" {
		c.problems = append(c.problems, fmt.Errorf("%s: %w", r.URL.Path, err))
		return
	}
	for _, resource := range request.Traces().ResourceSpans().All() {
		c.services = append(c.services, resource.Resource().Attributes().AsRaw())
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				c.spans = append(c.spans, span)
			}
		}
	}
	answer, err := ptraceotlp.NewExportResponse().MarshalProto()
	if err != nil {
		c.problems = append(c.problems, err)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer)
}

// named returns the spans of a name, the earliest first.
func (c *collector) named(name string) (found []ptrace.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b ptrace.Span) int { return int(a.StartTimestamp()) - int(b.StartTimestamp()) })
	return found
}

func startCollector(t testing.TB) (*collector, string) {
	t.Helper()
	c := &collector{}
	server := httptest.NewServer(c)
	t.Cleanup(func() {
		server.Close()
		for _, err := range c.problems {
			t.Error(err)
		}
	})
	return c, server.URL
}

func exporterTo(t testing.TB, url string) sdktrace.SpanExporter {
	t.Helper()
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(url+"/v1/traces"), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	if err != nil {
		t.Fatal(err)
	}
	return exporter
}

func compile(t testing.TB, text string) *plan.Program {
	t.Helper()
	p, err := plan.CompileText("flows/crunch.ir", []byte(text), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const deadline = 5 * time.Minute

// startEngine starts an engine whose spans are recorded. stop stops both.
func startEngine(t testing.TB, cfg spans.Config, store backend.Backend, actions ...worker.Action) (e *engine.Engine, stop func()) {
	t.Helper()
	cfg.Problem = func(err error) { t.Errorf("problem: %v", err) }
	r, err := spans.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := worker.NewRegistry(actions...)
	if err != nil {
		t.Fatal(err)
	}
	e, err = engine.New(engine.Config{Backend: store, Workers: r.Workers(registry), LeaveUnknown: true /* a Knower is needed */, Observer: r.Observer(engine.Observer{})})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e, func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := errors.Join(e.Stop(ctx), r.Close(ctx)); err != nil {
			t.Error(err)
		}
	}
}

func await(t testing.TB, e *engine.Engine, req engine.SubmitRequest) backend.Instance {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	id, err := e.Submit(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := e.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

const retried = `
fn main(input: [], output: [x]):
    try:
        x = @fails() [retry: 2, backoff: 1ms]
    except:
        x = @works()
    y = @refuses()
`

func TestACollectorReadsInstancesAndAttempts(t *testing.T) {
	t.Parallel()
	c, url := startCollector(t)
	store := memory.New(memory.Options{})
	defer store.Close()
	parents := make(chan string, 1)
	e, stop := startEngine(t, spans.Config{Exporter: exporterTo(t, url), Engine: "a:1"}, store,
		worker.Action{Name: "fails", Run: func(context.Context, worker.Call) (any, error) { return nil, errors.New("no") }},
		worker.Action{Name: "works", Run: func(ctx context.Context, _ worker.Call) (any, error) {
			parents <- worker.TraceParent(ctx)
			return 1, nil
		}},
		worker.Action{Name: "refuses", Run: func(context.Context, worker.Call) (any, error) {
			return nil, &worker.Error{Type: "Refused", Message: strings.Repeat("é", 2000)}
		}},
	)
	inst := await(t, e, engine.SubmitRequest{Program: compile(t, retried)})
	stop()

	whole := c.named("crunch.ir")
	if len(whole) != 1 {
		t.Fatalf("%d spans of the instance", len(whole))
	}
	root := whole[0]
	if root.TraceID() != pcommon.TraceID(inst.ID) || root.SpanID() != pcommon.SpanID(spans.InstanceSpan(inst.ID)) || !root.ParentSpanID().IsEmpty() {
		t.Errorf("the instance's span is %s/%s, child of %s", root.TraceID(), root.SpanID(), root.ParentSpanID())
	}
	if root.Status().Code() != ptrace.StatusCodeError || len([]rune(root.Status().Message())) != 1001 || root.Attributes().AsRaw()["pulley.status"] != "failed" || root.Attributes().AsRaw()["error.type"] != "Refused" {
		t.Errorf("the instance failed as Refused, and its span says %v, %q", root.Attributes().AsRaw(), root.Status().Message())
	}
	fails := c.named("@fails")
	if len(fails) != 3 {
		t.Fatalf("%d spans of three attempts", len(fails))
	}
	for i, s := range fails {
		if s.TraceID() != root.TraceID() || s.ParentSpanID() != root.SpanID() || s.StartTimestamp() < root.StartTimestamp() || s.EndTimestamp() > root.EndTimestamp() || s.StartTimestamp() > s.EndTimestamp() {
			t.Errorf("attempt %d is not in its instance", i+1)
		}
		about := s.Attributes().AsRaw()
		if about["pulley.attempt"] != int64(i+1) || about["pulley.delivery"] != int64(1) || about["pulley.action"] != "fails" || about["pulley.workflow"] != "crunch.ir" || about["error.type"] != "Error" {
			t.Errorf("attempt %d: %v", i+1, about)
		}
		links := s.Links()
		switch {
		case i == 0 && links.Len() > 0:
			t.Error("the first attempt has a link")
		case i > 0 && (links.Len() != 1 || links.At(0).SpanID() != fails[i-1].SpanID() || links.At(0).TraceID() != root.TraceID()):
			t.Errorf("attempt %d is not linked to the one before", i+1)
		}
	}
	works := c.named("@works")
	if len(works) != 1 || works[0].Status().Code() != ptrace.StatusCodeUnset {
		t.Fatalf("%d spans of the attempt that works", len(works))
	}
	if want := fmt.Sprintf("00-%s-%s-01", root.TraceID(), works[0].SpanID()); <-parents != want {
		t.Errorf("the action does not get %s", want)
	}
	if about := c.services[0]; about["service.name"] != "pulley" || about["service.instance.id"] != "a:1" {
		t.Errorf("%v", about)
	}
}

// A delivery after a death is another span, linked to the one before.
func TestDeliveriesAreLinked(t *testing.T) {
	t.Parallel()
	c, url := startCollector(t)
	store := memory.New(memory.Options{})
	defer store.Close()
	died := false
	e, stop := startEngine(t, spans.Config{Exporter: exporterTo(t, url)}, store, worker.Action{Name: "dies", Run: func(context.Context, worker.Call) (any, error) {
		if !died {
			died = true
			return nil, &worker.DiedError{Cause: errors.New("killed")}
		}
		return 1, nil
	}})
	await(t, e, engine.SubmitRequest{Program: compile(t, "fn main(input: [], output: [x]):\n    x = @dies()\n")})
	stop()
	found := c.named("@dies")
	if len(found) != 2 || found[0].SpanID() == found[1].SpanID() || found[1].Links().Len() != 1 || found[1].Links().At(0).SpanID() != found[0].SpanID() {
		t.Fatalf("%d spans of two deliveries, or the second is not linked to the first", len(found))
	}
	if found[0].Status().Code() != ptrace.StatusCodeError || found[1].Status().Code() != ptrace.StatusCodeUnset {
		t.Error("the death is not the first delivery's")
	}
}

// A recorder of another process knows neither the submission nor, without a node run, the workflow: the id or the store does.
func TestSubmissionsOfOthers(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	program := compile(t, retried)
	for what, c := range map[string]struct {
		id       uuid.UUID
		store    backend.Inspector
		from     time.Time
		workflow string
	}{
		"an id with a time":    {uuidAt(t, at), nil, at, "workflow"},
		"a store":              {uuid.New(), stored{at, program, nil}, at, "crunch.ir"},
		"a store that fails":   {uuid.New(), stored{at, program, errors.New("no")}, at.Add(time.Hour), "workflow"},
		"neither":              {uuid.New(), nil, at.Add(time.Hour), "workflow"},
		"clocks that disagree": {uuidAt(t, at.Add(2*time.Hour)), nil, at.Add(time.Hour), "workflow"},
	} {
		received, url := startCollector(t)
		r, err := spans.New(spans.Config{Exporter: exporterTo(t, url), Store: c.store})
		if err != nil {
			t.Fatal(err)
		}
		ended := 0
		r.Observer(engine.Observer{Ended: func(backend.Instance, time.Time) { ended++ }}).Ended(backend.Instance{ID: c.id, Status: backend.Completed}, at.Add(time.Hour))
		if err := r.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		found := received.named(c.workflow)
		if len(found) != 1 || !found[0].StartTimestamp().AsTime().Equal(c.from) || !found[0].EndTimestamp().AsTime().Equal(at.Add(time.Hour)) || ended != 1 {
			t.Errorf("%s: %d spans; the first begins at %v, and not at %v", what, len(found), found, c.from)
		}
	}
}

func uuidAt(t *testing.T, at time.Time) uuid.UUID {
	t.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	for i, ms := 5, at.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	id[6], id[7] = 0x70, 0 // no part of a millisecond
	return id
}

type stored struct {
	submitted time.Time
	program   *plan.Program
	err       error
}

func (s stored) Inspect(context.Context, uuid.UUID, int) (backend.Snapshot, error) {
	return backend.Snapshot{Submitted: s.submitted, Program: s.program}, s.err
}

func (stored) List(context.Context, backend.Filter) (backend.Page, error) { return backend.Page{}, nil }

// Engines with the same part choose the same instances, whichever kind of id these have.
func TestAPartOfTheInstances(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(int) uuid.UUID{
		"v4": func(int) uuid.UUID { return uuid.New() },
		"v7": func(int) uuid.UUID { id, _ := uuid.NewV7(); return id },
		"v8": func(i int) uuid.UUID { return backend.IDOfKey(fmt.Sprint("key ", i)) },
	}
	const instances, part = 3000, 0.3
	for kind, id := range kinds {
		c, url := startCollector(t)
		var recorders []*spans.Recorder
		var observers []engine.Observer
		for range 2 {
			r, err := spans.New(spans.Config{Exporter: exporterTo(t, url), Part: part})
			if err != nil {
				t.Fatal(err)
			}
			recorders, observers = append(recorders, r), append(observers, r.Observer(engine.Observer{}))
		}
		for i := range instances {
			inst := backend.Instance{ID: id(i), Status: backend.Completed}
			for _, o := range observers {
				o.Ended(inst, time.Now())
			}
		}
		for _, r := range recorders {
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		traces := map[pcommon.TraceID]int{}
		for _, s := range c.named("workflow") {
			traces[s.TraceID()]++
		}
		for id, n := range traces {
			if n != 2 {
				t.Errorf("%s: %d of two engines trace %s", kind, n, id)
			}
		}
		// The number is binomial; six standard deviations.
		if n := float64(len(traces)); n < instances*part-150 || n > instances*part+150 {
			t.Errorf("%s: %g of %d instances are traced, with a part of %g", kind, n, instances, part)
		}
	}
}

// An exporter that takes nothing does not hold an engine up, and what is lost is said.
func TestASlowCollector(t *testing.T) {
	t.Parallel()
	problems := make(chan error, 10)
	slow := &slowExporter{release: make(chan struct{})}
	r, err := spans.New(spans.Config{Exporter: slow, Problem: func(err error) { problems <- err }})
	if err != nil {
		t.Fatal(err)
	}
	o := r.Observer(engine.Observer{})
	const ended = 20_000
	for range ended {
		id, err := uuid.NewV7()
		if err != nil {
			t.Fatal(err)
		}
		o.Ended(backend.Instance{ID: id, Status: backend.Completed}, time.Now())
	}
	close(slow.release)
	err = r.Close(t.Context())
	lost := 0
	var n, waited int
	for _, problem := range append([]error{err}, <-problems) {
		if _, scanErr := fmt.Sscanf(problem.Error(), "%d spans were dropped, since %d waited", &n, &waited); scanErr != nil {
			t.Fatalf("%v: %v", problem, scanErr)
		}
		lost += n
	}
	if lost+slow.sent != ended || slow.sent < waited {
		t.Errorf("%d spans were sent, and %d lost, of %d", slow.sent, lost, ended)
	}
}

type slowExporter struct {
	release chan struct{}
	sent    int
}

func (s *slowExporter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	<-s.release
	s.sent += len(spans)
	return nil
}

func (*slowExporter) Shutdown(context.Context) error { return nil }

// A collector that fails is reported, once.
func TestAFailingCollector(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	defer server.Close()
	problems := make(chan error, 10)
	r, err := spans.New(spans.Config{Exporter: exporterTo(t, server.URL), Problem: func(err error) { problems <- err }})
	if err != nil {
		t.Fatal(err)
	}
	r.Observer(engine.Observer{}).Ended(backend.Instance{ID: uuid.New(), Status: backend.Completed}, time.Now())
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-problems; !strings.Contains(err.Error(), "1 spans could not be sent") || !strings.Contains(err.Error(), "403") {
		t.Error(err)
	}
}

func TestConfigsThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]spans.Config{
		"Exporter is not set": {}, "Part is -1": {Exporter: &slowExporter{}, Part: -1}, "Part is 2": {Exporter: &slowExporter{}, Part: 2},
	} {
		if _, err := spans.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The ids are part of what other programs may rely on. The wanted ones are from sha256sum.
func TestIDs(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("0195d0a0-0000-7000-8000-000000000001")
	key := backend.Key{Instance: id, Run: graph.Run{Node: 3, Path: "1/2"}}
	for got, want := range map[string]string{
		spans.InstanceTrace(id).String():      "0195d0a0000070008000000000000001",
		spans.InstanceSpan(id).String():       "17868c265690122f",
		spans.AttemptSpan(key, 4, 5).String(): "81b65a392e77ebe3",
	} {
		if got != want {
			t.Errorf("%s, and not %s", got, want)
		}
	}
}

// What this engine submitted needs neither the id nor the store, even when it has submitted many others since.
func TestOwnSubmissions(t *testing.T) {
	t.Parallel()
	c, url := startCollector(t)
	r, err := spans.New(spans.Config{Exporter: exporterTo(t, url), Store: stored{err: errors.New("no")}})
	if err != nil {
		t.Fatal(err)
	}
	o, at, first := r.Observer(engine.Observer{}), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), uuid.New()
	o.Submitted(first, at)
	for range 100_000 {
		o.Submitted(uuid.New(), at.Add(time.Second))
	}
	o.Ended(backend.Instance{ID: first, Status: backend.Canceled, Failure: &plan.Failure{Type: backend.CanceledType, Message: "not needed"}}, at.Add(time.Hour))
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	found := c.named("workflow")
	if len(found) != 1 || !found[0].StartTimestamp().AsTime().Equal(at) {
		t.Fatalf("%d spans, or one that does not begin with the submission", len(found))
	}
	if s := found[0]; s.Status().Code() != ptrace.StatusCodeUnset || s.Events().Len() != 1 || s.Events().At(0).Name() != "Canceled: not needed" {
		t.Errorf("a cancelled instance has status %v and %d events", s.Status().Code(), s.Events().Len())
	}
}

// What was sent makes room: an exporter that keeps up loses nothing.
func TestManySpans(t *testing.T) {
	t.Parallel()
	exporter := &slowExporter{release: make(chan struct{})}
	close(exporter.release)
	r, err := spans.New(spans.Config{Exporter: exporter, Problem: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	o := r.Observer(engine.Observer{})
	const rounds, each = 5, 4000
	for range rounds {
		for range each {
			id, err := uuid.NewV7()
			if err != nil {
				t.Fatal(err)
			}
			o.Ended(backend.Instance{ID: id, Status: backend.Completed}, time.Now())
		}
		if err := r.Provider().(*sdktrace.TracerProvider).ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(t.Context()); err != nil || exporter.sent != rounds*each {
		t.Errorf("%d of %d spans were sent, %v", exporter.sent, rounds*each, err)
	}
}
