package record

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// LoadFile is the name of the file that holds a Load.
const LoadFile = "load.json"

// Load is one run under arrivals that do not depend on what the system does. Times are in nanoseconds; one that is null is not
// known.
type Load struct {
	// Schema is SchemaVersion. WriteLoad sets it.
	Schema int `json:"schema"`
	// Command is the command line as it was given, without a password; empty where there was none.
	Command []string `json:"command"`
	Tool    Tool     `json:"tool"`
	Host    Host     `json:"host"`
	// Postgres is the server that was measured; null when the backend needs none.
	Postgres  *Postgres `json:"postgres"`
	StartedAt time.Time `json:"started_at"`

	Scenario string `json:"scenario"`
	Backend  string `json:"backend"`
	Size     int    `json:"size"`
	// Nodes is how many node runs an instance completes, in the mean where they differ.
	Nodes    int    `json:"nodes"`
	Arrivals string `json:"arrivals"` // the process, as scenarios write it
	Seed     uint64 `json:"seed"`     // of its draws
	Workers  int    `json:"workers"`  // actions at once, of one engine
	Engines  int    `json:"engines"`
	// InFlightMost is how many instances the generator lets be open at once.
	InFlightMost int `json:"in_flight_most"`

	Phases LoadPhases `json:"phases"`
	// Whole counts the instances of the whole run, Measured those whose intended time lies in the measured phase.
	Whole    LoadCounts `json:"whole"`
	Measured LoadCounts `json:"measured"`
	// AskedPerS is the rate that the arrivals intended in the measured phase, OfferedPerS the rate at which instances were
	// sent, and AchievedPerS the rate at which they ended.
	AskedPerS    float64 `json:"asked_per_s"`
	OfferedPerS  float64 `json:"offered_per_s"`
	AchievedPerS float64 `json:"achieved_per_s"`

	// LatencyNS counts from the intended times, ServiceNS from the times at which instances were sent, both to the moment at
	// which the client has the result. LagNS is from the one to the other: the generator's own.
	LatencyNS LoadTimes `json:"latency_ns"`
	ServiceNS LoadTimes `json:"service_ns"`
	LagNS     LoadTimes `json:"lag_ns"`
	// Asked is the percentile that the run is judged by.
	Asked LoadPercentile `json:"asked"`
	// Objectives are the bounds that latencies should keep, and whether they did.
	Objectives []LoadObjective `json:"objectives"`

	Pace      LoadPace       `json:"pace"`
	Stages    []LoadStage    `json:"stages"`
	Intervals []LoadInterval `json:"intervals"`

	CPU *CPU `json:"cpu"` // of the measured phase; null where the system does not tell

	// Valid says that nothing speaks against the run. Overloaded says that the system could not do what was asked; such a run
	// is not valid, since its latencies depend on how long it took.
	Valid      bool          `json:"valid"`
	Overloaded bool          `json:"overloaded"`
	Findings   []LoadFinding `json:"findings"` // what speaks against it
	Notes      []string      `json:"notes"`    // what a reader should know besides
}

// LoadPhases are a run's phases. Times are since its beginning.
type LoadPhases struct {
	WarmUpNS  int64 `json:"warm_up_ns"`  // its end, and the beginning of the measured phase
	MeasureNS int64 `json:"measure_ns"`  // the end of the measured phase and of the arrivals
	DrainNS   int64 `json:"drain_ns"`    // the end of the run
	Detected  bool  `json:"detected"`    // the end of the warm-up was found by what the run shows
	LongestNS int64 `json:"longest_ns"`  // the warm-up's longest time
	Settled   bool  `json:"settled"`     // the warm-up ended within that; true where its end was not looked for
	SpanNS    int64 `json:"interval_ns"` // the length of the intervals
}

// LoadCounts count instances.
type LoadCounts struct {
	Intended   int `json:"intended"`
	Sent       int `json:"sent"`
	Late       int `json:"late"`       // of those sent: later than LateAfter behind their intended time
	Dropped    int `json:"dropped"`    // not sent, since as many were in flight as may be
	Ended      int `json:"ended"`      // with a result
	Unfinished int `json:"unfinished"` // of those sent: without an end when the run ended
}

// LoadTimes are percentiles of times. One of which too few instances ended is null.
type LoadTimes struct {
	Count  int    `json:"count"`
	MeanNS *int64 `json:"mean"`
	P50    *int64 `json:"p50"`
	P90    *int64 `json:"p90"`
	P99    *int64 `json:"p99"`
	P999   *int64 `json:"p999"`
	Max    *int64 `json:"max"`
}

// PercentileName is "p99.9" for 99.9, and "max" for 100.
func PercentileName(p float64) string {
	if p >= 100 {
		return "max"
	}
	return "p" + strconv.FormatFloat(p, 'f', -1, 64)
}

