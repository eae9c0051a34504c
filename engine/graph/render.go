package graph

import (
	"fmt"
	"strings"
)

// Text prints the graph as a list: every node with its kind, count and position, its ways out, and the values that it passes
// on.
func (g *Graph) Text() string { return g.TextWith(func(*Node) string { return "" }) }

// TextWith is Text with a note at the end of the line of each node that has one.
func (g *Graph) TextWith(note func(*Node) string) string {
	var b strings.Builder
	inline, frontier, barriers := 0, 0, 0
	for _, n := range g.Nodes {
		switch {
		case g.Waits(n):
			barriers++
			frontier++
		case g.Frontier(n):
			frontier++
		default:
			inline++
		}
	}
	fmt.Fprintf(&b, "graph %s: %d nodes: %d inline, %d frontier, of which %d wait for several\n", g.Name, len(g.Nodes), inline, frontier, barriers)
	data := map[NodeID][]*Edge{}
	for _, e := range g.DataEdges() {
		data[e.From] = append(data[e.From], e)
	}
	for _, n := range g.Nodes {
		fmt.Fprintf(&b, "%s%-10s %s%s", strings.Repeat("  ", n.Depth), n.Kind, n.Name, g.remarks(n))
		if text := note(n); text != "" {
			b.WriteString("  ◀ " + text)
		}
		b.WriteByte('\n')
		indent := strings.Repeat("  ", n.Depth) + "           "
		for _, e := range g.out[n.ID] {
			fmt.Fprintf(&b, "%s%s → %s\n", indent, g.label(e), g.Nodes[e.To].Name)
		}
		for _, e := range data[n.ID] {
			fmt.Fprintf(&b, "%sdata %s → %s\n", indent, g.Vars[e.Var].Name, g.Nodes[e.To].Name)
		}
	}
	return b.String()
}

func (g *Graph) remarks(n *Node) string {
	var out []string
	switch {
	case n.Kind == Input:
	case n.Kind == Aggregate && n.Required == 0:
		out = append(out, "required: number of elements")
	case g.Waits(n) || g.Frontier(n):
		out = append(out, fmt.Sprintf("required: %d", n.Required))
	}
	if !g.Frontier(n) {
		out = append(out, "inline")
	}
	out = append(out, g.details(n)...)
	if n.Pos.Line > 0 {
		out = append(out, fmt.Sprintf("line %d", n.Pos.Line))
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// details are policies, limits, and what a node collects.
func (g *Graph) details(n *Node) []string {
	var out []string
	for _, s := range n.Sets {
		if s.Append != nil {
			out = append(out, "appends to "+g.Vars[s.Targets[0]].Name)
		}
	}
	switch {
	case n.Kind == LoopHead && n.Expr != nil:
		out = append(out, "while "+n.Expr.Text)
	case n.Kind == Sleep && n.Expr != nil:
		out = append(out, n.Expr.Text+" s")
	}
	for _, r := range n.Retries {
		out = append(out, r.words())
	}
	if n.Timeout > 0 {
		out = append(out, fmt.Sprintf("timeout %v", n.Timeout))
	}
	if n.Limit > 0 {
		out = append(out, fmt.Sprintf("limit %d", n.Limit))
	}
	if n.Continue {
		out = append(out, "continues after an error")
	}
	return out
}

func (r Retry) words() string {
	text := fmt.Sprintf("retry %d", r.Count)
	if len(r.Types) > 0 {
		text += " of " + strings.Join(r.Types, ", ")
	}
	if r.Backoff > 0 {
		text += fmt.Sprintf(" after %v", r.Backoff)
	}
	return text
}

func (g *Graph) label(e *Edge) string {
	text := string(e.Kind)
	switch {
	case e.Kind == Guard && e.Guard == nil:
		text += " else"
	case e.Kind == Guard:
		text += " " + e.Guard.Text
	case len(e.Types) > 0:
		text += " " + strings.Join(e.Types, ", ")
	}
	if e.Kind == Exception && e.Var != None {
		text += " as " + g.Vars[e.Var].Name
	}
	return text
}

// nest visits the nodes of a region and then its inner regions, each between begin and end.
func (g *Graph) nest(r RegionID, begin func(id RegionID, title string), node func(*Node), end func()) {
	for _, n := range g.Nodes {
		if n.Region == r {
			node(n)
		}
	}
	for i := int(r) + 1; i < len(g.Regions); i++ {
		if g.Regions[i].Parent != r {
			continue
		}
		title := "branches"
		if g.Regions[i].Loop {
			title = "loop"
		}
		begin(RegionID(i), title)
		g.nest(RegionID(i), begin, node, end)
		end()
	}
}

// DOT renders the graph for Graphviz: frontier nodes as boxes, barriers doubled, inline ones round; loops and branches framed;
// error edges red; values dotted.
func (g *Graph) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=TB;\n  node [fontname=\"sans-serif\", fontsize=11];\n  edge [fontname=\"sans-serif\", fontsize=9];\n", quoteDOT(g.Name))
	g.nest(0, func(id RegionID, title string) {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n  label=%s; style=dashed; color=gray; fontname=\"sans-serif\"; fontsize=9;\n", id, quoteDOT(title))
	}, func(n *Node) {
		fmt.Fprintf(&b, "  n%d [label=%s, %s];\n", n.ID, quoteDOT(g.caption(n)), g.dotShape(n))
	}, func() { b.WriteString("  }\n") })
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  n%d -> n%d [%s];\n", e.From, e.To, g.dotStyle(e))
	}
	for _, e := range g.DataEdges() {
		fmt.Fprintf(&b, "  n%d -> n%d [style=dotted, constraint=false, color=gray, label=%s];\n", e.From, e.To, quoteDOT(g.Vars[e.Var].Name))
	}
	b.WriteString("}\n")
	return b.String()
}

