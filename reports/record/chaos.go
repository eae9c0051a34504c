package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The files of a chaos run.
const (
	// ChaosFile has what the report shows.
	ChaosFile = "chaos.json"
	// ChaosResultFile has all figures of the run. Earlier versions wrote no other.
	ChaosResultFile = "result.json"
)

// Chaos is the content of chaos.json: the result of a chaos run, as its report shows it.
type Chaos struct {
	// set by WriteChaos
	Schema      int               `json:"schema"`
	Tool        Tool              `json:"tool"`
	Verdict     string            `json:"verdict"` // pass, fail or inconclusive
	Why         []string          `json:"why"`     // what is wrong, or why it is inconclusive
	Backend     string            `json:"backend"`
	Engines     int               `json:"engines"`
	Seed        uint64            `json:"seed"`
	Instances   int               `json:"instances"`   // submitted
	Completions int               `json:"completions"` // applied
	Faults      map[string]int    `json:"faults"`      // occurred, by kind
	LeftOut     map[string]string `json:"left_out"`    // kinds that are impossible on this machine, and why
	Facts       []string          `json:"facts"`       // on the load and the bounds, one sentence each
	Repeat      string            `json:"repeat"`      // command that repeats the run
	Recovery    Recovery          `json:"recovery_ms"`
	Timeline    Timeline          `json:"timeline"`
	Soak        *Soak             `json:"soak"` // nil: growth was not measured
}

// Recovery is how fast work resumed after faults, in milliseconds from each fault's end.
type Recovery struct {
	RecoveryTimes
	RateWas   float64                  `json:"rate_was_per_s"` // of completions before the first fault
	BoundMS   float64                  `json:"bound_ms"`       // lease and two sweeps: bounds the cost of a killed engine
	Kinds     map[string]RecoveryTimes `json:"by_kind"`
	StalledMS float64                  `json:"stalled_ms"` // total time without processor time for the run, in pieces of at least 40 ms
	Verdicts  []RecoveryVerdict        `json:"verdicts"`   // on the kinds with a promise
}

// RecoveryVerdict compares the recovery from a kind of fault with the promise: p99 within the bound.
type RecoveryVerdict struct {
	Kind    string   `json:"kind"`
	What    string   `json:"what"` // the time that counts
	Bound   string   `json:"bound"`
	BoundMS float64  `json:"bound_ms"`
	OwnMS   float64  `json:"own_ms"` // the instance's own work, a part of the bound
	Faults  int      `json:"faults"`
	Decided int      `json:"decided"` // faults that count; the others were followed too soon by another or by the load's end, or the machine had no time for the run
	P99     float64  `json:"p99"`     // over those decided whose recovery was seen
	Verdict string   `json:"verdict"` // met, missed, or undecided: too few count
	Beyond  []string `json:"beyond"`
}

// The verdicts on a recovery.
const (
	RecoveryMet       = "met"
	RecoveryMissed    = "missed"
	RecoveryUndecided = "undecided"
)

// RecoveryTimes are percentiles over faults.
type RecoveryTimes struct {
	Faults    int                 `json:"faults"`   // including those with incomplete observations
	First     RecoveryPercentiles `json:"first"`    // until a completion was applied
	Rate      RecoveryPercentiles `json:"rate_95"`  // until completions reached 95 % of the rate before the fault
	Recovered RecoveryPercentiles `json:"went_on"`  // until each open instance had a completion applied, or had ended
	Finished  RecoveryPercentiles `json:"finished"` // until all open instances had ended
}

// RecoveryPercentiles are of the counted faults; the others were followed too soon by another, or by the run's end.
type RecoveryPercentiles struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Timeline is the course of a run, in windows of equal length.
type Timeline struct {
	WindowMS    float64     `json:"window_ms"`
	Completions []int       `json:"completions"` // applied, by window from the first completion on
	Faults      []FaultTime `json:"faults"`
	// Samples are of windows of their own; null in earlier records, and of systems behind adapters.
	Samples *TimelineSamples `json:"samples,omitempty"`
}

// TimelineSamples are means of samples, by window from the begin of the timeline on. A null is a window without a sample, as while the
// server is down.
type TimelineSamples struct {
	WindowMS float64 `json:"window_ms"`
	// Open are the instances whose ends the load did not know.
	Open []*float64 `json:"open"`
	// Waits are the engines' busy sessions, by what they waited for; the most frequent first, and WaitOther for the rest.
	Waits []WaitSeries `json:"waits"`
}

// WaitSeries is how many sessions waited for one thing: type and event as in pg_stat_activity, or WaitRunning.
type WaitSeries struct {
	Name     string     `json:"name"`
	Sessions []*float64 `json:"sessions"`
}

// FaultTime is a fault's time since the begin of the timeline.
type FaultTime struct {
	Kind    string  `json:"kind"`
	BeginMS float64 `json:"begin_ms"`
	EndMS   float64 `json:"end_ms"`
}

// Soak is what was sampled for growth.
type Soak struct {
	Method string       `json:"method"`
	EveryS float64      `json:"every_s"`
	Growth []Growth     `json:"growth"`
	Series []SoakSeries `json:"series"`
}

// Growth compares a series' end with its begin.
type Growth struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Begin  float64 `json:"begin"`  // median of the first window
	End    float64 `json:"end"`    // median of the last
	Within bool    `json:"within"` // End exceeds Begin by no more than allowed
	Judged bool    `json:"judged"` // affects the verdict; else only shown
}

// SoakSeries is one measure over time. A null is a missing sample.
type SoakSeries struct {
	Name   string     `json:"name"`
	Unit   string     `json:"unit"` // "bytes" or ""
	AtS    []float64  `json:"at_s"` // seconds from the begin of the timeline
	Values []*float64 `json:"values"`
}

// WriteChaos writes chaos.json in dir, which it creates if needed.
func WriteChaos(dir string, c *Chaos) error {
	out := *c
	out.Schema, out.Why, out.Facts = SchemaVersion, nonNil(c.Why), nonNil(c.Facts)
	return writeJSON(filepath.Join(dir, ChaosFile), &out, func() error { return checkSchema(out.Schema) })
}

// ReadChaos reads the chaos.json in dir, or what a result.json of an earlier run has of it.
func ReadChaos(dir string) (*Chaos, error) {
	var c Chaos
	err := readJSON(filepath.Join(dir, ChaosFile), &c, func() error { return checkSchema(c.Schema) })
	if !errors.Is(err, os.ErrNotExist) {
		return &c, err
	}
	path := filepath.Join(dir, ChaosResultFile)
	var earlier struct {
		Chaos
		Violations []struct {
			Invariant string `json:"invariant"`
			Message   string `json:"message"`
		} `json:"violations"`
	}
	if err := readLoosely(path, &earlier); err != nil {
		return nil, err
	}
	if earlier.Verdict == "" || earlier.Backend == "" {
		return nil, fmt.Errorf("read %s: it has no verdict on a backend: it is not what pulley chaos writes", path)
	}
	c = earlier.Chaos
	for _, v := range earlier.Violations {
		c.Why = append(c.Why, v.Invariant+": "+v.Message)
	}
	return &c, nil
}
