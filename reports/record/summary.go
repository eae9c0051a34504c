package record

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// SchemaVersion is the version of all files of this package. Version 2 added the ceilings, 3 their node runs per instance, 4
// the shares of a row, 5 the mode of a run, its bounds and the differences, 6 processor time by stage, 7 what an instance
// writes, 8 systems behind adapters, 9 the distributions of a load's latencies, what its sessions waited for, and the graphs of
// cases. What earlier files lack is null, 0 or empty.
const SchemaVersion = 9

// The modes of a run: how its instances arrive.
const (
	// ModeAlone has one instance at a time: its figures are latencies of an otherwise idle engine.
	ModeAlone = "alone"
	// ModeSaturated has so many instances in flight that more would not be faster: its figures are rates.
	ModeSaturated = "saturated"
	// ModeOpen has instances arrive independently of others' ends.
	ModeOpen = "open"
)

const oldestSchema = 1

// Summary is the content of summary.json: what a run found.
type Summary struct {
	// set by WriteSummary
	Schema int `json:"schema"`
	// Rows have distinct keys. Empty if a run was interrupted before its first result.
	Rows []Row `json:"rows"`
	// Differences compare every backend with the same baseline, by figure. Empty before version 5.
	Differences []Difference `json:"differences"`
	// sentences about the whole run
	Notes []string `json:"notes"`
	// published, with this run's measurements
	Claims []Claim `json:"claims"`
	// of raw SQL on the same server in the same run; null if not measured
	Ceilings *Ceilings `json:"ceilings"`
}

// Row is the finding for one scenario on one backend at one size in one mode, over all its runs.
//
// Counters are per node run: the server's count over a run, divided by its completed node runs.
type Row struct {
	Scenario string `json:"scenario"`
	// with options, as the user wrote it: "push", "pull:scan=sql"
	Backend string `json:"backend"`
	// the scenario's parameter: elements of a fan-out, iterations of a loop
	Size int `json:"size"`
	// Mode is a Mode constant; empty before version 5, when the manifest's methods state the number in flight.
	Mode string `json:"mode"`
	// node runs of an instance
	Nodes int `json:"nodes"`
	// repetitions
	Runs int `json:"runs"`
	// NodesPerS is the completed node runs per second of wall time: median over runs, with an interval.
	NodesPerS *Spread `json:"nodes_per_s"`
	// HopNS is the wait of a ready node run for its start, over all runs. The figure's method defines its beginning.
	HopNS *Percentiles `json:"hop_ns"`
	// InstanceNS is the time from an instance's submission to its committed end, over all runs.
	InstanceNS *InstancePercentiles `json:"instance_ns"`

	RowsReadPerNode   *float64 `json:"rows_read_per_node"`
	StatementsPerNode *float64 `json:"statements_per_node"`
	CommitsPerNode    *float64 `json:"commits_per_node"`
	WALBytesPerNode   *float64 `json:"wal_bytes_per_node"`

	// HOTShare is the share of changed rows that touched no index, 0 to 1; null if none was changed or counted. LockWaitShare
	// is the share of transaction time that sessions waited for a locked row, 0 to 1; null if none was in a transaction. Both
	// are over all runs.
	HOTShare      *float64 `json:"hot_share"`
	LockWaitShare *float64 `json:"lock_wait_share"`

	// Stages is this process's processor time per node run, with the harness, by stage in a node run's order, followed by the
	// totals of this process and of a local server. Null without a profile, and before version 6.
	Stages []StageCost `json:"stages"`

	// Ceiling names the way of writing raw SQL, of Summary.Ceilings, that this backend is compared with; empty for none.
	// CeilingFraction is the median of NodesPerS divided by that way's rate for the most similar instances (RateFor); null if
	// either is missing, and for lone instances, whose figures are latencies. InstanceWrites is what this row's instances
	// write; null without a ceiling, and before version 7.
	Ceiling         string          `json:"ceiling"`
	CeilingFraction *float64        `json:"ceiling_fraction"`
	InstanceWrites  *InstanceWrites `json:"instance_writes"`

	// Valid means that every run gave the expected result and was measured as planned. An invalid row decides nothing and is
	// omitted from charts and ratios.
	Valid bool `json:"valid"`
	// Warnings limit these figures, or explain a null.
	Warnings []string `json:"warnings"`
}

