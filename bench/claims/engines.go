package claims

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"pulley/bench"
	"pulley/bench/claim"
	"pulley/reports/record"
)

type setup struct{ engines, inFlight int }

func goalEngines(ctx context.Context, l *lab) ([]claim.Claim, error) {
	const engines, size = 4, 10
	// Instances, and how many a client runs in succession: so many that taking the shards at the start weighs little.
	inFlight, each := l.pick(100, 1000), l.pick(10, 60)
	one, shared, full := setup{1, inFlight}, setup{engines, inFlight}, setup{engines, engines * inFlight}
	// Four times the connections exceed what two cores can use, so each engine always has few.
	var backends []string
	for _, name := range pushed() {
		backends = append(backends, name+":connections=3")
	}
	found := map[setup]map[string][]*record.Sample{one: {}, shared: {}, full: {}}
	for run := range l.runs {
		order := []setup{one, shared, full}
		if run%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			got, err := l.compare(ctx, "chain", []int{size}, backends, bench.CompareConfig{
				InFlight: s.inFlight, Workers: 2000, Engines: s.engines, MinNodes: each * size * inFlight, Runs: 1,
			})
			if err != nil {
				return nil, err
			}
			for i := range got.Manifest.Samples {
				if sample := &got.Manifest.Samples[i]; sample.Valid {
					found[s][sample.Backend] = append(found[s][sample.Backend], sample)
				}
			}
		}
	}
	c := claim.Claim{
		ID: "engines", Source: sourceGoals, Text: "Four engines on one database do at least as much as one, treat instances alike within 2 ×, without a deadlock or a storm of serialization failures.",
		Method: fmt.Sprintf("chains of %d: one engine with %s in flight, four that share as many, and four with as many each, in turn; each with 2,000 workers and three connections of its own. "+
			"Fairness, with a shared load: of clients with one instance in flight each, %d one after the other, the longest mean wait divided by the shortest. "+
			"Chance: the same with all waits dealt out to the clients at random, which is what clients that are treated alike would show.", size, claim.Number(float64(inFlight)), each),
	}
	for _, backend := range backends {
		c.Figures = append(c.Figures, several(backend, found[one][backend], found[shared][backend], found[full][backend], inFlight)...)
	}
	return []claim.Claim{c}, nil
}

func several(backend string, one, shared, full []*record.Sample, clients int) []claim.Figure {
	chance := func(s *record.Sample) (float64, bool) { return dealt(s.InstanceNS, clients) }
	both := slices.Concat(shared, full)
	return []claim.Figure{
		ratio("nodes/s, four engines / one, "+backend, pick(shared, nodesPerS), pick(one, nodesPerS), claim.AtLeast, 1),
		ratio("nodes/s, four engines with a full load each / one, "+backend, pick(full, nodesPerS), pick(one, nodesPerS), claim.AtLeast, 1),
		claim.Figure{Name: "fairness between clients, " + backend, Unit: "×", Bound: claim.AtMost, Claimed: 2}.Measure(pick(shared, fairness)),
		claim.Figure{Name: "fairness by chance, " + backend, Unit: "×"}.Measure(pick(shared, chance)),
		claim.Figure{Name: "node runs of the busiest engine / of the idlest, " + backend, Unit: "×"}.Measure(pick(shared, evenness)),
		claim.Figure{Name: "deadlocks, " + backend, Bound: claim.AtMost}.Measure(pick(both, counted(deadlocks))),
		claim.Figure{Name: "serialization failures for 1,000 nodes, " + backend, Bound: claim.AtMost, Claimed: 1}.Measure(pick(both, serializationFailures)),
	}
}

// dealt is the fairness between clients if these waits were dealt by chance.
func dealt(waits []int64, clients int) (ratio float64, ok bool) {
	each := len(waits) / max(clients, 1)
	if each == 0 || clients < 2 {
		return 0, false
	}
	mixed := slices.Clone(waits)
	random := rand.New(rand.NewPCG(1, uint64(len(waits))))
	random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	var least, most int64
	for i := range clients {
		var sum int64
		for _, v := range mixed[i*each : (i+1)*each] {
			sum += v
		}
		if i == 0 || sum < least {
			least = sum
		}
		most = max(most, sum)
	}
	return float64(most) / float64(least), least > 0
}

func serializationFailures(s *record.Sample) (float64, bool) {
	n, ok := counted(func(c *record.Counters) *int64 { return c.SerializationFailures })(s)
	return 1000 * n / float64(max(s.NodeRuns(), 1)), ok
}

func pick(samples []*record.Sample, get func(*record.Sample) (float64, bool)) []float64 {
	var out []float64
	for _, s := range samples {
		if v, ok := get(s); ok {
			out = append(out, v)
		}
	}
	return out
}

func fairness(s *record.Sample) (float64, bool) {
	if s.Fairness == nil || s.Fairness.Instances == nil {
		return 0, false
	}
	return *s.Fairness.Instances, true
}

func evenness(s *record.Sample) (float64, bool) {
	if s.Fairness == nil || s.Fairness.Engines == nil {
		return 0, false
	}
	return *s.Fairness.Engines, true
}

func counted(get func(*record.Counters) *int64) func(*record.Sample) (float64, bool) {
	return func(s *record.Sample) (float64, bool) {
		if s.Counters == nil || get(s.Counters) == nil {
			return 0, false
		}
		return float64(*get(s.Counters)), true
	}
}
