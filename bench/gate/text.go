package gate

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"pulley/internal/aligned"
	"pulley/reports/record"
)

// Units of figures. Any other word follows the number as it is.
const (
	UnitSeconds        = "s"
	UnitBytes          = "B"
	UnitBytesPerSecond = "B/s"
	UnitCount          = ""
)

// WriteText writes the report as a table for a terminal, below its sentence.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n", printable(r.Sentence))
	how := "groups (Mann–Whitney)"
	if r.Paired {
		how = "pairs (Wilcoxon)"
	}
	fmt.Fprintf(&b, "baseline %s, candidate %s; %s, Holm, alpha %v, margin %s\n", printable(r.Baseline), printable(r.Candidate), how, r.Alpha, percent(r.Margin))
	row := ""
	var t [][]string
	flush := func() {
		aligned.Write(&b, t, func(i int) bool { return i == 0 || i == len(t[0])-1 })
		t = nil
	}
	for i := range r.Lines {
		l := &r.Lines[i]
		if l.Row != row {
			flush()
			row = l.Row
			fmt.Fprintf(&b, "\n%s\n", printable(row))
			t = append(t, []string{"", "baseline", "candidate", "ratio", "interval", "p", "runs", ""})
		}
		t = append(t, l.cells())
	}
	flush()
	writeList(&b, "Only in "+r.Baseline, r.OnlyBaseline)
	writeList(&b, "Only in "+r.Candidate, r.OnlyCandidate)
	writeList(&b, "Doubts", r.Doubts)
	writeList(&b, "Notes", r.Notes)
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	return nil
}

func (l *Line) cells() []string {
	cells := []string{printable(l.Figure), format(l.Baseline, l.Unit), format(l.Candidate, l.Unit), "", "", "", "", ""}
	cells[6] = fmt.Sprintf("%d+%d", l.BaselineRuns, l.CandidateRuns)
	if l.NotCompared != "" {
		cells[7] = "not compared: " + l.NotCompared
		return cells
	}
	if l.Ratio != nil {
		cells[3] = fmt.Sprintf("%.3f", l.Ratio.Median)
		cells[4] = fmt.Sprintf("[%.3f, %.3f]", l.Ratio.Lo, l.Ratio.Hi)
	}
	if l.P != nil {
		cells[5] = fmt.Sprintf("%.4f", *l.P)
	}
	if l.Exact {
		cells[4] = "exact"
	}
	cells[7] = verdict(l.Decision)
	return cells
}

func verdict(d record.Decision) string {
	if d == record.Unclear {
		return d.Mark()
	}
	return string(d)
}

func writeList(b *bytes.Buffer, head string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", printable(head))
	for _, item := range items {
		fmt.Fprintf(b, "  %s\n", printable(item))
	}
}

func format(v *float64, unit string) string {
	if v == nil {
		return "–"
	}
	switch unit {
	case UnitSeconds:
		return scaled(*v*1e9, []string{" ns", " µs", " ms", " s"})
	case UnitBytes:
		return scaled(*v, []string{" B", " kB", " MB", " GB"})
	case UnitBytesPerSecond:
		return scaled(*v, []string{" B/s", " kB/s", " MB/s", " GB/s"})
	case UnitCount:
		return digits(*v)
	}
	return digits(*v) + " " + printable(unit)
}

// scaled shows v in the largest of units, each a thousand times the previous, in which it is at least one.
func scaled(v float64, units []string) string {
	i := 0
	for i < len(units)-1 && math.Abs(v) >= 999.95 {
		v, i = v/1000, i+1
	}
	return digits(v) + units[i]
}

func digits(v float64) string {
	switch size := math.Abs(v); {
	case v == math.Trunc(v) && size < 1e15:
		return fmt.Sprintf("%.0f", v)
	case size >= 1000:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// printable replaces control characters, which could move a cursor or break a line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}
