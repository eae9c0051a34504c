package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	vm "github.com/VictoriaMetrics/metrics"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"

	"pulley/cmd/pulley/console"
	"pulley/engine/metrics"
	"pulley/engine/metrics/export"
	"pulley/internal/cause"
)

const metricsPath = "/metrics"

// metricsFlags say where an engine's numbers can be read, and where they go.
type metricsFlags struct {
	Metrics   string `placeholder:"HOST:PORT" help:"Serve numbers for Prometheus at /metrics of this address, such as 127.0.0.1:9187. Default: serve none."`
	MetricsTo string `placeholder:"URL" help:"Send the same numbers to this collector of OpenTelemetry, over OTLP/HTTP, once a minute, such as http://127.0.0.1:4318. Default: send none."`
}

func (f *metricsFlags) check() error {
	if f.MetricsTo == "" {
		return nil
	}
	return checkCollector("--metrics-to", f.MetricsTo)
}

// start serves and sends an engine's numbers until end is called, which sends them for the last time.
func (f *metricsFlags) start(ctx context.Context, c *console.Console, engine string, m *metrics.Metrics) (end func(), err error) {
	closing := func() {}
	if f.Metrics != "" {
		if closing, err = serveMetrics(ctx, c, f.Metrics, m); err != nil {
			return nil, err
		}
	}
	if f.MetricsTo == "" {
		return closing, nil
	}
	sending, err := sendMetrics(ctx, c, f.MetricsTo, engine, m)
	if err != nil {
		closing()
		return nil, err
	}
	return func() {
		sending()
		closing()
	}, nil
}

// sendMetrics sends an engine's numbers until end is called. OpenTelemetry's variables hold, as for spans.
func sendMetrics(ctx context.Context, c *console.Console, collector, engine string, m *metrics.Metrics) (end func(), err error) {
	reportTelemetry(c)
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(pathOf(collector, "metrics")), otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
	if err != nil {
		return nil, fmt.Errorf("--metrics-to %s: %w", collector, err)
	}
	sender, err := export.Start(export.Config{Metrics: m, Exporter: exporter, Engine: engine, Problem: func(err error) { c.Say("pulley: %v", err) }})
	if err != nil {
		return nil, err
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), telemetryClose)
		defer cancel()
		if err := sender.Close(ctx); err != nil {
			c.Say("pulley: %v", err)
		}
	}, nil
}

// serveMetrics serves an engine's numbers until close is called.
func serveMetrics(ctx context.Context, c *console.Console, address string, m *metrics.Metrics) (closing func(), err error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("--metrics %s: write HOST:PORT, as in 127.0.0.1:9187", address)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w; choose another address", address, cause.Of(err))
	}
	vm.ExposeMetadata(true)
	mux := http.NewServeMux()
	mux.Handle(metricsPath, m)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.Say("pulley: metrics are no longer served: %v", err)
		}
	}()
	c.Say("pulley: metrics for Prometheus at http://%s%s", l.Addr(), metricsPath)
	return func() {
		_ = server.Close() // readers come again
		<-ended
	}, nil
}
