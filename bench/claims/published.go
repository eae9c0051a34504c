package claims

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulley/bench"
	"pulley/bench/claim"
	"pulley/bench/stats"
	"pulley/reports/record"
)

const (
	sourcePush    = "Push-Based Scheduling Architecture (a scheduler with a row for every node)"
	sourceUnified = "Unified Readiness Model (an explanation of it for users)"
	sourceTech    = "Technical Specification (of an event-driven scheduler that polls its database)"
)

func published() []experiment {
	return []experiment{
		{name: "speedup", about: "pushing is 10, 50, 100 and 500 times as cheap as pulling at as many nodes", takes: effort{3, 5}, run: speedup},
		{name: "loop", about: "a loop of 32 × 3 costs 4,600 operations pulled and 96 pushed; i² × a against i × a", takes: effort{3, 4}, run: loop},
		{name: "growth", about: "a completion costs O(d), d its successors: no quadratic blow-up", takes: effort{1, 1.5}, run: growth},
		{name: "throughput", about: "155 tasks/s, p99 below 700 ms; at most about 2,000 tasks/s", takes: effort{1, 2}, run: throughput},
		{name: "memory", about: "about 10 MB for 500 concurrent tasks", fresh: true, takes: effort{0.5, 0.5}, run: memory},
		{name: "processes", about: "155 (later 737) tasks/s, p99 below 700 ms, about 10 MB, where tasks are processes: 500 at once", takes: effort{15, 15}, run: processes},
		{name: "dispatch", about: "0 to 5 s from pending to dispatched", takes: effort{1.5, 2.5}, run: dispatch},
	}
}

// The designs of the published comparison: pulling as described, one scan per completion, and pulling with two improvements
// made for pushing, grouped completions and a query for the scan.
const (
	push     = "push"
	pull     = "pull"
	pullBest = "pull:scan=sql:batch=256"
)

func speedup(ctx context.Context, l *lab) ([]claim.Claim, error) {
	sizes := []int{10, 50, 100, 500}
	backends := []string{push, pull, pullBest}
	found, err := l.compare(ctx, "fanout", sizes, backends, bench.CompareConfig{MinNodes: l.pick(100, 500)})
	if err != nil {
		return nil, err
	}
	var out []claim.Claim
	for _, size := range sizes {
		c := claim.Claim{
			ID: fmt.Sprintf("speedup-%d", size), Source: sourcePush + ", Scaling Comparison",
			Text:   fmt.Sprintf("A workflow of %d nodes is %d times as cheap to push as to pull.", size, size),
			Method: "fan-out of so many nodes, one instance at a time, the designs in turn (ABBA); median of the ratios of neighbouring runs.",
			Why:    "The claim was derived from complexities, with every constant taken for 1",
		}
		for _, got := range found.Summary.Claims {
			if got.Size == size && got.Series != "" {
				c.Figures = append(c.Figures, ofRecord(got, strings.TrimPrefix(got.Series, "fanout, "), claim.AtLeast))
			}
		}
		out = append(out, c)
	}
	return out, nil
}

func ofRecord(got record.Claim, name string, bound claim.Bound) claim.Figure {
	f := claim.Figure{Name: name, Unit: got.Unit, Bound: bound, Claimed: got.Claimed}
	if got.Measured == nil {
		return f.Missing(strings.TrimPrefix(got.Method, "not measured: "))
	}
	lo, hi := got.Measured, got.Measured
	if got.Lo != nil && got.Hi != nil {
		lo, hi = got.Lo, got.Hi
	}
	return f.Interval(*got.Measured, *lo, *hi, runsOf(got.Method))
}

func runsOf(method string) int {
	var n int
	if _, err := fmt.Sscanf(method, "median over %d run", &n); err != nil {
		return 1
	}
	return n
}

