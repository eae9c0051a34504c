package record

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Ways to make completions durable with raw SQL. Their rates are ceilings for the designs.
const (
	// CeilingStatements writes a completion in four statements in a transaction.
	CeilingStatements = "statements"
	// CeilingCall writes the same in one statement.
	CeilingCall = "call"
	// CeilingBatched writes many completions in one statement.
	CeilingBatched = "batched"
	// CeilingAppend writes a row per completion, many in one insert, fenced by an epoch in the same statement.
	CeilingAppend = "append"
	// CeilingPacked writes the same events, as many per row as fit a page.
	CeilingPacked = "packed"
	// CeilingCopy writes a row each by COPY, in a transaction that begins with the fence. Before version 7 nothing fenced it.
	CeilingCopy = "copy"
)

// Ceilings is what raw SQL achieved on the same server for the rows that the designs make durable.
type Ceilings struct {
	// Measurements is the number of measurements of each point. PointNS is the length of one.
	Measurements int   `json:"measurements"`
	PointNS      int64 `json:"point_ns"`
	// Rates has an entry per measured way and number of node runs per instance.
	Rates    []CeilingRate `json:"rates"`
	Idle     []IdleLatency `json:"idle"`
	Warnings []string      `json:"warnings"`
}

// CeilingRate is the rate of one way.
type CeilingRate struct {
	// a Ceiling constant
	Way string `json:"way"`
	// NodesPerInstance is the number of completions after which an instance ended and another was submitted, whose rows were
	// written, too. 0: completions only.
	NodesPerInstance int `json:"nodes_per_instance"`
	// Writes is what instances wrote besides, for ways that depend on the graph; else null. Before version 7 it is null, too:
	// it was always an inbox row per node and an increment of a counter shared by a hundred.
	Writes *InstanceWrites `json:"writes"`
	// NodesPerS is the completions per second at the best point: median and range over measurements.
	NodesPerS Spread `json:"nodes_per_s"`
	// of the best point
	Batch       int            `json:"batch"`
	Connections int            `json:"connections"`
	Points      []CeilingPoint `json:"points"`
}

// InstanceWrites is what a readiness-pushing scheduler must write for an instance's graph, with one commit per completion,
// besides the queue's rows and the instance's. What exists only within a commit does not count.
type InstanceWrites struct {
	// completions of an instance
	Nodes int `json:"nodes"`
	// Values are read by later node runs from the inbox. Those passed as arguments do not count.
	Values int `json:"values"`
	// Elements are values that wait for others in a list.
	Elements int `json:"elements"`
	// Raises are increments of counters that stay below their required count, including their first row; Counters is the number
	// of those counters.
	Raises   int `json:"raises"`
	Counters int `json:"counters"`
}

// Weights in rows of an instance's writes when many completions share a call, for comparing graphs: elements share rows,
// increments of a counter are added up, and an instance's own row is inserted and changed.
const (
	rowsOfElement  = 0.2
	rowsOfRaise    = 0.2
	rowsOfInstance = 2
)

func (w *InstanceWrites) perNode() (values, elements, raises, counters, instances float64) {
	n := float64(w.Nodes)
	return float64(w.Values) / n, rowsOfElement * float64(w.Elements) / n, rowsOfRaise * float64(w.Raises) / n, float64(w.Counters) / n, rowsOfInstance / n
}

// RowsPerNode is the approximate number of rows per completion besides the queue's.
func (w *InstanceWrites) RowsPerNode() float64 {
	a, b, c, d, e := w.perNode()
	return a + b + c + d + e
}

// Distance is the approximate number of rows per completion by which two graphs differ.
func (w *InstanceWrites) Distance(from *InstanceWrites) float64 {
	a, b, c, d, e := w.perNode()
	k, l, m, n, o := from.perNode()
	return math.Abs(a-k) + math.Abs(b-l) + math.Abs(c-m) + math.Abs(d-n) + math.Abs(e-o)
}

func (w *InstanceWrites) validate() error {
	if w.Nodes < 1 || min(w.Values, w.Elements, w.Raises, w.Counters) < 0 || (w.Raises == 0) != (w.Counters == 0) || w.Counters > w.Raises {
		return fmt.Errorf("an instance writes %+v: these are no numbers of things, or counters without a raise of each", *w)
	}
	return nil
}

// CeilingPoint is one way at one batch size and number of connections.
type CeilingPoint struct {
	// completions per call, and sessions
	Batch       int `json:"batch"`
	Connections int `json:"connections"`
	// by measurement
	NodesPerS []float64 `json:"nodes_per_s"`
}

// What is timed on one idle connection.
const (
	// IdleCommit updates one row in its own transaction.
	IdleCommit = "commit"
	// IdleTransaction writes one completion in four statements in a transaction.
	IdleTransaction = "transaction"
	// IdleCall writes the same in one statement.
	IdleCall = "call"
	// IdleAppend appends one completion's fenced row.
	IdleAppend = "append"
)

// IdleLatency is a duration on an otherwise idle connection.
type IdleLatency struct {
	What string `json:"what"`
	// over all measurements
	LatencyNS Percentiles `json:"latency_ns"`
	// calls
	Count int64 `json:"count"`
}

