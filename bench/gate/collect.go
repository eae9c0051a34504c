package gate

import (
	"math"
	"slices"

	"pulley/bench/stats"
)

// collector collects the series of a side.
type collector struct {
	// turns is how many turns of a pair's side there are, each of which comes to one value. Zero: each value is a run.
	turns  int
	order  []Key
	series map[Key]*Series
	values map[Key][][]float64 // by turn; all in one where each value is a run
}

func newCollector(turns int) *collector {
	return &collector{turns: turns, series: map[Key]*Series{}, values: map[Key][][]float64{}}
}

// add adds values of a turn to the series of x's key, which is like x.
func (c *collector) add(turn int, x Series, values ...float64) {
	if s := c.series[x.Key]; s == nil {
		c.series[x.Key], c.order = &x, append(c.order, x.Key)
		c.values[x.Key] = make([][]float64, max(c.turns, 1))
	} else if s.Machine != x.Machine {
		s.Machine = "" // several
	}
	if c.turns == 0 {
		turn = 0
	}
	c.values[x.Key][turn] = append(c.values[x.Key][turn], values...)
}

// all gives the series, in the order in which they came. A turn without a value is NaN.
func (c *collector) all() (out []Series) {
	for _, key := range c.order {
		x, values := *c.series[key], c.values[key]
		if c.turns == 0 {
			x.Values = values[0]
		} else {
			for _, turn := range values {
				x.Values = append(x.Values, ofTurn(&x, turn))
			}
		}
		out = append(out, x)
	}
	return out
}

// ofTurn is the figure of a turn with several runs, or NaN of one with none: the best of a timed figure, and the median of a counted
// one. Whatever else goes on makes a program slower and never faster, so that the best run is the one that it disturbed least. (Chen
// and Revels, Robust benchmarking in noisy environments, 2016.)
func ofTurn(x *Series, values []float64) float64 {
	switch {
	case len(values) == 0:
		return math.NaN()
	case x.Kind != Timed:
		return stats.Median(values)
	case x.MoreIsBetter:
		return slices.Max(values)
	}
	return slices.Min(values)
}
