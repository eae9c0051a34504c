package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/spans"
)

// spanFlags say where spans go.
type spanFlags struct {
	Spans     string  `placeholder:"URL" help:"Send spans of instances and attempts to this collector of OpenTelemetry, over OTLP/HTTP, such as http://127.0.0.1:4318. Default: send none."`
	SpansPart float64 `default:"1" placeholder:"PART" help:"The part of the instances that have spans, such as 0.1; it should be the same for all engines. Default: 1."`
}

// telemetryClose bounds how long the last spans, and the last metrics, are sent.
const telemetryClose = 10 * time.Second

func (f *spanFlags) check() error {
	if !(f.SpansPart > 0 && f.SpansPart <= 1) {
		return fmt.Errorf("--spans-part %g: choose a part up to 1, such as 0.1", f.SpansPart)
	}
	if f.Spans == "" {
		if f.SpansPart != 1 {
			return errors.New("--spans-part: there are no spans without --spans; add it")
		}
		return nil
	}
	return checkCollector("--spans", f.Spans)
}

// checkCollector refuses what is not the address of a collector of OpenTelemetry.
func checkCollector(flag, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%s: write the address of a collector, as in http://127.0.0.1:4318", flag)
	case u.User != nil:
		return fmt.Errorf("%s: put what the collector demands of its callers into the environment, as OTEL_EXPORTER_OTLP_HEADERS, not into the address", flag)
	}
	return nil
}

// pathOf returns where a collector takes spans or metrics.
func pathOf(collector, what string) string { return strings.TrimSuffix(collector, "/") + "/v1/" + what }

// startRecorder returns a recorder, or nil without --spans. OpenTelemetry's own variables, such as OTEL_EXPORTER_OTLP_HEADERS, hold for what no
// flag says.
func (f *spanFlags) startRecorder(ctx context.Context, c *console.Console, engine string, store backend.Backend) (*spans.Recorder, error) {
	if f.Spans == "" {
		return nil, nil
	}
	reportTelemetry(c)
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(pathOf(f.Spans, "traces")), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	if err != nil {
		return nil, fmt.Errorf("--spans %s: %w", f.Spans, err)
	}
	inspector, _ := store.(backend.Inspector)
	return spans.New(spans.Config{
		Exporter: exporter, Part: f.SpansPart, Engine: engine, Store: inspector, Problem: func(err error) { c.Say("pulley: %v", err) },
	})
}

// reportTelemetry says what OpenTelemetry's own code has to report.
func reportTelemetry(c *console.Console) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { c.Say("pulley: OpenTelemetry: %v", err) }))
}

// closeSpans sends the spans that wait.
func closeSpans(c *console.Console, r *spans.Recorder) {
	ctx, cancel := context.WithTimeout(context.Background(), telemetryClose)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		c.Say("pulley: %v", err)
	}
}
