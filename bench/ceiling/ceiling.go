package ceiling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/bench/histogram"
	"pulley/bench/stats"
	"pulley/engine/backend/postgres"
	"pulley/reports/record"
)

// Bounds of Config.
const (
	MaxConnections = 64
	MaxBatch       = 10_000
	MaxNodes       = 1_000_000
	MaxShapes      = 16 // numbers of nodes, or graphs
	MinDuration    = 10 * time.Millisecond
	MaxDuration    = time.Minute // keeps tables small enough for memory
)

// Config configures a measurement.
type Config struct {
	DSN string // of the database; not empty

	Ways        []string                // some of Ways(); nil: all
	Connections []int                   // sessions at once, 1 to MaxConnections; nil: 1, 2, 4, 8 and 16
	Batches     []int                   // completions per call of the grouping ways, 1 to MaxBatch; nil: 100 and 1,000
	Nodes       []int                   // node runs per instance, each measured separately, up to MaxShapes; 0: completions only. nil: 0
	Graphs      []record.InstanceWrites // what instances write, up to MaxShapes, each measured separately for the ways that depend on it; nil: fan-outs of Nodes
	Duration    time.Duration           // of a point in each round, after a warm-up of a quarter of it. Zero: 1 s
	Idle        bool                    // also measure latencies on one idle connection

	// Progress is called before each point, from the measuring goroutine, with the number of points done in the round. May be
	// nil.
	Progress func(done, total int, point string)
}

// Ways lists the ways to write, the Ceiling constants of package record, in the order of display.
func Ways() []string {
	return []string{record.CeilingStatements, record.CeilingCall, record.CeilingBatched, record.CeilingAppend, record.CeilingPacked, record.CeilingCopy}
}

func (c Config) withDefaults() Config {
	if c.Ways == nil {
		c.Ways = Ways()
	}
	if c.Connections == nil {
		c.Connections = []int{1, 2, 4, 8, 16}
	}
	if c.Batches == nil {
		c.Batches = []int{100, 1000}
	}
	if c.Nodes == nil {
		c.Nodes = []int{0}
	}
	c.Duration = cmp.Or(c.Duration, time.Second)
	return c
}

func (c Config) validate() error {
	if c.DSN == "" {
		return errors.New("ceiling: there is no DSN")
	}
	if len(c.Ways) == 0 && !c.Idle || len(c.Connections) == 0 || len(c.Batches) == 0 {
		return errors.New("ceiling: nothing to measure; name a way, connections and a batch")
	}
	for i, way := range c.Ways {
		if !slices.Contains(Ways(), way) || slices.Contains(c.Ways[:i], way) {
			return fmt.Errorf("ceiling: way %q is unknown, or there twice; there are %s", way, strings.Join(Ways(), ", "))
		}
	}
	for i, n := range c.Connections {
		if n < 1 || n > MaxConnections || slices.Contains(c.Connections[:i], n) {
			return fmt.Errorf("ceiling: %d connections: choose from 1 to %d, each number once", n, MaxConnections)
		}
	}
	for i, n := range c.Batches {
		if n < 1 || n > MaxBatch || slices.Contains(c.Batches[:i], n) {
			return fmt.Errorf("ceiling: a batch of %d: choose from 1 to %d, each number once", n, MaxBatch)
		}
	}
	if err := c.validateShapes(); err != nil {
		return err
	}
	if c.Duration < MinDuration || c.Duration > MaxDuration {
		return fmt.Errorf("ceiling: a duration of %s: choose from %s to %s", c.Duration, MinDuration, MaxDuration)
	}
	return nil
}

func (c Config) validateShapes() error {
	if len(c.Nodes) == 0 || len(c.Nodes) > MaxShapes {
		return fmt.Errorf("ceiling: %d numbers of nodes per instance: choose from 1 to %d", len(c.Nodes), MaxShapes)
	}
	for i, n := range c.Nodes {
		if n < 0 || n > MaxNodes || slices.Contains(c.Nodes[:i], n) {
			return fmt.Errorf("ceiling: %d nodes per instance: choose from 0 (completions only) to %d, each number once", n, MaxNodes)
		}
	}
	if len(c.Graphs) > MaxShapes {
		return fmt.Errorf("ceiling: %d graphs: choose up to %d", len(c.Graphs), MaxShapes)
	}
	for i, g := range c.Graphs {
		if g.Nodes < 1 || g.Nodes > MaxNodes || min(g.Values, g.Elements, g.Raises, g.Counters) < 0 || slices.Contains(c.Graphs[:i], g) {
			return fmt.Errorf("ceiling: an instance that writes %+v: choose from 1 to %d nodes, nothing below 0, each once", g, MaxNodes)
		}
	}
	return nil
}

