package sim_test

import (
	"testing"
	"time"

	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
	"pulley/sim"
)

// BenchmarkSeeds simulates random programs of 40 nodes, one for each seed, on two engines.
func BenchmarkSeeds(b *testing.B) {
	worlds := make([]sim.Config, 32)
	for i := range worlds {
		worlds[i] = sim.Config{
			Workload: workload(b, "trace", 40, scenarios.Options{Shape: wfformat.Layered, Seed: uint64(i)}),
			Engines:  2, Workers: 4, Act: act(b),
			Service: sim.Each(dist.Exponential(50 * time.Millisecond)), Latency: dist.Exponential(time.Millisecond),
		}
	}
	events := 0
	for seed := uint64(0); b.Loop(); seed++ {
		cfg := worlds[seed%uint64(len(worlds))]
		cfg.Seed = seed
		r, err := sim.Run(cfg)
		if err != nil {
			b.Fatal(err)
		}
		right(b, r)
		events += r.Events
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "seeds/s")
	b.ReportMetric(float64(events)/float64(b.N), "events/seed")
}

// BenchmarkGraph simulates a graph of 100,000 jobs on 1,000 workers. A million jobs on 10,000 workers take ten times as long;
// both fit into a minute and 2 GiB.
func BenchmarkGraph(b *testing.B) {
	jobs := layered(100_000, 2_000, 100*time.Millisecond, 1)
	for b.Loop() {
		r, err := sim.Run(sim.Config{Jobs: jobs, Workers: 1_000, Quiet: true})
		if err != nil {
			b.Fatal(err)
		}
		right(b, r)
		if len(r.Schedule) != len(jobs) {
			b.Fatalf("%d attempts at %d jobs", len(r.Schedule), len(jobs))
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(jobs))/b.Elapsed().Seconds(), "jobs/s")
}
