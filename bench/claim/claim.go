// Package claim judges claims: their figures with intervals, what is claimed of each, and the verdict. Measuring them is
// bench/claims' work.
package claim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pulley/bench/stats"
	"pulley/reports/record"
)

// Verdict is the result for a figure or a claim.
type Verdict string

// The verdicts.
const (
	Holds      Verdict = "holds"
	Fails      Verdict = "does not hold"
	Depends    Verdict = "depends"      // only some of a claim's figures hold
	Open       Verdict = "open"         // a figure's interval covers both sides
	Unmeasured Verdict = "not measured" // no valid figure

	// of figures that others published about their systems, which hold for their machines
	Compared Verdict = "compared"  // the same was measured here
	OursOnly Verdict = "ours only" // only our schedulers were, in the same shape
)

// Bound is the relation that is claimed of a figure.
type Bound string

// The bounds.
const (
	AtLeast   Bound = "at least"
	AtMost    Bound = "at most"
	About     Bound = "about" // within Figure.Tolerance of it
	Alongside Bound = ""      // nothing is claimed: the figure gives context
)

// Figure is one measured number of a claim.
type Figure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`

	Bound     Bound   `json:"bound"`
	Claimed   float64 `json:"claimed"`             // in Unit
	Tolerance float64 `json:"tolerance,omitempty"` // in Unit: of About

	// Median, Lo and Hi summarize Runs; null if nothing valid was measured, for the reason in Note.
	Median *float64 `json:"median"`
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
	Runs   int      `json:"runs"`
	Note   string   `json:"note,omitempty"`

	Verdict Verdict `json:"verdict"`
}

// Claim is a claim and its figures.
type Claim struct {
	ID     string `json:"id"`
	Text   string `json:"claim"`
	Source string `json:"source"` // the document, and where in it
	// Published is what others published about their system; nil unless that is the claim.
	Published *Published `json:"published,omitempty"`
	Method    string     `json:"method"`
	Figures   []Figure   `json:"figures"`
	Verdict   Verdict    `json:"verdict"`
	Why       string     `json:"why"`
	Command   string     `json:"command"` // measures it again
}

// Measure returns the figure with the median and interval of its runs, and its verdict.
func (f Figure) Measure(values []float64) Figure {
	got := stats.MedianInterval(values, stats.Confidence)
	if got.N == 0 {
		return f.Missing("no valid run has it")
	}
	return f.Interval(got.Median, got.Lo, got.Hi, got.N)
}

// Interval returns the figure with these values, in its unit, and its verdict.
func (f Figure) Interval(median, lo, hi float64, runs int) Figure {
	if math.IsNaN(median) || math.IsInf(median, 0) {
		return f.Missing("it is not a number")
	}
	f.Median, f.Lo, f.Hi, f.Runs = &median, &lo, &hi, runs
	f.Verdict = f.judge(lo, hi)
	return f
}

// Missing returns the figure as one that was not measured, with the reason.
func (f Figure) Missing(why string) Figure {
	f.Note, f.Verdict = why, Unmeasured
	return f
}

func (f Figure) judge(lo, hi float64) Verdict {
	least, most := math.Inf(-1), math.Inf(1)
	switch f.Bound {
	case AtLeast:
		least = f.Claimed
	case AtMost:
		most = f.Claimed
	case About:
		least, most = f.Claimed-f.Tolerance, f.Claimed+f.Tolerance
	}
	switch {
	case least <= lo && hi <= most:
		return Holds
	case hi < least || most < lo:
		return Fails
	}
	return Open
}

// Wanted formats what is claimed of the figure: "at least 10 ×".
func (f Figure) Wanted() string {
	text := strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Bound, Number(f.Claimed), f.Unit))
	if f.Bound == About {
		text += fmt.Sprintf(" (within %s)", Number(f.Tolerance))
	}
	return text
}

// Judge returns the claim with the verdict of its figures, and why it is that. The verdict of a claim that has one already stays.
func (c Claim) Judge() Claim {
	count := map[Verdict]int{}
	var held, failed, open, missing []string
	for _, f := range c.Figures {
		if f.Bound == Alongside && f.Verdict != Unmeasured {
			continue
		}
		count[f.Verdict]++
		switch f.Verdict {
		case Holds:
			held = append(held, f.Name)
		case Fails:
			failed = append(failed, f.Name)
		case Open:
			open = append(open, f.Name)
		case Unmeasured:
			missing = append(missing, fmt.Sprintf("%s (%s)", f.Name, f.Note))
		}
	}
	switch {
	case c.Verdict != "" && len(missing) < len(c.Figures): // of another's figure, nothing is claimed
	case len(held)+len(failed)+len(open) == 0:
		c.Verdict = Unmeasured
	case len(failed)+len(open) == 0:
		c.Verdict = Holds
	case len(held)+len(open) == 0:
		c.Verdict = Fails
	default:
		c.Verdict = Depends
	}
	var reasons []string
	add := func(label string, names []string) {
		if len(names) > 0 {
			reasons = append(reasons, label+": "+strings.Join(names, "; "))
		}
	}
	if c.Verdict == Depends {
		add("holds", held)
		add("does not", failed)
		add("open, more runs would tell", open)
	}
	add("not measured", missing)
	if c.Why != "" {
		reasons = append(reasons, c.Why)
	}
	c.Why = strings.Join(reasons, ". ")
	return c
}

// Measured reports whether every figure was measured.
func (c Claim) Measured() bool {
	return len(c.Figures) > 0 && !slices.ContainsFunc(c.Figures, func(f Figure) bool { return f.Verdict == Unmeasured })
}

// Number formats three significant digits, whole numbers in full.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) && a < 1e15:
		return Grouped(fmt.Sprintf("%.0f", v))
	case a >= 1000:
		return Grouped(fmt.Sprintf("%.0f", v))
	}
	return fmt.Sprintf("%.3g", v)
}

// Grouped separates the thousands of a decimal number by commas.
func Grouped(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Published is a figure that others published about their own system, with what it was measured on, as far as they say. Empty, or
// zero, is what the source does not say.
type Published struct {
	By         string  `json:"by"`
	System     string  `json:"system"` // the name of its adapter; empty: Postgres itself
	Figure     float64 `json:"figure"`
	Unit       string  `json:"unit"`
	Shape      string  `json:"shape"` // what was run, and under which load
	Hardware   string  `json:"hardware"`
	Cores      int     `json:"cores,omitempty"` // of the database's machine
	Durability string  `json:"durability"`
	Date       string  `json:"date"`
	Address    string  `json:"address"`
	// Differs says what differs between that shape and the one that is measured here, to whose advantage.
	Differs string `json:"differs"`
}

// Report is what pulley claims found.
type Report struct {
	Command   []string         `json:"command"`
	Tool      record.Tool      `json:"tool"`
	Host      record.Host      `json:"host"`
	Postgres  *record.Postgres `json:"postgres"`
	StartedAt time.Time        `json:"started_at"`
	EndedAt   time.Time        `json:"ended_at"`
	Claims    []Claim          `json:"claims"` // never null
}

// FileName is the file of a report.
const FileName = "claims.json"
