package record

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"
)

// KneeFile is the file name of a KneeReport.
const KneeFile = "knee.json"

// KneeReport is the result of a search for knees, with all that is needed to draw it.
type KneeReport struct {
	// set by WriteKnees
	Schema int `json:"schema"`
	// without passwords
	Command  []string  `json:"command"`
	Tool     Tool      `json:"tool"`
	Host     Host      `json:"host"`
	Postgres *Postgres `json:"postgres"` // null if no backend needed one

	StartedAt   time.Time `json:"started_at"`
	EndedAt     time.Time `json:"ended_at"`
	Interrupted bool      `json:"interrupted"` // the report is partial

	Knees    []Knee    `json:"knees"`
	Scalings []Scaling `json:"scalings"`
	Methods  []Method  `json:"methods"`
}

// Knee is the highest rate at which latency objectives hold. Rates are instances per second.
type Knee struct {
	Scenario string `json:"scenario"`
	Backend  string `json:"backend"`
	Size     int    `json:"size"`
	Nodes    int    `json:"nodes"`    // mean node runs of an instance
	Arrivals string `json:"arrivals"` // "poisson" or "constant"
	Seed     uint64 `json:"seed"`
	Workers  int    `json:"workers"` // per engine
	Engines  int    `json:"engines"`
	// the backend, if it is a system behind an adapter; omitted otherwise
	System *System `json:"system,omitempty"`
	// open instances
	InFlightMost int `json:"in_flight_most"`

	Objectives []KneeObjective `json:"objectives"`
	// in order of execution
	Closed []KneeRun `json:"closed"`
	// the tried rates, ascending, with their runs in order
	Points []KneePoint `json:"points"`

	// Kind is "found", "never" (no rate holds), "always" (the highest searched one holds) or "undecided".
	Kind string `json:"kind"`
	// HoldsPerS is the highest rate that holds, BreaksPerS the lowest that breaks; null if there is none. The knee is between
	// them.
	HoldsPerS  *float64 `json:"holds_per_s"`
	BreaksPerS *float64 `json:"breaks_per_s"`
	// why the answer is undecided or too wide; else empty
	Why string `json:"why"`

	Check     *KneeCheck `json:"check"` // null without anything to check, or time
	ElapsedNS int64      `json:"elapsed_ns"`
}

// KneeObjective is a bound on a latency percentile.
type KneeObjective struct {
	Percentile float64 `json:"percentile"` // from 50 to 100; 100 is the maximum
	MostNS     int64   `json:"most_ns"`
	Source     string  `json:"source"`
}

// KneePoint is a tried rate.
type KneePoint struct {
	RatePerS float64 `json:"rate_per_s"`
	// "holds", "breaks", "unclear" (all allowed runs do not decide), or "open" (the search ended first)
	Verdict string    `json:"verdict"`
	Runs    []KneeRun `json:"runs"`
}

// KneeRun is one run of a search. Latencies count from the intended time; those of a closed loop from sending.
type KneeRun struct {
	// a closed loop's purpose; empty for an open run
	What string `json:"what"`
	// a closed loop's; 0 for an open run
	InFlight     int     `json:"in_flight"`
	AskedPerS    float64 `json:"asked_per_s"` // 0 for a closed loop
	OfferedPerS  float64 `json:"offered_per_s"`
	AchievedPerS float64 `json:"achieved_per_s"`
	Instances    int     `json:"instances"`
	MeasuredNS   int64   `json:"measured_ns"`
	// Backlog is the number of open instances at the end of the measured phase; Dropped ones were not sent.
	Backlog int `json:"backlog"`
	Dropped int `json:"dropped"`

	MeanNS *int64 `json:"mean_ns"`
	P50NS  *int64 `json:"p50_ns"`
	P99NS  *int64 `json:"p99_ns"`
	// AtNS is the latency at the first objective's percentile, with an interval.
	AtNS   *int64 `json:"at_ns"`
	AtLoNS *int64 `json:"at_lo_ns"`
	AtHiNS *int64 `json:"at_hi_ns"`

	// Vote is above 0 for holding and below 0 for breaking, with a weight; 0: none.
	Vote       int           `json:"vote"`
	Valid      bool          `json:"valid"`
	Overloaded bool          `json:"overloaded"`
	Findings   []LoadFinding `json:"findings"`
}

