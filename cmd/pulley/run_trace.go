package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/bench/measure"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/reports/record"
	"pulley/scenarios/wfformat"
)

// attemptsMax bounds the recorded attempts; further ones are not written.
const attemptsMax = 2_000_000

// traceRecorder notes when an instance's actions ran. It is safe for concurrent use.
type traceRecorder struct {
	instance uuid.UUID

	mu      sync.Mutex
	started map[backend.Lease]time.Time
	ended   map[backend.Lease]time.Time
	runs    []wfformat.MeasuredRun
	more    bool // more attempts than recorded
}

func newTraceRecorder(instance uuid.UUID) *traceRecorder {
	return &traceRecorder{instance: instance, started: map[backend.Lease]time.Time{}, ended: map[backend.Lease]time.Time{}}
}

func (r *traceRecorder) watch(o engine.Observer) engine.Observer {
	o.Started, o.Offered, o.Answered = r.start, r.offer, r.answer
	return o
}

func (r *traceRecorder) start(t backend.Task, at time.Time) {
	if t.Lease.Key.Instance != r.instance || t.Action == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.started)+len(r.runs) >= attemptsMax {
		r.more = true
		return
	}
	r.started[t.Lease] = at
}

func (r *traceRecorder) offer(c backend.Completion, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.started[c.Lease]; known {
		r.ended[c.Lease] = at
	}
}

func (r *traceRecorder) answer(c backend.Completion, o backend.Outcome, err error, _ time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	began, known := r.started[c.Lease]
	finish, over := r.ended[c.Lease]
	if err != nil || !known || !over || o.Answer != backend.Applied && o.Answer != backend.Stale {
		return
	}
	delete(r.started, c.Lease)
	delete(r.ended, c.Lease)
	if o.Answer == backend.Applied {
		r.runs = append(r.runs, wfformat.MeasuredRun{Run: c.Lease.Key.Run, Started: began, Finish: finish})
	}
}

func (r *traceRecorder) write(file string, g *graph.Graph, description string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.more {
		return fmt.Errorf("--trace-out %s: the instance made more than %d attempts, which are not written", file, attemptsMax)
	}
	host := measure.Host()
	trace, err := wfformat.Export(g, wfformat.Measured{
		Name: strings.TrimSuffix(filepath.Base(g.Name), ".ir"), Description: description, Runs: r.runs,
		Machine: wfformat.Machine{Name: "localhost", System: host.OS, Architecture: host.Arch, CPU: host.CPU, Cores: host.Cores, MemoryBytes: host.MemoryBytes},
	})
	if err != nil {
		return fmt.Errorf("--trace-out %s: %w", file, err)
	}
	return record.WriteFile(file, func(w io.Writer) error { return wfformat.Write(w, trace) })
}