// loop compares a loop's cost and growth with the published numbers of operations.
func loop(ctx context.Context, l *lab) ([]claim.Claim, error) {
	sizes := []int{8, 32, 128}
	backends := []string{push, pull, pullBest}
	found, err := l.compare(ctx, "loop", sizes, backends, bench.CompareConfig{MinNodes: 1})
	if err != nil {
		return nil, err
	}
	return []claim.Claim{
		operations(found, pull, "pulled", 4600), operations(found, push, "pushed", 96),
		quadratic(found, sizes), pushedLoop(found, sizes),
	}, nil
}

func operations(found *bench.Comparison, backend, how string, claimed float64) claim.Claim {
	const size, tolerance = 32, 0.25
	c := claim.Claim{
		ID: "loop-" + how, Source: sourcePush + ", Loop Iteration Complexity",
		Text:   fmt.Sprintf("A loop of 32 iterations of 3 actions costs about %s operations when %s.", claim.Number(claimed), how),
		Method: fmt.Sprintf("the server's counts for one instance on %s; what an operation is was not defined, so each count stands for itself, and about means within a quarter.", backend),
	}
	for _, counter := range []stats.Counter{stats.RowsRead, rowsWritten, stats.Statements, stats.Commits} {
		f := claim.Figure{Name: counter.Name + ", " + backend, Unit: counter.Name, Bound: claim.About, Claimed: claimed, Tolerance: tolerance * claimed}
		c.Figures = append(c.Figures, f.Measure(values(found, backend, size, perInstance(counter))))
	}
	return c
}

var rowsWritten = stats.Counter{Name: "rows written", Get: func(c *record.Counters) *int64 {
	if c.RowsInserted == nil || c.RowsUpdated == nil || c.RowsDeleted == nil {
		return nil
	}
	n := *c.RowsInserted + *c.RowsUpdated + *c.RowsDeleted
	return &n
}}

func perInstance(counter stats.Counter) func(*record.Sample) (float64, bool) {
	return func(s *record.Sample) (float64, bool) {
		v, ok := counter.PerNode(*s)
		return v * float64(s.Nodes), ok
	}
}

// timePerInstance is wall time in nanoseconds.
func timePerInstance(s *record.Sample) (float64, bool) {
	return float64(s.ElapsedNS) / float64(max(s.Instances, 1)), s.ElapsedNS > 0
}

func quadratic(found *bench.Comparison, sizes []int) claim.Claim {
	c := claim.Claim{
		ID: "loop-growth-pulled", Source: sourcePush + ", Loop Iteration Complexity",
		Text:   "A loop of i iterations costs O(i² × a) when pulled.",
		Method: slopeMethod("loop", sizes) + " 2 is quadratic; 1.75 is taken for it, since small loops have fixed costs.",
	}
	for _, backend := range []string{pull, pullBest} {
		c.Figures = append(c.Figures, slope(found, backend, sizes, "rows read", perInstance(stats.RowsRead), claim.AtLeast, 1.75, 0))
	}
	return c
}

func pushedLoop(found *bench.Comparison, sizes []int) claim.Claim {
	c := claim.Claim{
		ID: "loop-growth-pushed", Source: sourcePush + ", Loop Iteration Complexity",
		Text:   "A loop of i iterations costs O(i × a) when pushed.",
		Method: slopeMethod("loop", sizes) + " 1 is linear; no more than 1.05 is taken for it.",
	}
	for _, counter := range []stats.Counter{stats.RowsRead, rowsWritten, stats.WALBytes} {
		c.Figures = append(c.Figures, slope(found, push, sizes, counter.Name, perInstance(counter), claim.AtMost, 1.05, 0))
	}
	return c
}

