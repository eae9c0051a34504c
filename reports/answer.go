package reports

import (
	"fmt"
	"slices"
	"strings"

	"pulley/bench/stats"
	"pulley/reports/record"
	"pulley/reports/units"
)

// answerMost is how many words an answer may have: it is read at a glance.
const answerMost = 20

// best is the fastest backend of a family at a size.
type best struct {
	family *family
	size   int
	// rows by rate, the fastest first
	ranked []*record.Row
	// the intervals of the first two do not meet
	decided bool
}

func (b *best) name() string { return b.ranked[0].Backend }

// answer says in one sentence who is fastest. Names of many words may make it longer than a glance takes; then it says less.
func (v *view) answer() string {
	full := v.fullAnswer()
	if len(strings.Fields(full)) <= answerMost {
		return full
	}
	head, _, _ := strings.Cut(full, ";")
	head, _, _ = strings.Cut(head, ": ")
	if words := strings.Fields(head); len(words) > answerMost {
		return strings.Join(words[:answerMost], " ") + "…"
	}
	return strings.TrimSuffix(head, ".") + "."
}

func (v *view) fullAnswer() string {
	all := v.bests()
	switch {
	case len(v.summary.Rows) == 0:
		return "Nothing was measured."
	case v.invalid() == len(v.summary.Rows):
		return "No row is valid, so nothing can be said."
	case len(all) == 0:
		return v.soleAnswer()
	}
	wins := map[string]int{}
	var undecided int
	for _, b := range all {
		if b.decided {
			wins[b.name()]++
		} else {
			undecided++
		}
	}
	if undecided == len(all) {
		if len(all) == 1 {
			return fmt.Sprintf("On %s, no backend is shown to be the fastest.", all[0].family.label(all[0].size))
		}
		return fmt.Sprintf("On none of %s is a backend shown to be the fastest.", units.Plural(len(all), "scenario"))
	}
	leader := v.leader(wins)
	switch rest := len(all) - wins[leader] - undecided; {
	case len(all) == 1:
		return fmt.Sprintf("%s is fastest on %s: %s the rate of %s.", short(leader), all[0].family.label(all[0].size), all[0].lead(), short(all[0].ranked[1].Backend))
	case wins[leader] == len(all):
		return fmt.Sprintf("%s is fastest on %s%s.", short(leader), every(len(all)), second(all))
	case rest == 0:
		return fmt.Sprintf("%s is fastest on %d of %d scenarios; the others are undecided.", short(leader), wins[leader], len(all))
	default:
		return fmt.Sprintf("%s is fastest on %d of %d scenarios; %s.", short(leader), wins[leader], len(all), v.others(all, leader))
	}
}

// soleAnswer is for a record in which nothing can be compared.
func (v *view) soleAnswer() string {
	for i := range v.families {
		f := &v.families[i]
		if size, ok := f.largest(); ok {
			for _, r := range f.rows {
				if r.Valid && r.Size == size && r.NodesPerS != nil {
					return fmt.Sprintf("%s does %s node runs per second on %s; nothing stands next to it.", short(r.Backend), units.Number(r.NodesPerS.Median), f.label(size))
				}
			}
		}
	}
	return "Valid rows have no throughput, so no backend can be called the fastest."
}

func every(n int) string {
	if n == 2 {
		return "both scenarios"
	}
	return fmt.Sprintf("all %d scenarios", n)
}

// short keeps a name to a word of the answer.
func short(name string) string { return units.Clip(units.Printable(name), 32) }

func (b *best) lead() string {
	return units.Times(b.ranked[0].NodesPerS.Median / b.ranked[1].NodesPerS.Median)
}

// second names who is second everywhere.
func second(all []best) string {
	name := all[0].ranked[1].Backend
	lo, hi := 0.0, 0.0
	for i, b := range all {
		if b.ranked[1].Backend != name {
			return ""
		}
		x := b.ranked[0].NodesPerS.Median / b.ranked[1].NodesPerS.Median
		if i == 0 {
			lo, hi = x, x
		}
		lo, hi = min(lo, x), max(hi, x)
	}
	return fmt.Sprintf(", %s the rate of %s, the second", units.Span(lo, hi, units.Times), short(name))
}

// leader wins most; of equals, the one that was named first.
func (v *view) leader(wins map[string]int) string {
	leader := ""
	for _, name := range v.backends {
		if wins[name] > wins[leader] {
			leader = name
		}
	}
	return leader
}

