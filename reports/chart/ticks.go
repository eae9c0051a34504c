package chart

import (
	"math"

	"gonum.org/v1/plot"
)

// The ticks of an axis are of the series 1, 2, 5, 10, 20, 50 …; a logarithmic one spans at least one decade: so there are at
// least two labelled ticks, and small differences look small.

var niceSteps = []float64{1, 2, 5}

// sameStep is the relative distance, invisible, within which a value counts as a step.
const sameStep = 1e-6

// axisMargin is a factor.
const axisMargin = 1.12

// logLimits returns limits around lo … hi, which are above zero. It widens less than a decade to one between ticks.
func logLimits(lo, hi float64) (from, to float64) {
	if hi/lo >= 10 {
		return lo / axisMargin, hi * axisMargin
	}
	below, above := niceIndex(lo, math.Floor), niceIndex(hi, math.Ceil)
	for above-below < len(niceSteps) {
		above++
		if above-below < len(niceSteps) {
			below--
		}
	}
	return niceValue(below), niceValue(above)
}

// niceIndex returns the index of v in the series, 0 for 1, 3 for 10, rounded by round.
func niceIndex(v float64, round func(float64) float64) int {
	decade := math.Floor(math.Log10(v) + 1e-9)
	mantissa := v / math.Pow(10, decade)
	place := float64(len(niceSteps))
	for i, step := range niceSteps {
		if math.Abs(mantissa-step) < sameStep {
			place = float64(i)
			break
		}
		if mantissa < step {
			place = float64(i) - 0.5
			break
		}
	}
	if place == float64(len(niceSteps)) {
		place -= 0.5 // between the last step and the next decade
	}
	return int(decade)*len(niceSteps) + int(round(place))
}

func niceValue(index int) float64 {
	n := len(niceSteps)
	decade := int(math.Floor(float64(index) / float64(n)))
	return niceSteps[index-decade*n] * math.Pow(10, float64(decade))
}

// logTicker labels an axis between limits from logLimits: every step if that makes at most max labels, else decades, else every
// n-th decade. Other ticks have no label. max is at least 5.
type logTicker struct {
	label func(float64) string
	max   int
}

func (t logTicker) Ticks(lo, hi float64) []plot.Tick {
	first, last := niceIndex(lo, math.Ceil), niceIndex(hi, math.Floor)
	every := 1
	for (last-first)/every+1 > t.max {
		if every == 1 {
			every = 0
		}
		every += len(niceSteps)
	}
	var ticks []plot.Tick
	for i := first; i <= last; i++ {
		tick := plot.Tick{Value: niceValue(i)}
		if mod(i, every) == 0 {
			tick.Label = t.label(tick.Value)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

func mod(a, b int) int { return ((a % b) + b) % b }

// evenTicker makes about so many labels, at multiples of a round step.
type evenTicker struct {
	label  func(float64) string
	labels int
}

func (t evenTicker) Ticks(lo, hi float64) []plot.Tick {
	step := niceValue(niceIndex((hi-lo)/float64(t.labels), math.Ceil))
	var ticks []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi && len(ticks) < 100; i++ {
		label := "0"
		if i != 0 {
			label = t.label(i * step)
		}
		ticks = append(ticks, plot.Tick{Value: i * step, Label: label})
	}
	return ticks
}

type noTicks struct{}

func (noTicks) Ticks(lo, hi float64) []plot.Tick { return nil }
