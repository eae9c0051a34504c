package bench_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"testing"
	"time"

	"pulley/bench"
	"pulley/engine/backend/designs"
	"pulley/internal/pgtest"
	"pulley/reports/record"
)

// -bench selects benchmarks, as in -bench 'Scenario/scenario=fanout/backend=push$'. These flags change them, as in `go test
// -bench . ./bench -args -in-flight 100`.
var (
	benchInFlight = flag.Int("in-flight", 1000, "BenchmarkScenario: instances at once")
	benchWorkers  = flag.Int("workers", 2000, "BenchmarkScenario: actions at once")
	benchMinNodes = flag.Int("min-nodes", 20_000, "BenchmarkScenario: node runs in one operation at least")
)

// benchScenarios are shapes that cost different things, at sizes that show growth.
var benchScenarios = []struct {
	name  string
	sizes []int
}{
	{"fanout", []int{10, 100, 1000}},
	{"chain", []int{1, 10, 100}},
	{"loop", []int{32, 320}},
	{"spread", []int{100}},
	{"diamond", []int{8}},
	{"pipeline", []int{100}},
}

// benchBackends are the designs at their best, and memory, which none can outdo.
var benchBackends = []string{"memory", "push", "journal", "eager", "pull:scan=app:batch=256", "pull:scan=sql:batch=256"}

// BenchmarkScenario is every scenario on every backend under load. An operation is one run: its own schema, many instances,
// each result and each node run checked. ns/op is from the first submission to the last result.
func BenchmarkScenario(b *testing.B) {
	units()
	for _, s := range benchScenarios {
		for _, backend := range benchBackends {
			for _, size := range s.sizes {
				b.Run(fmt.Sprintf("scenario=%s/backend=%s/size=%d", s.name, backend, size), func(b *testing.B) {
					measureRuns(b, s.name, backend, size, bench.CompareConfig{
						InFlight: *benchInFlight, Workers: *benchWorkers, MinNodes: *benchMinNodes,
					})
				})
			}
		}
	}
}

func BenchmarkLatency(b *testing.B) {
	units()
	for _, s := range []struct {
		name string
		size int
	}{{"chain", 1}, {"chain", 10}, {"loop", 32}} {
		for _, backend := range benchBackends {
			b.Run(fmt.Sprintf("scenario=%s/backend=%s/size=%d", s.name, backend, s.size), func(b *testing.B) {
				measureRuns(b, s.name, backend, s.size, bench.CompareConfig{InFlight: 1, MinNodes: 300})
			})
		}
	}
}

// units prints benchstat's own words for which way is better.
func units() {
	for _, u := range betterUnits {
		fmt.Println("Unit " + u)
	}
}

var betterUnits = []string{"nodes/s better=higher", "p50-ns/hop better=lower", "p99-ns/hop better=lower", "p50-ns/instance better=lower", "p99-ns/instance better=lower",
	"rows/node better=lower", "statements/node better=lower", "commits/node better=lower", "WAL-B/node better=lower"}

// measureRuns reports the mean of each figure of b.N runs. An invalid run fails the benchmark.
func measureRuns(b *testing.B, scenario, backend string, size int, cfg bench.CompareConfig) {
	specs, err := designs.ParseAll([]string{backend})
	if err != nil {
		b.Fatal(err)
	}
	cfg.Cases, err = bench.Cases(bench.CaseOptions{Scenarios: []string{scenario}, Sizes: []string{fmt.Sprint(size)}})
	if err != nil {
		b.Fatal(err)
	}
	cfg.Backends, cfg.Runs = specs, 1
	if specs[0].NeedsPostgres() {
		cfg.DSN, cfg.Way = pgtest.DSN(b), pgtest.Server(b).Describe()
	}
	var sum means
	for b.Loop() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
		found, err := bench.Compare(ctx, cfg)
		cancel()
		if err != nil {
			b.Fatal(err)
		}
		if !found.Valid() {
			b.Fatalf("the run is not valid: %q", found.Manifest.Samples[0].Warnings)
		}
		sum.add("ns/op", float64(found.Manifest.Samples[0].ElapsedNS))
		sum.row(&found.Summary.Rows[0])
	}
	sum.report(b)
}

type means struct {
	units []string
	sums  map[string]float64
	runs  map[string]int
}

func (m *means) add(unit string, v float64) {
	if m.sums == nil {
		m.sums, m.runs = map[string]float64{}, map[string]int{}
	}
	if m.runs[unit] == 0 {
		m.units = append(m.units, unit)
	}
	m.sums[unit] += v
	m.runs[unit]++
}

func (m *means) row(r *record.Row) {
	if r.NodesPerS != nil {
		m.add("nodes/s", r.NodesPerS.Median)
	}
	if r.HopNS != nil {
		m.add("p50-ns/hop", float64(r.HopNS.P50))
		m.add("p99-ns/hop", float64(r.HopNS.P99))
	}
	if r.InstanceNS != nil {
		m.add("p50-ns/instance", float64(r.InstanceNS.P50))
		m.add("p99-ns/instance", float64(r.InstanceNS.P99))
	}
	for unit, v := range map[string]*float64{
		"rows/node": r.RowsReadPerNode, "statements/node": r.StatementsPerNode,
		"commits/node": r.CommitsPerNode, "WAL-B/node": r.WALBytesPerNode,
	} {
		if v != nil {
			m.add(unit, *v)
		}
	}
}

func (m *means) report(b *testing.B) {
	for _, unit := range m.units {
		mean := m.sums[unit] / float64(m.runs[unit])
		if unit == "ns/op" {
			mean = math.Round(mean)
		}
		b.ReportMetric(mean, unit)
	}
}
