package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pulley/bench/ceiling"
	"pulley/engine/backend/designs"
	"pulley/reports/record"
)

// ceilingOf names the way of writing raw SQL (a Ceiling constant of package record) that a backend is compared with; empty if
// nothing is durable. Shared commits are compared with batches, single commits with one call each, appends with packed events:
// the journal writes one event per row, but that is not the limit.
func ceilingOf(s designs.Spec) string {
	switch {
	case !s.NeedsPostgres():
		return ""
	case s.Name() == "journal":
		return record.CeilingPacked
	case s.Batch() == 1:
		return record.CeilingCall
	}
	return record.CeilingBatched
}

type ceilings struct {
	meter    *ceiling.Meter
	writes   map[caseKey]record.InstanceWrites
	warnings []string
	result   *record.Ceilings
}

type caseKey struct {
	scenario string
	size     int
}

func ceilingWays(backends []designs.Spec) []string {
	var wanted []string
	for _, b := range backends {
		if way := ceilingOf(b); way != "" && !slices.Contains(wanted, way) {
			wanted = append(wanted, way)
		}
	}
	return wanted
}

func newCeilings(ctx context.Context, cfg CompareConfig, progress func(string)) (*ceilings, []record.Method, error) {
	wanted := ceilingWays(cfg.Backends)
	if cfg.Ceilings == 0 || len(wanted) == 0 {
		return &ceilings{}, nil, nil
	}
	c := &ceilings{writes: map[caseKey]record.InstanceWrites{}}
	all := c.derive(ctx, cfg.Cases)
	mc := ceiling.Config{
		DSN: cfg.DSN, Ways: wanted, Connections: cfg.CeilingConnections, Nodes: shapes(cfg.Cases), Graphs: graphs(all), Duration: cfg.Ceilings, Idle: true,
		Progress: func(_, _ int, point string) { progress(point) },
	}
	meter, err := ceiling.New(mc)
	if err != nil {
		return nil, nil, err
	}
	c.meter = meter
	return c, append(ceiling.Methods(mc), record.Method{
		Figure: "ceiling_fraction", Text: "median of nodes_per_s divided by what raw SQL did on the same server for the same rows: batched for backends that group " +
			"completions, call for those that take them one by one, packed for those that append. Batched and call write so many values, elements of lists and raises of counters as a push " +
			"scheduler's plans for the row's graph leave behind where each completion is a commit (instance_writes), or as the nearest graph that was measured; packed is for instances of as many node runs, or of the nearest number. They were measured once before the first run and once after the " +
			"last, and the mean of both is taken. A run does more than the writes: it also runs actions, finds what is ready and clears up."}), nil
}

// derive finds what the instances of each case write. If that fails, the case counts as a fan-out.
func (c *ceilings) derive(ctx context.Context, cases []Case) []record.InstanceWrites {
	var all []record.InstanceWrites
	for i := range cases {
		k := &cases[i]
		found, err := k.instanceWrites(ctx)
		if err != nil {
			found = ceiling.FanOut(min(max(k.Workload.Nodes, 1), largest))
			if ctx.Err() == nil {
				c.warnings = append(c.warnings, fmt.Sprintf("%s is held against the ceiling of a fan-out: what its instances write could not be found: %v", k, err))
			}
		}
		c.writes[caseKey{k.Workload.Name, k.Workload.Size}] = found
		all = append(all, found)
	}
	return all
}

const (
	maxShapes = 3
	alike     = 1.1  // two numbers within this ratio count as one
	largest   = 1000 // above it, an instance's own rows hardly matter
)

// shapes returns the numbers of node runs per instance for which ceilings are measured. Of similar numbers, and of the nearest
// if there are too many, it keeps the greatest, which has the highest ceiling.
func shapes(cases []Case) []int {
	var out []int
	for _, k := range cases {
		out = append(out, min(max(k.Workload.Nodes, 1), largest))
	}
	slices.Sort(out)
	out = slices.Compact(out)
	for len(out) > 1 {
		ratio := func(i int) float64 { return float64(out[i+1]) / float64(out[i]) }
		nearest := 0
		for i := range len(out) - 1 {
			if ratio(i) < ratio(nearest) {
				nearest = i
			}
		}
		if len(out) <= maxShapes && ratio(nearest) > alike {
			break
		}
		out = slices.Delete(out, nearest, nearest+1)
	}
	return out
}

// round measures once. An error costs the fractions, not the comparison.
func (c *ceilings) round(ctx context.Context) {
	if c.meter == nil || ctx.Err() != nil {
		return
	}
	if err := c.meter.Round(ctx); err != nil && ctx.Err() == nil {
		c.warnings = append(c.warnings, "ceilings were not measured as planned: "+err.Error())
	}
	c.result = c.meter.Result()
}

func (c *ceilings) fill(out *record.Summary, backends []designs.Spec) {
	out.Ceilings = c.result
	if len(backends) == 0 {
		return
	}
	for i := range out.Rows {
		row := &out.Rows[i]
		at := slices.IndexFunc(backends, func(b designs.Spec) bool { return b.String() == row.Backend })
		row.Ceiling = ceilingOf(backends[at])
		if w, known := c.writes[caseKey{row.Scenario, row.Size}]; known && row.Ceiling != "" {
			row.InstanceWrites = &w
		}
		rate := c.result.RateFor(row.Ceiling, row.Nodes, row.InstanceWrites)
		switch {
		case row.Mode == record.ModeAlone: // no throughput bounds a lone instance's latency
		case row.Ceiling == "":
			row.Warnings = append(row.Warnings, "ceiling_fraction is null: nothing is durable, so there is no ceiling")
		case rate == nil:
			row.Warnings = append(row.Warnings, "ceiling_fraction is null: the ceiling was not measured")
		case row.NodesPerS != nil:
			fraction := row.NodesPerS.Median / rate.NodesPerS.Median
			row.CeilingFraction = &fraction
		}
	}
}

const shortest time.Duration = ceiling.MinDuration
