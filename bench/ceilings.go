package bench

import (
	"context"
	"slices"
	"time"

	"pulley/bench/ceiling"
	"pulley/reports/record"
)

// Ceiling names the way of writing with raw SQL, one of the Ceiling constants of package record, that the backend is
// held against; empty where nothing is durable. A design that groups completions is held against batches, one that
// takes them one by one against a call for each, and one that appends against appending.
func (s BackendSpec) Ceiling() string {
	switch {
	case !s.NeedsPostgres():
		return ""
	case s.name == "journal":
		return record.CeilingAppend
	case s.Batch() == 1:
		return record.CeilingCall
	}
	return record.CeilingBatched
}

// ceilings measures, in a comparison, what its backends are held against.
type ceilings struct {
	meter    *ceiling.Meter // nil: nothing is measured
	warnings []string       // why something was not
	result   *record.Ceilings
}

// newCeilings makes what measures the ceilings that the backends need, and gives its methods.
func newCeilings(cfg CompareConfig, progress func(string)) (*ceilings, []record.Method, error) {
	var wanted []string
	for _, b := range cfg.Backends {
		if way := b.Ceiling(); way != "" && !slices.Contains(wanted, way) {
			wanted = append(wanted, way)
		}
	}
	if cfg.Ceilings == 0 || len(wanted) == 0 {
		return &ceilings{}, nil, nil
	}
	mc := ceiling.Config{
		DSN: cfg.DSN, Ways: wanted, Duration: cfg.Ceilings, Idle: true,
		Progress: func(_, _ int, point string) { progress(point) },
	}
	meter, err := ceiling.New(mc)
	if err != nil {
		return nil, nil, err
	}
	return &ceilings{meter: meter}, append(ceiling.Methods(mc), record.Method{
		Figure: "ceiling_fraction", Text: "median of nodes_per_s divided by what raw SQL did on the same server for the same rows: batched for backends that group " +
			"completions, call for those that take them one by one, append for those that append. Those were measured once before the first run and once after the " +
			"last, and the mean of both is taken. A run does more than the writes: it also submits instances, runs actions, finds what is ready and clears up."}), nil
}

// round measures once. What goes wrong costs the fractions, not the comparison.
func (c *ceilings) round(ctx context.Context) {
	if c.meter == nil || ctx.Err() != nil {
		return
	}
	if err := c.meter.Round(ctx); err != nil && ctx.Err() == nil {
		c.warnings = append(c.warnings, "ceilings were not measured as planned: "+err.Error())
	}
	c.result = c.meter.Result()
}

// fill puts into the summary what was found, and into every row its fraction or why it has none.
func (c *ceilings) fill(out *record.Summary, backends []BackendSpec) {
	out.Ceilings = c.result
	for i := range out.Rows {
		row := &out.Rows[i]
		at := slices.IndexFunc(backends, func(b BackendSpec) bool { return b.String() == row.Backend })
		row.Ceiling = backends[at].Ceiling()
		rate := c.result.Rate(row.Ceiling)
		switch {
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

// shortest is the least time that a point of a ceiling may have.
const shortest time.Duration = ceiling.MinDuration
