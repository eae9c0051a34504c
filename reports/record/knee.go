package record

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"
)

// KneeFile is the name of a KneeReport in a run's directory.
const KneeFile = "knee.json"

// KneeReport is what a search for knees found, with everything that it takes to draw it again.
type KneeReport struct {
	// Schema is SchemaVersion. WriteKnees sets it.
	Schema int `json:"schema"`
	// Command is the command line as it was given. A password in it must have been removed by the writer.
	Command  []string  `json:"command"`
	Tool     Tool      `json:"tool"`
	Host     Host      `json:"host"`
	Postgres *Postgres `json:"postgres"` // null when no backend needed one

	StartedAt   time.Time `json:"started_at"`
	EndedAt     time.Time `json:"ended_at"`
	Interrupted bool      `json:"interrupted"` // what is there is what there was by then

	Knees    []Knee    `json:"knees"`
	Scalings []Scaling `json:"scalings"`
	Methods  []Method  `json:"methods"`
}

// Knee is the highest rate at which latency objectives hold. Rates are instances a second.
type Knee struct {
	Scenario string `json:"scenario"`
	Backend  string `json:"backend"`
	Size     int    `json:"size"`
	Nodes    int    `json:"nodes"`    // node runs of an instance, in the mean
	Arrivals string `json:"arrivals"` // "poisson" or "constant"
	Seed     uint64 `json:"seed"`
	Workers  int    `json:"workers"` // actions at once, of one engine
	Engines  int    `json:"engines"`
	// InFlightMost is how many instances the generator lets be open at once.
	InFlightMost int `json:"in_flight_most"`

	Objectives []KneeObjective `json:"objectives"`
	// Closed are the runs of closed loops, in the order in which they were made.
	Closed []KneeRun `json:"closed"`
	// Points are the rates that were tried, ascending, each with its runs in their order.
	Points []KneePoint `json:"points"`

	// Kind is "found", "never" (no rate holds), "always" (the highest that was searched holds) or "undecided".
	Kind string `json:"kind"`
	// HoldsPerS is the highest rate that holds, BreaksPerS the lowest that breaks; null where there is none. Between them lies
	// the knee.
	HoldsPerS  *float64 `json:"holds_per_s"`
	BreaksPerS *float64 `json:"breaks_per_s"`
	// Why says why an answer is undecided, or wider than was asked for; else empty.
	Why string `json:"why"`

	Check     *KneeCheck `json:"check"` // null where there was nothing to check, or no time
	ElapsedNS int64      `json:"elapsed_ns"`
}

// KneeObjective is a bound on a percentile of latencies.
type KneeObjective struct {
	Percentile float64 `json:"percentile"` // from 50 to 100; 100 is the longest
	MostNS     int64   `json:"most_ns"`
	// Source says where it comes from, in words.
	Source string `json:"source"`
}

// KneePoint is a rate that was tried.
type KneePoint struct {
	RatePerS float64 `json:"rate_per_s"`
	// Verdict is "holds", "breaks", "unclear" where as many runs as may be made say neither, or "open" where the search ended before.
	Verdict string    `json:"verdict"`
	Runs    []KneeRun `json:"runs"`
}

// KneeRun is one run of a search. Latencies count from the intended time; those of a closed loop from the sending.
type KneeRun struct {
	// What a run of a closed loop is for, in words; empty for an open one.
	What string `json:"what"`
	// InFlight is that of a closed loop; 0 for an open one.
	InFlight     int     `json:"in_flight"`
	AskedPerS    float64 `json:"asked_per_s"` // 0 for a closed loop
	OfferedPerS  float64 `json:"offered_per_s"`
	AchievedPerS float64 `json:"achieved_per_s"`
	Instances    int     `json:"instances"`   // measured
	MeasuredNS   int64   `json:"measured_ns"` // for how long
	// Backlog is how many instances were open at the end of the measured phase; Dropped could not be sent.
	Backlog int `json:"backlog"`
	Dropped int `json:"dropped"`

	MeanNS *int64 `json:"mean_ns"`
	P50NS  *int64 `json:"p50_ns"`
	P99NS  *int64 `json:"p99_ns"`
	// AtNS is the latency at the percentile of the first objective, with an interval.
	AtNS   *int64 `json:"at_ns"`
	AtLoNS *int64 `json:"at_lo_ns"`
	AtHiNS *int64 `json:"at_hi_ns"`

	// Vote is above 0 for holding and below 0 for breaking, with a weight; 0 of a run that says nothing.
	Vote       int           `json:"vote"`
	Valid      bool          `json:"valid"`
	Overloaded bool          `json:"overloaded"`
	Findings   []LoadFinding `json:"findings"` // what speaks against it
}

