package claims

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pulley/bench"
	"pulley/bench/ceiling"
	"pulley/bench/claim"
	"pulley/bench/stats"
	"pulley/engine/backend/designs"
	"pulley/reports/record"
)

const sourceGoals = "this project's goals"

func goals() []experiment {
	return []experiment{
		{name: "linear", goal: true, about: "time, rows and WAL of a workflow grow as its nodes, from 10 to 100,000; pulled, as their square", takes: effort{4, 130}, run: goalLinear},
		{name: "linear-loop", goal: true, about: "the same of loops from 32 to 10,000 iterations", takes: effort{4, 60}, run: goalLinearLoop},
		{name: "cost", goal: true, about: "at most 0.05 commits and 0.9 kB of WAL for a node of push's fan-out", takes: effort{1, 2}, run: goalCost},
		{name: "join", goal: true, about: "the completions of a join of 10,000 do not wait for one another", takes: effort{2, 5}, run: goalJoin},
		{name: "drop", goal: true, about: "the journal drops events for less than half of what they cost", takes: effort{0.5, 1.5}, run: goalDrop},
		{name: "engines", goal: true, about: "four engines do as much as one, without a deadlock, and treat instances alike", takes: effort{4, 45}, run: goalEngines},
		{name: "hop", goal: true, about: "a hop takes 0.6 (journal: 1.2) times what its transaction takes; no poll is to be seen", takes: effort{1.5, 4}, run: goalHop},
		{name: "result", goal: true, about: "from Submit to the result of one action in the time of 4 commits (journal: 3), of which it makes 2", takes: effort{1.5, 5}, run: goalResult},
		{name: "burst", goal: true, about: "10,000 canceled instances are cleaned up without a dent in others' throughput", takes: effort{3, 45}, run: goalBurst},
		{name: "limits", goal: true, about: "engines that keep limits are as fast as others, for what no limit bounds", takes: effort{5, 45}, run: goalLimits},
		{name: "asleep", goal: true, fresh: true, about: "bytes in the engine and in the database for each of a million instances that sleep, or wait", takes: effort{1.5, 105}, run: goalAsleep},
		{name: "tasks", goal: true, about: "500 concurrent tasks within 25 MB of a program that embeds the engine", takes: effort{2, 3}, run: goalTasks},
		{name: "instances", goal: true, fresh: true, about: "100,000 running instances of 10 nodes within 1 GB", takes: effort{2, 38}, run: goalInstances},
	}
}

func pushed() []string {
	var out []string
	for _, name := range []string{push, "journal"} {
		if _, err := designs.Parse(name); err == nil {
			out = append(out, name)
		}
	}
	return out
}

func goalCost(ctx context.Context, l *lab) ([]claim.Claim, error) {
	found, err := l.compare(ctx, "fanout", []int{100}, pushed(), bench.CompareConfig{
		InFlight: 1000, Workers: 2000, MinNodes: l.pick(20_000, 50_000),
	})
	if err != nil {
		return nil, err
	}
	c := claim.Claim{
		ID: "cost", Source: sourceGoals, Text: "A node of push's fan-out costs at most 0.05 commits and 0.9 kB of WAL; of the journal's, less.",
		Method: "fan-out of 100, 1,000 instances in flight, 2,000 workers; the server's counts divided by the node runs.",
	}
	wal := 900.0
	for _, backend := range pushed() {
		figure := claim.Figure{Name: "commits per node, " + backend, Bound: claim.AtMost, Claimed: 0.05}
		c.Figures = append(c.Figures, figure.Measure(values(found, backend, 100, perNode(stats.Commits))))
		figure = claim.Figure{Name: "WAL per node, " + backend, Unit: "B", Bound: claim.AtMost, Claimed: wal}.Measure(values(found, backend, 100, perNode(stats.WALBytes)))
		c.Figures = append(c.Figures, figure)
		if figure.Median != nil {
			wal = *figure.Median
		}
	}
	return []claim.Claim{c}, nil
}

func perNode(counter stats.Counter) func(*record.Sample) (float64, bool) {
	return func(s *record.Sample) (float64, bool) { return counter.PerNode(*s) }
}

func ratio(name string, above, below []float64, bound claim.Bound, claimed float64) claim.Figure {
	f := claim.Figure{Name: name, Unit: "×", Bound: bound, Claimed: claimed}
	got, err := stats.PairedRatio(above, below, stats.Confidence)
	switch {
	case err != nil:
		return f.Missing(err.Error())
	case got.N == 0:
		return f.Missing("no valid runs of both")
	}
	return f.Interval(got.Median, got.Lo, got.Hi, got.N)
}

