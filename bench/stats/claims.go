package stats

import (
	"fmt"
	"math"
	"slices"

	"pulley/internal/plural"
	"pulley/reports/record"
)

// Comparison names the scenarios and backends that the published claims are tested on.
type Comparison struct {
	// Push is the backend that the claims praise; each of Pulls is compared with it.
	Push         string
	Pulls        []string
	Fanout, Loop string
	// At LoopSize, Loop has 32 iterations of 3 actions.
	LoopSize int
	// a Mode constant of package record
	Mode string
}

// The published figures: how many times less work pushing does on a workflow of so many nodes, and the operations of a loop of
// 32 iterations of 3 actions. They were derived from complexity and never measured.
var (
	speedupClaims = []struct {
		size    int
		claimed float64
	}{{10, 10}, {50, 50}, {100, 100}, {500, 500}}

	loopPullClaim = 4600.0
	loopPushClaim = 96.0
)

// Claims compares the published claims with the samples. It omits the claims of a scenario that was not run; if only a size or
// a counter is missing, the measured figure is null and the method says why.
func Claims(samples []record.Sample, c Comparison) []record.Claim {
	var out []record.Claim
	if c.ran(samples, c.Fanout, c.Push) {
		for _, pull := range c.Pulls {
			if c.ran(samples, c.Fanout, pull) {
				out = append(out, c.speedups(samples, pull)...)
			}
		}
		for _, backend := range append([]string{c.Push}, c.Pulls...) {
			out = append(out, c.growth(samples, backend)...)
		}
	}
	for _, backend := range append([]string{c.Push}, c.Pulls...) {
		if c.ran(samples, c.Loop, backend) {
			out = append(out, c.loop(samples, backend)...)
		}
	}
	return out
}

func (c Comparison) ran(samples []record.Sample, scenario, backend string) bool {
	return slices.ContainsFunc(samples, func(s record.Sample) bool { return s.Key() == c.key(scenario, backend, s.Size) && s.Valid })
}

func (c Comparison) key(scenario, backend string, size int) record.Key {
	return record.Key{Scenario: scenario, Backend: backend, Size: size, Mode: c.Mode}
}

func (c Comparison) speedups(samples []record.Sample, pull string) []record.Claim {
	costs := []struct {
		name string
		cost func(record.Sample) (float64, bool)
	}{
		{"rows read per node", RowsRead.PerNode},
		{"time per node", timePerNode},
	}
	var out []record.Claim
	for _, cost := range costs {
		series := fmt.Sprintf("%s, %s / %s: %s", c.Fanout, pull, c.Push, cost.name)
		for _, s := range speedupClaims {
			claim := record.Claim{
				Name: fmt.Sprintf("%s, size %d", series, s.size), Series: series, Size: s.size,
				Claimed: s.claimed, Unit: "×",
			}
			pulls := validRuns(samples, c.key(c.Fanout, pull, s.size))
			pushes := validRuns(samples, c.key(c.Fanout, c.Push, s.size))
			a, b := pairs(pulls, pushes, cost.cost)
			ratio, err := PairedRatio(a, b, Confidence)
			fill(&claim, ratio, err, fmt.Sprintf("(%s, %s) / (%s, %s) in pairs of neighbouring runs", cost.name, pull,
				cost.name, c.Push))
			out = append(out, claim)
		}
	}
	return out
}

func timePerNode(s record.Sample) (float64, bool) { return 1 / s.NodesPerS, s.NodesPerS > 0 }

// growth compares how the rows read per node grow with the fan-out's size: the claimed speed-ups imply not at all when pushed,
// and in proportion when pulled.
func (c Comparison) growth(samples []record.Sample, backend string) []record.Claim {
	var x, y []float64
	for _, s := range samples {
		if s.Key() != c.key(c.Fanout, backend, s.Size) || !s.Valid || s.Nodes == 0 {
			continue
		}
		if v, ok := RowsRead.PerNode(s); ok && v > 0 {
			x, y = append(x, float64(s.Nodes)), append(y, v)
		}
	}
	slope, err := LogLogSlope(x, y)
	if err != nil {
		return nil // one size shows no growth
	}
	claim := record.Claim{
		Name:    fmt.Sprintf("%s, %s: growth of rows read per node with nodes", c.Fanout, backend),
		Claimed: 1, Measured: &slope.LeastSquares, Unit: "exponent",
	}
	if backend == c.Push {
		claim.Claimed = 0
	}
	claim.Method = fmt.Sprintf("least-squares slope of ln(rows read per node) against ln(nodes) over %s; Theil–Sen slope %.3g",
		plural.Of(slope.N, "run"), slope.TheilSen)
	if !math.IsNaN(slope.StdErr) {
		lo, hi := slope.LeastSquares-2*slope.StdErr, slope.LeastSquares+2*slope.StdErr
		claim.Lo, claim.Hi = &lo, &hi
		claim.Method += "; interval: two standard errors either way"
	}
	return []record.Claim{claim}
}

// loop compares the totals of one loop instance with the claimed numbers of operations. An operation was never defined, so it
// shows both rows read and statements.
func (c Comparison) loop(samples []record.Sample, backend string) []record.Claim {
	claimed := loopPullClaim
	if backend == c.Push {
		claimed = loopPushClaim
	}
	runs := validRuns(samples, c.key(c.Loop, backend, c.LoopSize))
	var out []record.Claim
	for _, counter := range []Counter{RowsRead, Statements} {
		claim := record.Claim{
			Name:    fmt.Sprintf("%s of 32 × 3, %s: %s for one instance", c.Loop, backend, counter.Name),
			Claimed: claimed, Unit: counter.Name, Size: c.LoopSize,
		}
		perInstance := func(s record.Sample) (float64, bool) {
			v, ok := counter.PerNode(s)
			return v * float64(s.Nodes), ok
		}
		interval := MedianInterval(collect(runs, perInstance), Confidence)
		fill(&claim, interval, nil, counter.Name+" counted by the server, per instance; an operation was not defined")
		out = append(out, claim)
	}
	return out
}

func validRuns(samples []record.Sample, key record.Key) []record.Sample {
	var out []record.Sample
	for _, s := range samples {
		if s.Key() == key && s.Valid {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b record.Sample) int { return a.Run - b.Run })
	return out
}

func pairs(as, bs []record.Sample, cost func(record.Sample) (float64, bool)) (a, b []float64) {
	for i, j := 0, 0; i < len(as) && j < len(bs); {
		switch {
		case as[i].Run < bs[j].Run:
			i++
			continue
		case as[i].Run > bs[j].Run:
			j++
			continue
		}
		x, okX := cost(as[i])
		y, okY := cost(bs[j])
		if okX && okY {
			a, b = append(a, x), append(b, y)
		}
		i, j = i+1, j+1
	}
	return a, b
}

func fill(claim *record.Claim, got Interval, err error, method string) {
	switch {
	case err != nil:
		claim.Method = "not measured: " + err.Error()
	case got.N == 0:
		claim.Method = fmt.Sprintf("not measured: no valid run at size %d with this figure", claim.Size)
	default:
		claim.Measured, claim.Lo, claim.Hi = &got.Median, &got.Lo, &got.Hi
		claim.Method = fmt.Sprintf("median over %s of %s; interval: order statistics, %.4g %%", plural.Of(got.N, "run"), method,
			100*got.Confidence)
	}
}
