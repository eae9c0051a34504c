package claims

import (
	"context"
	"fmt"
	"time"

	"pulley/bench"
	"pulley/bench/claim"
	"pulley/bench/stats"
	"pulley/reports/record"
)

func nodesPerS(s *record.Sample) (float64, bool) { return s.NodesPerS, s.NodesPerS > 0 }

func deadlocks(c *record.Counters) *int64 { return c.Deadlocks }

const joinPollPause = 3 * time.Millisecond

type joined struct {
	samples []*record.Sample
}

func goalJoin(ctx context.Context, l *lab) ([]claim.Claim, error) {
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
				cfg := bench.CompareConfig{InFlight: max(1, 10_000/size), Workers: 2000, MinNodes: nodes, Runs: 1, SamplePause: joinPollPause}
				got, err := l.compare(ctx, "fanout", []int{size}, []string{backend}, cfg)
				if err != nil {
					return nil, err
				}
				sample := &got.Manifest.Samples[0]
				if sample.Valid {
					found[backend][size].samples = append(found[backend][size].samples, sample)
				}
				if w := sample.Waits; size == large && w != nil {
					l.printf("run %d of %d: %s: %d looks, %d sessions in a transaction, %d waiting for a row, %v at most", run+1, l.runs, backend,
						w.Looks, w.Busy, w.ForRows, time.Duration(w.LongestNS))
				}
			}
		}
	}
	c := claim.Claim{
		ID: "join", Source: sourceGoals, Text: fmt.Sprintf("The completions of a join of %s do not wait for its row longer than for one group commit each.", claim.Number(float64(large))),
		Method: fmt.Sprintf("fan-out of %d beside fan-outs of %d, as many nodes in flight. The sessions' states are looked at every %v: the looks at which one waits for a row that "+
			"another has locked, divided by those at which one is in a transaction and does not wait, is how long a transaction waits, in transactions. Waits beyond 1 would be "+
			"a serialisation; so would be a commit for each completion. The rate is to be 0.85 of that with small joins at least.", large, small, joinPollPause),
	}
	for _, backend := range pushed() {
		c.Figures = append(c.Figures, found[backend][large].figures(backend, found[backend][small])...)
	}
	return []claim.Claim{c}, nil
}

// figures uses small joins for context.
func (j *joined) figures(backend string, small *joined) []claim.Figure {
	var perTransaction, share, longest []float64
	for _, s := range j.samples {
		if s.Waits == nil {
			continue
		}
		part, ok := s.Waits.Share()
		if !ok {
			continue
		}
		perTransaction = append(perTransaction, float64(s.Waits.ForRows)/float64(max(s.Waits.Busy-s.Waits.ForRows, 1)))
		share, longest = append(share, 100*part), append(longest, float64(s.Waits.LongestNS)/float64(time.Millisecond))
	}
	return []claim.Figure{
		claim.Figure{Name: "wait for rows of a transaction, in transactions, " + backend, Bound: claim.AtMost, Claimed: 1}.Measure(perTransaction),
		claim.Figure{Name: "time in transactions spent waiting for rows, " + backend, Unit: "%"}.Measure(share),
		claim.Figure{Name: "longest wait for a row that was seen, " + backend, Unit: "ms"}.Measure(longest),
		claim.Figure{Name: "deadlocks, " + backend, Bound: claim.AtMost}.Measure(pick(j.samples, counted(deadlocks))),
		claim.Figure{Name: "commits per completion, " + backend, Bound: claim.AtMost, Claimed: 0.05}.Measure(pick(j.samples, perNode(stats.Commits))),
		ratio("nodes/s, one large join / small ones, "+backend, pick(j.samples, nodesPerS), pick(small.samples, nodesPerS), claim.AtLeast, 0.85),
	}
}