// Spread is a median over runs with an interval. Lo ≤ Median ≤ Hi. The figure's method defines the interval; a warning says if
// it falls short of that.
type Spread struct {
	Median float64 `json:"median"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
}

// StageCost is one stage's processor time per node run, in microseconds: median over runs, with an interval.
type StageCost struct {
	Stage     string `json:"stage"`
	Text      string `json:"text"`
	USPerNode Spread `json:"us_per_node"`
}

// Percentiles are latencies in nanoseconds. P50 ≤ P99 ≤ P999 ≤ Max.
type Percentiles struct {
	P50  int64 `json:"p50"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p999"`
	Max  int64 `json:"max"`
}

// InstancePercentiles are latencies of whole instances in nanoseconds, too few for a 99.9th percentile.
type InstancePercentiles struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// Claim is a published claim about a design with this run's measurement.
type Claim struct {
	// what is claimed: "fanout, 100 nodes: pull / push, rows read per node"
	Name string `json:"name"`
	// Series groups claims that are points of one curve, at Size. Empty for a claim alone.
	Series string `json:"series,omitempty"`
	// 0 if it has none
	Size int `json:"size,omitempty"`
	// as published, in Unit
	Claimed float64 `json:"claimed"`
	// how Measured was found and from which runs, or why it is null
	Method string `json:"method"`
	// in Unit; null if not measured
	Measured *float64 `json:"measured"`
	// They enclose Measured; null without an interval.
	Lo *float64 `json:"lo"`
	Hi *float64 `json:"hi"`
	// "×", "rows", "statements", "exponent"
	Unit string `json:"unit"`
}

// Key identifies a row.
type Key struct {
	Scenario string
	Backend  string
	Size     int
	Mode     string // empty if unknown
}

// Key returns the row's key.
func (r *Row) Key() Key { return Key{r.Scenario, r.Backend, r.Size, r.Mode} }

// String formats the key.
func (k Key) String() string {
	text := fmt.Sprintf("%s/%s/%d", k.Scenario, k.Backend, k.Size)
	if k.Mode != "" {
		text += "/" + k.Mode
	}
	return text
}

// Compare orders keys by scenario, mode, size and backend.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Scenario, o.Scenario), cmp.Compare(k.Mode, o.Mode), cmp.Compare(k.Size, o.Size), cmp.Compare(k.Backend, o.Backend))
}

// Find returns the row with that key, or nil.
func (s *Summary) Find(k Key) *Row {
	i := slices.IndexFunc(s.Rows, func(r Row) bool { return r.Key() == k })
	if i < 0 {
		return nil
	}
	return &s.Rows[i]
}

// Validate reports the first reason not to write or believe the summary.
func (s *Summary) Validate() error {
	if err := checkSchema(s.Schema); err != nil {
		return err
	}
	seen := make(map[Key]bool, len(s.Rows))
	for i := range s.Rows {
		row := &s.Rows[i]
		if seen[row.Key()] {
			return fmt.Errorf("row %s: stands twice", row.Key())
		}
		seen[row.Key()] = true
		if err := row.validate(); err != nil {
			return fmt.Errorf("row %s: %w", row.Key(), err)
		}
		if row.CeilingFraction != nil && s.Ceilings.Rate(row.Ceiling) == nil {
			return fmt.Errorf("row %s: ceiling_fraction is of %q, which was not measured", row.Key(), row.Ceiling)
		}
	}
	if s.Ceilings != nil {
		if err := s.Ceilings.Validate(); err != nil {
			return err
		}
	}
	for i := range s.Differences {
		d := &s.Differences[i]
		if err := d.validate(); err != nil {
			return fmt.Errorf("difference of %s, %s: %w", Key{d.Scenario, d.Backend, d.Size, d.Mode}, d.Figure, err)
		}
	}
	for i := range s.Claims {
		if err := s.Claims[i].validate(); err != nil {
			return fmt.Errorf("claim %q: %w", s.Claims[i].Name, err)
		}
	}
	return nil
}

