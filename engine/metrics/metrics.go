package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	vm "github.com/VictoriaMetrics/metrics"
	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

// Metrics are the numbers of one engine. It is safe for concurrent use.
type Metrics struct {
	set     *vm.Set
	running atomic.Int64

	commits, submitted, purged, problems *vm.Counter
	answers                              map[backend.Answer]*vm.Counter
	errors                               *vm.Counter
	ended                                map[backend.Status]*vm.Counter

	mu      sync.RWMutex
	actions map[string]*actionMetrics
}

type actionMetrics struct {
	completed, failed, died, delivered *vm.Counter
	seconds                            *vm.PrometheusHistogram
}

// actionsMost bounds the actions that have numbers of their own.
const actionsMost = 1000

// otherActions is the action of what is beyond.
const otherActions = "other"

// bounds of durations: from what an action in Go takes to what a job does, in seconds.
var bounds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}

// New returns metrics in which nothing is counted yet.
func New() *Metrics {
	m := &Metrics{set: vm.NewSet(), answers: map[backend.Answer]*vm.Counter{}, ended: map[backend.Status]*vm.Counter{}, actions: map[string]*actionMetrics{}}
	m.set.NewGauge("pulley_attempts_running", func() float64 { return float64(m.running.Load()) })
	m.commits = m.set.NewCounter("pulley_commits_total")
	m.submitted = m.set.NewCounter("pulley_instances_submitted_total")
	m.purged = m.set.NewCounter("pulley_instances_purged_total")
	m.problems = m.set.NewCounter("pulley_problems_total")
	for _, a := range []backend.Answer{backend.Applied, backend.Stale, backend.Refused, backend.Again} {
		m.answers[a] = m.set.NewCounter(fmt.Sprintf("pulley_completions_total{answer=%q}", a))
	}
	m.errors = m.set.NewCounter(`pulley_completions_total{answer="error"}`)
	for _, s := range []backend.Status{backend.Completed, backend.Failed, backend.Canceled} {
		m.ended[s] = m.set.NewCounter(fmt.Sprintf("pulley_instances_ended_total{status=%q}", s))
	}
	return m
}

// escapes are those of a label's value in the text format.
var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (m *Metrics) action(name string) *actionMetrics {
	m.mu.RLock()
	a := m.actions[name]
	m.mu.RUnlock()
	if a != nil {
		return a
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.actions) >= actionsMost {
		name = otherActions
	}
	if a := m.actions[name]; a != nil {
		return a
	}
	label := `action="` + escapes.Replace(strings.ToValidUTF8(name, "\uFFFD")) + `"`
	attempts := func(result string) *vm.Counter {
		return m.set.GetOrCreateCounter(fmt.Sprintf("pulley_attempts_total{%s,result=%q}", label, result))
	}
	a = &actionMetrics{
		completed: attempts("completed"), failed: attempts("failed"), died: attempts("died"),
		delivered: m.set.GetOrCreateCounter("pulley_deliveries_total{" + label + "}"),
		seconds:   m.set.GetOrCreatePrometheusHistogramExt("pulley_attempt_seconds{"+label+"}", bounds),
	}
	m.actions[name] = a
	return a
}

// Observer returns an observer that counts, and then calls o.
func (m *Metrics) Observer(o engine.Observer) engine.Observer {
	counts := engine.Observer{
		Submitted: func(uuid.UUID, time.Time) { m.submitted.Inc() },
		Leased: func(task backend.Task, _ time.Time) {
			if task.Action != "" { // a sleep that is due
				m.action(task.Action).delivered.Inc()
			}
		},
		Answered: func(_ backend.Completion, out backend.Outcome, err error, _ time.Time) {
			if counter := m.answers[out.Answer]; err == nil && counter != nil {
				counter.Inc()
			} else {
				m.errors.Inc()
			}
		},
		Committed: func(int, time.Time) { m.commits.Inc() },
		Ended: func(inst backend.Instance, _ time.Time) {
			if counter := m.ended[inst.Status]; counter != nil {
				counter.Inc()
			}
		},
		Purged:  func(p backend.Purged, _ time.Time) { m.purged.Add(p.Completed + p.Failed + p.Canceled) },
		Problem: func(error) { m.problems.Inc() },
	}
	return counts.Then(o)
}

// Workers returns an executor that counts and times the attempts of w. It is a worker.Knower if w is one.
func (m *Metrics) Workers(w worker.Executor) worker.Executor {
	return worker.Wrap(w, func(ctx context.Context, task backend.Task, next worker.Executor) (json.RawMessage, *plan.Failure) {
		a, begun := m.action(task.Action), time.Now()
		m.running.Add(1)
		ended := a.failed // also if the action ends its goroutine
		defer func() {
			m.running.Add(-1)
			a.seconds.UpdateDuration(begun)
			ended.Inc()
		}()
		result, failure := next.Execute(ctx, task)
		switch {
		case failure == nil:
			ended = a.completed
		case worker.IsDeath(failure):
			ended = a.died
		}
		return result, failure
	})
}

// ServeHTTP answers GET and HEAD with all numbers in Prometheus' text format.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "read it with GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m.Write(w)
}

// Write writes all numbers in Prometheus' text format.
func (m *Metrics) Write(w io.Writer) {
	m.set.WritePrometheus(w)
	vm.WriteProcessMetrics(w)
}
