package record

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// SchemaVersion is the version of all files that this package writes. Version 2 added the ceilings, version 3 to
// them the node runs of an instance, version 4 the shares of a row, version 5 the mode of a run, what bounded it, and the
// differences, version 6 processor time by stage, version 7 what an instance writes.
// Files of earlier versions are read: what they lack is null, 0 or empty.
const SchemaVersion = 7

// The modes of a run: how its instances came.
const (
	// ModeAlone has one instance at a time: its figures are latencies, of an engine that has nothing else to do.
	ModeAlone = "alone"
	// ModeSaturated has so many instances in flight that more would not be faster: its figures are rates.
	ModeSaturated = "saturated"
	// ModeOpen has instances come at times that do not depend on when others end.
	ModeOpen = "open"
)

// oldestSchema is the first version that this package reads.
const oldestSchema = 1

// Summary is the content of summary.json: what a run found.
type Summary struct {
	// Schema is SchemaVersion. WriteSummary sets it.
	Schema int `json:"schema"`
	// Rows are the findings. No two have the same scenario, backend, size and mode. Empty when a run was interrupted before
	// its first result.
	Rows []Row `json:"rows"`
	// Differences hold every backend against the same one of them, figure by figure. Empty before version 5.
	Differences []Difference `json:"differences"`
	// Notes are sentences for the reader that belong to the run as a whole.
	Notes []string `json:"notes"`
	// Claims are published statements beside what was measured here.
	Claims []Claim `json:"claims"`
	// Ceilings is what raw SQL did on the same server in the same run; null where it was not measured.
	Ceilings *Ceilings `json:"ceilings"`
}

// Row is the finding for one scenario on one backend at one size in one mode, over all its runs.
//
// Counters are per node run: what the server counted over a run, divided by the node runs that completed in it.
type Row struct {
	Scenario string `json:"scenario"`
	// Backend is the backend with its options, as the user wrote it: "push", "pull:scan=sql".
	Backend string `json:"backend"`
	// Size is the scenario's own parameter: elements of a fan-out, iterations of a loop.
	Size int `json:"size"`
	// Mode is one of the Mode constants; empty in files before version 5, whose manifest's methods say how many
	// instances were in flight.
	Mode string `json:"mode"`
	// Nodes is how many node runs one instance of this size completes.
	Nodes int `json:"nodes"`
	// Runs is how many repetitions stand behind the figures.
	Runs int `json:"runs"`
	// NodesPerS is the completed node runs per second of wall time: median over runs, with an interval.
	NodesPerS *Spread `json:"nodes_per_s"`
	// HopNS is how long a node that had become ready waited for its start, over all runs. From which moment that is
	// taken is said by the method of the figure.
	HopNS *Percentiles `json:"hop_ns"`
	// InstanceNS is the time from submitting an instance to its committed end, over all runs.
	InstanceNS *InstancePercentiles `json:"instance_ns"`

	RowsReadPerNode   *float64 `json:"rows_read_per_node"`
	StatementsPerNode *float64 `json:"statements_per_node"`
	CommitsPerNode    *float64 `json:"commits_per_node"`
	WALBytesPerNode   *float64 `json:"wal_bytes_per_node"`

	// HOTShare is which part of the changed rows touched no index, 0 to 1; null where no row was changed or nothing was
	// counted. LockWaitShare is which part of the time that sessions spent in transactions they waited for a row that
	// another had locked, 0 to 1; null where none was seen in one. Both over all runs.
	HOTShare      *float64 `json:"hot_share"`
	LockWaitShare *float64 `json:"lock_wait_share"`

	// Stages is the processor time of this process for each node run, harness included, by stage, in the order in which a node run comes
	// by them. Behind them stand all of this process, and the server, where that is on this machine. Null where no profile was taken,
	// and before version 6.
	Stages []StageCost `json:"stages"`

	// Ceiling names the way of writing with raw SQL, of Summary.Ceilings, that this backend is held against; empty for
	// none. CeilingFraction is the median of NodesPerS divided by that way's rate, for instances that write as much as
	// this row's or the nearest to it that was measured (RateFor); null where either is missing, and for lone
	// instances, whose figures are latencies. InstanceWrites is what this row's instances write; null where no ceiling was
	// measured for it, and before version 7.
	Ceiling         string          `json:"ceiling"`
	CeilingFraction *float64        `json:"ceiling_fraction"`
	InstanceWrites  *InstanceWrites `json:"instance_writes"`

	// Valid says that every run of this row gave the expected result and was measured as planned. An invalid row
	// decides nothing and is left out of charts and ratios.
	Valid bool `json:"valid"`
	// Warnings say what limits these figures, and why a figure is null.
	Warnings []string `json:"warnings"`
}

// Spread is a median over runs with an interval around it. Lo ≤ Median ≤ Hi. How wide the interval is meant to be is
// said by the method of the figure, and where it falls short of that, by a warning of the row.
type Spread struct {
	Median float64 `json:"median"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
}

// StageCost is what one stage costs for each node run, in microseconds of processor time: median over runs, with an interval.
type StageCost struct {
	Stage string `json:"stage"`
	// Text says what belongs to the stage.
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

// InstancePercentiles are latencies of whole instances in nanoseconds. There are too few instances in a run for a
// 99.9th percentile to mean anything, so there is none.
type InstancePercentiles struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// Claim is a published statement about a design beside what this run measured.
type Claim struct {
	// Name says what is claimed, in words: "fanout, 100 nodes: pull / push, rows read per node".
	Name string `json:"name"`
	// Series groups claims that are points of one curve, with Size as their place on it. Empty for a claim alone.
	Series string `json:"series,omitempty"`
	// Size is the size that the claim speaks of; 0 where it speaks of none.
	Size int `json:"size,omitempty"`
	// Claimed is the published figure, in Unit.
	Claimed float64 `json:"claimed"`
	// Method says how Measured was found, and from which runs. It also says why Measured is null, where it is.
	Method string `json:"method"`
	// Measured is what this run found, in Unit; null where it was not measured.
	Measured *float64 `json:"measured"`
	// Lo and Hi enclose Measured; null where there is no interval.
	Lo *float64 `json:"lo"`
	Hi *float64 `json:"hi"`
	// Unit is the unit of the three figures: "×", "rows", "statements", "exponent".
	Unit string `json:"unit"`
}

// Key is what identifies a row.
type Key struct {
	Scenario string
	Backend  string
	Size     int
	Mode     string // empty where the mode is not known
}

// Key returns what identifies the row.
func (r *Row) Key() Key { return Key{r.Scenario, r.Backend, r.Size, r.Mode} }

// String gives the key as a person would say it.
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

// Validate reports the first thing that makes the summary unfit to be written or believed.
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

// figures lists the row's plain numbers under their names in the file.
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
