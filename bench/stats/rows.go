package stats

import (
	"fmt"
	"slices"

	"pulley/bench/profile"
	"pulley/reports/record"
)

// Latencies are a row's percentiles, from the merged histograms of all its runs.
type Latencies struct {
	// null if not measured
	Hop      *record.Percentiles
	Instance *record.InstancePercentiles
}

// Rows makes a row of each group of samples with the same key, in the order of first appearance. latencies returns a group's
// percentiles; nil: none were measured.
func Rows(samples []record.Sample, latencies func(record.Key) Latencies) []record.Row {
	var order []record.Key
	groups := make(map[record.Key][]record.Sample)
	for _, s := range samples {
		if groups[s.Key()] == nil {
			order = append(order, s.Key())
		}
		groups[s.Key()] = append(groups[s.Key()], s)
	}
	rows := make([]record.Row, 0, len(order))
	for _, key := range order {
		var l Latencies
		if latencies != nil {
			l = latencies(key)
		}
		rows = append(rows, Row(groups[key], l))
	}
	return rows
}

// Row makes the row of one or more samples with the same key.
//
// Every figure is a median over the valid runs. The row is valid if all its runs are. A figure that no valid run has is null,
// and the row's warnings, which include those of its samples, say why.
func Row(samples []record.Sample, l Latencies) record.Row {
	first := samples[0]
	valid := slices.DeleteFunc(slices.Clone(samples), func(s record.Sample) bool { return !s.Valid })
	row := record.Row{
		Scenario: first.Scenario, Backend: first.Backend, Size: first.Size, Mode: first.Mode, Nodes: first.Nodes, Runs: len(valid),
		HopNS: l.Hop, InstanceNS: l.Instance, Valid: len(valid) == len(samples),
	}
	w := warnings{}
	for _, s := range samples {
		w.add(s.Warnings...)
	}
	if !row.Valid {
		w.add(fmt.Sprintf("%d of %d runs were invalid and are left out: this row decides nothing",
			len(samples)-len(valid), len(samples)))
	}
	rate := MedianInterval(collect(valid, nodesPerS), Confidence)
	if rate.N > 0 {
		row.NodesPerS = &record.Spread{Median: rate.Median, Lo: rate.Lo, Hi: rate.Hi}
	}
	w.add(rate.Warning)
	row.RowsReadPerNode = w.perNode(valid, RowsRead)
	row.StatementsPerNode = w.perNode(valid, Statements)
	row.CommitsPerNode = w.perNode(valid, Commits)
	row.WALBytesPerNode = w.perNode(valid, WALBytes)
	row.HOTShare, row.LockWaitShare = hotShare(valid), lockWaitShare(valid)
	row.Stages = stageCosts(valid)
	if row.HopNS == nil {
		w.add("hop latency was not measured")
	}
	if row.InstanceNS == nil {
		w.add("instance latency was not measured")
	}
	row.Warnings = w
	return row
}

// AllStages and ServerStage name the last two of a row's stages: the sum of this process, and what the server spent.
const (
	AllStages   = "in all"
	ServerStage = "Postgres"
)

// stageCosts returns each stage's processor time per node run, followed by the totals of this process and of the server; null
// without a profile.
func stageCosts(valid []record.Sample) []record.StageCost {
	values := map[profile.Stage][]float64{}
	var all, server []float64
	for _, s := range valid {
		if s.CPU == nil || s.CPU.Stages == nil || s.NodeRuns() == 0 {
			continue
		}
		perNode := func(ns int64) float64 { return float64(ns) / 1e3 / float64(s.NodeRuns()) }
		for _, stage := range profile.Stages() {
			var ns int64 // 0 without a sample of the stage
			for _, t := range s.CPU.Stages {
				if t.Stage == string(stage) {
					ns = t.NS
				}
			}
			values[stage] = append(values[stage], perNode(ns))
		}
		all = append(all, perNode(s.CPU.ProcessNS))
		if s.CPU.ServerNS != nil {
			server = append(server, perNode(*s.CPU.ServerNS))
		}
	}
	var costs []record.StageCost
	add := func(name, text string, values []float64) {
		if m := MedianInterval(values, Confidence); m.N > 0 {
			costs = append(costs, record.StageCost{Stage: name, Text: text, USPerNode: record.Spread{Median: m.Median, Lo: m.Lo, Hi: m.Hi}})
		}
	}
	for _, stage := range profile.Stages() {
		add(string(stage), stage.Text(), values[stage])
	}
	add(AllStages, "all stages of this process", all)
	add(ServerStage, "the server's processes that worked for the runs", server)
	return costs
}

// hotShare is over all runs; null if no row was changed.
func hotShare(valid []record.Sample) *float64 {
	var hot, changed int64
	for _, s := range valid {
		if c := s.Counters; c != nil && c.RowsUpdated != nil && c.RowsHOTUpdated != nil {
			hot, changed = hot+*c.RowsHOTUpdated, changed+*c.RowsUpdated
		}
	}
	if changed == 0 {
		return nil
	}
	share := float64(hot) / float64(changed)
	return &share
}

// lockWaitShare is over all samples of all runs; null if no session was in a transaction.
func lockWaitShare(valid []record.Sample) *float64 {
	var all record.Waits
	for _, s := range valid {
		if w := s.Waits; w != nil {
			all.Busy, all.ForRows = all.Busy+w.Busy, all.ForRows+w.ForRows
		}
	}
	share, ok := all.Share()
	if !ok {
		return nil
	}
	return &share
}

// Counter names and selects one counter of a run.
type Counter struct {
	Name string
	Get  func(*record.Counters) *int64
}

// The counters of rows and claims.
var (
	RowsRead   = Counter{"rows read", func(c *record.Counters) *int64 { return c.RowsRead }}
	Statements = Counter{"statements", func(c *record.Counters) *int64 { return c.Statements }}
	Commits    = Counter{"commits", func(c *record.Counters) *int64 { return c.Commits }}
	WALBytes   = Counter{"WAL bytes", func(c *record.Counters) *int64 { return c.WALBytes }}
)

// PerNode returns a sample's counter per node run; ok is false if it was not counted or nothing ran.
func (c Counter) PerNode(s record.Sample) (value float64, ok bool) {
	if s.Counters == nil || s.NodeRuns() == 0 {
		return 0, false
	}
	total := c.Get(s.Counters)
	if total == nil {
		return 0, false
	}
	return float64(*total) / float64(s.NodeRuns()), true
}

func nodesPerS(s record.Sample) (float64, bool) { return s.NodesPerS, s.NodesPerS > 0 }

func collect(samples []record.Sample, get func(record.Sample) (float64, bool)) []float64 {
	var values []float64
	for _, s := range samples {
		if v, ok := get(s); ok {
			values = append(values, v)
		}
	}
	return values
}

type warnings []string

func (w *warnings) add(texts ...string) {
	for _, text := range texts {
		if text != "" && !slices.Contains(*w, text) {
			*w = append(*w, text)
		}
	}
}

func (w *warnings) perNode(valid []record.Sample, c Counter) *float64 {
	values := collect(valid, c.PerNode)
	if len(values) == 0 {
		w.add(c.Name + " were not counted")
		return nil
	}
	if len(values) < len(valid) {
		w.add(fmt.Sprintf("%s were counted in %d of %d runs", c.Name, len(values), len(valid)))
	}
	m := Median(values)
	return &m
}
