package gate

import (
	"math"
	"slices"
	"strings"

	"pulley/bench/gobench"
	"pulley/bench/stats"
)

// FromBenchmarks makes a side of files in Go's benchmark format. Every line is a run.
func FromBenchmarks(name string, files ...*gobench.File) Side {
	b := newBenchmarks(name)
	for _, f := range files {
		for i := range f.Series {
			if x := b.of(&f.Series[i]); x != nil {
				x.Values = append(x.Values, f.Series[i].Values...)
			}
		}
	}
	return b.side()
}

// FromBenchmarkPairs makes two sides of files that were neighbours in time, before[i] of after[i]. Where a file has several lines
// of a benchmark, the best of a timed figure counts, and the median of a counted one, as in FromPairs.
func FromBenchmarkPairs(baseline, candidate string, before, after []*gobench.File) (Side, Side) {
	sides := [2]Side{}
	for i, files := range [][]*gobench.File{before, after} {
		b := newBenchmarks([]string{baseline, candidate}[i])
		for turn, f := range files {
			for k := range f.Series {
				if x := b.of(&f.Series[k]); x != nil {
					for len(x.Values) < turn {
						x.Values = append(x.Values, math.NaN())
					}
					x.Values = append(x.Values, ofTurn(x, f.Series[k].Values))
				}
			}
		}
		sides[i] = b.side()
	}
	equalize(&sides[0], &sides[1])
	return sides[0], sides[1]
}

// ofTurn is the figure of a turn with several runs.
func ofTurn(x *Series, values []float64) float64 {
	switch {
	case x.Kind != Timed:
		return stats.Median(values)
	case x.MoreIsBetter:
		return slices.Max(values)
	}
	return slices.Min(values)
}

// benchmarks collects series of files.
type benchmarks struct {
	name    string
	order   []Key
	series  map[Key]*Series
	strange map[Key]bool // of units whose direction nobody knows, or with values that are no figures
}

func newBenchmarks(name string) *benchmarks {
	return &benchmarks{name: name, series: map[Key]*Series{}, strange: map[Key]bool{}}
}

// of is the series to which one of a file belongs; nil where it cannot be compared.
func (b *benchmarks) of(s *gobench.Series) *Series {
	row := strings.TrimSuffix(s.String(), " "+s.Unit)
	key := Key{row, s.Unit}
	better := s.Better
	if better == gobench.BetterUnknown {
		better = directionOf(s.Unit)
	}
	for _, v := range s.Values {
		if v < 0 {
			better = gobench.BetterUnknown // a ratio of it means nothing
		}
	}
	if better == gobench.BetterUnknown {
		b.strange[key] = true
		return nil
	}
	machine := ""
	if m := s.Machine; m != (gobench.Machine{}) {
		machine = m.OS + "/" + m.Arch + ", " + m.CPU
	}
	x := b.series[key]
	if x == nil {
		x = &Series{Key: key, Machine: machine, MoreIsBetter: better == gobench.BetterHigher, Lenient: !s.Exact}
		x.Unit, x.Kind = unitOf(s.Unit)
		b.series[key], b.order = x, append(b.order, key)
	}
	if x.Machine != machine {
		x.Machine = ""
	}
	return x
}

func (b *benchmarks) side() Side {
	out := Side{Name: b.name}
	for _, key := range b.order {
		if !b.strange[key] {
			out.Series = append(out.Series, *b.series[key])
		}
	}
	for key := range b.strange {
		out.Strange = append(out.Strange, key.String())
	}
	return out
}

// directionOf guesses which direction of a unit is better, as its name says: a rate should be high; a cost of an operation, a
// time and a size should be low.
func directionOf(unit string) gobench.Better {
	switch {
	case strings.HasSuffix(unit, "/s") || strings.HasSuffix(unit, "/sec"):
		return gobench.BetterHigher
	case strings.HasSuffix(unit, "/op"), isTime(unit), unit == "B", strings.HasSuffix(unit, "-B"), strings.HasSuffix(unit, "-bytes"):
		return gobench.BetterLower
	}
	return gobench.BetterUnknown
}

// isTime says that a unit, tidied, is of time: sec/op, sec, p99-sec/op, p99-sec.
func isTime(unit string) bool {
	base := strings.TrimSuffix(unit, "/op")
	return base == "sec" || strings.HasSuffix(base, "-sec") || base == "ns" || strings.HasSuffix(base, "-ns")
}

// unitOf says how figures of a tidied unit are shown, and whether they depend on the machine.
func unitOf(unit string) (string, Kind) {
	switch {
	case unit == "sec/op" || unit == "sec" || strings.HasSuffix(unit, "-sec") || strings.HasSuffix(unit, "-sec/op"):
		return UnitSeconds, Timed
	case unit == "B/s":
		return UnitBytesPerSecond, Timed
	case strings.HasSuffix(unit, "/s") || strings.HasSuffix(unit, "/sec") || isTime(unit):
		return UnitCount, Timed
	case unit == "B/op" || unit == "B" || strings.HasSuffix(unit, "-B"):
		return UnitBytes, Counted
	}
	return UnitCount, Counted
}