// LoadPercentile is one percentile of the latencies.
type LoadPercentile struct {
	Percentile float64 `json:"percentile"` // from 0 to 100
	ValueNS    *int64  `json:"value_ns"`
	// LoNS and HiNS enclose it with the confidence, neighbours' likeness taken into account.
	LoNS       *int64  `json:"lo_ns"`
	HiNS       *int64  `json:"hi_ns"`
	Confidence float64 `json:"confidence"`
	Needs      int     `json:"needs"` // independent instances that such an interval takes
}

// LoadObjective is a bound on a percentile.
type LoadObjective struct {
	Percentile float64 `json:"percentile"`
	MostNS     int64   `json:"most_ns"`
	ValueNS    *int64  `json:"value_ns"`
	Held       bool    `json:"held"`
	// Windows are equal parts of the measured phase; a search for the highest rate that holds judges by them.
	Windows []LoadWindow `json:"windows"`
}

// LoadWindow counts the instances whose intended time lies in a part of the measured phase.
type LoadWindow struct {
	Count int `json:"count"`
	Above int `json:"above"` // of Count, whose latency is above the bound; those without an end are
}

// LoadPace is how the generator itself did.
type LoadPace struct {
	// RateError is how much slower than asked all instances of the run were sent, as a part of the asked rate; dropped ones
	// count at the moment of their dropping.
	RateError float64 `json:"rate_error"`
	// BusyShare is the part of the time in which the generator's loop did not wait.
	BusyShare float64 `json:"busy_share"`
}

// LoadStage is a stage that instances or node runs go through.
type LoadStage struct {
	Name string    `json:"name"`
	Text string    `json:"text"` // from when to when
	NS   LoadTimes `json:"ns"`
}

// LoadInterval is what happened within an interval of a run.
type LoadInterval struct {
	FromNS    int64    `json:"from_ns"`
	ToNS      int64    `json:"to_ns"`
	Intended  int      `json:"intended"`
	Offered   int      `json:"offered"`  // sent within it
	Dropped   int      `json:"dropped"`  // intended within it, and dropped
	Achieved  int      `json:"achieved"` // ended within it
	Backlog   int      `json:"backlog"`  // at its end: intended by then, not dropped, and not ended
	P50NS     *int64   `json:"p50_ns"`   // of latencies of those intended within it
	P99NS     *int64   `json:"p99_ns"`
	StageP50s []*int64 `json:"stage_p50_ns"` // in the order of the run's stages
	Measured  bool     `json:"measured"`     // it lies in the measured phase
}

// LoadFinding is something that speaks against a run.
type LoadFinding struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// WriteLoad validates l and writes it as load.json in dir, which it makes where it is missing.
func WriteLoad(dir string, l *Load) error {
	out := l.normal()
	return writeJSON(filepath.Join(dir, LoadFile), out, out.Validate)
}

// normal gives the same with its schema, and with lists that are written as [].
func (l *Load) normal() *Load {
	out := *l
	out.Schema = SchemaVersion
	out.Command, out.Objectives, out.Stages, out.Intervals = nonNil(l.Command), nonNil(l.Objectives), nonNil(l.Stages), nonNil(l.Intervals)
	out.Findings, out.Notes = nonNil(l.Findings), nonNil(l.Notes)
	return &out
}

// ReadLoad reads and validates a load.json.
func ReadLoad(path string) (*Load, error) {
	var l Load
	if err := readJSON(path, &l, l.Validate); err != nil {
		return nil, err
	}
	return &l, nil
}

// Validate reports the first thing that makes the record unfit to be written or believed.
func (l *Load) Validate() error {
	if err := checkSchema(l.Schema); err != nil {
		return err
	}
	p := l.Phases
	switch {
	case l.Scenario == "" || l.Backend == "":
		return fmt.Errorf("a load has no scenario or no backend")
	case p.WarmUpNS < 0 || p.MeasureNS <= p.WarmUpNS || p.DrainNS < p.MeasureNS || p.SpanNS <= 0:
		return fmt.Errorf("the phases of a load are not in order: %+v", p)
	case l.Whole.Sent != l.Whole.Ended+l.Whole.Unfinished || l.Whole.Intended != l.Whole.Sent+l.Whole.Dropped:
		return fmt.Errorf("the instances of a load do not add up: %+v", l.Whole)
	case l.Valid != (len(l.Findings) == 0):
		return fmt.Errorf("a load is said to be valid: %v, with %d findings", l.Valid, len(l.Findings))
	}
	for _, v := range []float64{l.AskedPerS, l.OfferedPerS, l.AchievedPerS, l.Pace.RateError, l.Pace.BusyShare} {
		if !isFigure(v) {
			return fmt.Errorf("a figure of a load is %v", v)
		}
	}
	return nil
}
