package gate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"pulley/bench/stats"
	"pulley/internal/plural"
	"pulley/reports/record"
)

func (j *judging) conclude(baseline, candidate Side) {
	r := j.report
	for _, side := range []Side{baseline, candidate} {
		if n := len(side.Invalid); n > 0 {
			r.Doubts = append(r.Doubts, fmt.Sprintf("%s of %s not valid: %s", plural.Of(n, "run is", "runs are"), side.Name, side.Invalid[0]))
		}
	}
	for _, key := range strange(baseline, candidate) {
		r.Notes = append(r.Notes, key+" is left out: nothing tells whether more or less is better; a line \"Unit NAME better=lower\" does")
	}
	reasons := map[string]int{}
	for _, l := range r.Lines {
		if l.NotCompared != "" {
			reasons[l.NotCompared]++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		r.Notes = append(r.Notes, fmt.Sprintf("%s not compared: %s", plural.Of(reasons[reason], "figure is", "figures are"), reason))
	}
	switch {
	case len(r.Lines) == 0:
		r.Doubts = append(r.Doubts, "the two sides have no row in common")
	case len(j.asked) == 0:
		r.Doubts = append(r.Doubts, "nothing can be compared: "+slices.Min(slices.Collect(maps.Keys(reasons))))
	default:
		r.Doubts = append(r.Doubts, j.tooFew()...)
		r.Doubts = append(r.Doubts, j.tooNoisy()...)
	}
	switch {
	case slices.ContainsFunc(r.Lines, func(l Line) bool { return l.Decision == record.Worse }):
		r.Outcome = Regression
	case len(r.Doubts) > 0:
		r.Outcome = Inconclusive
	default:
		r.Outcome = Passed
		r.Notes = append(r.Notes, j.unsteady()...)
	}
	r.Sentence = j.sentence()
}

func strange(sides ...Side) (all []string) {
	for _, s := range sides {
		all = append(all, s.Strange...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (j *judging) tooFew() (doubts []string) {
	tests := 0
	for _, q := range j.asked {
		if !q.Exact() {
			tests++
		}
	}
	seen := map[[2]int]bool{}
	for _, q := range j.asked {
		l := &j.report.Lines[q.line]
		size := [2]int{l.BaselineRuns, l.CandidateRuns}
		if q.Exact() || seen[size] || stats.SmallestP(size[0], size[1], j.o.Paired)*float64(tests) <= j.o.Alpha {
			continue
		}
		seen[size] = true
		doubts = append(doubts, fmt.Sprintf("%s against %d cannot show a difference among %s; make %d of each",
			plural.Of(size[0], "run", "runs"), size[1], plural.Of(tests, "figure", "figures"), stats.FewestRuns(tests, j.o.Alpha, j.o.Paired)))
	}
	return doubts
}

// tooNoisy describes the rows of which not even the steadiest figure excludes a change for the worse beyond the resolution.
// Timed figures decide if any was compared.
func (j *judging) tooNoisy() (doubts []string) {
	var rows []string
	timed, least := map[string]bool{}, map[string]float64{}
	for _, l := range j.report.Lines {
		if l.NotCompared != "" || l.tail {
			continue
		}
		if _, known := least[l.Row]; !known {
			rows, least[l.Row] = append(rows, l.Row), math.Inf(1)
		}
		if l.timed && !timed[l.Row] {
			timed[l.Row], least[l.Row] = true, math.Inf(1)
		}
		if l.Worst != nil && l.timed == timed[l.Row] {
			least[l.Row] = min(least[l.Row], *l.Worst)
		}
	}
	for _, row := range rows {
		switch worst := least[row]; {
		case math.IsInf(worst, 1):
			doubts = append(doubts, fmt.Sprintf("%s: the runs exclude nothing", row))
		case worst > 1+j.o.Resolution:
			doubts = append(doubts, fmt.Sprintf("%s: the runs do not exclude that it is worse by %s", row, percent(worst-1)))
		}
	}
	return doubts
}

// unsteady notes the timed figures that exclude little themselves, in rows that pass by a steadier one.
func (j *judging) unsteady() (notes []string) {
	for _, l := range j.report.Lines {
		if l.timed && !l.tail && l.NotCompared == "" && l.Worst != nil && *l.Worst > 1+j.o.Resolution && l.Decision == record.Unclear {
			notes = append(notes, fmt.Sprintf("%s alone does not exclude that it is worse by %s", l.Key, percent(*l.Worst-1)))
		}
	}
	return notes
}

func (j *judging) sentence() string {
	r := j.report
	var worse []Line
	compared, rows := 0, map[string]bool{}
	for _, l := range r.Lines {
		if l.NotCompared == "" {
			compared++
			rows[l.Row] = true
		}
		if l.Decision == record.Worse {
			worse = append(worse, l)
		}
	}
	switch r.Outcome {
	case Regression:
		// People want the worst first.
		slices.SortStableFunc(worse, func(a, b Line) int { return cmp.Compare(b.badness(), a.badness()) })
		text := "Regression: " + worse[0].change()
		if n := len(worse) - 1; n > 0 {
			text += fmt.Sprintf("; %s worse", plural.Of(n, "other figure is", "other figures are"))
		}
		return text + "."
	case Passed:
		return fmt.Sprintf("No regression is shown: %s of %s, none worse by more than %s.",
			plural.Of(compared, "figure", "figures"), plural.Of(len(rows), "row", "rows"), percent(r.Margin))
	}
	text := "Inconclusive: " + r.Doubts[0]
	if n := len(r.Doubts) - 1; n > 0 {
		text += fmt.Sprintf("; and %s", plural.Of(n, "more doubt", "more doubts"))
	}
	return text + "."
}

func (l *Line) badness() float64 {
	switch {
	case l.Ratio == nil:
		return math.Inf(1)
	case l.MoreIsBetter:
		return 1 / l.Ratio.Median
	}
	return l.Ratio.Median
}

// change formats "fanout 100, push, alone: time_per_node is 1.12 times as much [1.09, 1.15]".
func (l *Line) change() string {
	if l.Ratio == nil {
		return fmt.Sprintf("%s rose from %s to %s", l.Key, format(l.Baseline, l.Unit), format(l.Candidate, l.Unit))
	}
	if l.Exact {
		return fmt.Sprintf("%s went from %s to %s", l.Key, format(l.Baseline, l.Unit), format(l.Candidate, l.Unit))
	}
	return fmt.Sprintf("%s is %.3g times the baseline's [%.3g, %.3g]", l.Key, l.Ratio.Median, l.Ratio.Lo, l.Ratio.Hi)
}

func percent(share float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*share), ".0") + " %"
}
