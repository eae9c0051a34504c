package page

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"

	"pulley/reports/chart"
	"pulley/reports/units"
)

// Bounds of a page as Markdown: a pull request and a job's summary cut long texts off.
const (
	markdownRows    = 40
	markdownColumns = 100
	markdownCode    = 4000
	markdownBytes   = 60_000
)

// WriteMarkdown writes the page for a pull request or a job's summary. Tables have at most 40 rows and say how many they leave
// out; charts of the first screen are drawn with characters, the others say what one sees. Sections that would make it longer than
// a pull request shows are named, and left out.
func (p *Page) WriteMarkdown(w io.Writer) error {
	m := &markdown{}
	m.line("# %s", marked(p.Answer))
	m.line("%s **%s**", p.State.Mark.Sign(), marked(p.State.Text))
	facts := append([]string{"pulley " + p.Kind}, p.Facts...)
	m.line("%s", marked(strings.Join(facts, " · ")))
	for _, b := range p.First {
		m.block(b, true)
	}
	var left []string
	for _, s := range p.Sections {
		before := m.b.Len()
		m.section(s)
		if m.b.Len() > markdownBytes {
			m.b.Truncate(before)
			left = append(left, s.Title)
		}
	}
	if len(left) > 0 {
		m.line("The HTML page has more: %s.", marked(units.List(left)))
	}
	if p.Repeat != "" {
		m.line("## Repeat this")
		m.code(p.Repeat)
	}
	if p.Tool != "" {
		m.line("Made by %s.", marked(p.Tool))
	}
	return written(w, &m.b)
}

func written(w io.Writer, b *bytes.Buffer) error {
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

type markdown struct{ b bytes.Buffer }

// line writes a paragraph.
func (m *markdown) line(format string, args ...any) {
	if m.b.Len() > 0 {
		m.b.WriteByte('\n')
	}
	fmt.Fprintf(&m.b, format+"\n", args...)
}

// markers have a meaning in Markdown. An underscore within a word has none there.
var markers = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "@", "@\u200b")

// marked is text as Markdown shows it. An "@" names nobody.
func marked(text string) string {
	runes := []rune(markers.Replace(units.Printable(text)))
	var b strings.Builder
	for i, r := range runes {
		if r == '_' && (i == 0 || i == len(runes)-1 || !isWord(runes[i-1]) || !isWord(runes[i+1])) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.In(r, unicode.L, unicode.N) }

func (m *markdown) section(s Section) {
	m.line("## %s", marked(s.Title))
	if s.Lead != "" {
		m.line("%s", marked(s.Lead))
	}
	if s.Folded {
		m.line("<details><summary>Show %s</summary>", marked(s.Title))
	}
	for _, b := range s.Blocks {
		m.block(b, false)
	}
	if s.Folded {
		m.line("</details>")
	}
}

func (m *markdown) block(b Block, first bool) {
	if b.Fold != "" {
		m.line("<details><summary>%s</summary>", marked(b.Fold))
		defer m.line("</details>")
	}
	if b.Heading != "" {
		m.line("### %s", marked(b.Heading))
	}
	switch {
	case b.Text != "":
		m.line("%s", marked(b.Text))
	case len(b.Charts) > 0:
		for _, c := range b.Charts {
			m.chart(c, first)
		}
	case b.Table != nil:
		m.table(b.Table)
	case b.Heat != nil:
		m.heat(b.Heat)
	case len(b.List) > 0:
		m.b.WriteByte('\n')
		for _, item := range b.List {
			fmt.Fprintf(&m.b, "- %s\n", marked(item.line()))
		}
	case b.Code != "":
		m.code(b.Code)
	case len(b.Entries) > 0:
		m.b.WriteByte('\n')
		for _, e := range b.Entries {
			fmt.Fprintf(&m.b, "- **%s**: %s\n", marked(e.Name), marked(e.Text))
		}
	case b.Drawing != nil:
		m.line("%s (The drawing is on the HTML page.)", marked(b.Drawing.Says))
	}
}

func (i Item) line() string {
	if i.Where == "" {
		return i.Text
	}
	return i.Text + " (" + i.Where + ")"
}

func (m *markdown) chart(c *chart.Plot, first bool) {
	if first {
		var drawn bytes.Buffer
		c.WriteText(&drawn, markdownColumns)
		if drawn.Len() > 0 {
			m.code(drawn.String())
			if c.Hint != "" {
				m.line("%s", marked(c.Hint))
			}
			return
		}
	}
	m.line("**%s.** %s", marked(strings.TrimSuffix(c.Title, ".")), marked(said(c)))
}

// said is what one sees in a chart, or how it came about if nobody wrote that down.
func said(c *chart.Plot) string {
	switch {
	case c.Says != "":
		return c.Says
	case c.Method != "":
		return c.Method
	}
	return "It is drawn on the HTML page."
}

// code keeps a text's lines, in a fence that the text does not end.
func (m *markdown) code(text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.line("%s", fence)
	for line := range strings.Lines(units.Clip(text, markdownCode)) {
		m.b.WriteString(strings.TrimRight(units.Printable(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")), " ") + "\n")
	}
	m.b.WriteString(fence + "\n")
}

func (m *markdown) table(t *Table) {
	if t.Says != "" {
		m.line("%s", marked(t.Says))
	}
	var heads, rules []string
	for _, h := range t.Heads {
		heads = append(heads, marked(h.text()))
		if h.Words {
			rules = append(rules, ":--")
		} else {
			rules = append(rules, "--:")
		}
	}
	var rows [][]string
	for _, r := range t.Rows[:min(len(t.Rows), markdownRows)] {
		var cells []string
		for i, c := range r.Cells {
			text := marked(c.line())
			if r.Doubtful && i == 0 {
				text += " (doubtful)"
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	m.rows(heads, rules, rows)
	if left := len(t.Rows) - markdownRows; left > 0 {
		m.line("%s more.", units.Plural(left, "row"))
	}
}

func (m *markdown) rows(heads, rules []string, rows [][]string) {
	m.line("| %s |", strings.Join(heads, " | "))
	fmt.Fprintf(&m.b, "| %s |\n", strings.Join(rules, " | "))
	for _, cells := range rows {
		fmt.Fprintf(&m.b, "| %s |\n", strings.Join(cells, " | "))
	}
}

func (h Head) text() string {
	if h.Unit == "" {
		return h.Name
	}
	return h.Name + ", " + h.Unit
}

// line is a cell without its colours: a mark has its sign.
func (c Cell) line() string {
	text := c.Text
	if c.Mark != "" {
		text = c.Mark.Sign() + " " + text
	}
	if c.Small != "" {
		text += " " + c.Small
	}
	return text
}

func (m *markdown) heat(h *Heat) {
	heads, rules := []string{""}, []string{":--"}
	for _, c := range h.Columns {
		heads, rules = append(heads, marked(c)), append(rules, "--:")
	}
	var rows [][]string
	for _, r := range h.Rows[:min(len(h.Rows), markdownRows)] {
		cells := []string{marked(r.Name)}
		for _, c := range r.Cells {
			text := marked(c.Text)
			if c.Best {
				text = "**" + text + "**"
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	m.line("%s", marked(h.Says))
	m.rows(heads, rules, rows)
	if left := len(h.Rows) - markdownRows; left > 0 {
		m.line("%s more.", units.Plural(left, "row"))
	}
}
