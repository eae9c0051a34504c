package export_test

import (
	"context"
	"fmt"
	"log"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"pulley/engine/metrics"
	"pulley/engine/metrics/export"
)

// kept is an exporter that prints names instead of sending numbers. That of package otlpmetrichttp takes its place.
type kept struct{}

func (kept) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

func (kept) Aggregation(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(kind)
}

func (kept) Export(_ context.Context, numbers *metricdata.ResourceMetrics) error {
	for _, scope := range numbers.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == "pulley_commits_total" {
				fmt.Println(m.Name)
			}
		}
	}
	return nil
}

func (kept) ForceFlush(context.Context) error { return nil }
func (kept) Shutdown(context.Context) error   { return nil }

func Example() {
	numbers := metrics.New() // its Observer and Workers are the engine's
	sender, err := export.Start(export.Config{Metrics: numbers, Exporter: kept{}})
	if err != nil {
		log.Fatal(err)
	}
	if err := sender.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: pulley_commits_total
}
