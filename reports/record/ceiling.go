package record

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// The ways to make completions durable with raw SQL, whose rates are ceilings for the designs.
const (
	// CeilingStatements is a completion's four writes as four statements in a transaction.
	CeilingStatements = "statements"
	// CeilingCall is the same writes of one completion in one statement.
	CeilingCall = "call"
	// CeilingBatched is the writes of many completions in one statement.
	CeilingBatched = "batched"
	// CeilingAppend is one row for each completion, many in one insert, fenced by an epoch in the same statement.
	CeilingAppend = "append"
	// CeilingPacked is the same events with as many in a row as a page takes.
	CeilingPacked = "packed"
	// CeilingCopy is a row for each by COPY, in a transaction that the fence begins. Before version 7 nothing fenced it.
	CeilingCopy = "copy"
)

// Ceilings is what raw SQL did, on the same server, for the rows that the designs make durable.
type Ceilings struct {
	// Measurements is how often every point was measured, PointNS for how long each time, in nanoseconds.
	Measurements int   `json:"measurements"`
	PointNS      int64 `json:"point_ns"`
	// Rates has one entry for each way that was measured, and each number of node runs per instance.
	Rates []CeilingRate `json:"rates"`
	// Idle are durations on one idle connection, one entry for each thing that was done.
	Idle []IdleLatency `json:"idle"`
	// Warnings say what limits these figures.
	Warnings []string `json:"warnings"`
}

// CeilingRate is what one way reached.
type CeilingRate struct {
	// Way is one of the Ceiling constants.
	Way string `json:"way"`
	// NodesPerInstance is after how many completions an instance ended and another was submitted, whose rows were
	// written, too; 0: completions only.
	NodesPerInstance int `json:"nodes_per_instance"`
	// Writes is what instances wrote beside that, of ways whose rows depend on the graph; null for the others, and before version
	// 7, when it was always an inbox row for each node and a raise of a counter that a hundred shared.
	Writes *InstanceWrites `json:"writes"`
	// NodesPerS is the completions per second at the best point: the median over measurements, of two of them their
	// mean, and their range.
	NodesPerS Spread `json:"nodes_per_s"`
	// Batch and Connections say which point was the best.
	Batch       int `json:"batch"`
	Connections int `json:"connections"`
	// Points are all that were measured.
	Points []CeilingPoint `json:"points"`
}

// InstanceWrites is what a scheduler that pushes readiness has to write for an instance's graph, where each completion is a commit
// of its own, beside the queue's rows and the instance's. What stands only within a commit does not count.
type InstanceWrites struct {
	// Nodes is how many completions an instance has.
	Nodes int `json:"nodes"`
	// Values is how many values a later node run reads from the inbox; one that is handed over as an argument is none of them.
	Values int `json:"values"`
	// Elements is how many values wait for others in a list.
	Elements int `json:"elements"`
	// Raises is how often a counter is raised that stays below its count, its first row included; Counters is how many
	// counters that are.
	Raises   int `json:"raises"`
	Counters int `json:"counters"`
}

// The rows that each thing of an instance is worth where many completions are a call, by which graphs are likened: elements share
// rows, raises of a counter are one, and an instance's own row is inserted and changed.
const (
	rowsOfElement  = 0.2
	rowsOfRaise    = 0.2
	rowsOfInstance = 2
)

// perNode gives all that one completion writes, in rows.
func (w *InstanceWrites) perNode() (values, elements, raises, counters, instances float64) {
	n := float64(w.Nodes)
	return float64(w.Values) / n, rowsOfElement * float64(w.Elements) / n, rowsOfRaise * float64(w.Raises) / n, float64(w.Counters) / n, rowsOfInstance / n
}

// RowsPerNode is about how many rows a completion writes beside the queue's.
func (w *InstanceWrites) RowsPerNode() float64 {
	a, b, c, d, e := w.perNode()
	return a + b + c + d + e
}

