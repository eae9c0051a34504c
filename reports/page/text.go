package page

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"pulley/internal/aligned"
	"pulley/reports/chart"
	"pulley/reports/units"
)

// Bounds of a page as text.
const (
	textColumns = 100
	textRows    = 60
	textCell    = 80
	textCode    = 20_000
)

// WriteText writes the page for a terminal: the words and figures of the HTML page in the same order. No text of a record
// reaches the terminal's control codes.
func (p *Page) WriteText(w io.Writer) error {
	t := &plain{}
	t.b.WriteString(units.Printable(p.Answer) + "\n")
	t.b.WriteString(p.State.Mark.Sign() + " " + units.Printable(p.State.Text) + "\n")
	facts := append([]string{"pulley " + p.Kind}, p.Facts...)
	t.paragraph(strings.Join(facts, " · "))
	for _, b := range p.First {
		t.block(b, true)
	}
	for _, s := range p.Sections {
		title := units.Printable(s.Title)
		fmt.Fprintf(&t.b, "\n%s\n%s\n", title, strings.Repeat("-", utf8.RuneCountInString(title)))
		t.paragraph(s.Lead)
		for _, b := range s.Blocks {
			t.block(b, false)
		}
	}
	if p.Repeat != "" {
		t.b.WriteString("\nRepeat this\n-----------\n")
		t.code(p.Repeat)
	}
	return written(w, &t.b)
}

type plain struct{ b bytes.Buffer }

// paragraph wraps at words.
func (t *plain) paragraph(text string) { t.hanging("", text) }

// hanging begins with a mark, and indents the lines that follow as far.
func (t *plain) hanging(mark, text string) {
	if text == "" {
		return
	}
	indent := strings.Repeat(" ", utf8.RuneCountInString(mark))
	line := mark
	for _, word := range strings.Fields(printableWords(text)) {
		if n := utf8.RuneCountInString(line); n > len(indent) && n+1+utf8.RuneCountInString(word) > textColumns {
			t.b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		if line != mark && line != indent {
			line += " "
		}
		line += word
	}
	t.b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// printableWords keeps white space apart from what a terminal must not see.
func printableWords(text string) string {
	return units.Printable(strings.Join(strings.Fields(text), " "))
}

func (t *plain) block(b Block, first bool) {
	t.b.WriteByte('\n')
	for _, heading := range []string{b.Fold, b.Heading} {
		if heading != "" {
			t.paragraph(heading + ":")
		}
	}
	switch {
	case b.Text != "":
		t.paragraph(b.Text)
	case len(b.Charts) > 0:
		for i, c := range b.Charts {
			if i > 0 && first {
				t.b.WriteByte('\n')
			}
			t.chart(c, first)
		}
	case b.Table != nil:
		t.table(b.Table)
	case b.Heat != nil:
		t.heat(b.Heat)
	case len(b.List) > 0:
		for _, item := range b.List {
			t.hanging("- ", item.line())
		}
	case b.Code != "":
		t.code(b.Code)
	case len(b.Entries) > 0:
		for _, e := range b.Entries {
			t.hanging("  ", e.Name+": "+e.Text)
		}
	case b.Drawing != nil:
		t.paragraph(b.Drawing.Says + " (The drawing is on the HTML page.)")
	}
}

func (t *plain) chart(c *chart.Plot, first bool) {
	if first {
		before := t.b.Len()
		c.WriteText(&t.b, textColumns)
		if t.b.Len() > before {
			t.paragraph(c.Hint)
			return
		}
	}
	t.hanging("- ", strings.TrimSuffix(c.Title, ".")+". "+said(c))
}

func (t *plain) code(text string) {
	for line := range strings.Lines(units.Clip(text, textCode)) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")
		t.b.WriteString(strings.TrimRight("  "+units.Printable(line), " ") + "\n")
	}
}

func (t *plain) table(table *Table) {
	t.paragraph(table.Says)
	var names, unitNames []string
	measured := false
	for _, h := range table.Heads {
		names, unitNames, measured = append(names, units.Printable(h.Name)), append(unitNames, units.Printable(h.Unit)), measured || h.Unit != ""
	}
	rows := [][]string{names}
	if measured {
		rows = append(rows, unitNames)
	}
	for _, r := range table.Rows[:min(len(table.Rows), textRows)] {
		var cells []string
		for i, c := range r.Cells {
			text := units.Clip(units.Printable(c.line()), textCell)
			if r.Doubtful && i == 0 {
				text += " (doubtful)"
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	aligned.Write(&t.b, rows, func(column int) bool { return column < len(table.Heads) && table.Heads[column].Words })
	t.left(len(table.Rows))
}

func (t *plain) left(rows int) {
	if left := rows - textRows; left > 0 {
		fmt.Fprintf(&t.b, "  %s more\n", units.Plural(left, "row"))
	}
}

func (t *plain) heat(h *Heat) {
	t.paragraph(h.Says)
	heads := []string{""}
	for _, c := range h.Columns {
		heads = append(heads, units.Clip(units.Printable(c), textCell))
	}
	rows := [][]string{heads}
	for _, r := range h.Rows[:min(len(h.Rows), textRows)] {
		cells := []string{units.Clip(units.Printable(r.Name), textCell)}
		for _, c := range r.Cells {
			cells = append(cells, units.Clip(units.Printable(c.Text), textCell))
		}
		rows = append(rows, cells)
	}
	aligned.Write(&t.b, rows, func(column int) bool { return column == 0 })
	t.left(len(h.Rows))
}
