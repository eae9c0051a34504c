// Package page lays out a report. A [Page] says what a report has to say: one answer, the charts that show it, then sections from
// the most asked for to the raw rows. It is written as one HTML file, as Markdown for a pull request, or as text for a terminal;
// all three have the same words and figures in the same order, but for the command that repeats it: HTML has that folded at its top, the
// others at the end.
//
// The HTML page is self-contained and opens offline. Its policy admits its own style sheet and its own script, by their hashes, and
// nothing else: no request, no other script, no style in an attribute. All texts are escaped. Without its script, it lacks only
// pointing, zooming, hiding and sorting. It carries the record that it was made from, compressed; [Extract] gives that back.
package page

import "pulley/reports/chart"

// Page is a report.
type Page struct {
	// Kind is the command: "compare".
	Kind string
	// Answer is the finding in at most twenty words.
	Answer string
	// State is whether the finding can be relied on, in one sentence.
	State State
	// Facts are how it was measured, each a few words.
	Facts []string
	// First is beneath the answer, before the contents.
	First    []Block
	Sections []Section
	// Repeat is the command that makes such a record again; empty: unknown.
	Repeat string
	// Tool is the program that wrote the record.
	Tool string
	// Record is the files that the report was made from.
	Record []File
}

// State is the credibility of a record.
type State struct {
	Text string
	Mark Mark
}

// Mark is a judgement. It is shown by a sign and a word, not by colour alone.
type Mark string

// The marks.
const (
	Good    Mark = "good"
	Bad     Mark = "bad"
	Unclear Mark = "unclear"
)

// Sign is one character.
func (m Mark) Sign() string {
	switch m {
	case Good:
		return "✓"
	case Bad:
		return "✗"
	}
	return "~"
}

// Section is a part of a report with a heading.
type Section struct {
	// ID is unique within a page, and stands in links to it.
	ID, Title string
	// Lead says how to read it.
	Lead   string
	Blocks []Block
	// Folded hides the blocks until a reader asks for them; paper has them all.
	Folded bool
}

// Block is one of a section's parts. Exactly one of the fields from Text to Entries is set.
type Block struct {
	// Heading is above it; empty: none.
	Heading string
	// Fold hides it under these words; empty: it is shown.
	Fold string

	Text   string
	Charts []*chart.Plot
	// Unequal gives the first of two charts more room.
	Unequal bool
	Table   *Table
	Heat    *Heat
	List    []Item
	Code    string
	Entries []Entry
	// Drawing is an SVG that another package drew, with a text for readers who do not see it.
	Drawing *Drawing
}

// Item is a sentence, and in smaller words where it applies.
type Item struct{ Text, Where string }

// Entry is a name and what it means.
type Entry struct{ Name, Text string }

// Drawing is a finished SVG file, or an element that package chart drew in the page's own colours.
type Drawing struct {
	SVG    []byte
	Inline string
	Says   string
}

// Table has a heading for every column. The first cell of a row is the row's heading.
type Table struct {
	// Says is what the table is, for readers who do not see it.
	Says  string
	Heads []Head
	Rows  []Row
}

// Head is the heading of a column.
type Head struct {
	Name, Unit string
	// Method is how its figures were measured.
	Method string
	// Words: its cells are words, not figures.
	Words bool
}

// Row is a row of a table. Doubtful ones are set back.
type Row struct {
	Cells    []Cell
	Doubtful bool
}

// Cell is a figure or words.
type Cell struct {
	Text string
	// Small is beneath it: an interval.
	Small string
	// Value sorts a column of figures, if HasValue; without it, words do. A Value of nil sorts last.
	Value    *float64
	HasValue bool
	// Wrap lets long words take several lines.
	Wrap bool
	Mark Mark
}

// Words returns a cell of words.
func Words(text string) Cell { return Cell{Text: text} }

// Figure returns a cell of a figure, or of a dash for nil.
func Figure(v *float64, format func(float64) string, small string) Cell {
	if v == nil {
		return Cell{Text: "–", HasValue: true}
	}
	return Cell{Text: format(*v), Small: small, Value: v, HasValue: true}
}

// Heat is a table of shades: how much each column's figure is above the best of its row.
type Heat struct {
	Says    string
	Columns []string
	Rows    []HeatRow
}

// HeatRow is a row of a heat table.
type HeatRow struct {
	Name  string
	Cells []HeatCell
}

// HeatCell is a figure's text, and its shade from 0 to 1. Note is said when it is pointed at.
type HeatCell struct {
	Text, Note string
	Shade      float64
	Best       bool
}

// File is a file of a record.
type File struct {
	Name string
	Data []byte
}
