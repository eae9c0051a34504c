package spans

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Bounds of spans that wait for the exporter.
const (
	queueMost   = 8192
	batchMost   = 512
	batchPause  = 2 * time.Second
	exportMost  = 30 * time.Second
	reportPause = time.Minute
)

// queue sends spans in batches. Unlike the processor that it stands on, it says what it drops.
type queue struct {
	sdktrace.SpanProcessor
	exporter sdktrace.SpanExporter
	problem  func(error)
	held     atomic.Int64 // spans that were not exported yet

	mu       sync.Mutex
	dropped  int // since the last report
	failed   int
	cause    error // of the last failed export
	reported time.Time
}

func newQueue(exporter sdktrace.SpanExporter, problem func(error)) *queue {
	q := &queue{exporter: exporter, problem: problem}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor((*countedExporter)(q), sdktrace.WithMaxQueueSize(queueMost), sdktrace.WithMaxExportBatchSize(batchMost),
		sdktrace.WithBatchTimeout(batchPause), sdktrace.WithExportTimeout(exportMost))
	return q
}

// OnEnd implements sdktrace.SpanProcessor.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if q.held.Add(1) > queueMost {
		q.held.Add(-1)
		q.lose(1, 0, nil)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// countedExporter is a queue as the exporter of its processor.
type countedExporter queue

// ExportSpans implements sdktrace.SpanExporter. It reports errors itself.
func (e *countedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.exporter.ExportSpans(ctx, spans)
	e.held.Add(-int64(len(spans)))
	if err != nil {
		(*queue)(e).lose(0, len(spans), err)
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (e *countedExporter) Shutdown(ctx context.Context) error { return e.exporter.Shutdown(ctx) }

func (q *queue) lose(dropped, failed int, cause error) {
	q.mu.Lock()
	q.dropped, q.failed = q.dropped+dropped, q.failed+failed
	if cause != nil {
		q.cause = cause
	}
	var err error
	if now := time.Now(); now.Sub(q.reported) >= reportPause {
		q.reported, err = now, q.loss()
	}
	q.mu.Unlock()
	if err != nil {
		q.problem(err)
	}
}

// loss returns what was lost since the last report; the caller holds the lock.
func (q *queue) loss() error {
	dropped, failed := q.dropped, q.failed
	q.dropped, q.failed = 0, 0
	switch {
	case failed > 0:
		return fmt.Errorf("%d spans could not be sent, and %d more were dropped, since %d waited: %w", failed, dropped, queueMost, q.cause)
	case dropped > 0:
		return fmt.Errorf("%d spans were dropped, since %d waited to be sent; trace a smaller part of the instances", dropped, queueMost)
	}
	return nil
}

// close sends what waits, and returns what was lost and not reported yet.
func (q *queue) close(ctx context.Context) error {
	err := q.Shutdown(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	if lost := q.loss(); lost != nil {
		return lost
	}
	if left := q.held.Load(); err != nil && left > 0 {
		return fmt.Errorf("%d spans could not be sent in time: %w", left, err)
	}
	return err
}
