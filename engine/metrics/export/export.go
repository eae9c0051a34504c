// Package export sends an engine's metrics to a collector of OpenTelemetry. Names and labels are those of package metrics; counters and
// histograms are cumulative.
//
// OpenTelemetry's bridge reads the numbers in Prometheus' form, so that both ways give the same ones.
package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	vm "github.com/VictoriaMetrics/metrics"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/contrib/bridges/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"pulley/engine/metrics"
	"pulley/internal/telemetry"
)

// Config configures a Sender. Metrics and Exporter must be set.
type Config struct {
	Metrics  *metrics.Metrics
	Exporter sdkmetric.Exporter // sends the numbers; Close shuts it down

	// Every is the pause between two sendings. Zero: what OTEL_METRIC_EXPORT_INTERVAL says, in milliseconds, and otherwise a minute.
	Every time.Duration

	Engine string // the engine's name, as service.instance.id; empty: none

	// Problem receives the error of a sending that failed, from a goroutine of the Sender. The next sending makes up for it. Nil: errors are dropped.
	Problem func(error)
}

// Sender sends metrics until Close.
type Sender struct{ provider *sdkmetric.MeterProvider }

// Start starts a sender. Since the numbers' types are needed, it makes those of github.com/VictoriaMetrics/metrics tell them, in
// the whole process.
func Start(cfg Config) (*Sender, error) {
	switch {
	case cfg.Metrics == nil || cfg.Exporter == nil:
		return nil, errors.New("export: Metrics or Exporter is not set")
	case cfg.Every < 0:
		return nil, fmt.Errorf("export: Every is %v, must not be negative", cfg.Every)
	}
	res, err := telemetry.Resource(cfg.Engine)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	if cfg.Problem == nil {
		cfg.Problem = func(error) {}
	}
	vm.ExposeMetadata(true)
	options := []sdkmetric.PeriodicReaderOption{sdkmetric.WithProducer(prometheus.NewMetricProducer(prometheus.WithGatherer(gatherer{cfg.Metrics})))}
	if cfg.Every > 0 {
		options = append(options, sdkmetric.WithInterval(cfg.Every))
	}
	reader := sdkmetric.NewPeriodicReader(reporting{cfg.Exporter, cfg.Problem}, options...)
	return &Sender{sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res))}, nil
}

// Close sends the numbers once more and ends. If ctx ends before, or the sending fails, it returns why.
func (s *Sender) Close(ctx context.Context) error {
	if err := s.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// gatherer gives the numbers to OpenTelemetry's bridge.
type gatherer struct{ metrics *metrics.Metrics }

// Gather implements prometheus.Gatherer.
func (g gatherer) Gather() ([]*dto.MetricFamily, error) {
	var text bytes.Buffer
	g.metrics.Write(&text)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&text)
	if err != nil {
		return nil, err
	}
	var all []*dto.MetricFamily
	for _, name := range slices.Sorted(maps.Keys(families)) {
		all = append(all, families[name])
	}
	return all, nil
}

// reporting passes the errors of an exporter to problem.
type reporting struct {
	sdkmetric.Exporter
	problem func(error)
}

// Export implements sdkmetric.Exporter.
func (r reporting) Export(ctx context.Context, numbers *metricdata.ResourceMetrics) error {
	if err := r.Exporter.Export(ctx, numbers); err != nil {
		r.problem(fmt.Errorf("sending metrics: %w", err))
	}
	return nil // it was reported
}
