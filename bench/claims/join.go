package claims

import (
	"context"
	"fmt"
	"time"

	"pulley/bench"
	"pulley/bench/stats"
	"pulley/reports/record"
)

func nodesPerS(s *record.Sample) (float64, bool) { return s.NodesPerS, s.NodesPerS > 0 }

func deadlocks(c *record.Counters) *int64 { return c.Deadlocks }

// benchApplication is what the names of the sessions of measured runs begin with.
const benchApplication = "pulley bench"

// joined is what runs of one size on one backend had.
type joined struct {
	samples []*record.Sample
	waits   []waits
}

func goalJoin(ctx context.Context, l *lab) ([]Claim, error) {
	const small = 100
	large := l.pick(1000, 10_000)
	nodes := l.pick(5000, 50_000)
	found := map[string]map[int]*joined{}
	for _, backend := range pushed() {
		found[backend] = map[int]*joined{small: {}, large: {}}
	}
	for run := range l.runs {
		for _, backend := range pushed() {
			for _, size := range []int{small, large} {
				cfg := bench.CompareConfig{InFlight: max(1, 10_000/size), Workers: 2000, MinNodes: nodes, Runs: 1}
				seen, err := watchWaits(ctx, l.cfg.DSN, benchApplication, func() error {
					got, err := l.compare(ctx, "fanout", []int{size}, []string{backend}, cfg)
					if err == nil && got.Manifest.Samples[0].Valid {
						found[backend][size].samples = append(found[backend][size].samples, &got.Manifest.Samples[0])
					}
					return err
				})
				if err != nil {
					return nil, err
				}
				if j := found[backend][size]; len(j.samples) > len(j.waits) {
					j.waits = append(j.waits, seen)
				}
				if size == large {
					l.say("run %d of %d: %s: %d looks, %d sessions in a transaction, %d waiting for a row, %v at most", run+1, l.runs, backend, seen.samples, seen.busy, seen.waiting, seen.longest)
				}
			}
		}
	}
	c := Claim{
		ID: "join", Source: sourceGoals, Text: fmt.Sprintf("The completions of a join of %s do not wait for its row longer than for one group commit each.", number(float64(large))),
		Method: fmt.Sprintf("fan-out of %d beside fan-outs of %d, as many nodes in flight. The sessions' states are looked at every %v: the looks at which one waits for a row that "+
			"another has locked, divided by those at which one is in a transaction and does not wait, is how long a transaction waits, in transactions. Waits beyond 1 would be "+
			"a serialisation; so would be a commit for each completion, and a rate below half of that with small joins.", large, small, sampleEvery),
	}
	for _, backend := range pushed() {
		c.Figures = append(c.Figures, found[backend][large].figures(backend, found[backend][small])...)
	}
	return []Claim{c}, nil
}

// figures are those of large joins; small ones stand beside them.
func (j *joined) figures(backend string, small *joined) []Figure {
	var perTransaction, share, longest []float64
	for _, w := range j.waits {
		if w.busy == 0 {
			continue
		}
		perTransaction, share = append(perTransaction, w.perTransaction()), append(share, 100*w.share())
		longest = append(longest, float64(w.longest)/float64(time.Millisecond))
	}
	return []Figure{
		Figure{Name: "wait for rows of a transaction, in transactions, " + backend, Bound: AtMost, Claimed: 1}.measure(perTransaction),
		Figure{Name: "time in transactions spent waiting for rows, " + backend, Unit: "%"}.measure(share),
		Figure{Name: "longest wait for a row that was seen, " + backend, Unit: "ms"}.measure(longest),
		Figure{Name: "deadlocks, " + backend, Bound: AtMost}.measure(pick(j.samples, counted(deadlocks))),
		Figure{Name: "commits per completion, " + backend, Bound: AtMost, Claimed: 0.05}.measure(pick(j.samples, perNode(stats.Commits))),
		ratio("nodes/s, one large join / small ones, "+backend, pick(j.samples, nodesPerS), pick(small.samples, nodesPerS), AtLeast, 0.5),
	}
}