// Meter measures in rounds, from one goroutine.
type Meter struct {
	cfg    Config
	points []*point
	idle   map[string]*histogram.Hist // by the Idle constants of package record; nil if not requested
	rounds int
	prefix string
}

type point struct {
	way                string
	batch, connections int
	shape
	rates   []float64
	refused bool // the server has too few connections
}

type shape struct {
	nodes  int // completions after which an instance ends and another is submitted; 0: never
	writes record.InstanceWrites
	graph  bool
}

func (p *point) String() string {
	return fmt.Sprintf("%s, %d a call, on %d connection(s)", p.named(p.way), p.batch, p.connections)
}

func (s *shape) named(way string) string {
	switch {
	case s.nodes == 0:
		return way
	case s.writes != FanOut(s.nodes):
		w := s.writes
		return fmt.Sprintf("%s, instances of %d with %d values, %d elements and %d raises of %d counters", way, s.nodes, w.Values, w.Elements, w.Raises, w.Counters)
	}
	return fmt.Sprintf("%s, instances of %d", way, s.nodes)
}

func (c *Config) shapes(way string) []shape {
	var out []shape
	graph := ways[way].design == pushDesign
	if graph && c.Graphs != nil {
		for _, g := range c.Graphs {
			out = append(out, shape{g.Nodes, g, true})
		}
		return out
	}
	for _, nodes := range c.Nodes {
		out = append(out, shape{nodes, FanOut(cmp.Or(nodes, fanOutWidth)), graph})
	}
	return out
}

// New returns a Meter that is not connected yet.
func New(cfg Config) (*Meter, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	m := &Meter{cfg: cfg}
	for _, way := range cfg.Ways {
		batches := cfg.Batches
		if !ways[way].groups {
			batches = []int{1}
		}
		for _, s := range cfg.shapes(way) {
			for _, batch := range batches {
				for _, n := range cfg.Connections {
					m.points = append(m.points, &point{way: way, batch: batch, connections: n, shape: s})
				}
			}
		}
	}
	if cfg.Idle {
		m.idle = map[string]*histogram.Hist{}
		for _, what := range idleKinds {
			m.idle[what] = histogram.New()
		}
	}
	return m, nil
}

// Points is the number of points of a round.
func (m *Meter) Points() int { return len(m.points) }

// Round measures every point once. Its schemas are dropped when it returns, even after an error. A failed round, also one ended
// by ctx, is discarded.
func (m *Meter) Round(ctx context.Context) (err error) {
	m.rounds++
	defer func() {
		if err != nil {
			m.forget()
		}
	}()
	m.prefix = "pulley_ceiling_" + uuid.NewString()[:8]
	lots := map[string]*scratch{}
	defer func() {
		for _, s := range lots {
			err = errors.Join(err, s.drop(ctx))
		}
		err = postgres.Explain(err)
	}()
	for _, design := range m.designs() {
		lots[design] = &scratch{dsn: m.cfg.DSN, design: design, schema: m.prefix + "_" + design}
		if err := lots[design].open(ctx, slices.Max(m.cfg.Connections)); err != nil {
			return err
		}
	}
	return m.round(ctx, lots)
}

func (m *Meter) forget() {
	m.rounds--
	for _, p := range m.points {
		p.rates = p.rates[:min(len(p.rates), m.rounds)]
	}
}

func (m *Meter) designs() []string {
	var out []string
	add := func(design string) {
		if !slices.Contains(out, design) {
			out = append(out, design)
		}
	}
	for _, p := range m.points {
		add(ways[p.way].design)
	}
	if m.idle != nil {
		add(pushDesign)
		add(journalDesign)
	}
	return out
}

