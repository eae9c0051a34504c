package gate

import (
	"slices"
	"strings"

	"pulley/bench/gobench"
	"pulley/reports/record"
)

// FromBenchmarks makes a side of files in Go's benchmark format. Every line is a run.
func FromBenchmarks(name string, files ...*gobench.File) Side { return benchmarkSide(name, 0, files) }

// FromBenchmarkPairs makes two sides of files that were neighbours in time, before[i] of after[i]. Of several lines of a
// benchmark in a file, the best of a timed figure and the median of a counted one are used, as in FromPairs.
func FromBenchmarkPairs(baseline, candidate string, before, after []*gobench.File) (Side, Side) {
	return benchmarkSide(baseline, len(before), before), benchmarkSide(candidate, len(after), after)
}

func benchmarkSide(name string, turns int, files []*gobench.File) Side {
	c, strange := newCollector(turns), map[Key]bool{}
	for turn, f := range files {
		for i := range f.Series {
			x, ok := seriesOf(&f.Series[i])
			if !ok {
				strange[x.Key] = true
				continue
			}
			c.add(turn, x, f.Series[i].Values...)
		}
	}
	out := Side{Name: name}
	for _, x := range c.all() {
		if !strange[x.Key] {
			out.Series = append(out.Series, x)
		}
	}
	for key := range strange {
		out.Strange = append(out.Strange, key.String())
	}
	return out
}

// seriesOf converts a file's series, without its values. It is not ok if the unit's direction is unknown, or if a value is
// negative, so that ratios mean nothing.
func seriesOf(s *gobench.Series) (x Series, ok bool) {
	better := s.Better
	if better == gobench.BetterUnknown {
		better = directionOf(s.Unit)
	}
	x = Series{
		Key:          Key{strings.TrimSuffix(s.String(), " "+s.Unit), s.Unit},
		MoreIsBetter: better == gobench.BetterHigher,
		Lenient:      !s.Exact,
	}
	x.Unit, x.Kind = unitOf(s.Unit)
	x.Machine = record.Host{OS: s.Machine.OS, Arch: s.Machine.Arch, CPU: s.Machine.CPU}.Fingerprint()
	return x, better != gobench.BetterUnknown && !slices.ContainsFunc(s.Values, func(v float64) bool { return v < 0 })
}

// directionOf guesses a unit's better direction: a rate should be high; a cost per operation, a time and a size should be low.
func directionOf(unit string) gobench.Better {
	switch {
	case strings.HasSuffix(unit, "/s") || strings.HasSuffix(unit, "/sec"):
		return gobench.BetterHigher
	case strings.HasSuffix(unit, "/op"), isTime(unit), unit == "B", strings.HasSuffix(unit, "-B"), strings.HasSuffix(unit, "-bytes"):
		return gobench.BetterLower
	}
	return gobench.BetterUnknown
}

func isTime(unit string) bool {
	base := strings.TrimSuffix(unit, "/op")
	return base == "sec" || strings.HasSuffix(base, "-sec") || base == "ns" || strings.HasSuffix(base, "-ns")
}

// unitOf returns how figures of a normalized unit are shown, and their kind.
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