// InvalidKinds are the kinds of findings of those runs that are not valid, in order.
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

// KneeCheck measures below and above a knee.
type KneeCheck struct {
	// BelowRuns are open runs at BelowShare of HoldsPerS, Below is the one of them whose latency is the median, Closed one of a
	// closed loop that does as much, and Ratio the open one's percentile of the first objective over the closed one's; null where
	// either has none.
	BelowShare float64   `json:"below_share"`
	BelowRuns  []KneeRun `json:"below_runs"`
	Below      *KneeRun  `json:"below"`
	Closed     *KneeRun  `json:"closed"`
	Ratio      *float64  `json:"ratio"`
	// AboveRuns are open runs at AboveShare of HoldsPerS, and Above is the one of them whose latency is the median. It should be
	// too much: the backlog grows, or at least the objectives do not hold.
	AboveShare float64   `json:"above_share"`
	AboveRuns  []KneeRun `json:"above_runs"`
	Above      *KneeRun  `json:"above"`
}

// Scaling is how throughput changes with the number of something.
type Scaling struct {
	Scenario string       `json:"scenario"`
	Backend  string       `json:"backend"` // without what is scaled
	Size     int          `json:"size"`
	Nodes    int          `json:"nodes"`
	What     string       `json:"what"`      // "workers" or "connections"
	InFlight int          `json:"in_flight"` // instances at once
	Runs     []ScalingRun `json:"runs"`      // in the order in which they were made
	Law      *ScalingLaw  `json:"law"`       // null where too little was measured
	Warnings []string     `json:"warnings"`
}

// ScalingRun is one run.
type ScalingRun struct {
	N        int           `json:"n"`
	PerS     float64       `json:"per_s"` // instances that ended in a second
	Valid    bool          `json:"valid"`
	Findings []LoadFinding `json:"findings"`
}

// ScalingLaw is the Universal Scalability Law X(N) = λN / (1 + σ(N−1) + κN(N−1)), fitted to the runs that were valid.
type ScalingLaw struct {
	LambdaPerS Estimate `json:"lambda_per_s"`
	Sigma      Estimate `json:"sigma"`
	Kappa      Estimate `json:"kappa"`
	// Peak is the N with the highest throughput, HighestPerS that throughput, or the limit of X where there is no peak. Ends that
	// are null are unbounded.
	Peak        Estimate `json:"peak"`
	HighestPerS Estimate `json:"highest_per_s"`
	// Determined says that the runs show κ to be above 0.
	Determined bool `json:"determined"`
	// ErrorPerS is the standard error of the residuals.
	ErrorPerS float64 `json:"error_per_s"`
	// Curve is the law with its band.
	Curve []ScalingPoint `json:"curve"`
}

// Estimate is a figure with its interval. What is null is unbounded.
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

// normal gives the same with lists that are written as [], in this version of the schema.
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

// Validate says what is wrong with a report.
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

// EncodeKnees writes a report as indented JSON.
func EncodeKnees(w io.Writer, r *KneeReport) error {
	if err := r.Validate(); err != nil {
		return err
	}
	enc := newEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r.normal())
}

// WriteKnees validates a report and writes it as knee.json in dir, which it makes where it is missing.
func WriteKnees(dir string, r *KneeReport) error {
	return writeJSON(filepath.Join(dir, KneeFile), r.normal(), r.Validate)
}

// ReadKnees reads what WriteKnees wrote.
func ReadKnees(path string) (*KneeReport, error) {
	var r KneeReport
	if err := readJSON(path, &r, r.Validate); err != nil {
		return nil, err
	}
	return &r, nil
}