// InvalidKinds are the kinds of findings of the invalid runs, in order.
func InvalidKinds(runs ...KneeRun) (kinds []string) {
	for _, r := range runs {
		if r.Valid {
			continue
		}
		for _, f := range r.Findings {
			kinds = append(kinds, f.Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// KneeCheck is measurements below and above a knee.
type KneeCheck struct {
	// BelowRuns are open runs at BelowShare of HoldsPerS. Below is the one of median latency, and Closed a closed loop of the
	// same throughput. Ratio is the open one's percentile of the first objective over the closed one's; null if either has
	// none.
	BelowShare float64   `json:"below_share"`
	BelowRuns  []KneeRun `json:"below_runs"`
	Below      *KneeRun  `json:"below"`
	Closed     *KneeRun  `json:"closed"`
	Ratio      *float64  `json:"ratio"`
	// AboveRuns are open runs at AboveShare of HoldsPerS, and Above is the one of median latency. They should be overloaded:
	// the backlog grows, or at least the objectives break.
	AboveShare float64   `json:"above_share"`
	AboveRuns  []KneeRun `json:"above_runs"`
	Above      *KneeRun  `json:"above"`
}

// Scaling is how throughput changes with a number of workers or connections.
type Scaling struct {
	Scenario string       `json:"scenario"`
	Backend  string       `json:"backend"` // without the scaled option
	Size     int          `json:"size"`
	Nodes    int          `json:"nodes"`
	What     string       `json:"what"`      // "workers" or "connections"
	InFlight int          `json:"in_flight"` // instances at once
	Runs     []ScalingRun `json:"runs"`
	Law      *ScalingLaw  `json:"law"` // null with too few measurements
	Warnings []string     `json:"warnings"`
}

// ScalingRun is one run.
type ScalingRun struct {
	N        int           `json:"n"`
	PerS     float64       `json:"per_s"` // ended instances per second
	Valid    bool          `json:"valid"`
	Findings []LoadFinding `json:"findings"`
}

// ScalingLaw is the Universal Scalability Law X(N) = λN / (1 + σ(N−1) + κN(N−1)), fitted to the valid runs.
type ScalingLaw struct {
	LambdaPerS Estimate `json:"lambda_per_s"`
	Sigma      Estimate `json:"sigma"`
	Kappa      Estimate `json:"kappa"`
	// Peak is the N of the highest throughput HighestPerS, which without a peak is the limit of X. Null ends are unbounded.
	Peak        Estimate `json:"peak"`
	HighestPerS Estimate `json:"highest_per_s"`
	// the runs show κ above 0
	Determined bool    `json:"determined"`
	ErrorPerS  float64 `json:"error_per_s"`
	// the law with its band
	Curve []ScalingPoint `json:"curve"`
}

// Estimate is a figure with its interval. Null is unbounded.
type Estimate struct {
	Value *float64 `json:"value"`
	Lo    *float64 `json:"lo"`
	Hi    *float64 `json:"hi"`
}

// ScalingPoint is a point of the curve.
type ScalingPoint struct {
	N    float64 `json:"n"`
	PerS float64 `json:"per_s"`
	Lo   float64 `json:"lo"`
	Hi   float64 `json:"hi"`
}

func (r *KneeReport) normal() *KneeReport {
	out := *r
	out.Schema = SchemaVersion
	out.Command, out.Methods = nonNil(r.Command), nonNil(r.Methods)
	out.Knees, out.Scalings = append([]Knee{}, r.Knees...), append([]Scaling{}, r.Scalings...)
	for i := range out.Knees {
		k := &out.Knees[i]
		k.Objectives, k.Closed, k.Points = nonNil(k.Objectives), nonNil(k.Closed), nonNil(k.Points)
	}
	for i := range out.Scalings {
		s := &out.Scalings[i]
		s.Runs, s.Warnings = nonNil(s.Runs), nonNil(s.Warnings)
	}
	return &out
}

// Validate returns what is wrong with a report.
func (r *KneeReport) Validate() error {
	for i := range r.Knees {
		k := &r.Knees[i]
		name := fmt.Sprintf("knee of %s %d on %s", k.Scenario, k.Size, k.Backend)
		switch {
		case k.Scenario == "" || k.Backend == "":
			return fmt.Errorf("knee %d: scenario or backend is missing", i+1)
		case k.Kind == "found" && (k.HoldsPerS == nil || k.BreaksPerS == nil || *k.HoldsPerS >= *k.BreaksPerS):
			return fmt.Errorf("%s: it is found, and nothing encloses it", name)
		}
		for j := range k.Points {
			if j > 0 && k.Points[j].RatePerS <= k.Points[j-1].RatePerS {
				return fmt.Errorf("%s: the rates do not ascend", name)
			}
		}
	}
	return nil
}

// EncodeKnees validates a report and writes it as indented JSON.
func EncodeKnees(w io.Writer, r *KneeReport) error {
	if err := r.Validate(); err != nil {
		return err
	}
	enc := newEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r.normal())
}

// WriteKnees validates a report and writes knee.json in dir, which it creates if needed.
func WriteKnees(dir string, r *KneeReport) error {
	return writeJSON(filepath.Join(dir, KneeFile), r.normal(), r.Validate)
}

// ReadKnees reads and validates a knee.json.
func ReadKnees(path string) (*KneeReport, error) {
	var r KneeReport
	if err := readJSON(path, &r, r.Validate); err != nil {
		return nil, err
	}
	return &r, nil
}