// growth checks that a completion's cost depends only on its successors.
func growth(ctx context.Context, l *lab) ([]claim.Claim, error) {
	sizes := []int{10, 100, 1000}
	if l.cfg.least {
		sizes = []int{10, 40, 160}
	}
	found, err := l.compare(ctx, "fanout", sizes, []string{push}, bench.CompareConfig{MinNodes: l.pick(500, 2000)})
	if err != nil {
		return nil, err
	}
	c := claim.Claim{
		ID: "growth", Source: sourceUnified + ", Why this scales",
		Text: "A completion costs O(d), where d is the number of downstream nodes that it touches; there is no quadratic blow-up as workflows grow.",
		Method: slopeMethod("fan-out", sizes) + " The first completion has as many successors as the fan-out is wide, each of the others one: " +
			"O(d) for each adds up to an exponent of at most 1, for which 1.05 is taken; O(nodes) for each would be 2.",
	}
	for _, counter := range []stats.Counter{stats.RowsRead, rowsWritten, stats.WALBytes} {
		c.Figures = append(c.Figures, slope(found, push, sizes, counter.Name, perInstance(counter), claim.AtMost, 1.05, 0))
	}
	return []claim.Claim{c}, nil
}

func throughput(ctx context.Context, l *lab) ([]claim.Claim, error) {
	const tasks, limited = 500, "push:batch=100:connections=10"
	found, err := l.compare(ctx, "chain", []int{1}, []string{push, limited}, bench.CompareConfig{
		InFlight: tasks, Workers: tasks, MinNodes: l.pick(5000, 20_000),
	})
	if err != nil {
		return nil, err
	}
	rate := func(s *record.Sample) (float64, bool) { return s.NodesPerS, s.NodesPerS > 0 }
	const method = "instances of one action that does nothing, 500 in flight, 500 workers; each run checked."
	return []claim.Claim{
		{
			ID: "throughput", Source: sourceTech + ", Measured performance", Text: "155 tasks/s are sustained.", Method: method,
			Figures: []claim.Figure{claim.Figure{Name: push, Unit: "tasks/s", Bound: claim.AtLeast, Claimed: 155}.Measure(values(found, push, 1, rate))},
		},
		{
			ID: "latency", Source: sourceTech + ", Measured performance", Text: "From creating a task to its end takes less than 700 ms (p99).",
			Method:  method + " p99 of each run, from Submit to the result.",
			Figures: []claim.Figure{claim.Figure{Name: push, Unit: "ms", Bound: claim.AtMost, Claimed: 700}.Measure(values(found, push, 1, p99))},
			Why: "The three published figures cannot be of one run: 500 tasks at a time at 155 tasks/s take 3.2 s each on average (Little's law); " +
				"with 700 ms for each, at most 108 were under way",
		},
		{
			ID: "throughput-bound", Source: sourceTech + ", Throughput Limits", Text: "With 10 connections and 100 tasks a batch, the database bounds throughput to about 2,000 tasks/s.",
			Method:  method + " The bound stands if no more is reached.",
			Figures: []claim.Figure{claim.Figure{Name: limited, Unit: "tasks/s", Bound: claim.AtMost, Claimed: 2000}.Measure(values(found, limited, 1, rate))},
			Why:     "The published bound is a tick's batch divided by a tick's length, which binds only who polls",
		},
	}, nil
}

// p99 is of instance latencies, in milliseconds.
func p99(s *record.Sample) (float64, bool) {
	if len(s.InstanceNS) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(s.InstanceNS))
	return float64(sorted[(len(sorted)*99+99)/100-1]) / float64(time.Millisecond), true
}

func memory(ctx context.Context, l *lab) ([]claim.Claim, error) {
	c, err := l.tasksInMemory(ctx, push, 500)
	if err != nil {
		return nil, err
	}
	c.ID, c.Source, c.Text = "memory", sourceTech+", Measured performance", "500 concurrent tasks take about 10 MB of resident memory."
	for i, f := range c.Figures {
		c.Figures[i] = rejudge(f, claim.AtMost, 12.5, 0)
	}
	c.Why = "About is taken as no more than a quarter above. The published figure is of another language; what the tasks add is what can be compared"
	return []claim.Claim{c}, nil
}