func (m *Meter) round(ctx context.Context, lots map[string]*scratch) error {
	var steps []func() error
	var names []string
	hists := map[string]*histogram.Hist{}
	for _, p := range m.points {
		if p.refused {
			continue
		}
		names = append(names, p.String())
		steps = append(steps, func() error { return m.point(ctx, p, lots) })
	}
	for _, what := range idleKinds {
		if m.idle == nil {
			break
		}
		names = append(names, what+" on an idle connection")
		steps = append(steps, func() error {
			hists[what] = histogram.New()
			if err := measureIdle(ctx, lots, what, m.cfg.Duration, hists[what]); err != nil {
				return fmt.Errorf("ceiling: %s on an idle connection: %w", what, err)
			}
			return nil
		})
	}
	if m.rounds%2 == 0 {
		slices.Reverse(steps)
		slices.Reverse(names)
	}
	for i, step := range steps {
		if m.cfg.Progress != nil {
			m.cfg.Progress(i, len(steps), names[i])
		}
		if err := step(); err != nil {
			return err
		}
	}
	for what, h := range hists {
		m.idle[what].Merge(h)
	}
	return nil
}

// point skips from then on what needs more connections than the server has, if its way has another point.
func (m *Meter) point(ctx context.Context, p *point, lots map[string]*scratch) error {
	rate, err := p.measure(ctx, lots[ways[p.way].design], m.cfg.Duration)
	var server *pgconn.PgError
	if errors.As(err, &server) && server.Code == noConnectionLeft {
		p.refused, p.rates = true, nil
		if slices.ContainsFunc(m.points, func(o *point) bool { return o.way == p.way && o.shape == p.shape && !o.refused }) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("ceiling: %s: %w", p, err)
	}
	p.rates = append(p.rates, rate)
	return nil
}

// Postgres' error code of a refused connection
const noConnectionLeft = "53300"

// Result returns what all rounds found; nil before the first has ended.
func (m *Meter) Result() *record.Ceilings {
	if m.rounds == 0 {
		return nil
	}
	out := &record.Ceilings{Measurements: m.rounds, PointNS: m.cfg.Duration.Nanoseconds()}
	if m.rounds == 1 {
		out.Warnings = append(out.Warnings, "every point was measured once: there is no spread")
	}
	for _, p := range m.points {
		if p.refused {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%s: not measured: the server has no connection left; close some or raise max_connections", p))
		}
	}
	for _, way := range m.cfg.Ways {
		for _, s := range m.cfg.shapes(way) {
			rate := m.best(way, s)
			out.Rates = append(out.Rates, rate)
			if spread := rate.NodesPerS; spread.Hi > unsteady*spread.Lo {
				out.Warnings = append(out.Warnings, fmt.Sprintf("%s, %d a call, on %d connection(s): from %.0f to %.0f nodes/s: something else was at work, or "+
					"the measurements are too short", s.named(way), rate.Batch, rate.Connections, spread.Lo, spread.Hi))
			}
		}
	}
	for _, what := range idleKinds {
		if h := m.idle[what]; h != nil {
			out.Idle = append(out.Idle, record.IdleLatency{What: what, LatencyNS: *h.Percentiles(), Count: h.Count()})
			out.Warnings = append(out.Warnings, h.Warnings()...)
		}
	}
	return out
}

// unsteady is the ratio of a best point's highest to its lowest measurement from which on there is a warning.
const unsteady = 1.5

// best also returns the point with the highest median.
func (m *Meter) best(way string, s shape) record.CeilingRate {
	rate := record.CeilingRate{Way: way, NodesPerInstance: s.nodes}
	if s.graph {
		rate.Writes = &s.writes
	}
	for _, p := range m.points {
		if p.way != way || p.shape != s || p.refused {
			continue
		}
		rate.Points = append(rate.Points, record.CeilingPoint{Batch: p.batch, Connections: p.connections, NodesPerS: slices.Clone(p.rates)})
		if median := stats.Median(p.rates); median > rate.NodesPerS.Median {
			rate.NodesPerS = record.Spread{Median: median, Lo: slices.Min(p.rates), Hi: slices.Max(p.rates)}
			rate.Batch, rate.Connections = p.batch, p.connections
		}
	}
	return rate
}
