package live

import (
	"fmt"
	"strings"
	"time"

	"pulley/reports/record"
)

// bucket bounds how fast lines are printed: many at once, and then one a second.
type bucket struct {
	left    float64
	at      time.Time
	leftOut int
}

const (
	linesAtOnce = 40
	linesPerS   = 1
)

func (b *bucket) take(line string, now time.Time) (string, bool) {
	b.left = min(linesAtOnce, b.left+linesPerS*now.Sub(b.at).Seconds())
	b.at = now
	if b.left < 1 {
		b.leftOut++
		return "", false
	}
	b.left--
	if rest := b.rest(); rest != "" {
		line += " " + rest
	}
	return line, true
}

func (b *bucket) rest() string {
	n := b.leftOut
	b.leftOut = 0
	switch n {
	case 0:
		return ""
	case 1:
		return "(one line before this is left out)"
	}
	return fmt.Sprintf("(%d lines before this are left out)", n)
}

const barCells = 20

// text is the line of a terminal: how far, then what, and the last warning in at most a third of it.
func text(p *record.Progress, width int) string {
	var parts []string
	if p.Total > 0 {
		parts = append(parts, bar(p.Done/p.Total))
	}
	parts = append(parts, counts(p)...)
	warning := ""
	if p.Warning != "" {
		warning = Clip("! "+p.Warning, max(width/3, 1))
	}
	for _, part := range []string{p.What, p.Detail} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	line := strings.Join(parts, "  ")
	if warning == "" {
		return line
	}
	return Clip(line, width-Cells(warning)-2) + "  " + warning
}

func bar(share float64) string {
	full := int(min(max(share, 0), 1) * barCells)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barCells-full) + "]"
}

func counts(p *record.Progress) []string {
	var out []string
	switch {
	case p.Unit == "s" && p.Total > 0:
		out = append(out, clock(p.Done)+" of "+clock(p.Total))
	case p.Unit == "s":
		out = append(out, clock(p.Done))
	case p.Unit != "" && p.Total > 0:
		out = append(out, fmt.Sprintf("%.0f/%.0f %s", p.Done, p.Total, p.Unit))
	case p.Unit != "":
		out = append(out, fmt.Sprintf("%.0f %s", p.Done, p.Unit))
	}
	if p.RatePerS != nil {
		out = append(out, rate(*p.RatePerS))
	}
	if p.LeftS != nil && *p.LeftS >= 1 {
		out = append(out, "about "+clock(*p.LeftS)+" left")
	}
	return out
}

func rate(perS float64) string {
	switch {
	case perS >= 100:
		return fmt.Sprintf("%.0f/s", perS)
	case perS >= 1:
		return fmt.Sprintf("%.1f/s", perS)
	}
	return fmt.Sprintf("%.1f/min", perS*60)
}

// Counts is how far a run is: "5/12 runs, 30.0/min, about 12s left".
func Counts(p *record.Progress) string { return strings.Join(counts(p), ", ") }

// plain is a line of a log.
func plain(p *record.Progress) string {
	line := Counts(p)
	if what := strings.Trim(p.What+", "+p.Detail, ", "); what != "" {
		line += ": " + what
	}
	return line
}