func (g *Graph) caption(n *Node) string {
	lines := []string{n.Name}
	switch {
	case n.Kind == Action && n.Name == n.Action:
		lines[0] = "@" + n.Action
	case n.Kind == Action:
		lines = append(lines, "@"+n.Action)
	}
	return strings.Join(append(lines, g.details(n)...), "\n")
}

func (g *Graph) dotShape(n *Node) string {
	switch {
	case g.Waits(n):
		return "shape=box, peripheries=2"
	case g.Frontier(n):
		return "shape=box"
	case n.Kind == Branch || n.Kind == LoopHead:
		return "shape=diamond"
	}
	return "shape=ellipse, style=rounded"
}

func (g *Graph) dotStyle(e *Edge) string {
	switch e.Kind {
	case Forward:
		return "style=solid"
	case Soft:
		return "style=dashed"
	case Back:
		return `style=bold, constraint=false, label="back"`
	case Exception:
		return "style=solid, color=red, label=" + quoteDOT(g.label(e))
	}
	return "style=solid, label=" + quoteDOT(g.label(e))
}

func quoteDOT(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Mermaid renders the graph as a Mermaid flowchart.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	g.nest(0, func(id RegionID, title string) {
		fmt.Fprintf(&b, "  subgraph r%d [%s]\n", id, title)
	}, func(n *Node) {
		open, end := "([", "])"
		switch {
		case g.Waits(n):
			open, end = "[[", "]]"
		case g.Frontier(n):
			open, end = "[", "]"
		case n.Kind == Branch || n.Kind == LoopHead:
			open, end = "{", "}"
		}
		fmt.Fprintf(&b, "  n%d%s%s%s\n", n.ID, open, quoteMermaid(g.caption(n)), end)
	}, func() { b.WriteString("  end\n") })
	for _, e := range g.Edges {
		switch e.Kind {
		case Forward:
			fmt.Fprintf(&b, "  n%d --> n%d\n", e.From, e.To)
		case Soft:
			fmt.Fprintf(&b, "  n%d -.-> n%d\n", e.From, e.To)
		default:
			fmt.Fprintf(&b, "  n%d -->|%s| n%d\n", e.From, quoteMermaid(g.label(e)), e.To)
		}
	}
	for _, e := range g.DataEdges() {
		fmt.Fprintf(&b, "  n%d -. %s .-> n%d\n", e.From, quoteMermaid(g.Vars[e.Var].Name), e.To)
	}
	return b.String()
}

func quoteMermaid(s string) string {
	return `"` + strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", "<br/>").Replace(s) + `"`
}
