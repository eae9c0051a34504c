package export_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/metrics"
	"pulley/engine/metrics/export"
	"pulley/engine/worker"
)

// collector keeps the last numbers that it is sent, as a collector of OpenTelemetry reads them.
type collector struct {
	refuses bool

	mu   sync.Mutex
	last pmetric.Metrics
	sent int
	err  error
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuses {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	text, err := io.ReadAll(r.Body)
	request := pmetricotlp.NewExportRequest()
	if c.err = errors.Join(c.err, err, request.UnmarshalProto(text)); c.err == nil {
		c.last, c.sent = request.Metrics(), c.sent+1
	}
}

// numbers returns the last numbers by name and labels, and the engine's name.
func (c *collector) numbers(t *testing.T) (found map[string]any, engine string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.sent == 0 || c.last.ResourceMetrics().Len() != 1 {
		t.Fatalf("%d sendings, %v", c.sent, c.err)
	}
	found = map[string]any{}
	one := c.last.ResourceMetrics().At(0)
	for i := range one.ScopeMetrics().Len() {
		all := one.ScopeMetrics().At(i).Metrics()
		for k := range all.Len() {
			put(t, found, all.At(k))
		}
	}
	name, _ := one.Resource().Attributes().Get("service.instance.id")
	return found, name.AsString()
}

func put(t *testing.T, found map[string]any, m pmetric.Metric) {
	t.Helper()
	switch m.Type() {
	case pmetric.MetricTypeSum:
		if !m.Sum().IsMonotonic() || m.Sum().AggregationTemporality() != pmetric.AggregationTemporalityCumulative {
			t.Errorf("%s does not count from the start", m.Name())
		}
		for i := range m.Sum().DataPoints().Len() {
			p := m.Sum().DataPoints().At(i)
			found[fmt.Sprint(m.Name(), p.Attributes().AsRaw())] = p.DoubleValue()
		}
	case pmetric.MetricTypeGauge:
		for i := range m.Gauge().DataPoints().Len() {
			p := m.Gauge().DataPoints().At(i)
			found[fmt.Sprint(m.Name(), p.Attributes().AsRaw())] = p.DoubleValue()
		}
	case pmetric.MetricTypeHistogram:
		for i := range m.Histogram().DataPoints().Len() {
			p := m.Histogram().DataPoints().At(i)
			found[fmt.Sprint(m.Name(), p.Attributes().AsRaw())] = [2]int{int(p.Count()), p.ExplicitBounds().Len()}
		}
	}
}

// count lets an engine's metrics count an attempt of each end, and a commit.
func count(t *testing.T, m *metrics.Metrics) {
	t.Helper()
	actions, err := worker.NewRegistry(
		worker.Action{Name: "works", Run: func(context.Context, worker.Call) (any, error) { return 1, nil }},
		worker.Action{Name: "fails", Run: func(context.Context, worker.Call) (any, error) { return nil, errors.New("no") }},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"works", "fails"} {
		m.Workers(actions).Execute(t.Context(), backend.Task{Action: action})
	}
	m.Observer(engine.Observer{}).Committed(2, time.Now())
	m.Observer(engine.Observer{}).Submitted(uuid.Nil, time.Now())
}

// A collector reads the numbers at once with Close, and those that Prometheus would.
func TestSent(t *testing.T) {
	t.Parallel()
	c := &collector{}
	m, sender := started(t, c, func(err error) { t.Error(err) })
	count(t, m)
	if err := sender.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, engine := c.numbers(t)
	if engine != "e1" {
		t.Errorf("the engine is %q", engine)
	}
	for name, want := range map[string]any{
		"pulley_attempts_totalmap[action:works result:completed]": 1.0, "pulley_attempts_totalmap[action:fails result:failed]": 1.0,
		"pulley_attempts_totalmap[action:works result:died]": 0.0, "pulley_attempt_secondsmap[action:works]": [2]int{1, 20},
		"pulley_commits_totalmap[]": 1.0, "pulley_instances_submitted_totalmap[]": 1.0, "pulley_attempts_runningmap[]": 0.0,
	} {
		if found[name] != want {
			t.Errorf("%s is %v, want %v", name, found[name], want)
		}
	}
	if found["process_resident_memory_bytesmap[]"] == nil {
		t.Errorf("there are only %v", found)
	}
}

// A sending that fails is reported, and holds nothing up.
func TestRefused(t *testing.T) {
	t.Parallel()
	c, told := &collector{refuses: true}, make(chan error, 10)
	_, sender := started(t, c, func(err error) { told <- err })
	if err := sender.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-told; err == nil {
		t.Error("nothing was reported")
	}
}

func started(t *testing.T, c *collector, problem func(error)) (*metrics.Metrics, *export.Sender) {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	exporter, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(server.URL+"/v1/metrics"))
	if err != nil {
		t.Fatal(err)
	}
	m := metrics.New()
	sender, err := export.Start(export.Config{Metrics: m, Exporter: exporter, Engine: "e1", Every: time.Hour, Problem: problem})
	if err != nil {
		t.Fatal(err)
	}
	return m, sender
}

func TestConfig(t *testing.T) {
	for _, wrong := range []export.Config{{}, {Metrics: metrics.New()}, {Metrics: metrics.New(), Exporter: kept{}, Every: -1}} {
		if _, err := export.Start(wrong); err == nil {
			t.Errorf("%+v starts", wrong)
		}
	}
}
