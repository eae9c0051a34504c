// Package telemetry describes an engine to OpenTelemetry.
package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Resource returns what spans and metrics of an engine are of: the service pulley, and the engine's name unless it is empty. What
// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say comes before that; the error says what is wrong in them.
func Resource(engine string) (*resource.Resource, error) {
	about := []attribute.KeyValue{attribute.String("service.name", "pulley")}
	if engine != "" {
		about = append(about, attribute.String("service.instance.id", engine))
	}
	res, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(about...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return res, nil
}