// idle measures a commit and a completion's transaction on one idle connection.
func (l *lab) idle(ctx context.Context) (*record.Ceilings, error) {
	meter, err := ceiling.New(ceiling.Config{
		DSN: l.cfg.DSN, Ways: []string{}, Idle: true, Duration: time.Duration(l.pick(100, 500)) * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	if err := meter.Round(ctx); err != nil {
		return nil, err
	}
	return meter.Result(), nil
}

// alone runs chains with one instance in flight, each right after a measurement of the machine's transaction time.
func (l *lab) alone(ctx context.Context, size int, figures func(backend string, s *record.Sample, idle *record.Ceilings)) error {
	for range l.runs {
		idle, err := l.idle(ctx)
		if err != nil {
			return err
		}
		found, err := l.compare(ctx, "chain", []int{size}, pushed(), bench.CompareConfig{MinNodes: l.pick(200, 1000), Runs: 1})
		if err != nil {
			return err
		}
		for i := range found.Manifest.Samples {
			if s := &found.Manifest.Samples[i]; s.Valid {
				figures(s.Backend, s, idle)
			}
		}
	}
	return nil
}

func yardstick(backend string) string {
	if backend == "journal" {
		return record.IdleAppend
	}
	return record.IdleTransaction
}

// hopMost bounds a lone hop, in medians of the backend's yardstick. Push's yardstick is a transaction of several round trips,
// but a hop needs only one; the journal's is the append itself.
func hopMost(backend string) float64 {
	if backend == "journal" {
		return 1.2
	}
	return 0.6
}

func goalHop(ctx context.Context, l *lab) ([]claim.Claim, error) {
	p50, p99, poll := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	err := l.alone(ctx, 10, func(backend string, s *record.Sample, idle *record.Ceilings) {
		unit := idle.Latency(yardstick(backend))
		if unit == nil || s.HopNS == nil {
			return
		}
		p50[backend] = append(p50[backend], float64(s.HopNS.P50)/float64(unit.P50))
		p99[backend] = append(p99[backend], float64(s.HopNS.P99)/float64(unit.P50))
		poll[backend] = append(poll[backend], float64(s.HopNS.P999)/float64(enginePoll))
	})
	if err != nil {
		return nil, err
	}
	c := claim.Claim{
		ID: "hop", Source: sourceGoals, Text: "With one instance in flight a hop takes at most 0.6 × (push) and 1.2 × (journal) at p50, and 5 × at p99, what one completion's transaction takes on one idle connection, and no interval of polling is to be seen.",
		Method: "chains of 10, one at a time: from a completion being offered to the start of its successor; divided by the median of that transaction (journal: of the appended row), measured right before. Polls are every 250 ms: a hop that waited for one would show up in the p99.9.",
	}
	for _, backend := range pushed() {
		c.Figures = append(c.Figures,
			claim.Figure{Name: "hop p50 / transaction p50, " + backend, Unit: "×", Bound: claim.AtMost, Claimed: hopMost(backend)}.Measure(p50[backend]),
			claim.Figure{Name: "hop p99 / transaction p50, " + backend, Unit: "×", Bound: claim.AtMost, Claimed: 5}.Measure(p99[backend]),
			claim.Figure{Name: "hop p99.9 in intervals of polling, " + backend, Bound: claim.AtMost, Claimed: 0.4}.Measure(poll[backend]))
	}
	return []claim.Claim{c}, nil
}

const enginePoll = 250 * time.Millisecond

func goalResult(ctx context.Context, l *lab) ([]claim.Claim, error) {
	inCommits, inMS, commits := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	err := l.alone(ctx, 1, func(backend string, s *record.Sample, idle *record.Ceilings) {
		if n, ok := perInstance(stats.Commits)(s); ok {
			commits[backend] = append(commits[backend], n)
		}
		commit := idle.Latency(record.IdleCommit)
		if commit == nil || len(s.InstanceNS) == 0 {
			return
		}
		sorted := slices.Sorted(slices.Values(s.InstanceNS))
		median := float64(sorted[len(sorted)/2])
		inCommits[backend] = append(inCommits[backend], median/float64(commit.P50))
		inMS[backend] = append(inMS[backend], median/float64(time.Millisecond))
	})
	if err != nil {
		return nil, err
	}
	c := claim.Claim{
		ID: "result", Source: sourceGoals, Text: "Submit to result of a one-action instance takes at most the time of 4 durable commits on push and of 3 on journal, and makes 2.",
		Method: "instances of one action, one at a time; p50 of a run divided by the median of a commit on one idle connection, measured right before. " +
			"The server's count of commits, divided by the instances, has what the background does in it: 2.5 is taken for 2.",
	}
	for _, backend := range pushed() {
		most := 4.0
		if backend == "journal" {
			most = 3
		}
		c.Figures = append(c.Figures,
			claim.Figure{Name: "p50 in commits, " + backend, Unit: "×", Bound: claim.AtMost, Claimed: most}.Measure(inCommits[backend]),
			claim.Figure{Name: "commits for an instance, " + backend, Bound: claim.AtMost, Claimed: 2.5}.Measure(commits[backend]),
			claim.Figure{Name: "p50, " + backend, Unit: "ms"}.Measure(inMS[backend]))
	}
	return []claim.Claim{c}, nil
}

func goalInstances(ctx context.Context, l *lab) ([]claim.Claim, error) {
	instances := l.pick(5_000, 100_000)
	c := claim.Claim{
		ID: "instances", Source: sourceGoals, Text: fmt.Sprintf("%s running instances of 10 nodes take at most 1 GB of resident memory.", claim.Number(float64(instances))),
		Method: "chains of 10, none of which does a step before all are submitted; resident memory of the process, with the harness in it, at its peak, and what it grew by for an instance.",
	}
	for _, backend := range pushed() {
		found, err := l.compare(ctx, "chain", []int{10}, []string{backend}, bench.CompareConfig{
			InFlight: instances, Workers: 2000, MinNodes: 10 * instances, HoldTransaction: true, RunTimeout: 5 * time.Minute,
		})
		if err != nil {
			return nil, err
		}
		c.Figures = append(c.Figures,
			claim.Figure{Name: backend + ", the whole process", Unit: "MiB", Bound: claim.AtMost, Claimed: 1e9 / mebi}.Measure(values(found, backend, 10, peak)),
			claim.Figure{Name: backend + ", for an instance", Unit: "B"}.Measure(values(found, backend, 10, func(s *record.Sample) (float64, bool) {
				v, ok := grown(s)
				return v * mebi / float64(s.Instances), ok
			})))
	}
	return []claim.Claim{c}, nil
}