// CeilingReport is the content of pulley ceiling's JSON output.
type CeilingReport struct {
	// set by the writer
	Schema    int       `json:"schema"`
	Command   []string  `json:"command"`
	Tool      Tool      `json:"tool"`
	Host      Host      `json:"host"`
	Postgres  *Postgres `json:"postgres"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	Methods   []Method  `json:"methods"`
	// never null
	Ceilings *Ceilings `json:"ceilings"`
}

// RateFor returns the way's rate for the most similar instances: if writes is known, the nearest graph measured with graphs;
// else the nearest number of node runs by ratio, preferring more, and completions only as a last resort. Nil if the way was not
// measured.
func (c *Ceilings) RateFor(way string, nodes int, writes *InstanceWrites) *CeilingRate {
	if c == nil {
		return nil
	}
	var best *CeilingRate
	for i := range c.Rates {
		r := &c.Rates[i]
		if r.Way == way && (best == nil || r.nearer(best, nodes, writes)) {
			best = r
		}
	}
	return best
}

func (r *CeilingRate) nearer(than *CeilingRate, nodes int, writes *InstanceWrites) bool {
	if writes != nil && r.Writes != nil && than.Writes != nil && r.NodesPerInstance > 0 && than.NodesPerInstance > 0 {
		return r.Writes.Distance(writes) < than.Writes.Distance(writes)
	}
	mine, other := r.distance(nodes), than.distance(nodes)
	return mine < other || mine == other && r.NodesPerInstance > than.NodesPerInstance
}

// distance is the absolute logarithm of the ratio of node runs.
func (r *CeilingRate) distance(nodes int) float64 {
	if r.NodesPerInstance == 0 || nodes == 0 {
		if r.NodesPerInstance == nodes {
			return 0
		}
		return math.Inf(1)
	}
	return math.Abs(math.Log(float64(r.NodesPerInstance) / float64(nodes)))
}

// Rate returns the way's rate at the first number of node runs per instance; nil if not measured.
func (c *Ceilings) Rate(way string) *CeilingRate {
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.Rates, func(r CeilingRate) bool { return r.Way == way })
	if i < 0 {
		return nil
	}
	return &c.Rates[i]
}

// Latency returns the percentiles of an Idle constant; nil if not measured.
func (c *Ceilings) Latency(what string) *Percentiles {
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.Idle, func(l IdleLatency) bool { return l.What == what })
	if i < 0 {
		return nil
	}
	return &c.Idle[i].LatencyNS
}

// Validate reports the first reason not to write or believe the figures.
func (c *Ceilings) Validate() error {
	if c.Measurements < 1 || c.PointNS < 1 {
		return fmt.Errorf("ceilings: %d measurements of %d ns: neither may be less than 1", c.Measurements, c.PointNS)
	}
	seen := map[string]bool{}
	for _, r := range c.Rates {
		key := fmt.Sprintf("rate %s %d", r.Way, r.NodesPerInstance)
		if r.Writes != nil {
			key += fmt.Sprintf(" %+v", *r.Writes)
			if err := r.Writes.validate(); err != nil {
				return fmt.Errorf("ceiling %q: %w", r.Way, err)
			}
		}
		if seen[key] {
			return fmt.Errorf("ceiling %q: stands twice", r.Way)
		}
		seen[key] = true
		if err := r.validate(); err != nil {
			return fmt.Errorf("ceiling %q: %w", r.Way, err)
		}
	}
	for _, l := range c.Idle {
		p := l.LatencyNS
		switch {
		case seen["idle "+l.What]:
			return fmt.Errorf("idle latency %q: stands twice", l.What)
		case l.Count < 1 || !slices.IsSorted([]int64{0, p.P50, p.P99, p.P999, p.Max}):
			return fmt.Errorf("idle latency %q: has nothing behind it, or percentiles out of order", l.What)
		}
		seen["idle "+l.What] = true
	}
	return nil
}

func (r *CeilingRate) validate() error {
	s := r.NodesPerS
	best := false
	for _, p := range r.Points {
		if p.Batch < 1 || p.Connections < 1 || len(p.NodesPerS) == 0 || slices.ContainsFunc(p.NodesPerS, func(v float64) bool { return !isFigure(v) }) {
			return fmt.Errorf("a point has no figure, or one that is not finite and at least 0")
		}
		best = best || p.Batch == r.Batch && p.Connections == r.Connections
	}
	switch {
	case r.NodesPerInstance < 0:
		return fmt.Errorf("instances have %d node runs: it may not be negative", r.NodesPerInstance)
	case r.Way == "":
		return fmt.Errorf("has no name")
	case !best:
		return fmt.Errorf("its best point, batch %d on %d connections, is not among its points", r.Batch, r.Connections)
	case !isFigure(s.Hi) || !(0 < s.Lo && s.Lo <= s.Median && s.Median <= s.Hi):
		return fmt.Errorf("nodes_per_s: lo %v, median %v, hi %v are not positive and in order", s.Lo, s.Median, s.Hi)
	}
	return nil
}