func (r *Row) validate() error {
	switch {
	case r.Scenario == "" || r.Backend == "":
		return fmt.Errorf("has no scenario or no backend")
	case r.Size < 0 || r.Nodes < 0 || r.Runs < 0:
		return fmt.Errorf("size %d, nodes %d, runs %d: none may be negative", r.Size, r.Nodes, r.Runs)
	}
	missing := false
	for _, f := range r.figures() {
		if f.value == nil {
			missing = true
		} else if !isFigure(*f.value) {
			return fmt.Errorf("%s is %v: not a finite figure of at least 0", f.name, *f.value)
		}
	}
	if f := r.CeilingFraction; f != nil && !isFigure(*f) {
		return fmt.Errorf("ceiling_fraction is %v: not a finite figure of at least 0", *f)
	}
	if w := r.InstanceWrites; w != nil {
		if err := w.validate(); err != nil {
			return err
		}
	}
	if s := r.NodesPerS; s != nil && !(s.Lo <= s.Median && s.Median <= s.Hi) {
		return fmt.Errorf("nodes_per_s: lo %v, median %v, hi %v are out of order", s.Lo, s.Median, s.Hi)
	}
	if h := r.HopNS; h != nil && !slices.IsSorted([]int64{0, h.P50, h.P99, h.P999, h.Max}) {
		return fmt.Errorf("hop_ns: percentiles are out of order")
	}
	if h := r.InstanceNS; h != nil && !slices.IsSorted([]int64{0, h.P50, h.P99, h.Max}) {
		return fmt.Errorf("instance_ns: percentiles are out of order")
	}
	for _, share := range []figure{{"hot_share", r.HOTShare}, {"lock_wait_share", r.LockWaitShare}} {
		if v := share.value; v != nil && !(*v >= 0 && *v <= 1) {
			return fmt.Errorf("%s is %v, not a part of 1", share.name, *v)
		}
	}
	if (missing || r.HopNS == nil || r.InstanceNS == nil) && len(r.Warnings) == 0 {
		return fmt.Errorf("has a null figure and no warning that says why")
	}
	return nil
}

type figure struct {
	name  string
	value *float64
}

func (r *Row) figures() []figure {
	out := []figure{
		{"rows_read_per_node", r.RowsReadPerNode},
		{"statements_per_node", r.StatementsPerNode},
		{"commits_per_node", r.CommitsPerNode},
		{"wal_bytes_per_node", r.WALBytesPerNode},
	}
	if r.NodesPerS == nil {
		return append(out, figure{"nodes_per_s", nil})
	}
	return append(out, figure{"nodes_per_s.median", &r.NodesPerS.Median},
		figure{"nodes_per_s.lo", &r.NodesPerS.Lo}, figure{"nodes_per_s.hi", &r.NodesPerS.Hi})
}

func (c *Claim) validate() error {
	if c.Name == "" || c.Method == "" {
		return fmt.Errorf("has no name or no method")
	}
	if c.Measured == nil && (c.Lo != nil || c.Hi != nil) {
		return fmt.Errorf("has an interval but no measured figure")
	}
	for _, v := range []*float64{&c.Claimed, c.Measured, c.Lo, c.Hi} {
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return fmt.Errorf("has a figure that is not finite")
		}
	}
	if c.Measured != nil && ((c.Lo != nil && *c.Lo > *c.Measured) || (c.Hi != nil && *c.Hi < *c.Measured)) {
		return fmt.Errorf("measured lies outside of lo and hi")
	}
	return nil
}

func isFigure(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }

func checkSchema(got int) error {
	if got < oldestSchema || got > SchemaVersion {
		return fmt.Errorf("schema %d is not known here, only %d to %d: use the pulley that wrote it", got, oldestSchema, SchemaVersion)
	}
	return nil
}
