package page

import (
	"fmt"
	"strings"

	"pulley/reports/chart"
	"pulley/reports/units"
)

// Part is a page as a part of another.
type Part struct {
	// Name is where its record lies: a folder.
	Name string
	Page *Page
}

// Join puts pages onto one, a part after the other, below an index. Section ids, names of charts and names of files begin with
// the part's number, so that each stays unique. A single part is its own page.
func Join(parts []Part) *Page {
	if len(parts) == 1 {
		return parts[0].Page
	}
	out := &Page{
		Kind: "report", Answer: fmt.Sprintf("%s on one page.", units.Plural(len(parts), "record")), State: joinedState(parts),
		First: []Block{{Table: index(parts)}},
	}
	var commands, tools []string
	for i, part := range parts {
		p, n := part.Page, i+1
		prefix := fmt.Sprintf("part-%d", n)
		head := Section{ID: prefix, Title: fmt.Sprintf("%d. %s: %s", n, p.Kind, units.Clip(part.Name, 60)), Lead: p.Answer}
		head.Blocks = append(head.Blocks, Block{Text: p.State.Mark.Sign() + " " + p.State.Text})
		if len(p.Facts) > 0 {
			head.Blocks = append(head.Blocks, Block{Text: strings.Join(p.Facts, " · ")})
		}
		head.Blocks = append(head.Blocks, numbered(p.First, n)...)
		out.Sections = append(out.Sections, head)
		for _, s := range p.Sections {
			s.ID, s.Title, s.Blocks = prefix+"-"+s.ID, fmt.Sprintf("%d. %s", n, s.Title), numbered(s.Blocks, n)
			out.Sections = append(out.Sections, s)
		}
		for _, f := range p.Record {
			out.Record = append(out.Record, File{fmt.Sprintf("%d/%s", n, f.Name), f.Data})
		}
		commands, tools = appendNew(commands, p.Repeat), appendNew(tools, p.Tool)
	}
	out.Repeat, out.Tool = strings.Join(commands, "\n"), strings.Join(tools, "; ")
	return out
}

func appendNew(list []string, text string) []string {
	for _, have := range list {
		if have == text {
			return list
		}
	}
	if text == "" {
		return list
	}
	return append(list, text)
}

// joinedState is as good as the worst part.
func joinedState(parts []Part) State {
	counts := map[Mark]int{}
	for _, part := range parts {
		counts[part.Page.State.Mark]++
	}
	switch bad, unclear := counts[Bad], counts[Unclear]; {
	case bad > 0:
		return State{Text: fmt.Sprintf("Something speaks against %d of %d.", bad, len(parts)), Mark: Bad}
	case unclear > 0:
		return State{Text: fmt.Sprintf("Not all is decided by %d of %d.", unclear, len(parts)), Mark: Unclear}
	}
	return State{Text: "Nothing speaks against any of them.", Mark: Good}
}

func index(parts []Part) *Table {
	t := &Table{Says: "The records on this page", Heads: []Head{{Name: "part"}, {Name: "record", Words: true}, {Name: "of", Words: true}, {Name: "finding", Words: true}, {Name: "can it be relied on", Words: true}}}
	for i, part := range parts {
		p := part.Page
		t.Rows = append(t.Rows, Row{Cells: []Cell{Whole(i + 1), Words(part.Name), Words(p.Kind), {Text: p.Answer, Wrap: true}, {Text: p.State.Text, Wrap: true, Mark: p.State.Mark}}})
	}
	return t
}

// numbered copies the blocks; the pages that they are from stay as they are.
func numbered(blocks []Block, n int) []Block {
	out := make([]Block, len(blocks))
	for i, b := range blocks {
		var charts []*chart.Plot
		for _, c := range b.Charts {
			copied := *c
			copied.Name = fmt.Sprintf("%d-%s", n, c.Name)
			charts = append(charts, &copied)
		}
		b.Charts = charts
		out[i] = b
	}
	return out
}
