package record

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

// LoadFile is the file name of a Load.
const LoadFile = "load.json"

// Load is one run under arrivals that are independent of the system. Times are in nanoseconds; null is unknown.
type Load struct {
	// set by WriteLoad
	Schema int `json:"schema"`
	// without passwords; empty if none
	Command []string `json:"command"`
	Tool    Tool     `json:"tool"`
	Host    Host     `json:"host"`
	// null if the backend needs no server
	Postgres *Postgres `json:"postgres"`
	// the backend, if it is a system behind an adapter; omitted otherwise
	System    *System   `json:"system,omitempty"`
	StartedAt time.Time `json:"started_at"`

	Scenario string `json:"scenario"`
	Backend  string `json:"backend"`
	Size     int    `json:"size"`
	// mean node runs of an instance
	Nodes    int    `json:"nodes"`
	Arrivals string `json:"arrivals"` // in the notation of scenarios
	Seed     uint64 `json:"seed"`     // for the arrivals
	Workers  int    `json:"workers"`  // per engine
	Engines  int    `json:"engines"`
	// open instances
	InFlightMost int `json:"in_flight_most"`

	Phases LoadPhases `json:"phases"`
	// Whole counts all instances, Measured those intended in the measured phase.
	Whole    LoadCounts `json:"whole"`
	Measured LoadCounts `json:"measured"`
	// Rates in the measured phase: of intended instances, of sending, and of ends.
	AskedPerS    float64 `json:"asked_per_s"`
	OfferedPerS  float64 `json:"offered_per_s"`
	AchievedPerS float64 `json:"achieved_per_s"`

	// LatencyNS counts from the intended times, ServiceNS from sending, both until the client has the result. LagNS is from the
	// intended time to sending: the generator's delay.
	LatencyNS LoadTimes `json:"latency_ns"`
	ServiceNS LoadTimes `json:"service_ns"`
	LagNS     LoadTimes `json:"lag_ns"`
	// Latencies are all of LatencyNS, of FineBits; those of an interval are of CoarseBits. Null before version 9.
	Latencies *Distribution `json:"latencies"`
	// judges the run
	Asked      LoadPercentile  `json:"asked"`
	Objectives []LoadObjective `json:"objectives"`

	Pace      LoadPace       `json:"pace"`
	Stages    []LoadStage    `json:"stages"`
	Intervals []LoadInterval `json:"intervals"`

	CPU *CPU `json:"cpu"` // in the measured phase; null if unknown
	// what the store's sessions waited for in the measured phase; null without a server, and before version 9
	Waits *LoadWaits `json:"waits"`

	// Valid: nothing speaks against the run. Overloaded: the system could not keep up. Such a run is invalid, since its
	// latencies depend on its length.
	Valid      bool          `json:"valid"`
	Overloaded bool          `json:"overloaded"`
	Findings   []LoadFinding `json:"findings"`
	Notes      []string      `json:"notes"`
}

// LoadPhases are in time since the run's beginning.
type LoadPhases struct {
	WarmUpNS  int64 `json:"warm_up_ns"` // end of the warm-up, begin of the measured phase
	MeasureNS int64 `json:"measure_ns"` // end of the measured phase and of the arrivals
	DrainNS   int64 `json:"drain_ns"`
	Detected  bool  `json:"detected"`   // the data determined the end of the warm-up
	LongestNS int64 `json:"longest_ns"` // longest allowed warm-up
	Settled   bool  `json:"settled"`    // the warm-up ended within that, or its end was not sought
	SpanNS    int64 `json:"interval_ns"`
}

// LoadCounts count instances.
type LoadCounts struct {
	Intended   int `json:"intended"`
	Sent       int `json:"sent"`
	Late       int `json:"late"`       // sent more than LateAfter after the intended time
	Dropped    int `json:"dropped"`    // too many in flight
	Ended      int `json:"ended"`      // with a result
	Unfinished int `json:"unfinished"` // sent, but without an end when the run ended
}

// LoadTimes are percentiles. Null: too few instances ended.
type LoadTimes struct {
	Count  int    `json:"count"`
	MeanNS *int64 `json:"mean"`
	P50    *int64 `json:"p50"`
	P90    *int64 `json:"p90"`
	P99    *int64 `json:"p99"`
	P999   *int64 `json:"p999"`
	Max    *int64 `json:"max"`
}

// PercentileName formats "p99.9" for 99.9, and "max" for 100.
func PercentileName(p float64) string {
	if p >= 100 {
		return "max"
	}
	return "p" + strconv.FormatFloat(p, 'f', -1, 64)
}

// LoadPercentile is one latency percentile.
type LoadPercentile struct {
	Percentile float64 `json:"percentile"` // from 0 to 100
	ValueNS    *int64  `json:"value_ns"`
	// LoNS and HiNS enclose it with the confidence, allowing for correlated neighbours.
	LoNS       *int64  `json:"lo_ns"`
	HiNS       *int64  `json:"hi_ns"`
	Confidence float64 `json:"confidence"`
	Needs      int     `json:"needs"` // independent instances needed for such an interval
}

