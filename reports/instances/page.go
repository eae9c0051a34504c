package instances

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"pulley/bench/outline"
	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/inspect"
	"pulley/internal/clip"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/units"
)

// Bounds of a page.
const (
	valueMost = 20_000 // runes of a value
	nameMost  = 200    // runes of a name, and of a reason
	rowsMost  = 200    // of a table
)

// Lay lays out the page of an instance, which must not be unknown.
func Lay(s backend.Snapshot, tool string) *page.Page {
	why := inspect.Explain(s)
	p := &page.Page{Kind: "instance", Answer: clip.Runes(units.Printable(why.Sentence), 2*nameMost), State: StateOf(s.Status), Tool: tool}
	p.Facts = append(p.Facts, "workflow "+workflow(s), "submitted "+inspect.Moment(s.Submitted))
	if s.Ended.IsZero() {
		p.Facts = append(p.Facts, "it runs for "+inspect.Pause(s.Now.Sub(s.Submitted))+", as of "+inspect.Moment(s.Now)+"; reload the page for a later moment")
	} else {
		p.Facts = append(p.Facts, "ended "+inspect.Moment(s.Ended)+", after "+inspect.Pause(s.Ended.Sub(s.Submitted)))
	}
	p.Facts = append(p.Facts, "instance "+s.ID.String())
	if s.Program != nil {
		p.First = append(p.First, page.Block{Drawing: drawing(s)})
	}
	if s.Status == backend.Running {
		p.Add(page.Section{ID: "waits", Title: "What it waits for", Lead: "Node runs that have not ended, and barriers that are not full; the first decides.", Blocks: []page.Block{{Table: waits(why)}}})
	}
	p.Add(page.Section{ID: "end", Title: "What it came to", Blocks: []page.Block{value("Result", s.Result), failure(s)}})
	p.Add(page.Section{ID: "input", Title: "Its input", Blocks: []page.Block{value("", s.Input)}})
	if s.Program != nil {
		p.Add(page.Section{ID: "nodes", Title: "Its nodes", Lead: "Every node of the compiled workflow, and where the instance stands at it.", Folded: true, Blocks: []page.Block{{Table: nodes(s)}}})
	}
	return p
}

// StateOf marks a status.
func StateOf(status backend.Status) page.State {
	switch status {
	case backend.Completed:
		return page.State{Text: "Completed", Mark: page.Good}
	case backend.Failed:
		return page.State{Text: "Failed", Mark: page.Bad}
	case backend.Canceled:
		return page.State{Text: "Canceled", Mark: page.Unclear}
	case backend.Running:
		return page.State{Text: "Running", Mark: page.Unclear}
	}
	return page.State{Text: "Unknown", Mark: page.Unclear}
}

func workflow(s backend.Snapshot) string {
	if s.Program == nil {
		return "of a version that this pulley cannot read"
	}
	return clip.Runes(units.Printable(s.Program.Graph().Name), nameMost)
}

func drawing(s backend.Snapshot) *page.Drawing {
	g, marks := s.Program.Graph(), map[graph.NodeID]string{}
	for _, n := range g.Nodes {
		if text := inspect.Standing(s, n); text != "" {
			marks[n.ID] = "◀ " + text
		}
	}
	says := "Each box is an action, and an arrow leads to what follows it. Where the instance stands is behind the names."
	if s.Status != backend.Running {
		says = "Each box is an action, and an arrow leads to what follows it. The instance has ended: it stands nowhere."
	}
	w := chart.Workflow{Name: "workflow", Title: "The workflow " + workflow(s), Says: says, Graph: outline.Marked(g, s.Done, marks)}
	return &page.Drawing{Inline: w.Inline(), Says: says}
}

func waits(why inspect.Explanation) *page.Table {
	t := &page.Table{Says: "What the instance waits for", Heads: []page.Head{
		{Name: "Node run", Words: true}, {Name: "Waits for", Words: true}, {Name: "Since or until", Words: true}, {Name: "Attempt"}, {Name: "Engine", Words: true}, {Name: "More", Words: true},
	}}
	for i, w := range why.Waits {
		if i == rowsMost {
			break
		}
		attempt := page.Cell{Text: "–", HasValue: true}
		if w.Attempt > 0 {
			attempt = page.Whole(w.Attempt)
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{
			words(cmp.Or(w.Node, "–")), words(string(w.Reason)), words(when(w)), attempt, words(cmp.Or(w.Engine, "–")), words(more(w)),
		}})
	}
	return t
}

func when(w inspect.Wait) string {
	switch {
	case w.Until != nil:
		return "until " + inspect.Moment(*w.Until)
	case w.Since != nil:
		return "since " + inspect.Moment(*w.Since)
	}
	return "–"
}

func more(w inspect.Wait) string {
	switch {
	case w.Signal != "":
		return "signal " + w.Signal
	case w.Limit != "":
		return "limit " + w.Limit + ": " + w.Detail
	case w.Completed != nil && w.Required != nil:
		return fmt.Sprintf("%d of %d arrivals", *w.Completed, *w.Required)
	case w.Completed != nil:
		return fmt.Sprintf("%d arrivals", *w.Completed)
	}
	return w.Detail
}

func words(text string) page.Cell {
	return page.Cell{Text: clip.Runes(units.Printable(text), nameMost), Wrap: true}
}

func value(heading string, v json.RawMessage) page.Block {
	if len(v) == 0 {
		return page.Block{}
	}
	text := string(v)
	var indented bytes.Buffer
	if json.Indent(&indented, v, "", "  ") == nil {
		text = indented.String()
	}
	return page.Block{Heading: heading, Code: clip.Runes(text, valueMost)}
}

func failure(s backend.Snapshot) page.Block {
	if s.Failure == nil {
		return page.Block{}
	}
	return page.Block{Heading: "Error", Code: clip.Runes(units.Printable(s.Failure.String()), valueMost)}
}

func nodes(s backend.Snapshot) *page.Table {
	t := &page.Table{Says: "The nodes of the workflow", Heads: []page.Head{
		{Name: "Node", Words: true}, {Name: "Kind", Words: true}, {Name: "Action", Words: true}, {Name: "Line"}, {Name: "Where it stands", Words: true},
	}}
	for i, n := range s.Program.Graph().Nodes {
		if i == rowsMost {
			break
		}
		line := page.Cell{Text: "–", HasValue: true}
		if n.Pos.Line > 0 {
			line = page.Whole(n.Pos.Line)
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{words(n.Name), words(string(n.Kind)), words(cmp.Or(n.Action, "–")), line, words(cmp.Or(inspect.Standing(s, n), "–"))}})
	}
	return t
}

func counted(n, most int) string {
	if n >= most {
		return strconv.Itoa(most) + "+"
	}
	return strconv.Itoa(n)
}

func age(now, then time.Time) string { return inspect.Pause(now.Sub(then)) }