// others names who wins the other scenarios, if they are few.
func (v *view) others(all []best, leader string) string {
	var names []string
	wins := map[string][]string{}
	for _, b := range all {
		if b.decided && b.name() != leader {
			if !slices.Contains(names, b.name()) {
				names = append(names, b.name())
			}
			wins[b.name()] = append(wins[b.name()], b.family.label(b.size))
		}
	}
	if len(names) == 1 {
		if on := wins[names[0]]; len(on) <= 2 {
			return short(names[0]) + " on " + units.List(on)
		}
		return fmt.Sprintf("%s on %d", short(names[0]), len(wins[names[0]]))
	}
	return fmt.Sprintf("%d others win the rest", len(names))
}

// label is "fanout 100".
func (f *family) label(size int) string {
	if size == 0 {
		return short(f.scenario)
	}
	return short(f.scenario) + " " + units.Thousands(int64(size))
}

// bests returns the fastest of each scenario at its largest size that can be compared, under full load if that was measured.
// Backends without a database are left out where others have one: they are not durable.
func (v *view) bests() []best {
	var out []best
	mode := v.loadMode()
	for i := range v.families {
		f := &v.families[i]
		if f.mode != mode {
			continue
		}
		for _, size := range slices.Backward(f.sizeList()) {
			if b, ok := v.bestOf(f, size); ok {
				out = append(out, b)
				break
			}
		}
	}
	return out
}

// loadMode is the mode in which throughput counts: saturated, if it was measured, else that of the first rows.
func (v *view) loadMode() string {
	if slices.ContainsFunc(v.families, func(f family) bool { return f.mode == record.ModeSaturated }) {
		return record.ModeSaturated
	}
	if len(v.families) > 0 {
		return v.families[0].mode
	}
	return ""
}

func (v *view) bestOf(f *family, size int) (best, bool) {
	b := best{family: f, size: size}
	for _, r := range f.rows {
		if r.Valid && r.Size == size && r.NodesPerS != nil && r.NodesPerS.Median > 0 && v.durable(r) {
			b.ranked = append(b.ranked, r)
		}
	}
	if len(b.ranked) < 2 {
		return b, false
	}
	slices.SortStableFunc(b.ranked, func(x, y *record.Row) int {
		switch {
		case x.NodesPerS.Median > y.NodesPerS.Median:
			return -1
		case x.NodesPerS.Median < y.NodesPerS.Median:
			return 1
		}
		return 0
	})
	b.decided = v.faster(b.ranked[0], b.ranked[1])
	return b, true
}

// faster reports that the runs show a to be faster than b. The record decides if one of them is its baseline; else its runs do, by the
// same test. Without runs, intervals that do not meet decide.
func (v *view) faster(a, b *record.Row) bool {
	if d := v.summary.Difference(a.Key(), record.FigureTime); d != nil && d.Baseline == b.Backend {
		return d.Decision == record.Better
	}
	if d := v.summary.Difference(b.Key(), record.FigureTime); d != nil && d.Baseline == a.Backend {
		return d.Decision == record.Worse
	}
	if len(v.samples[a.Key()]) == 0 || len(v.samples[b.Key()]) == 0 {
		return a.NodesPerS.Lo > b.NodesPerS.Hi && a.Runs > 1
	}
	var runs []record.Sample
	for _, r := range []*record.Row{a, b} {
		for _, s := range v.samples[r.Key()] {
			runs = append(runs, *s)
		}
	}
	return slices.ContainsFunc(stats.Differences(runs, b.Backend), func(d record.Difference) bool {
		return d.Figure == record.FigureTime && d.Decision == record.Better
	})
}

// durable reports that a row is of a backend with a database, or that no row is.
func (v *view) durable(r *record.Row) bool {
	return r.RowsReadPerNode != nil || r.WALBytesPerNode != nil || !slices.ContainsFunc(v.summary.Rows, func(o record.Row) bool {
		return o.Scenario == r.Scenario && (o.RowsReadPerNode != nil || o.WALBytesPerNode != nil)
	})
}

// sizeList is ascending, of the valid rows.
func (f *family) sizeList() []int {
	var out []int
	for _, r := range f.rows {
		if r.Valid && !slices.Contains(out, r.Size) {
			out = append(out, r.Size)
		}
	}
	slices.Sort(out)
	return out
}