// LoadObjective is a bound on a percentile.
type LoadObjective struct {
	Percentile float64 `json:"percentile"`
	MostNS     int64   `json:"most_ns"`
	ValueNS    *int64  `json:"value_ns"`
	Held       bool    `json:"held"`
	// Windows are equal parts of the measured phase; a search for a knee judges by them.
	Windows []LoadWindow `json:"windows"`
}

// LoadWindow counts the instances intended in a part of the measured phase.
type LoadWindow struct {
	Count int `json:"count"`
	Above int `json:"above"` // those of Count with a latency above the bound, or without an end
}

// LoadPace is the generator's own performance.
type LoadPace struct {
	// RateError is how much slower than intended the run's instances were sent, relative to the intended rate. Dropped ones
	// count when dropped.
	RateError float64 `json:"rate_error"`
	// BusyShare is the share of time in which the generator's loop did not wait.
	BusyShare float64 `json:"busy_share"`
}

// LoadStage is a stage of instances or node runs.
type LoadStage struct {
	Name string    `json:"name"`
	Text string    `json:"text"`
	NS   LoadTimes `json:"ns"`
}

// LoadInterval is what happened within an interval.
type LoadInterval struct {
	FromNS    int64    `json:"from_ns"`
	ToNS      int64    `json:"to_ns"`
	Intended  int      `json:"intended"`
	Offered   int      `json:"offered"`  // sent in it
	Dropped   int      `json:"dropped"`  // intended in it, and dropped
	Achieved  int      `json:"achieved"` // ended in it
	Backlog   int      `json:"backlog"`  // at its end: intended, not dropped, and not ended
	P50NS     *int64   `json:"p50_ns"`   // of those intended in it
	P99NS     *int64   `json:"p99_ns"`
	StageP50s []*int64 `json:"stage_p50_ns"` // in the order of the run's stages
	Measured  bool     `json:"measured"`     // in the measured phase

	Latencies *Distribution `json:"latencies"` // of those intended in it
	// WaitLooks are the samples of sessions in it, and Waits the sessions found, in the order of the run's wait names. A count
	// divided by WaitLooks is the mean number of sessions.
	WaitLooks int     `json:"wait_looks"`
	Waits     []int64 `json:"waits"`
}

// LoadWaits are samples of the sessions of the engines that were not idle: each counts once, for what it waited for.
type LoadWaits struct {
	EveryNS int64 `json:"every_ns"` // intended distance of the samples
	Looks   int   `json:"looks"`    // samples taken
	// TookNS is how long the samples took in all: their cost is at most that of one busy session for so long.
	TookNS int64 `json:"took_ns"`
	// Names are "running", or type and event as in pg_stat_activity, like "LWLock:WALWrite"; the most frequent first, and
	// "other" for the rest.
	Names []string `json:"names"`
}

// The names of waits that Postgres does not name.
const (
	WaitRunning = "running"
	WaitOther   = "other"
)

// LoadFinding is something that speaks against a run.
type LoadFinding struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// WriteLoad validates l and writes load.json in dir, which it creates if needed.
func WriteLoad(dir string, l *Load) error {
	out := l.normal()
	return writeJSON(filepath.Join(dir, LoadFile), out, out.Validate)
}

func (l *Load) normal() *Load {
	out := *l
	out.Schema = SchemaVersion
	out.Command, out.Objectives, out.Stages, out.Intervals = nonNil(l.Command), nonNil(l.Objectives), nonNil(l.Stages), nonNil(l.Intervals)
	out.Findings, out.Notes = nonNil(l.Findings), nonNil(l.Notes)
	if l.Waits != nil {
		waits := *l.Waits
		waits.Names, out.Waits = nonNil(l.Waits.Names), &waits
	}
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

// Validate reports the first reason not to write or believe the record.
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
	if err := l.validateIntervals(); err != nil {
		return err
	}
	for _, v := range []float64{l.AskedPerS, l.OfferedPerS, l.AchievedPerS, l.Pace.RateError, l.Pace.BusyShare} {
		if !isFigure(v) {
			return fmt.Errorf("a figure of a load is %v", v)
		}
	}
	return nil
}

func (l *Load) validateIntervals() error {
	if err := l.Latencies.validate(); err != nil {
		return err
	}
	names := 0
	if l.Waits != nil {
		names = len(l.Waits.Names)
	}
	for i := range l.Intervals {
		v := &l.Intervals[i]
		if err := v.Latencies.validate(); err != nil {
			return fmt.Errorf("interval %d: %w", i+1, err)
		}
		if v.WaitLooks < 0 || len(v.Waits) > 0 && len(v.Waits) != names {
			return fmt.Errorf("interval %d: it has %d counts of waits in %d samples, for %d names", i+1, len(v.Waits), v.WaitLooks, names)
		}
	}
	return nil
}