// Distance is about how many rows a completion of one graph writes that one of another does not, or the other way round.
func (w *InstanceWrites) Distance(from *InstanceWrites) float64 {
	a, b, c, d, e := w.perNode()
	k, l, m, n, o := from.perNode()
	return math.Abs(a-k) + math.Abs(b-l) + math.Abs(c-m) + math.Abs(d-n) + math.Abs(e-o)
}

// validate reports what is no number of things, or belongs to nothing.
func (w *InstanceWrites) validate() error {
	if w.Nodes < 1 || min(w.Values, w.Elements, w.Raises, w.Counters) < 0 || (w.Raises == 0) != (w.Counters == 0) || w.Counters > w.Raises {
		return fmt.Errorf("an instance writes %+v: these are no numbers of things, or counters without a raise of each", *w)
	}
	return nil
}

// CeilingPoint is one way at one size of batch and one number of connections.
type CeilingPoint struct {
	// Batch is how many completions go together, Connections how many sessions are at work.
	Batch       int `json:"batch"`
	Connections int `json:"connections"`
	// NodesPerS are completions per second, of each measurement in the order in which they were made.
	NodesPerS []float64 `json:"nodes_per_s"`
}

// The things whose time on one idle connection is taken.
const (
	// IdleCommit is the update of one row in a transaction of its own.
	IdleCommit = "commit"
	// IdleTransaction is the transaction of one completion, its four writes as four statements.
	IdleTransaction = "transaction"
	// IdleCall is the same writes in one statement.
	IdleCall = "call"
	// IdleAppend is the appended, fenced row of one completion.
	IdleAppend = "append"
)

// IdleLatency is how long something takes on a connection when nothing else is going on.
type IdleLatency struct {
	// What is one of the Idle constants.
	What string `json:"what"`
	// LatencyNS are percentiles over all measurements.
	LatencyNS Percentiles `json:"latency_ns"`
	// Count is how often it was done.
	Count int64 `json:"count"`
}

// CeilingReport is what pulley ceiling found: the content of its JSON output.
type CeilingReport struct {
	// Schema is SchemaVersion. Whoever writes sets it.
	Schema    int       `json:"schema"`
	Command   []string  `json:"command"`
	Tool      Tool      `json:"tool"`
	Host      Host      `json:"host"`
	Postgres  *Postgres `json:"postgres"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	// Methods say how each figure was measured.
	Methods []Method `json:"methods"`
	// Ceilings is never null.
	Ceilings *Ceilings `json:"ceilings"`
}

// RateFor returns what the way reached with instances that write as much: of what was measured with graphs, the nearest of them where
// writes is known; of the rest that with so many node runs, the nearest as a ratio, of two alike the one with more, and
// completions only where there is nothing else. It is nil where the way was not measured.
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

// nearer says whether a rate fits instances of so many node runs better than another.
func (r *CeilingRate) nearer(than *CeilingRate, nodes int, writes *InstanceWrites) bool {
	if writes != nil && r.Writes != nil && than.Writes != nil && r.NodesPerInstance > 0 && than.NodesPerInstance > 0 {
		return r.Writes.Distance(writes) < than.Writes.Distance(writes)
	}
	mine, other := r.distance(nodes), than.distance(nodes)
	return mine < other || mine == other && r.NodesPerInstance > than.NodesPerInstance
}

// distance is how far off the node runs of its instances are, as the logarithm of their ratio.
func (r *CeilingRate) distance(nodes int) float64 {
	if r.NodesPerInstance == 0 || nodes == 0 {
		if r.NodesPerInstance == nodes {
			return 0
		}
		return math.Inf(1)
	}
	return math.Abs(math.Log(float64(r.NodesPerInstance) / float64(nodes)))
}

// Rate returns what the way reached, at the first number of node runs per instance, or nil where it was not measured.
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

// Latency returns the percentiles of what, one of the Idle constants, or nil where they were not measured.
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

// Validate reports the first thing that makes the figures unfit to be written or believed.
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
