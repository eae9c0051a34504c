package changes

import (
	"errors"
	"fmt"
	"math"

	"pulley/reports/chart"
	"pulley/reports/units"
)

// Course is a figure from run to run, with the levels between its changes.
type Course struct {
	Title, Caption string
	Values         []float64
	// with its unit, for the axis
	Unit units.Unit
	// The figure changes between levels.
	Levels []Level
}

// Level is a stretch of a Course.
type Level struct {
	// run indices, from 0; To is exclusive
	From, To int
	Value    float64
	// Name stands where the level begins: the first revision with it. Empty for the first one.
	Name string
}

// CourseChart draws a course on linear axes: a dot per run, a line per level, and an upright one at changes. It fails if there
// is no value, one is not finite, or a level lies outside of the runs.
func CourseChart(c Course) (*chart.Plot, error) {
	if len(c.Values) == 0 {
		return nil, errors.New("there is no run to draw")
	}
	for i, v := range c.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("run %d has a value of %v", i+1, v)
		}
	}
	for _, l := range c.Levels {
		if l.From < 0 || l.To > len(c.Values) || l.From >= l.To {
			return nil, fmt.Errorf("a level from run %d to %d is not among %d runs", l.From, l.To, len(c.Values))
		}
	}
	p := &chart.Plot{
		Name: chart.FileName(c.Title), Title: c.Title, Says: c.Caption,
		X: chart.Axis{Label: "run, in the order of time", Scale: chart.Linear, Free: true},
		Y: chart.Axis{Scale: chart.Linear, Unit: c.Unit, Free: true},
	}
	runs := chart.Series{Name: "run", Kind: chart.Dots}
	for i, v := range c.Values {
		runs.Points = append(runs.Points, chart.Point{X: float64(i + 1), Y: v})
	}
	p.Series = append(p.Series, runs)
	for i, l := range c.Levels {
		from, to := float64(l.From)+0.5, float64(l.To)+0.5
		p.Series = append(p.Series, chart.Series{Name: "median between changes", Kind: chart.Steps, Style: 4, Points: []chart.Point{{X: from, Y: l.Value}, {X: to, Y: l.Value}}})
		if i > 0 {
			p.Rules = append(p.Rules, chart.Rule{At: from, Upright: true, Name: l.Name})
		}
	}
	return p, nil
}
