package sim_test

import (
	"testing"
	"time"

	"pulley/scenarios"
	"pulley/scenarios/wfformat"
	"pulley/sim"
)

// BenchmarkSeeds simulates a random program of 40 nodes, another one for every seed, on two engines.
func BenchmarkSeeds(b *testing.B) {
	worlds := make([]sim.Config, 32)
	for i := range worlds {
		worlds[i] = sim.Config{
			Workload: workload(b, "trace", 40, scenarios.Options{Shape: wfformat.Layered, Seed: uint64(i)}),
			Engines:  2, Workers: 4, Act: act(b),
			Service: sim.Each(sim.Exponential(50 * time.Millisecond)), Latency: sim.Exponential(time.Millisecond),
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
