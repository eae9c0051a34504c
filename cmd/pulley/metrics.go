package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	"pulley/cmd/pulley/console"
	"pulley/engine/metrics"
	"pulley/internal/cause"
)

const metricsPath = "/metrics"

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
