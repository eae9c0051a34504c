package record

// Chaos is what a run among faults found, as its report shows it. The result of such a run has the same parts.
type Chaos struct {
	Verdict     string            `json:"verdict"` // pass, fail or inconclusive
	Why         []string          `json:"why"`     // what is wrong, or why it is inconclusive
	Backend     string            `json:"backend"`
	Engines     int               `json:"engines"`
	Seed        uint64            `json:"seed"`
	Instances   int               `json:"instances"`   // that were submitted
	Completions int               `json:"completions"` // that were applied
	Faults      map[string]int    `json:"faults"`      // that happened, by kind
	LeftOut     map[string]string `json:"left_out"`    // kinds that this machine cannot have, and why
	Facts       []string          `json:"facts"`       // about the load and the bounds, a sentence each
	Repeat      string            `json:"repeat"`      // the command that runs it again
	Recovery    Recovery          `json:"recovery_ms"`
	Timeline    Timeline          `json:"timeline"`
	Soak        *Soak             `json:"soak"` // nil: growth was not looked for
}

// Recovery is how fast work came back after faults, in milliseconds from each fault's end.
type Recovery struct {
	RecoveryTimes
	RateWas   float64                  `json:"rate_was_per_s"` // completions before the first fault
	BoundMS   float64                  `json:"bound_ms"`       // lease and two sweeps: the most that a killed engine may cost
	Kinds     map[string]RecoveryTimes `json:"by_kind"`
	StalledMS float64                  `json:"stalled_ms"` // in all, in which the machine had no time for the run; from 40 ms at once
	Verdicts  []RecoveryVerdict        `json:"verdicts"`   // of the kinds of which something is promised
}

// RecoveryVerdict holds how work came back after a kind of fault against what is promised of it: p99 within the bound.
type RecoveryVerdict struct {
	Kind    string   `json:"kind"`
	What    string   `json:"what"`  // of the times, the one that counts
	Bound   string   `json:"bound"` // in words
	BoundMS float64  `json:"bound_ms"`
	OwnMS   float64  `json:"own_ms"` // of the bound, the instance's own work
	Faults  int      `json:"faults"`
	Decided int      `json:"decided"` // of the faults; after the others the next one, or the load's end, came before the bound had passed, or the machine had no time for the run
	P99     float64  `json:"p99"`     // of those decided after which it was seen
	Verdict string   `json:"verdict"` // met, missed, or undecided: too few are decided
	Beyond  []string `json:"beyond"`  // the faults that cost more than the bound, a sentence each
}

// The verdicts on a recovery.
const (
	RecoveryMet       = "met"
	RecoveryMissed    = "missed"
	RecoveryUndecided = "undecided"
)

// RecoveryTimes are percentiles over faults.
type RecoveryTimes struct {
	Faults    int                 `json:"faults"`   // that happened, those included of which less was seen
	First     RecoveryPercentiles `json:"first"`    // until a completion was applied
	Rate      RecoveryPercentiles `json:"rate_95"`  // until completions were applied at 95 % of the rate before the fault
	Recovered RecoveryPercentiles `json:"went_on"`  // until each instance that was open had a completion applied, or had ended
	Finished  RecoveryPercentiles `json:"finished"` // until all instances that were open had ended
}

// RecoveryPercentiles are of so many faults; the others were followed by the next one, or the run's end, too soon.
type RecoveryPercentiles struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Timeline is a run as it went, in windows of one length.
type Timeline struct {
	WindowMS    float64     `json:"window_ms"`
	Completions []int       `json:"completions"` // applied, by window from the first completion on
	Faults      []FaultTime `json:"faults"`
}

// FaultTime is when a fault was, from the begin of the timeline.
type FaultTime struct {
	Kind    string  `json:"kind"`
	BeginMS float64 `json:"begin_ms"`
	EndMS   float64 `json:"end_ms"`
}

// Soak is what was looked at again and again for growth.
type Soak struct {
	Method string       `json:"method"` // how growth was decided
	EveryS float64      `json:"every_s"`
	Growth []Growth     `json:"growth"`
	Series []SoakSeries `json:"series"`
}

// Growth holds the end of a series against its begin.
type Growth struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Begin  float64 `json:"begin"`  // median of the first window
	End    float64 `json:"end"`    // median of the last
	Within bool    `json:"within"` // End is no further above Begin than it may be
	Judged bool    `json:"judged"` // the verdict goes by it; else it is shown only
}

// SoakSeries is one thing over time. A null is a sample that could not be had.
type SoakSeries struct {
	Name   string     `json:"name"`
	Unit   string     `json:"unit"` // "bytes" or ""
	AtS    []float64  `json:"at_s"` // seconds from the begin of the timeline
	Values []*float64 `json:"values"`
}
