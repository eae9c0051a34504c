package gate

import (
	"math"
	"slices"

	"pulley/bench/stats"
)

type collector struct {
	// turns is the number of turns of a pair's side, each reduced to one value. Zero: each value is a run.
	turns  int
	order  []Key
	series map[Key]*Series
	values map[Key][][]float64 // by turn; one list if each value is a run
}

func newCollector(turns int) *collector {
	return &collector{turns: turns, series: map[Key]*Series{}, values: map[Key][][]float64{}}
}

func (c *collector) add(turn int, x Series, values ...float64) {
	if s := c.series[x.Key]; s == nil {
		c.series[x.Key], c.order = &x, append(c.order, x.Key)
		c.values[x.Key] = make([][]float64, max(c.turns, 1))
	} else if s.Machine != x.Machine {
		s.Machine = ""
	}
	if c.turns == 0 {
		turn = 0
	}
	c.values[x.Key][turn] = append(c.values[x.Key][turn], values...)
}

// all is in the order of arrival. A turn without a value is NaN.
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

// ofTurn reduces a turn's runs to one figure, NaN for none: the best of a timed figure, the median of a counted one.
// Disturbances make a program slower and never faster, so the best run is the least disturbed. (Chen and Revels, Robust
// benchmarking in noisy environments, 2016.)
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
