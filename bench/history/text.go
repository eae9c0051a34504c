package history

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/perf/benchunit"

	"pulley/internal/clip"
	"pulley/internal/plural"
)

// Report is the content of pulley history's JSON output.
type Report struct {
	Schema int `json:"schema"`
	// Command repeats the analysis; omitted where no command made it
	Command []string `json:"command,omitempty"`
	// History is the file, Runs its number of valid runs, Skipped its other lines.
	History string    `json:"history"`
	Runs    int       `json:"runs"`
	Skipped []Skipped `json:"skipped"`
	Series  []Finding `json:"series"`
}

// Undecided reports whether no series has enough runs to claim a change.
func (r *Report) Undecided() bool {
	return !slices.ContainsFunc(r.Series, func(f Finding) bool { return f.Enough })
}

// RecentWorse returns the findings with a recent change for the worse.
func (r *Report) RecentWorse() []Finding {
	var out []Finding
	for _, f := range r.Series {
		if slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Recent && c.Direction == Worse }) {
			out = append(out, f)
		}
	}
	return out
}

// nameMax is in characters.
const nameMax = 90

// WriteText writes a table of all series, grouped by conditions, and then every change with its revisions, latest first.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d series\n", r.History, plural.Of(r.Runs, "run"), len(r.Series))
	conditions := ""
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, f := range r.Series {
		if c := f.Conditions(); i == 0 || c != conditions {
			_ = table.Flush()
			conditions = c
			fmt.Fprintf(&b, "\n%s\n", c)
			fmt.Fprintln(table, "  series\truns\tlevel\tlast\ttrend\tchanges")
		}
		fmt.Fprintf(table, "  %s\t%d\t%s\t%s\t%s\t%s\n", clip.Runes(f.Name(), nameMax), f.Runs, FormatValue(f.Figure, f.Level),
			FormatValue(f.Figure, f.LastValue), Spark(f.Values, sparkWidth), f.changesText())
	}
	_ = table.Flush()
	b.WriteString(r.changesText())
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *Finding) changesText() string {
	switch {
	case !f.Enough:
		return "too few runs"
	case len(f.Changes) == 0:
		return "none"
	}
	last := f.Changes[len(f.Changes)-1]
	return fmt.Sprintf("%d, last %s", len(f.Changes), last.Direction)
}

func (r *Report) changesText() string {
	type change struct {
		*Finding
		Change
	}
	var all []change
	for i := range r.Series {
		for _, c := range r.Series[i].Changes {
			all = append(all, change{&r.Series[i], c})
		}
	}
	if len(all) == 0 {
		return "\nNo change is shown.\n"
	}
	slices.SortStableFunc(all, func(a, b change) int { return b.After.Time.Compare(a.After.Time) })
	var b strings.Builder
	b.WriteString("\nChanges, the latest first:\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\n  %s: %s\n", clip.Runes(c.Name(), nameMax), c.sentence(c.Figure))
		fmt.Fprintf(&b, "    before  %s  %s, %s\n", c.Before, plural.Of(c.RunsBefore, "run"), c.Before.Time.Format(timeForm))
		fmt.Fprintf(&b, "    after   %s  %s, from %s on\n", c.After, plural.Of(c.RunsAfter, "run"), c.After.Time.Format(timeForm))
		fmt.Fprintf(&b, "    %s\n", c.Commits())
	}
	return b.String()
}

const timeForm = "2006-01-02 15:04"

// sentence formats "worse, × 0.90 [0.89, 0.91], from 1.000k/s to 900/s, p = 0.001".
func (c *Change) sentence(figure string) string {
	direction := c.Direction
	if direction == Unknown {
		direction = "changed"
	}
	text := direction
	if c.Ratio != nil {
		text += fmt.Sprintf(", × %.3g [%.3g, %.3g]", c.Ratio.Estimate, c.Ratio.Lo, c.Ratio.Hi)
		if c.Confidence < 0.95 {
			text += fmt.Sprintf(" (at %.2g %%)", 100*c.Confidence)
		}
	}
	return text + fmt.Sprintf(", from %s to %s, p = %.2g", FormatValue(figure, c.LevelBefore), FormatValue(figure, c.LevelAfter), c.P)
}

// Commits names the commits among which the cause lies.
func (c *Change) Commits() string {
	before, after := c.Before.Revision, c.After.Revision
	switch {
	case before == "" || after == "":
		return "the commits are not known: runs must say their revision"
	case before == after && (c.Before.Modified || c.After.Modified):
		return "no commit lies between: a change that was not committed, or something outside of the source"
	case before == after:
		return "no commit lies between: something outside of the source changed"
	}
	return fmt.Sprintf("git log %s..%s", short(before), short(after))
}

// String is the short revision, with a + if the source differed from it.
func (p Place) String() string {
	text := short(p.Revision)
	if p.Revision == "" {
		text = "(unknown)"
	}
	if p.Modified {
		text += "+"
	}
	return text
}

func short(revision string) string { return revision[:min(len(revision), 12)] }

// FormatValue formats a value with the unit in the figure's name, if any.
func FormatValue(figure string, v float64) string {
	switch {
	case strings.HasSuffix(figure, "_ns"):
		return benchunit.Scale(v/1e9, benchunit.Decimal) + "s"
	case strings.HasSuffix(figure, "_per_s"):
		return benchunit.Scale(v, benchunit.Decimal) + "/s"
	case strings.HasSuffix(figure, "_bytes_per_node"):
		return fmt.Sprintf("%.4g B", v)
	case strings.HasSuffix(figure, "_per_node"):
		return fmt.Sprintf("%.4g", v)
	case strings.HasPrefix(figure, "sec/"):
		return benchunit.Scale(v, benchunit.Decimal) + "s"
	}
	return benchunit.Scale(v, benchunit.ClassOf(figure))
}

const sparkWidth = 24

var sparks = []rune("▁▂▃▄▅▆▇█")

// Spark draws values as bars of eight heights, from the smallest to the largest, at most width of them: more values are
// averaged with neighbours. Equal values are of middle height.
func Spark(values []float64, width int) string {
	if n := len(values); n > width {
		means := make([]float64, width)
		for i := range means {
			part := values[i*n/width : (i+1)*n/width]
			for _, v := range part {
				means[i] += v / float64(len(part))
			}
		}
		values = means
	}
	if len(values) == 0 {
		return ""
	}
	lo, hi := slices.Min(values), slices.Max(values)
	var b strings.Builder
	b.Grow(len(values) * utf8.UTFMax)
	for _, v := range values {
		place := len(sparks)/2 - 1
		if hi > lo {
			place = int(math.Round((v/2 - lo/2) / (hi/2 - lo/2) * float64(len(sparks)-1)))
		}
		b.WriteRune(sparks[min(max(place, 0), len(sparks)-1)])
	}
	return b.String()
}
