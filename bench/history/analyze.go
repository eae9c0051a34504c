package history

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"pulley/bench/changepoint"
	"pulley/bench/stats"
)

// Options define what counts as a change.
type Options struct {
	// MinChange is the least relative change of a mean; 0 accepts every significant change.
	MinChange float64
	// number of last runs that count as recent; 0 means 10
	Recent int
	// for the permutation test
	Seed uint64
}

// The directions of a change.
const (
	Worse   = "worse"
	Better  = "better"
	Unknown = "unknown" // the figure has no better direction
)

// Finding is the analysis of a series.
type Finding struct {
	Key
	Better string `json:"better"`
	// Runs is the number of values. Enough means that they suffice to claim a change.
	Runs   int  `json:"runs"`
	Enough bool `json:"enough"`
	// First and Last are the times of the ends, LastValue the value of the last run, Level the median since the last change.
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	LastValue float64   `json:"last_value"`
	Level     float64   `json:"level"`
	// in order of time; never null
	Changes []Change  `json:"changes"`
	Values  []float64 `json:"values"`
}

// Change is a change of a series, between two revisions.
type Change struct {
	// of the first run after the change, from 0
	Index int `json:"index"`
	// the last run before the change, and the first one after it
	Before Place `json:"before"`
	After  Place `json:"after"`
	// counted up to the neighbouring changes
	RunsBefore int `json:"runs_before"`
	RunsAfter  int `json:"runs_after"`
	// medians of those runs
	LevelBefore float64 `json:"level_before"`
	LevelAfter  float64 `json:"level_after"`
	// Ratio is the factor of the change, with an interval of Confidence; null if not finite. The change's place was chosen for
	// the difference, so the interval is a little too narrow.
	Ratio      *Ratio  `json:"ratio"`
	Confidence float64 `json:"confidence"`
	P          float64 `json:"p"`
	// Direction is Worse, Better or Unknown. Recent means that After is among the last runs.
	Direction string `json:"direction"`
	Recent    bool   `json:"recent"`
}

// Ratio is a factor with an interval.
type Ratio struct {
	Estimate float64 `json:"estimate"`
	Lo       float64 `json:"lo"`
	Hi       float64 `json:"hi"`
}

// Place is a run of a series.
type Place struct {
	Time     time.Time `json:"time"`
	Revision string    `json:"revision"`
	Modified bool      `json:"modified"`
}

// AnalyzeAll makes a report on all series of runs from the history at path whose names are chosen; nil chooses all.
func AnalyzeAll(path string, runs []Run, skipped []Skipped, chosen func(name string) bool, o Options) (*Report, error) {
	r := &Report{Schema: Schema, History: path, Runs: len(runs), Skipped: skipped, Series: []Finding{}}
	if skipped == nil {
		r.Skipped = []Skipped{}
	}
	for _, s := range Group(runs) {
		if chosen != nil && !chosen(s.Name()) {
			continue
		}
		f, err := Analyze(s, o)
		if err != nil {
			return nil, err
		}
		r.Series = append(r.Series, f)
	}
	return r, nil
}

// Analyze finds the changes in a series.
func Analyze(s Series, o Options) (Finding, error) {
	o.Recent = cmp.Or(o.Recent, 10)
	n := len(s.Values)
	if n == 0 {
		return Finding{}, fmt.Errorf("series %s: has no values", s.Name())
	}
	values := make([]float64, n)
	for i, v := range s.Values {
		values[i] = v.Value
	}
	f := Finding{
		Key: s.Key, Better: s.Better, Runs: n, Enough: n >= changepoint.LeastValues, First: s.Values[0].Time, Last: s.Values[n-1].Time,
		LastValue: values[n-1], Values: values, Changes: []Change{},
	}
	points, err := changepoint.Find(values, changepoint.FindOptions{
		Search:  changepoint.Options{MinMagnitude: o.MinChange},
		Confirm: changepoint.PermuteOptions{Seed: o.Seed},
	})
	if err != nil {
		return Finding{}, fmt.Errorf("series %s: %w", s.Name(), err)
	}
	from := 0
	for _, p := range points {
		f.Changes = append(f.Changes, newChange(s, values, p, o.Recent))
		from = p.Index
	}
	f.Level = stats.Median(values[from:])
	return f, nil
}

func newChange(s Series, values []float64, p changepoint.Point, recent int) Change {
	before, after := values[p.Before.From:p.Before.To], values[p.After.From:p.After.To]
	c := Change{
		Index: p.Index, Before: placeOf(s.Values[p.Index-1]), After: placeOf(s.Values[p.Index]),
		RunsBefore: len(before), RunsAfter: len(after), LevelBefore: stats.Median(before), LevelAfter: stats.Median(after),
		P: p.P, Direction: Unknown, Recent: p.Index >= len(values)-recent,
	}
	c.Ratio, c.Confidence = ratioOf(before, after)
	rises := p.After.Mean > p.Before.Mean
	switch {
	case s.Better == higher && rises, s.Better == lower && !rises:
		c.Direction = Better
	case s.Better != "":
		c.Direction = Worse
	}
	return c
}

func placeOf(v Value) Place { return Place{v.Time, v.Revision, v.Modified} }

// ratioRuns bounds the runs on each side, nearest to the change, that make the ratio: time and memory grow with their product.
const ratioRuns = 300

// Hodges–Lehmann estimate of after / before
func ratioOf(before, after []float64) (*Ratio, float64) {
	before, after = before[max(len(before)-ratioRuns, 0):], after[:min(len(after), ratioRuns)]
	test, err := stats.CompareGroups(before, after)
	if err != nil { // a negative figure
		return nil, 0
	}
	i := test.Interval(stats.Confidence)
	if math.IsInf(i.Median, 0) || math.IsInf(i.Hi, 0) || math.IsNaN(i.Median) {
		return nil, 0
	}
	return &Ratio{i.Median, i.Lo, i.Hi}, i.Confidence
}
